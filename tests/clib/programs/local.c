/* What the library answers by itself, for a test that lets the emulator stand still meanwhile.
 *
 * Tells "ready", does it all when it is told to go, tells "done", and tidies up at the end. */
#include <unistd.h>

#include "check.h"

enum { SIZE = 100000, TIMES = 1000 };

static void ask_about_pointers(char *pointer)
{
    ze_memory_allocation_properties_t properties = {
        ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t device;
    void *base;
    size_t size;

    for (int count = 0; count < TIMES; count++) {
        DO(zeMemGetAllocProperties(the_context, pointer + count, &properties, &device));
        REQUIRE(properties.type == ZE_MEMORY_TYPE_DEVICE && device == the_device);
        DO(zeMemGetAddressRange(the_context, pointer + SIZE - 1, &base, &size));
        REQUIRE(base == pointer && size == SIZE);
        DO(zeMemGetAllocProperties(the_context, &size, &properties, &device));
        REQUIRE(properties.type == ZE_MEMORY_TYPE_UNKNOWN && device == NULL);
        EXPECT(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
               zeMemGetAddressRange(the_context, pointer + SIZE, &base, &size));
    }
}

static ze_event_handle_t make_event(ze_event_pool_handle_t pool, uint32_t index)
{
    ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, index, 0, ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t event;

    DO(zeEventCreate(pool, &desc, &event));
    return event;
}

static void poll_events(ze_event_handle_t reset, ze_event_handle_t set, ze_event_handle_t counter,
                        ze_fence_handle_t fence)
{
    for (int count = 0; count < TIMES; count++) {
        EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(reset));
        EXPECT(ZE_RESULT_NOT_READY, zeEventHostSynchronize(reset, 0));
        DO(zeEventQueryStatus(set));
        DO(zeEventHostSynchronize(set, UINT64_MAX));
        EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(counter));
        EXPECT(ZE_RESULT_NOT_READY, zeFenceQueryStatus(fence));
        EXPECT(ZE_RESULT_NOT_READY, zeFenceHostSynchronize(fence, 0));
        DO(zeFenceReset(fence));
    }
}

/* Set and reset an event that no queue waits for; another thread of the program sees it at once. */
static void set_and_reset(ze_event_handle_t event)
{
    for (int count = 0; count < TIMES; count++) {
        DO(zeEventHostSignal(event));
        DO(zeEventQueryStatus(event));
        DO(zeEventHostSynchronize(event, UINT64_MAX));
        DO(zeEventHostReset(event));
        EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
    }
}

static void look_at_queues(ze_command_queue_handle_t idle, ze_command_list_handle_t busy)
{
    for (int count = 0; count < TIMES; count++) {
        DO(zeCommandQueueSynchronize(idle, 0));
        DO(zeCommandQueueSynchronize(idle, UINT64_MAX));
        EXPECT(ZE_RESULT_NOT_READY, zeCommandListHostSynchronize(busy, 0));
    }
}

static void get_and_put(void *pointer, const ze_ipc_mem_handle_t *handle)
{
    ze_ipc_mem_handle_t again;

    for (int count = 0; count < TIMES; count++) {
        DO(zeMemGetIpcHandle(the_context, pointer, &again));
        REQUIRE(memcmp(&again, handle, sizeof(again)) == 0);
        if (count % 2)
            DO(zeMemPutIpcHandle(the_context, again));
    }
    for (int count = 0; count < TIMES / 2; count++)
        DO(zeMemPutIpcHandle(the_context, again));
}

int main(void)
{
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                      ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 2};
    ze_event_counter_based_desc_t counter_desc = {ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC, NULL,
                                                  ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE};
    ze_command_queue_desc_t queue_desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_fence_desc_t fence_desc = {ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t list;
    ze_event_pool_handle_t pool;
    ze_event_handle_t reset;
    ze_event_handle_t set;
    ze_event_handle_t counter;
    ze_fence_handle_t fence;
    ze_ipc_mem_handle_t handle;
    char *pointer = NULL;
    void *base;
    char line[8];

    begin();
    DO(zeMemAllocDevice(the_context, &desc, SIZE, 0, the_device, (void **)&pointer));
    DO(zeMemGetIpcHandle(the_context, pointer, &handle));
    DO(zeEventPoolCreate(the_context, &pool_desc, 0, NULL, &pool));
    reset = make_event(pool, 0);
    set = make_event(pool, 1);
    DO(zeEventHostSignal(set));
    DO(zeEventCounterBasedCreate(the_context, the_device, &counter_desc, &counter));
    DO(zeEventQueryStatus(counter));
    DO(zeCommandQueueCreate(the_context, the_device, &queue_desc, &queue));
    DO(zeFenceCreate(queue, &fence_desc, &fence));
    DO(zeCommandListCreateImmediate(the_context, the_device, &queue_desc, &list));
    DO(zeCommandListAppendBarrier(list, counter, 1, &reset));
    puts("ready");
    fflush(stdout);
    REQUIRE(read(0, line, 3) == 3);
    ask_about_pointers(pointer);
    poll_events(reset, set, counter, fence);
    look_at_queues(queue, list);
    set_and_reset(set);
    get_and_put(pointer, &handle);
    puts("done");
    fflush(stdout);
    REQUIRE(read(0, line, 1) == 0);
    DO(zeEventHostSignal(reset));
    DO(zeEventHostSynchronize(counter, UINT64_MAX));
    DO(zeEventQueryStatus(reset));
    DO(zeCommandListDestroy(list));
    DO(zeEventDestroy(counter));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventQueryStatus(counter));
    DO(zeEventDestroy(reset));
    DO(zeEventDestroy(set));
    DO(zeFenceDestroy(fence));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeFenceQueryStatus(fence));
    DO(zeEventPoolDestroy(pool));
    DO(zeCommandQueueDestroy(queue));
    DO(zeMemPutIpcHandle(the_context, handle));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemOpenIpcHandle(the_context, the_device, handle, 0, &base));
    DO(zeMemFree(the_context, pointer));
    return 0;
}
