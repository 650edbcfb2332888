/* A window over device memory of several reservations, one object shown from an offset, with handle
 * type and range in one chain; exported by one process, opened by another; and every refusal.
 * The device exports no more than three objects at once.
 *
 * window               exports, and runs itself as the importer
 * window HANDLE open   imports, and writes
 * window HANDLE gone   finds that the handle opens nothing any more
 * window HANDLE off    has the extension switched off */
#include "share.h"

enum { PAGE = 1 << 16, OBJECTS = 3, FIRST = 1000, SIZE = OBJECTS * PAGE - 2 * FIRST };

static ze_command_list_handle_t the_list;

static void copy(void *to, const void *from, size_t size)
{
    DO(zeCommandListAppendMemoryCopy(the_list, to, from, size, NULL, 0, NULL));
}

static void make_list(void)
{
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, NULL, 0, 0, 0,
                                    ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};

    DO(zeCommandListCreateImmediate(the_context, the_device, &desc, &the_list));
}

/* What stands at each byte of the exporter's memory. */
static unsigned char byte_at(size_t index)
{
    return (unsigned char)(index * 7 + index / PAGE);
}

static ze_result_t get(const void *pointer, size_t size, ze_ipc_mem_handle_t *handle)
{
    ze_ipc_mem_handle_type_ext_desc_t type = {ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC, NULL,
                                              ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT};
    ze_ipc_phys_mem_handle_range_ext_desc_t range = {
        ZE_STRUCTURE_TYPE_IPC_PHYS_MEM_HANDLE_RANGE_EXT_DESC, &type, size};

    return zeMemGetIpcHandleWithProperties(the_context, pointer, &range, handle);
}

static void open_window(ze_ipc_mem_handle_t handle)
{
    static unsigned char found[SIZE];
    void *pointer = NULL;
    void *base = NULL;
    size_t size = 0;

    make_list();
    DO(zeMemOpenIpcHandle(the_context, the_device, handle, 0, &pointer));
    DO(zeMemGetAddressRange(the_context, (char *)pointer + SIZE - 1, &base, &size));
    REQUIRE(base == pointer && size == SIZE);
    copy(found, pointer, SIZE);
    for (size_t index = 0; index < SIZE; index++)
        REQUIRE(found[index] == byte_at(FIRST + index));
    copy((char *)pointer + SIZE - 8, "imported", 8);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemCloseIpcHandle(the_context, (char *)pointer + PAGE));
    DO(zeMemCloseIpcHandle(the_context, pointer));
    DO(zeCommandListDestroy(the_list));
}

static int be_the_other(const char *text, const char *what)
{
    ze_ipc_mem_handle_t handle;
    void *pointer = &handle;

    read_handle(text, handle.data);
    begin();
    if (strcmp(what, "open") == 0) {
        open_window(handle);
        return 0;
    }
    EXPECT(strcmp(what, "off") == 0 ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
                                    : ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemOpenIpcHandle(the_context, the_device, handle, 0, &pointer));
    REQUIRE(pointer == NULL);
    if (strcmp(what, "off") == 0)
        EXPECT(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, get(&handle, PAGE, &handle));
    return 0;
}

/* Two reservations that follow each other, a hole behind what is mapped in them. */
static char *reserve_twice(void)
{
    char *start = NULL;
    void *first = NULL;
    void *second = NULL;

    DO(zeVirtualMemReserve(the_context, NULL, 8 * PAGE, (void **)&start));
    DO(zeVirtualMemFree(the_context, start, 8 * PAGE));
    DO(zeVirtualMemReserve(the_context, start, 2 * PAGE, &first));
    DO(zeVirtualMemReserve(the_context, start + 2 * PAGE, 6 * PAGE, &second));
    REQUIRE(first == start && second == start + 2 * PAGE);
    return start;
}

static void fill(char *start)
{
    static unsigned char bytes[OBJECTS * PAGE];

    for (size_t index = 0; index < sizeof(bytes); index++)
        bytes[index] = byte_at(index);
    copy(start, bytes, sizeof(bytes));
}

static void map_objects(char *start, ze_physical_mem_handle_t *objects)
{
    for (int index = 0; index < OBJECTS; index++) {
        /* The middle one is shown from its second half on. */
        size_t offset = index == 1 ? PAGE : 0;
        ze_physical_mem_desc_t desc = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, NULL,
                                       ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE, PAGE + offset};

        DO(zePhysicalMemCreate(the_context, the_device, &desc, &objects[index]));
        DO(zeVirtualMemMap(the_context, start + index * PAGE, PAGE, objects[index], offset,
                           ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    }
    fill(start);
}

static void be_refused(char *start)
{
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_ipc_mem_handle_t handle;
    ze_physical_mem_handle_t fourth;
    ze_physical_mem_desc_t physical = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, NULL,
                                       ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE, PAGE};
    void *allocated = NULL;

    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER, get(NULL, SIZE, &handle));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER, get(start, SIZE, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_SIZE, get(start, 0, &handle));
    EXPECT(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, get(start, OBJECTS * PAGE + 1, &handle));
    EXPECT(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, get(start + OBJECTS * PAGE, 1, &handle));
    EXPECT(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, get(start, SIZE_MAX, &handle));
    EXPECT(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, get(&handle, 64, &handle));
    DO(zeMemAllocDevice(the_context, &desc, PAGE, 0, the_device, &allocated));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, get(allocated, PAGE, &handle));
    DO(zeMemFree(the_context, allocated));
    DO(zePhysicalMemCreate(the_context, the_device, &physical, &fourth));
    DO(zeVirtualMemMap(the_context, start + OBJECTS * PAGE, PAGE, fourth, 0,
                       ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    EXPECT(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, get(start, (OBJECTS + 1) * PAGE, &handle));
    DO(zeVirtualMemUnmap(the_context, start + OBJECTS * PAGE, PAGE));
    DO(zePhysicalMemDestroy(the_context, fourth));
}

int main(int count, char **arguments)
{
    ze_physical_mem_handle_t objects[OBJECTS];
    ze_ipc_mem_handle_t handle;
    char found[8];
    char *start;

    if (count > 2)
        return be_the_other(arguments[1], arguments[2]);
    begin();
    make_list();
    start = reserve_twice();
    map_objects(start, objects);
    be_refused(start);
    DO(get(start + FIRST, SIZE, &handle));
    setenv("EMUZERO_DISABLE_EXTENSIONS", "ZE_extension_ipc_phys_mem_handle_range", 1);
    end_well(start_with(handle.data, "off"));
    unsetenv("EMUZERO_DISABLE_EXTENSIONS");
    end_well(start_with(handle.data, "open"));
    copy(found, start + FIRST + SIZE - 8, 8);
    REQUIRE(memcmp(found, "imported", 8) == 0);

    /* The handle is of what was mapped then: it keeps that, whatever becomes of the addresses. */
    fill(start);
    DO(zeVirtualMemUnmap(the_context, start, OBJECTS * PAGE));
    for (int index = 0; index < OBJECTS; index++)
        DO(zePhysicalMemDestroy(the_context, objects[index]));
    end_well(start_with(handle.data, "open"));
    DO(zeMemPutIpcHandle(the_context, handle));
    end_well(start_with(handle.data, "gone"));
    DO(zeVirtualMemFree(the_context, start, 2 * PAGE));
    DO(zeVirtualMemFree(the_context, start + 2 * PAGE, 6 * PAGE));
    DO(zeCommandListDestroy(the_list));
    DO(zeContextDestroy(the_context));
    return 0;
}
