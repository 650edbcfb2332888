/* Events and fences: set by the host and by lists, waited for by both, also in another process.
 *
 * events            all of it; runs itself as the other process
 * events HANDLE     opens the pool and signals its second event */
#include <pthread.h>

#include "share.h"

static ze_event_handle_t make_event(ze_event_pool_handle_t pool, uint32_t index)
{
    ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, index, 0, ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t event;

    DO(zeEventCreate(pool, &desc, &event));
    return event;
}

static int signal_from_elsewhere(const char *text)
{
    ze_ipc_event_pool_handle_t handle;
    ze_event_pool_handle_t pool;
    ze_event_handle_t event;

    read_handle(text, handle.data);
    begin();
    DO(zeEventPoolOpenIpcHandle(the_context, handle, &pool));
    event = make_event(pool, 1);
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
    DO(zeEventHostSignal(event));
    DO(zeEventDestroy(event));
    DO(zeEventPoolCloseIpcHandle(pool));
    return 0;
}

static uint64_t patience;

static void *wait_for(void *event)
{
    DO(zeEventHostSynchronize(event, patience));
    return NULL;
}

/* Times so long that no clock counts so far are as good as waiting without end. */
static void wait_long(ze_event_handle_t event)
{
    static const uint64_t times[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - (UINT64_C(1) << 40)};
    pthread_t thread;

    for (size_t index = 0; index < sizeof(times) / sizeof(times[0]); index++) {
        patience = times[index];
        REQUIRE(pthread_create(&thread, NULL, wait_for, event) == 0);
        usleep(50 * 1000);
        DO(zeEventHostSignal(event));
        REQUIRE(pthread_join(thread, NULL) == 0);
        DO(zeEventHostReset(event));
    }
}

/* Polls are no calls: nothing but the signal tells the device to go on. */
static void poll_until_set(ze_event_handle_t event)
{
    for (int count = 0; count < 10 * 1000; count++) {
        if (zeEventQueryStatus(event) == ZE_RESULT_SUCCESS)
            return;
        usleep(1000);
    }
    REQUIRE(!"set by now");
}

static void share(ze_event_pool_handle_t pool, ze_event_handle_t event)
{
    ze_ipc_event_pool_handle_t handle;
    pid_t child;

    DO(zeEventPoolGetIpcHandle(pool, &handle));
    child = start_with(handle.data, NULL);
    DO(zeEventHostSynchronize(event, UINT64_MAX));
    end_well(child);
    DO(zeEventPoolPutIpcHandle(the_context, handle));
}

static void use_lists(ze_event_handle_t first, ze_event_handle_t second)
{
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, NULL, 0, 0, 0,
                                    ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_fence_desc_t fence_desc = {ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_command_list_desc_t list_desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_kernel_timestamp_result_t times = {0};
    ze_command_list_handle_t list;
    ze_command_list_handle_t regular;
    ze_command_queue_handle_t queue;
    ze_fence_handle_t fence;
    void *memory = NULL;
    int pattern = 7;

    DO(zeMemAllocHost(the_context, &host, 4096, 0, &memory));
    DO(zeCommandListCreateImmediate(the_context, the_device, &desc, &list));
    /* The append does not wait: the host signals afterwards. */
    DO(zeCommandListAppendMemoryFill(list, memory, &pattern, 4, 4096, second, 1, &first));
    EXPECT(ZE_RESULT_NOT_READY, zeCommandListHostSynchronize(list, 1000));
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(second));
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryKernelTimestamp(second, &times));
    /* By now the device sleeps, and has to be woken. */
    usleep(50 * 1000);
    DO(zeEventHostSignal(first));
    poll_until_set(second);
    DO(zeEventHostSynchronize(second, UINT64_MAX));
    REQUIRE(((int *)memory)[1023] == 7);
    DO(zeEventQueryKernelTimestamp(second, &times));
    REQUIRE(times.global.kernelEnd >= times.global.kernelStart && times.global.kernelEnd > 0);
    DO(zeCommandListAppendEventReset(list, first));
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(first));

    DO(zeCommandQueueCreate(the_context, the_device, &desc, &queue));
    DO(zeFenceCreate(queue, &fence_desc, &fence));
    DO(zeCommandListCreate(the_context, the_device, &list_desc, &regular));
    DO(zeCommandListAppendSignalEvent(regular, first));
    DO(zeCommandListClose(regular));
    EXPECT(ZE_RESULT_NOT_READY, zeFenceQueryStatus(fence));
    DO(zeCommandQueueExecuteCommandLists(queue, 1, &regular, fence));
    DO(zeFenceHostSynchronize(fence, UINT64_MAX));
    DO(zeEventQueryStatus(first));
    DO(zeFenceReset(fence));
    EXPECT(ZE_RESULT_NOT_READY, zeFenceHostSynchronize(fence, 0));
    DO(zeFenceDestroy(fence));
    DO(zeCommandListDestroy(regular));
    DO(zeCommandQueueDestroy(queue));
    DO(zeCommandListDestroy(list));
    DO(zeMemFree(the_context, memory));
}

int main(int count, char **arguments)
{
    ze_event_pool_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                 ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC |
                                     ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP,
                                 2};
    ze_event_pool_handle_t pool;
    ze_event_handle_t first;
    ze_event_handle_t second;

    if (count > 1)
        return signal_from_elsewhere(arguments[1]);
    begin();
    DO(zeEventPoolCreate(the_context, &desc, 0, NULL, &pool));
    first = make_event(pool, 0);
    second = make_event(pool, 1);
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(first));
    EXPECT(ZE_RESULT_NOT_READY, zeEventHostSynchronize(first, 1000));
    wait_long(first);
    share(pool, second);
    DO(zeEventHostReset(second));
    use_lists(first, second);
    EXPECT(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, zeEventPoolDestroy(pool));
    DO(zeEventDestroy(first));
    DO(zeEventDestroy(second));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventQueryStatus(first));
    DO(zeEventPoolDestroy(pool));
    desc.count = 0;
    EXPECT(ZE_RESULT_ERROR_INVALID_SIZE, zeEventPoolCreate(the_context, &desc, 0, NULL, &pool));
    return 0;
}
