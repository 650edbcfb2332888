/* Allocations above maxMemAllocSize: refused, unless the limits are relaxed; then whole, of any kind. */
#include "check.h"

static ze_command_list_handle_t the_list;
static size_t the_limit;

typedef struct {
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t flags;
} limits_desc;

static ze_result_t allocate(ze_memory_type_t type, const void *chain, size_t size, void **pointer)
{
    ze_device_mem_alloc_desc_t device = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, chain};
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, chain};
    ze_host_mem_alloc_desc_t plain = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};

    if (type == ZE_MEMORY_TYPE_DEVICE)
        return zeMemAllocDevice(the_context, &device, size, 0, the_device, pointer);
    if (type == ZE_MEMORY_TYPE_HOST)
        return zeMemAllocHost(the_context, &host, size, 0, pointer);
    return zeMemAllocShared(the_context, &device, &plain, size, 0, the_device, pointer);
}

static void expect_whole(char *pointer, size_t size)
{
    uint64_t pattern = 0x0123456789ABCDEF;
    uint64_t found = 0;
    void *base = NULL;
    size_t told = 0;

    DO(zeMemGetAddressRange(the_context, pointer + size - 1, &base, &told));
    REQUIRE(base == pointer && told == size);
    DO(zeCommandListAppendMemoryFill(the_list, pointer, &pattern, sizeof(pattern), size, NULL, 0,
                                     NULL));
    DO(zeCommandListAppendMemoryCopy(the_list, &found, pointer + size - sizeof(found),
                                     sizeof(found), NULL, 0, NULL));
    REQUIRE(found == pattern);
}

static void try_limits(ze_memory_type_t type, ze_structure_type_t tag)
{
    limits_desc limits = {tag, NULL, 0};
    size_t size = the_limit + 8;
    void *pointer = NULL;

    EXPECT(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, allocate(type, NULL, size, &pointer));
    EXPECT(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, allocate(type, &limits, size, &pointer));
    limits.flags = 2;
    EXPECT(ZE_RESULT_ERROR_INVALID_ENUMERATION, allocate(type, &limits, size, &pointer));
    REQUIRE(pointer == NULL);
    DO(allocate(type, NULL, the_limit, &pointer));
    DO(zeMemFree(the_context, pointer));
    limits.flags = 1;
    DO(allocate(type, &limits, size, &pointer));
    expect_whole(pointer, size);
    DO(zeMemFree(the_context, pointer));
}

int main(void)
{
    static const ze_memory_type_t types[] = {ZE_MEMORY_TYPE_DEVICE, ZE_MEMORY_TYPE_HOST,
                                             ZE_MEMORY_TYPE_SHARED};
    ze_command_queue_desc_t queue = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, NULL, 0, 0, 0,
                                     ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_device_properties_t properties = {ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};

    begin();
    DO(zeDeviceGetProperties(the_device, &properties));
    the_limit = properties.maxMemAllocSize;
    DO(zeCommandListCreateImmediate(the_context, the_device, &queue, &the_list));
    for (int index = 0; index < 3; index++) {
        try_limits(types[index], ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC);
        try_limits(types[index], ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC);
    }
    DO(zeCommandListDestroy(the_list));
    DO(zeContextDestroy(the_context));
    return 0;
}
