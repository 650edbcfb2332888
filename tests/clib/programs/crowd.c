/* More handles than fit into the memory that the library begins with, told from all that are none. */
#include "check.h"

enum { EVENTS = 300, NEAR = 8 };

static void expect_stale(const void *pointer)
{
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventQueryStatus((ze_event_handle_t)pointer));
}

int main(void)
{
    static ze_event_handle_t events[EVENTS];
    ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                      ZE_EVENT_POOL_FLAG_HOST_VISIBLE, EVENTS};
    ze_event_pool_handle_t pool;

    begin();
    DO(zeEventPoolCreate(the_context, &pool_desc, 0, NULL, &pool));
    for (uint32_t index = 0; index < EVENTS; index++) {
        ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, index, 0, 0};

        DO(zeEventCreate(pool, &desc, &events[index]));
    }
    for (int index = 0; index < EVENTS; index += 2)
        DO(zeEventHostSignal(events[index]));
    for (int index = 0; index < EVENTS; index++) {
        EXPECT(index % 2 ? ZE_RESULT_NOT_READY : ZE_RESULT_SUCCESS,
               zeEventQueryStatus(events[index]));
        expect_stale((char *)events[index] + NEAR);
        expect_stale((char *)events[index] - NEAR);
        /* Another one's kind. */
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
               zeFenceQueryStatus((ze_fence_handle_t)events[index]));
    }
    for (int index = 0; index < EVENTS; index++) {
        DO(zeEventDestroy(events[index]));
        expect_stale(events[index]);
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventDestroy(events[index]));
    }
    expect_stale((const void *)UINTPTR_MAX);
    expect_stale((const void *)(UINTPTR_MAX - 127));
    expect_stale(events);
    DO(zeEventPoolDestroy(pool));
    return 0;
}
