/* The emulator ends under the program: every call says so, none hangs. Tells "ready" first. */
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { MANY = 200, PATIENCE_SECONDS = 15 };

static time_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

int main(void)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                      ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
    ze_event_desc_t event_desc = {ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_pool_handle_t pool;
    ze_event_handle_t event;
    void *pointer = NULL;
    void *other = NULL;
    char byte;
    time_t begun;

    begin();
    DO(zeMemAllocHost(the_context, &desc, 4096, 0, &pointer));
    DO(zeMemGetAddressRange(the_context, pointer, &other, NULL));
    DO(zeEventPoolCreate(the_context, &pool_desc, 0, NULL, &pool));
    DO(zeEventCreate(pool, &event_desc, &event));
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
    puts("ready");
    fflush(stdout);
    REQUIRE(read(0, &byte, 1) == 0);
    begun = now();
    while (zeEventHostSynchronize(event, 0) == ZE_RESULT_NOT_READY)
        REQUIRE(now() - begun < PATIENCE_SECONDS);
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeEventQueryStatus(event));
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeEventHostSynchronize(event, UINT64_MAX));
    /* What the library knows by itself it tells no longer than a moment. */
    begun = now();
    while (zeMemGetAddressRange(the_context, pointer, &other, NULL) == ZE_RESULT_SUCCESS)
        REQUIRE(now() - begun < PATIENCE_SECONDS);
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST,
           zeMemGetAddressRange(the_context, pointer, &other, NULL));
    for (int round = 0; round < 3; round++)
        EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeMemAllocHost(the_context, &desc, 4096, 0, &other));
    *(volatile char *)pointer = 1;
    /* Tidying up many objects takes no tenth of a second for each. */
    begun = now();
    for (int round = 0; round < MANY; round++)
        EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeMemFree(the_context, pointer));
    REQUIRE(now() - begun < PATIENCE_SECONDS);
    return 0;
}
