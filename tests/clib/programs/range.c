/* A window over host physical objects, exported by one process and opened by another.
 *
 * range            exports, runs itself as the importer, and looks at what that wrote
 * range HANDLE     imports: 64 bytes in hexadecimal are all that it is given */
#include "share.h"

enum { PAGE = 4096, OBJECTS = 3, FIRST = 100, SIZE = 2 * PAGE + 123 };

static int import_range(const char *text)
{
    ze_ipc_mem_handle_t handle;
    void *pointer = NULL;
    void *base;
    size_t size;

    read_handle(text, handle.data);
    begin();
    DO(zeMemOpenIpcHandle(the_context, the_device, handle, 0, &pointer));
    DO(zeMemGetAddressRange(the_context, pointer, &base, &size));
    REQUIRE(base == pointer && size == SIZE);
    /* Host memory is the CPU's at once, over the borders of the objects. */
    for (size_t index = 0; index < SIZE; index++)
        REQUIRE(((char *)pointer)[index] == 'a' + (char)((FIRST + index) / PAGE));
    ((char *)pointer)[0] = '!';
    DO(zeMemCloseIpcHandle(the_context, pointer));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemCloseIpcHandle(the_context, pointer));
    handle.data[40] ^= 1;
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemOpenIpcHandle(the_context, the_device, handle, 0, &pointer));
    return 0;
}

int main(int count, char **arguments)
{
    ze_physical_mem_desc_t desc = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, NULL,
                                   ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST, PAGE};
    ze_ipc_phys_mem_handle_range_ext_desc_t range = {
        ZE_STRUCTURE_TYPE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_DESC, NULL, SIZE};
    ze_physical_mem_properties_t properties = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES};
    ze_physical_mem_handle_t objects[OBJECTS];
    ze_ipc_mem_handle_t handle;
    void *start = NULL;

    if (count > 1)
        return import_range(arguments[1]);
    begin();
    DO(zeVirtualMemReserve(the_context, NULL, 16 * PAGE, &start));
    for (int index = 0; index < OBJECTS; index++) {
        char *place = (char *)start + index * PAGE;

        DO(zePhysicalMemCreate(the_context, the_device, &desc, &objects[index]));
        DO(zePhysicalMemGetProperties(the_context, objects[index], &properties));
        REQUIRE(properties.size == PAGE);
        DO(zeVirtualMemMap(the_context, place, PAGE, objects[index], 0,
                           ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
        memset(place, 'a' + index, PAGE);
    }
    DO(zeMemGetIpcHandleWithProperties(the_context, (char *)start + FIRST, &range, &handle));
    end_well(start_with(handle.data, NULL));
    REQUIRE(((char *)start)[FIRST] == '!');

    range.size = 0;
    EXPECT(ZE_RESULT_ERROR_INVALID_SIZE,
           zeMemGetIpcHandleWithProperties(the_context, start, &range, &handle));
    range.size = 4 * PAGE;
    EXPECT(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
           zeMemGetIpcHandleWithProperties(the_context, start, &range, &handle));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
           zeMemGetIpcHandleWithProperties(the_context, NULL, &range, &handle));
    EXPECT(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, zePhysicalMemDestroy(the_context, objects[0]));
    DO(zeVirtualMemUnmap(the_context, start, OBJECTS * PAGE));
    for (int index = 0; index < OBJECTS; index++)
        DO(zePhysicalMemDestroy(the_context, objects[index]));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zePhysicalMemDestroy(the_context, objects[0]));
    DO(zeVirtualMemFree(the_context, start, 16 * PAGE));
    return 0;
}
