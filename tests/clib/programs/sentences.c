/* What the specification says of its structures and of its queries, as a C program meets it. */
#include "check.h"

#define LAYOUT(type, bytes, field, at)                                                             \
    REQUIRE(sizeof(type) == (bytes) && offsetof(type, stype) == 0 && offsetof(type, pNext) == 8 && \
            offsetof(type, field) == (at))

static void check_layouts(void)
{
    LAYOUT(ze_ipc_phys_mem_handle_range_ext_desc_t, 24, size, 16);
    LAYOUT(ze_ipc_mem_handle_type_ext_desc_t, 24, typeFlags, 16);
    LAYOUT(ze_external_memmap_sysmem_ext_desc_t, 32, pSystemMemory, 16);
    LAYOUT(ze_external_memmap_sysmem_ext_desc_t, 32, size, 24);
    LAYOUT(ze_memory_free_ext_desc_t, 24, freePolicy, 16);
    LAYOUT(ze_relaxed_allocation_limits_ext_desc_t, 24, flags, 16);
    LAYOUT(ze_memory_compression_hints_ext_desc_t, 24, flags, 16);
    REQUIRE(ZE_IPC_MEM_HANDLE_TYPE_FLAG_FORCE_UINT32 == 0x7fffffff);
    REQUIRE(ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_FORCE_UINT32 == 0x7fffffff);
    REQUIRE(sizeof(ze_ipc_mem_handle_type_flag_t) == 4);
}

static void check_counted_query(void)
{
    uint32_t count = 0;
    uint32_t again;
    ze_driver_extension_properties_t *extensions;

    DO(zeDriverGetExtensionProperties(the_driver, &count, NULL));
    REQUIRE(count > 3);
    extensions = calloc(count + 1, sizeof(*extensions));
    again = count + 1;
    DO(zeDriverGetExtensionProperties(the_driver, &again, extensions));
    REQUIRE(again == count && extensions[count - 1].name[0] && !extensions[count].name[0]);
    again = 2;
    memset(extensions, 0, count * sizeof(*extensions));
    DO(zeDriverGetExtensionProperties(the_driver, &again, extensions));
    REQUIRE(again == 2 && extensions[1].name[0] && !extensions[2].name[0]);
    free(extensions);
    extensions = calloc(4096, sizeof(*extensions));
    again = 4096;
    DO(zeDriverGetExtensionProperties(the_driver, &again, extensions));
    REQUIRE(again == count);
    free(extensions);
}

static void check_tags(void)
{
    /* Flags that the descriptor of this tag must not have; under another tag it is none of ours. */
    ze_memory_compression_hints_ext_desc_t hints = {
        ZE_STRUCTURE_TYPE_MEMORY_COMPRESSION_HINTS_EXT_DESC, NULL, 0x80};
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &hints};
    void *pointer = NULL;

    EXPECT(ZE_RESULT_ERROR_INVALID_ENUMERATION,
           zeMemAllocDevice(the_context, &desc, 4096, 0, the_device, &pointer));
    hints.stype = (ze_structure_type_t)0x7E57;
    DO(zeMemAllocDevice(the_context, &desc, 4096, 0, the_device, &pointer));
    DO(zeMemFree(the_context, pointer));
}

static void check_failed_opening(void)
{
    ze_ipc_phys_mem_handle_range_ext_desc_t range = {
        ZE_STRUCTURE_TYPE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_DESC, NULL, 100};
    ze_physical_mem_desc_t desc = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, NULL,
                                   ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST, 4096};
    ze_physical_mem_handle_t object;
    ze_ipc_mem_handle_t handle;
    void *start = NULL;
    void *opened = &range;

    DO(zeVirtualMemReserve(the_context, NULL, 4096, &start));
    DO(zePhysicalMemCreate(the_context, the_device, &desc, &object));
    DO(zeVirtualMemMap(the_context, start, 4096, object, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    /* Context, pointer, chain, place for the handle. */
    DO(zeMemGetIpcHandleWithProperties(the_context, start, &range, &handle));
    DO(zeMemPutIpcHandle(the_context, handle));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemOpenIpcHandle(the_context, the_device, handle, 0, &opened));
    REQUIRE(opened == NULL);
    DO(zeVirtualMemFree(the_context, start, 4096));
    DO(zePhysicalMemDestroy(the_context, object));
}

static void check_nulls(void)
{
    ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_context_handle_t context = NULL;
    size_t size;

    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeMemFree(NULL, &size));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeDriverGetApiVersion(NULL, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeEventPoolDestroy(NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeEventHostSignal(NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeDriverGetApiVersion(the_driver, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
           zeVirtualMemQueryPageSize(the_context, the_device, 4096, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_SIZE,
           zeContextCreateEx(the_driver, &desc, 1, NULL, &context));
    REQUIRE(context == NULL);
}

static void check_images(void)
{
    ze_image_handle_t none = NULL;
    ze_image_handle_t some = (ze_image_handle_t)&none;

    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
           zeContextMakeImageResident(the_context, the_device, none));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeContextEvictImage(the_context, NULL, some));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeContextMakeImageResident(the_context, the_device, some));
}

int main(void)
{
    begin();
    check_layouts();
    check_counted_query();
    check_tags();
    check_failed_opening();
    check_images();
    check_nulls();
    return 0;
}
