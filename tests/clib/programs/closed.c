/* Events of a pool that was opened end with it: their handles name nothing any more. */
#include "check.h"

enum { MANY = 100 };

int main(void)
{
    ze_event_pool_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                 ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC, 1};
    ze_event_desc_t event_desc = {ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_ipc_event_pool_handle_t handle;
    ze_event_pool_handle_t pool;
    ze_event_handle_t events[MANY];

    begin();
    DO(zeEventPoolCreate(the_context, &desc, 0, NULL, &pool));
    DO(zeEventPoolGetIpcHandle(pool, &handle));
    for (int index = 0; index < MANY; index++) {
        ze_event_pool_handle_t opened;

        DO(zeEventPoolOpenIpcHandle(the_context, handle, &opened));
        DO(zeEventCreate(opened, &event_desc, &events[index]));
        EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(events[index]));
        DO(zeEventPoolCloseIpcHandle(opened));
    }
    /* Many pools later nothing of the first is mapped any more. */
    for (int index = 0; index < MANY; index++) {
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventQueryStatus(events[index]));
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventHostSynchronize(events[index], 0));
    }
    DO(zeEventPoolPutIpcHandle(the_context, handle));
    DO(zeEventPoolDestroy(pool));
    DO(zeContextDestroy(the_context));
    return 0;
}
