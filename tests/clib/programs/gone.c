/* A device is lost under the program while its emulator goes on: waits end, and every call that
   needs the device says so. Tells "ready" first. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { PATIENCE_SECONDS = 15 };

static ze_event_handle_t the_event;

static void *wait_for_ever(void *unused)
{
    (void)unused;
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeEventHostSynchronize(the_event, UINT64_MAX));
    return NULL;
}

static time_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

int main(void)
{
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                      ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
    ze_event_desc_t event_desc = {ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_pool_handle_t pool;
    pthread_t waiter;
    void *pointer = NULL;
    void *other = NULL;
    char byte;
    time_t begun;

    begin();
    DO(zeMemAllocDevice(the_context, &desc, 4096, 0, the_device, &pointer));
    DO(zeEventPoolCreate(the_context, &pool_desc, 0, NULL, &pool));
    DO(zeEventCreate(pool, &event_desc, &the_event));
    REQUIRE(pthread_create(&waiter, NULL, wait_for_ever, NULL) == 0);
    puts("ready");
    fflush(stdout);
    REQUIRE(read(0, &byte, 1) == 0);
    begun = now();
    for (int round = 0; round < 3; round++)
        EXPECT(ZE_RESULT_ERROR_DEVICE_LOST,
               zeMemAllocDevice(the_context, &desc, 4096, 0, the_device, &other));
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeMemFree(the_context, pointer));
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeDeviceGetStatus(the_device));
    REQUIRE(pthread_join(waiter, NULL) == 0);
    REQUIRE(now() - begun < PATIENCE_SECONDS);
    return 0;
}
