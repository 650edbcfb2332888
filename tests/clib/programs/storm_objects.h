/* Objects that are well made, and the end of all objects. */
#ifndef STORM_OBJECTS_H
#define STORM_OBJECTS_H

#include "storm_arguments.h"

static void complain_of(uint16_t type, ze_result_t result)
{
    const char *why = "";

    zerGetLastErrorDescription(&why);
    fprintf(stderr, "left of type %u: %#x: %s\n", type, (unsigned)result, why);
}

static bool is_scarce(const pool *live)
{
    bool found;

    pthread_mutex_lock(&lock);
    found = live->count < ENOUGH;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Without some objects that are well made, nothing would ever get beyond the first check. */
static void make_objects(storm_thread *self)
{
    ze_context_desc_t context = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_device_mem_alloc_desc_t device = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_physical_mem_desc_t physical = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, NULL,
                                       ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE, 1 << 16};
    ze_command_queue_desc_t queue = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, NULL, 0, 0, 0,
                                     ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_list_desc_t list = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_event_pool_desc_t events = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                   ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC, 16};
    ze_event_desc_t event = {ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_counter_based_desc_t counted = {
        ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC, NULL,
        ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ZE_EVENT_COUNTER_BASED_FLAG_IPC};
    ze_fence_desc_t fence = {ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_event_pool_handle_t event_pool = NULL;
    uint32_t one = 1;
    void *made = NULL;

#define LIVES(kind) (&handles[TYPE_ze_##kind##_handle_t][LIVE])
#define MAKE(into, call)                                                                           \
    if (is_scarce(into) && (call) == ZE_RESULT_SUCCESS)                                            \
    remember(into, (uint64_t)(uintptr_t)made)
    MAKE(LIVES(context), zeContextCreate(the_driver, &context, (void *)&made));
    MAKE(&pointers[LIVE], zeMemAllocHost(the_context, &host, 1 << 16, 0, &made));
    MAKE(&pointers[LIVE], zeMemAllocDevice(the_context, &device, 1 << 16, 0, the_device, &made));
    MAKE(&pointers[LIVE],
         zeMemAllocShared(the_context, &device, &host, 1 << 16, 0, the_device, &made));
    if (in_percent(self, 30))
        MAKE(&pointers[LIVE], zeVirtualMemReserve(the_context, NULL, 1 << 21, &made));
    MAKE(LIVES(physical_mem),
         zePhysicalMemCreate(the_context, the_device, &physical, (void *)&made));
    MAKE(LIVES(command_list),
         zeCommandListCreateImmediate(the_context, the_device, &queue, (void *)&made));
    MAKE(LIVES(command_list), zeCommandListCreate(the_context, the_device, &list, (void *)&made));
    MAKE(LIVES(command_queue),
         zeCommandQueueCreate(the_context, the_device, &queue, (void *)&made));
    if (made != NULL)
        MAKE(LIVES(fence), zeFenceCreate(made, &fence, (void *)&made));
    if (is_scarce(LIVES(event)) &&
        zeEventPoolCreate(the_context, &events, 0, NULL, &event_pool) == ZE_RESULT_SUCCESS) {
        remember(LIVES(event_pool), (uint64_t)(uintptr_t)event_pool);
        MAKE(LIVES(event), zeEventCreate(event_pool, &event, (void *)&made));
    }
    MAKE(&counting, zeEventCounterBasedCreate(the_context, the_device, &counted, (void *)&made));
    MAKE(&handles[TYPE_zes_mem_handle_t][LIVE],
         zesDeviceEnumMemoryModules(the_device, &one, (void *)&made));
#undef MAKE
#undef LIVES
}

static ze_result_t destroy(uint16_t type, void *handle)
{
    switch (type) {
    case TYPE_ze_fence_handle_t:
        return zeFenceDestroy(handle);
    case TYPE_ze_command_list_handle_t:
        return zeCommandListDestroy(handle);
    case TYPE_ze_command_queue_handle_t:
        return zeCommandQueueDestroy(handle);
    case TYPE_ze_event_handle_t:
        return zeEventCounterBasedCloseIpcHandle(handle) == ZE_RESULT_SUCCESS
                   ? ZE_RESULT_SUCCESS
                   : zeEventDestroy(handle);
    case TYPE_ze_event_pool_handle_t:
        return zeEventPoolCloseIpcHandle(handle) == ZE_RESULT_SUCCESS ? ZE_RESULT_SUCCESS
                                                                      : zeEventPoolDestroy(handle);
    case TYPE_ze_physical_mem_handle_t:
        return zePhysicalMemDestroy(the_context, handle);
    default:
        return zeContextDestroy(handle);
    }
}

static ze_result_t give_back(void *pointer)
{
    static const size_t sizes[] = {4096, 8192, 1 << 16, 1 << 21, 3 << 20, 1 << 30};
    ze_result_t result = zeMemFree(the_context, pointer);

    if (result != ZE_RESULT_SUCCESS)
        result = zeMemCloseIpcHandle(the_context, pointer);
    for (size_t index = 0; result != ZE_RESULT_SUCCESS && index < sizeof(sizes) / sizeof(size_t);
         index++)
        result = zeVirtualMemFree(the_context, pointer, sizes[index]);
    return result;
}

/* Destroy what lives, what uses others first; return how many there still are. */
static uint32_t destroy_once(bool last)
{
    static const uint16_t order[] = {TYPE_ze_fence_handle_t, TYPE_ze_command_list_handle_t,
                                     TYPE_ze_command_queue_handle_t, TYPE_ze_event_handle_t,
                                     TYPE_ze_event_pool_handle_t, TYPE_ze_physical_mem_handle_t,
                                     TYPE_ze_context_handle_t};
    const pool *events = &handles[TYPE_ze_event_handle_t][LIVE];
    uint32_t left = 0;

    for (uint32_t index = 0; index < events->count; index++)
        zeEventHostSignal((ze_event_handle_t)(uintptr_t)events->items[index]);
    for (size_t turn = 0; turn < sizeof(order) / sizeof(order[0]); turn++) {
        pool *live = &handles[order[turn]][LIVE];
        uint32_t kept = 0;

        for (uint32_t index = 0; index < live->count; index++) {
            ze_result_t result = destroy(order[turn], (void *)(uintptr_t)live->items[index]);

            /* Events go with an opened pool that is closed. */
            if (result == ZE_RESULT_ERROR_INVALID_ARGUMENT && order[turn] == TYPE_ze_event_handle_t)
                continue;
            if (result != ZE_RESULT_SUCCESS)
                live->items[kept++] = live->items[index];
            if (result != ZE_RESULT_SUCCESS && last)
                complain_of(order[turn], result);
        }
        live->count = kept;
        left += kept;
    }
    return left;
}

/* Give back what was got of handles: each as often as it was got, and more than that does no harm. */
static void put_handles(void)
{
    for (uint32_t index = 0; index < shared_bytes.count; index++) {
        ze_ipc_mem_handle_t memory;
        ze_ipc_event_pool_handle_t event_pool;

        memcpy(&memory, kept_bytes[index], sizeof(memory));
        memcpy(&event_pool, kept_bytes[index], sizeof(event_pool));
        zeMemPutIpcHandle(the_context, memory);
        zeEventPoolPutIpcHandle(the_context, event_pool);
    }
    for (uint32_t index = 0; index < told.count; index++) {
        ze_ipc_mem_handle_t alone = {{0}};
        int descriptor = (int)told.items[index];

        memcpy(alone.data, &descriptor, sizeof(descriptor));
        zeMemPutIpcHandle(the_context, alone);
    }
}

/* Lists go on as their events are signalled, one wait after the other. */
static uint32_t destroy_all(void)
{
    uint64_t begun = now();

    put_handles();
    for (uint32_t index = 0; index < pointers[LIVE].count; index++) {
        void *pointer = (void *)(uintptr_t)pointers[LIVE].items[index];

        zeVirtualMemUnmap(the_context, pointer, 1 << 21);
        give_back(pointer);
    }
    for (uint32_t index = 0; index < counting.count; index++)
        remember(&handles[TYPE_ze_event_handle_t][LIVE], counting.items[index]);
    while (now() - begun < (uint64_t)MOST_SECONDS * 1000000000)
        if (destroy_once(false) == 0)
            return 0;
    return destroy_once(true);
}

#endif
