/* A device is lost under a program that only polls: each thing that it polls says so in bounded time,
   and none says that it is signalled. Tells "ready" first. */
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { PATIENCE_SECONDS = 10 };

static time_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* Poll until the answer is another than "not ready", which has to be "lost". */
#define POLL(call)                                                                                 \
    do {                                                                                           \
        time_t begun_ = now();                                                                     \
        ze_result_t polled_ = ZE_RESULT_NOT_READY;                                                 \
        while (polled_ == ZE_RESULT_NOT_READY && now() - begun_ < PATIENCE_SECONDS)                \
            polled_ = (call);                                                                      \
        EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, polled_);                                              \
    } while (0)

int main(void)
{
    ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                      ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 3};
    ze_event_desc_t event_desc = {ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_command_queue_desc_t queue_desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t list_desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_fence_desc_t fence_desc = {ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_event_pool_handle_t pool;
    ze_event_handle_t host_event;
    ze_event_handle_t gate;
    ze_event_handle_t device_event;
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t list;
    ze_command_list_handle_t immediate;
    ze_fence_handle_t fence;
    char byte;

    begin();
    DO(zeEventPoolCreate(the_context, &pool_desc, 0, NULL, &pool));
    DO(zeEventCreate(pool, &event_desc, &host_event));
    event_desc.index = 1;
    DO(zeEventCreate(pool, &event_desc, &gate));
    event_desc.index = 2;
    DO(zeEventCreate(pool, &event_desc, &device_event));
    DO(zeCommandQueueCreate(the_context, the_device, &queue_desc, &queue));
    DO(zeFenceCreate(queue, &fence_desc, &fence));
    DO(zeCommandListCreate(the_context, the_device, &list_desc, &list));
    DO(zeCommandListAppendWaitOnEvents(list, 1, &gate));
    DO(zeCommandListClose(list));
    DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
    queue_desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    DO(zeCommandListCreateImmediate(the_context, the_device, &queue_desc, &immediate));
    DO(zeCommandListAppendBarrier(immediate, device_event, 1, &gate));
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(host_event));
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(device_event));
    EXPECT(ZE_RESULT_NOT_READY, zeFenceQueryStatus(fence));
    EXPECT(ZE_RESULT_NOT_READY, zeCommandQueueSynchronize(queue, 0));
    EXPECT(ZE_RESULT_NOT_READY, zeCommandListHostSynchronize(immediate, 0));
    puts("ready");
    fflush(stdout);
    REQUIRE(read(0, &byte, 1) == 0);
    POLL(zeEventQueryStatus(host_event));
    POLL(zeEventHostSynchronize(host_event, 0));
    POLL(zeEventQueryStatus(device_event));
    POLL(zeFenceQueryStatus(fence));
    POLL(zeFenceHostSynchronize(fence, 0));
    POLL(zeCommandQueueSynchronize(queue, 0));
    POLL(zeCommandListHostSynchronize(immediate, 0));
    /* What the host signals is seen all the same. */
    DO(zeEventHostSignal(host_event));
    DO(zeEventQueryStatus(host_event));
    return 0;
}
