/* Counting events: made alone, in pools, shared; what is waited for is decided at the append.
 *
 * counting               all of it; runs itself as the other process
 * counting HANDLE wait   opens the event of the handle and waits for it */
#include "share.h"

static ze_event_handle_t make_counter(ze_event_counter_based_flags_t flags, const void *chain)
{
    ze_event_counter_based_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC, chain, flags,
                                          0, ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t event;

    DO(zeEventCounterBasedCreate(the_context, the_device, &desc, &event));
    return event;
}

static ze_command_list_handle_t make_list(void)
{
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, NULL, 0, 0, 0,
                                    ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_list_handle_t list;

    DO(zeCommandListCreateImmediate(the_context, the_device, &desc, &list));
    return list;
}

static ze_event_handle_t make_plain(ze_event_pool_handle_t pool, uint32_t index)
{
    ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, index, 0, ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t event;

    DO(zeEventCreate(pool, &desc, &event));
    return event;
}

static ze_event_pool_handle_t make_pool(const void *chain, ze_event_pool_flags_t flags)
{
    ze_event_pool_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, chain,
                                 ZE_EVENT_POOL_FLAG_HOST_VISIBLE | flags, 4};
    ze_event_pool_handle_t pool;

    DO(zeEventPoolCreate(the_context, &desc, 0, NULL, &pool));
    return pool;
}

/* Appending a signal arms the event again; a wait is for what was asked before its own append. */
static void use_again_and_again(ze_event_handle_t event, ze_event_handle_t gate)
{
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_command_list_handle_t list = make_list();
    ze_command_list_handle_t other = make_list();
    uint8_t *memory = NULL;
    uint8_t pattern;

    DO(zeMemAllocHost(the_context, &host, 4096, 0, (void **)&memory));
    /* Nothing was asked of it: it is signalled. */
    DO(zeEventQueryStatus(event));
    EXPECT(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, zeEventHostReset(event));
    EXPECT(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, zeEventHostSignal(event));
    for (int round = 0; round < 5; round++) {
        pattern = (uint8_t)(3 * round + 1);
        DO(zeCommandListAppendMemoryFill(list, memory, &pattern, 1, 4096, event, 1, &gate));
        /* The other list waits for this round: the gate is shut, and no reset was made. */
        DO(zeCommandListAppendWaitOnEvents(other, 1, &event));
        EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
        EXPECT(ZE_RESULT_NOT_READY, zeCommandListHostSynchronize(other, 1000));
        EXPECT(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, zeEventDestroy(event));
        DO(zeEventHostSignal(gate));
        DO(zeCommandListHostSynchronize(other, UINT64_MAX));
        DO(zeEventHostSynchronize(event, 0));
        REQUIRE(memory[0] == pattern && memory[4095] == pattern);
        DO(zeEventHostReset(gate));
    }
    /* This wait is appended before the signal: it does not wait for it. */
    DO(zeCommandListAppendWaitOnEvents(other, 1, &event));
    DO(zeCommandListAppendMemoryFill(list, memory, &pattern, 1, 4096, event, 1, &gate));
    DO(zeCommandListHostSynchronize(other, UINT64_MAX));
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
    DO(zeEventHostSignal(gate));
    DO(zeDeviceSynchronize(the_device));
    DO(zeEventQueryStatus(event));
    DO(zeEventHostReset(gate));
    DO(zeCommandListDestroy(list));
    DO(zeCommandListDestroy(other));
    DO(zeMemFree(the_context, memory));
}

static void use_pools(ze_event_handle_t gate)
{
    ze_event_pool_counter_based_exp_desc_t counting = {
        ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC, NULL,
        ZE_EVENT_POOL_COUNTER_BASED_EXP_FLAG_IMMEDIATE};
    ze_event_pool_handle_t pool = make_pool(&counting, 0);
    ze_event_handle_t event = make_plain(pool, 2);
    ze_event_counter_based_flags_t flags = 0;
    ze_ipc_event_counter_based_handle_t handle;

    DO(zeEventGetCounterBasedFlags(event, &flags));
    REQUIRE(flags == ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE);
    EXPECT(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
           zeEventCounterBasedGetIpcHandle(event, &handle));
    use_again_and_again(event, gate);
    DO(zeEventDestroy(event));
    DO(zeEventPoolDestroy(pool));
}

static int wait_elsewhere(const char *text)
{
    ze_ipc_event_counter_based_handle_t handle;
    ze_event_handle_t event;

    read_handle(text, handle.data);
    begin();
    DO(zeEventCounterBasedOpenIpcHandle(the_context, handle, &event));
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
    puts("opened");
    fflush(stdout);
    DO(zeEventHostSynchronize(event, UINT64_MAX));
    DO(zeEventCounterBasedCloseIpcHandle(event));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventQueryStatus(event));
    handle.data[40] ^= 1;
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeEventCounterBasedOpenIpcHandle(the_context, handle, &event));
    return 0;
}

static void share(ze_event_handle_t gate)
{
    ze_event_handle_t event = make_counter(
        ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ZE_EVENT_COUNTER_BASED_FLAG_IPC, NULL);
    ze_ipc_event_counter_based_handle_t handle;
    ze_command_list_handle_t list = make_list();
    int told[2];
    int kept;
    char line[7];
    pid_t child;

    DO(zeCommandListAppendWaitOnEvents(list, 1, &gate));
    DO(zeCommandListAppendSignalEvent(list, event));
    DO(zeEventCounterBasedGetIpcHandle(event, &handle));
    REQUIRE(pipe(told) == 0);
    kept = dup(1);
    REQUIRE(kept >= 0 && dup2(told[1], 1) == 1);
    child = start_with(handle.data, "wait");
    REQUIRE(dup2(kept, 1) == 1);
    REQUIRE(read(told[0], line, sizeof(line)) == (ssize_t)sizeof(line));
    DO(zeEventHostSignal(gate));
    end_well(child);
    DO(zeEventQueryStatus(event));
    DO(zeEventHostReset(gate));
    EXPECT(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
           zeEventCounterBasedCloseIpcHandle(event));
    DO(zeCommandListDestroy(list));
    DO(zeEventDestroy(event));
    close(told[0]);
    close(told[1]);
    close(kept);
}

/* The device reads where an event counts; and an event counts in memory of the program. */
static void use_addresses(void)
{
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_event_handle_t event = make_counter(ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE, NULL);
    ze_command_list_handle_t list = make_list();
    ze_event_counter_based_external_aggregate_storage_desc_t storage = {
        ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_AGGREGATE_STORAGE_DESC, NULL, NULL, 5, 10};
    uint64_t *memory = NULL;
    uint64_t value = 77;
    uint64_t address = 0;
    uint64_t largest = 0;
    uint32_t parts = 0;
    ze_event_handle_t aggregate;

    DO(zeDeviceGetCounterBasedEventMaxValue(the_device, &largest));
    DO(zeDeviceGetAggregatedCopyOffloadIncrementValue(the_device, &parts));
    REQUIRE(largest > UINT32_MAX && parts == 1);
    DO(zeMemAllocHost(the_context, &host, 4096, 0, (void **)&memory));
    DO(zeCommandListAppendSignalEvent(list, event));
    DO(zeEventCounterBasedGetDeviceAddress(event, &value, &address));
    DO(zeCommandListAppendMemoryCopy(list, memory, (void *)(uintptr_t)address, 8, NULL, 0, NULL));
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    REQUIRE(value == 1 && memory[0] == value);

    memory[1] = 0;
    storage.deviceAddress = &memory[1];
    aggregate = make_counter(ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE, &storage);
    DO(zeCommandListAppendSignalEventWithParameters(list, NULL, aggregate));
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(aggregate));
    DO(zeCommandListAppendSignalEvent(list, aggregate));
    DO(zeCommandListAppendWaitOnEventsWithParameters(list, NULL, 1, &aggregate));
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    DO(zeEventQueryStatus(aggregate));
    REQUIRE(memory[1] == 10);
    DO(zeEventDestroy(aggregate));
    DO(zeCommandListDestroy(list));
    DO(zeEventDestroy(event));
    DO(zeMemFree(the_context, memory));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
           zeCommandListAppendSignalEventWithParameters(NULL, NULL, event));
}

/* Times of events by every function that tells them, and stored by the device. */
static void use_times(void)
{
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_event_pool_handle_t pool = make_pool(NULL, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    ze_event_handle_t events[2] = {make_plain(pool, 0), make_plain(pool, 1)};
    ze_command_list_handle_t list = make_list();
    ze_kernel_timestamp_result_t plain[2];
    ze_kernel_timestamp_result_t exp[3] = {0};
    ze_kernel_timestamp_result_t ext = {0};
    ze_synchronized_timestamp_result_ext_t same = {0};
    ze_event_query_kernel_timestamps_results_ext_properties_t results = {
        ZE_STRUCTURE_TYPE_EVENT_QUERY_KERNEL_TIMESTAMPS_RESULTS_EXT_PROPERTIES, NULL, &ext, &same};
    ze_kernel_timestamp_result_t *stored = NULL;
    size_t offsets[2] = {128, 0};
    uint32_t count = 0;
    int pattern = 3;

    DO(zeMemAllocHost(the_context, &host, 4096, 0, (void **)&stored));
    DO(zeCommandListAppendMemoryFill(list, stored, &pattern, 4, 4096, events[0], 0, NULL));
    DO(zeCommandListAppendMemoryFill(list, stored, &pattern, 4, 4096, events[1], 1, events));
    DO(zeCommandListAppendQueryKernelTimestamps(list, 2, events, stored, NULL, NULL, 0, NULL));
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    for (int index = 0; index < 2; index++) {
        DO(zeEventQueryKernelTimestamp(events[index], &plain[index]));
        REQUIRE(plain[index].global.kernelStart > 0);
        REQUIRE(memcmp(&stored[index], &plain[index], sizeof(plain[index])) == 0);
    }
    REQUIRE(plain[1].global.kernelStart >= plain[0].global.kernelEnd);
    DO(zeCommandListAppendQueryKernelTimestamps(list, 2, events, stored, offsets, NULL, 0, NULL));
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    REQUIRE(memcmp(&stored[4], &plain[0], sizeof(plain[0])) == 0);
    REQUIRE(memcmp(&stored[0], &plain[1], sizeof(plain[1])) == 0);
    DO(zeEventQueryTimestampsExp(events[0], the_device, &count, NULL));
    REQUIRE(count == 1);
    count = 3;
    DO(zeEventQueryTimestampsExp(events[0], the_device, &count, exp));
    REQUIRE(count == 1 && memcmp(exp, plain, sizeof(exp[0])) == 0);
    REQUIRE(exp[1].global.kernelStart == 0);
    count = 0;
    DO(zeEventQueryKernelTimestampsExt(events[1], the_device, &count, NULL));
    REQUIRE(count == 1);
    DO(zeEventQueryKernelTimestampsExt(events[1], the_device, &count, &results));
    REQUIRE(memcmp(&ext, &plain[1], sizeof(ext)) == 0);
    REQUIRE(same.global.kernelEnd == plain[1].global.kernelEnd);
    DO(zeCommandListDestroy(list));
    DO(zeEventDestroy(events[0]));
    DO(zeEventDestroy(events[1]));
    DO(zeEventPoolDestroy(pool));
    DO(zeMemFree(the_context, stored));
}

/* A regular list, run by an immediate one between a wait and a signal. */
static void append_lists(ze_event_handle_t gate)
{
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_event_handle_t done = make_counter(ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE, NULL);
    ze_command_list_handle_t list = make_list();
    ze_command_list_handle_t regular;
    uint8_t *memory = NULL;
    uint8_t pattern = 9;

    DO(zeMemAllocHost(the_context, &host, 4096, 0, (void **)&memory));
    DO(zeCommandListCreate(the_context, the_device, &desc, &regular));
    DO(zeCommandListAppendMemoryFill(regular, memory, &pattern, 1, 4096, NULL, 0, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeCommandListImmediateAppendCommandListsExp(list, 1, &regular, NULL, 0, NULL));
    DO(zeCommandListClose(regular));
    DO(zeCommandListImmediateAppendCommandListsExp(list, 1, &regular, done, 1, &gate));
    EXPECT(ZE_RESULT_NOT_READY, zeEventHostSynchronize(done, 1000));
    REQUIRE(memory[0] == 0);
    DO(zeEventHostSignal(gate));
    DO(zeEventHostSynchronize(done, UINT64_MAX));
    REQUIRE(memory[4095] == 9);
    memset(memory, 0, 4096);
    DO(zeCommandListImmediateAppendCommandListsWithParameters(list, 1, &regular, NULL, NULL, 0,
                                                              NULL));
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    REQUIRE(memory[4095] == 9);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeCommandListImmediateAppendCommandListsExp(regular, 1, &regular, NULL, 0, NULL));
    DO(zeContextSystemBarrier(the_context, the_device));
    DO(zeEventHostReset(gate));
    DO(zeCommandListDestroy(regular));
    DO(zeCommandListDestroy(list));
    DO(zeEventDestroy(done));
    DO(zeMemFree(the_context, memory));
}

int main(int count, char **arguments)
{
    ze_event_pool_handle_t pool;
    ze_event_handle_t gate;
    ze_event_handle_t event;

    if (count > 1)
        return wait_elsewhere(arguments[1]);
    begin();
    pool = make_pool(NULL, 0);
    gate = make_plain(pool, 0);
    event = make_counter(ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE, NULL);
    use_again_and_again(event, gate);
    DO(zeEventDestroy(event));
    use_pools(gate);
    share(gate);
    use_addresses();
    use_times();
    append_lists(gate);
    DO(zeEventDestroy(gate));
    DO(zeEventPoolDestroy(pool));
    return 0;
}
