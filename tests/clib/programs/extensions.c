/* The memory extensions: free policies, limits, hints, the program's own memory, descriptors. */
#include <sys/mman.h>

#include "check.h"

enum { PAGE = 4096 };

static void free_by_policy(void)
{
    static const ze_driver_memory_free_policy_ext_flags_t policies[] = {
        0, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE,
        ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE};
    ze_device_mem_alloc_desc_t device = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_memory_free_ext_desc_t desc = {ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC};
    void *pointer;

    for (int index = 0; index < 3; index++) {
        DO(zeMemAllocDevice(the_context, &device, PAGE, 0, the_device, &pointer));
        desc.freePolicy = policies[index];
        DO(zeMemFreeExt(the_context, &desc, pointer));
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFreeExt(the_context, &desc, pointer));
    }
    desc.freePolicy = 0x80;
    EXPECT(ZE_RESULT_ERROR_INVALID_ENUMERATION, zeMemFreeExt(the_context, &desc, &pointer));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeMemFreeExt(the_context, NULL, pointer));
}

static void describe_pointers(void)
{
    ze_device_mem_alloc_desc_t device = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_memory_allocation_properties_t found = {ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t owner = NULL;
    void *pointer;
    uint64_t first;

    DO(zeMemAllocDevice(the_context, &device, PAGE, 0, the_device, &pointer));
    DO(zeMemGetAllocProperties(the_context, (char *)pointer + 5, &found, &owner));
    REQUIRE(found.type == ZE_MEMORY_TYPE_DEVICE && owner == the_device && found.pageSize > 0);
    first = found.id;
    DO(zeContextMakeMemoryResident(the_context, the_device, pointer, PAGE));
    DO(zeContextEvictMemory(the_context, the_device, pointer, PAGE));
    DO(zeMemFree(the_context, pointer));
    DO(zeMemAllocDevice(the_context, &device, PAGE, 0, the_device, &pointer));
    DO(zeMemGetAllocProperties(the_context, pointer, &found, NULL));
    REQUIRE(found.id != first);
    DO(zeMemFree(the_context, pointer));
    DO(zeMemGetAllocProperties(the_context, &owner, &found, &owner));
    REQUIRE(found.type == ZE_MEMORY_TYPE_UNKNOWN && owner == NULL);
    EXPECT(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
           zeMemGetAddressRange(the_context, &owner, &pointer, NULL));
}

static void take_own_memory(void)
{
    char *own = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ze_external_memmap_sysmem_ext_desc_t memory = {
        ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC, NULL, own, 4 * PAGE};
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, &memory};
    ze_device_mem_alloc_desc_t device = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &memory};
    ze_memory_allocation_properties_t found = {ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    void *pointer = NULL;

    REQUIRE(own != MAP_FAILED);
    own[PAGE] = 'x';
    DO(zeMemAllocHost(the_context, &host, 4 * PAGE, PAGE, &pointer));
    REQUIRE(pointer == own && own[PAGE] == 'x');
    DO(zeMemGetAllocProperties(the_context, pointer, &found, NULL));
    REQUIRE(found.type == ZE_MEMORY_TYPE_HOST_IMPORTED);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemAllocHost(the_context, &host, 4 * PAGE, PAGE, &pointer));
    DO(zeMemFree(the_context, own));
    REQUIRE(own[PAGE] == 'x');
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemAllocDevice(the_context, &device, 4 * PAGE, 0, the_device, &pointer));
    memory.pSystemMemory = own + 1;
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemAllocHost(the_context, &host, 4 * PAGE, PAGE, &pointer));
    memory.pSystemMemory = own;
    memory.size = PAGE + 1;
    EXPECT(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
           zeMemAllocHost(the_context, &host, PAGE + 1, PAGE, &pointer));
    munmap(own, 4 * PAGE);
}

static void hint_and_relax(void)
{
    ze_memory_compression_hints_ext_desc_t hints = {
        ZE_STRUCTURE_TYPE_MEMORY_COMPRESSION_HINTS_EXT_DESC, NULL,
        ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_COMPRESSED};
    ze_relaxed_allocation_limits_exp_desc_t limits = {
        ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC, &hints,
        ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE};
    ze_device_mem_alloc_desc_t device = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &limits};
    void *pointer;

    DO(zeMemAllocDevice(the_context, &device, PAGE, 0, the_device, &pointer));
    DO(zeMemFree(the_context, pointer));
    hints.flags = 0;
    EXPECT(ZE_RESULT_ERROR_INVALID_ENUMERATION,
           zeMemAllocDevice(the_context, &device, PAGE, 0, the_device, &pointer));
}

int main(void)
{
    begin();
    free_by_policy();
    describe_pointers();
    take_own_memory();
    hint_and_relax();
    return 0;
}
