/* A program of an older time: nothing but what the interface had when Debian's loader was made.
 *
 * It uses every driver that there is, each with memory, copies, events, mappings and handles, and
 * prints one line about each. */
#include <level_zero/ze_api.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../clib/programs/require.h"

enum { SIZE = 3 << 16, MOST = 4 };

#define DO(call)                                                                                   \
    do {                                                                                           \
        ze_result_t found_ = (call);                                                               \
        if (found_ != ZE_RESULT_SUCCESS) {                                                         \
            fprintf(stderr, "%s:%d: %s is %#x\n", __FILE__, __LINE__, #call, (unsigned)found_);    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

typedef struct {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
} place;

static void copy_with_event(const place *at, ze_command_list_handle_t list, void *to,
                            const void *from)
{
    ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                      ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
    ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, 0, ZE_EVENT_SCOPE_FLAG_HOST,
                            ZE_EVENT_SCOPE_FLAG_HOST};
    ze_device_handle_t device = at->device;
    ze_event_pool_handle_t pool;
    ze_event_handle_t event;

    DO(zeEventPoolCreate(at->context, &pool_desc, 1, &device, &pool));
    DO(zeEventCreate(pool, &desc, &event));
    REQUIRE(zeEventQueryStatus(event) == ZE_RESULT_NOT_READY);
    DO(zeCommandListAppendMemoryCopy(list, to, from, SIZE, event, 0, NULL));
    DO(zeEventHostSynchronize(event, UINT64_MAX));
    DO(zeEventQueryStatus(event));
    DO(zeEventDestroy(event));
    DO(zeEventPoolDestroy(pool));
}

static void copy_in_a_queue(const place *at, void *to, const void *from)
{
    ze_command_queue_desc_t queue_desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t list_desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_fence_desc_t fence_desc = {ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t list;
    ze_fence_handle_t fence;

    DO(zeCommandQueueCreate(at->context, at->device, &queue_desc, &queue));
    DO(zeCommandListCreate(at->context, at->device, &list_desc, &list));
    DO(zeFenceCreate(queue, &fence_desc, &fence));
    DO(zeCommandListAppendMemoryCopy(list, to, from, SIZE, NULL, 0, NULL));
    DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    DO(zeCommandListClose(list));
    DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
    DO(zeFenceHostSynchronize(fence, UINT64_MAX));
    DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
    DO(zeFenceDestroy(fence));
    DO(zeCommandListDestroy(list));
    DO(zeCommandQueueDestroy(queue));
}

static void use_handles(const place *at, ze_command_list_handle_t list, void *memory, void *back)
{
    ze_ipc_mem_handle_t handle;
    void *opened;
    void *base;
    size_t size;

    DO(zeMemGetIpcHandle(at->context, memory, &handle));
    DO(zeMemOpenIpcHandle(at->context, at->device, handle, 0, &opened));
    DO(zeMemGetAddressRange(at->context, (uint8_t *)opened + 5, &base, &size));
    REQUIRE(base == opened && size == SIZE);
    memset(back, 0, SIZE);
    copy_with_event(at, list, back, opened);
    DO(zeMemCloseIpcHandle(at->context, opened));
}

static void use_mappings(const place *at, ze_command_list_handle_t list, const void *from,
                         void *back)
{
    ze_physical_mem_desc_t desc = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC};
    ze_physical_mem_handle_t physical;
    size_t page;
    void *start;

    DO(zeVirtualMemQueryPageSize(at->context, at->device, SIZE, &page));
    desc.size = (SIZE + page - 1) / page * page;
    /* Old layers of validation refuse to be given no wish. */
    DO(zeVirtualMemReserve(at->context, (void *)(uintptr_t)0x7fff0000, desc.size, &start));
    DO(zePhysicalMemCreate(at->context, at->device, &desc, &physical));
    DO(zeVirtualMemMap(at->context, start, desc.size, physical, 0,
                       ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    copy_with_event(at, list, start, from);
    memset(back, 0, SIZE);
    copy_with_event(at, list, back, start);
    DO(zeVirtualMemUnmap(at->context, start, desc.size));
    DO(zePhysicalMemDestroy(at->context, physical));
    DO(zeVirtualMemFree(at->context, start, desc.size));
}

static void use_memory(const place *at)
{
    ze_device_mem_alloc_desc_t device_desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host_desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_command_queue_desc_t queue_desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_memory_allocation_properties_t properties = {
        ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t owner = NULL;
    ze_command_list_handle_t list;
    uint8_t *host;
    uint8_t *shared;
    uint8_t *plain = malloc(SIZE);
    void *memory;

    DO(zeMemAllocDevice(at->context, &device_desc, SIZE, 64, at->device, &memory));
    DO(zeMemAllocHost(at->context, &host_desc, SIZE, 0, (void **)&host));
    DO(zeMemAllocShared(at->context, &device_desc, &host_desc, SIZE, 0, at->device,
                        (void **)&shared));
    DO(zeMemGetAllocProperties(at->context, memory, &properties, &owner));
    REQUIRE(properties.type == ZE_MEMORY_TYPE_DEVICE && owner == at->device);
    DO(zeCommandListCreateImmediate(at->context, at->device, &queue_desc, &list));
    for (size_t index = 0; index < SIZE; index++)
        plain[index] = (uint8_t)(index * 7 + index / 251);
    copy_with_event(at, list, memory, plain);
    copy_in_a_queue(at, host, memory);
    REQUIRE(!memcmp(host, plain, SIZE));
    use_handles(at, list, memory, shared);
    REQUIRE(!memcmp(shared, plain, SIZE));
    use_mappings(at, list, plain, host);
    REQUIRE(!memcmp(host, plain, SIZE));
    DO(zeCommandListDestroy(list));
    DO(zeMemFree(at->context, shared));
    DO(zeMemFree(at->context, host));
    DO(zeMemFree(at->context, memory));
    free(plain);
}

int main(void)
{
    ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_driver_handle_t drivers[MOST];
    uint32_t count = MOST;

    DO(zeInit(0));
    DO(zeDriverGet(&count, drivers));
    for (uint32_t index = 0; index < count; index++) {
        ze_device_properties_t device = {ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
        place at = {.driver = drivers[index]};
        uint32_t one = 1;

        DO(zeDeviceGet(at.driver, &one, &at.device));
        DO(zeDeviceGetProperties(at.device, &device));
        DO(zeContextCreate(at.driver, &desc, &at.context));
        use_memory(&at);
        DO(zeContextDestroy(at.context));
        printf("%s\n", device.name);
    }
    return 0;
}
