/* Memory that is freed while work uses it, by each policy: the work runs as if nothing had happened,
 * the bytes come back with its end, and only a blocking call waits for that. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "check.h"

enum { SIZE = 1 << 20, CALLS = 100 };

static ze_command_list_handle_t the_list;
static ze_event_pool_handle_t the_pool;
static ze_event_handle_t the_gate;
static atomic_bool is_open;

static uint64_t usable_now(void)
{
    ze_device_usablemem_size_ext_properties_t usable = {
        ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES};
    ze_device_properties_t properties = {ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, &usable};

    DO(zeDeviceGetProperties(the_device, &properties));
    return usable.currUsableMemSize;
}

static void make_objects(void)
{
    ze_command_queue_desc_t queue = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, NULL, 0, 0, 0,
                                     ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_event_pool_desc_t pool = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                 ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
    ze_event_desc_t event = {ZE_STRUCTURE_TYPE_EVENT_DESC};

    DO(zeCommandListCreateImmediate(the_context, the_device, &queue, &the_list));
    DO(zeEventPoolCreate(the_context, &pool, 0, NULL, &the_pool));
    DO(zeEventCreate(the_pool, &event, &the_gate));
}

/* Memory that a copy writes and another reads, as soon as the gate opens. */
static void *use_behind_gate(uint32_t *result)
{
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    uint32_t pattern = 0xF00DCAFE;
    void *pointer = NULL;

    is_open = false;
    DO(zeEventHostReset(the_gate));
    DO(zeMemAllocDevice(the_context, &desc, SIZE, 0, the_device, &pointer));
    DO(zeCommandListAppendWaitOnEvents(the_list, 1, &the_gate));
    DO(zeCommandListAppendMemoryFill(the_list, pointer, &pattern, sizeof(pattern), SIZE, NULL, 0,
                                     NULL));
    DO(zeCommandListAppendMemoryCopy(the_list, result, (char *)pointer + SIZE - sizeof(*result),
                                     sizeof(*result), NULL, 0, NULL));
    return pointer;
}

static void open_gate(void)
{
    is_open = true;
    DO(zeEventHostSignal(the_gate));
}

static ze_memory_type_t type_of(const void *pointer)
{
    /* A link, so that the driver itself is asked, which is in the middle of freeing. */
    ze_base_properties_t link = {(ze_structure_type_t)0x7E57, NULL};
    ze_memory_allocation_properties_t properties = {ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
                                                    &link};

    DO(zeMemGetAllocProperties(the_context, pointer, &properties, NULL));
    return properties.type;
}

static void free_at_once(ze_driver_memory_free_policy_ext_flags_t policy, uint32_t *result)
{
    ze_memory_free_ext_desc_t desc = {ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, NULL, policy};
    uint64_t before = usable_now();
    void *pointer = use_behind_gate(result);

    *result = 0;
    DO(zeMemFreeExt(the_context, &desc, pointer));
    REQUIRE(type_of(pointer) == ZE_MEMORY_TYPE_UNKNOWN);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(the_context, pointer));
    REQUIRE(usable_now() + SIZE <= before);
    open_gate();
    DO(zeCommandListHostSynchronize(the_list, UINT64_MAX));
    REQUIRE(*result == 0xF00DCAFE);
    REQUIRE(usable_now() == before);
}

static void *free_blocking(void *pointer)
{
    ze_memory_free_ext_desc_t desc = {ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, NULL,
                                      ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE};

    DO(zeMemFreeExt(the_context, &desc, pointer));
    REQUIRE(is_open);
    return NULL;
}

static void wait_for_work(uint32_t *result)
{
    uint64_t before = usable_now();
    void *pointer = use_behind_gate(result);
    pthread_t thread;

    *result = 0;
    REQUIRE(pthread_create(&thread, NULL, free_blocking, pointer) == 0);
    while (type_of(pointer) != ZE_MEMORY_TYPE_UNKNOWN)
        sched_yield();
    /* The call is under way: time enough for one that would not wait. */
    for (int count = 0; count < CALLS; count++)
        DO(zeContextGetStatus(the_context));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(the_context, pointer));
    REQUIRE(usable_now() + SIZE <= before && *result == 0);
    open_gate();
    REQUIRE(pthread_join(thread, NULL) == 0);
    /* No need to ask for the end of the work: the memory is back because that is over. */
    REQUIRE(usable_now() == before);
    DO(zeCommandListHostSynchronize(the_list, UINT64_MAX));
    REQUIRE(*result == 0xF00DCAFE);
}

int main(void)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    uint32_t *result = NULL;

    begin();
    make_objects();
    DO(zeMemAllocHost(the_context, &desc, sizeof(*result), 0, (void **)&result));
    free_at_once(ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE, result);
    for (int round = 0; round < 3; round++) {
        free_at_once(0, result);
        free_at_once(ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE, result);
        wait_for_work(result);
    }
    DO(zeMemFree(the_context, result));
    DO(zeEventDestroy(the_gate));
    DO(zeEventPoolDestroy(the_pool));
    DO(zeCommandListDestroy(the_list));
    DO(zeContextDestroy(the_context));
    return 0;
}
