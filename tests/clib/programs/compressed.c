/* Hints about compression: one of the two, for device and shared memory; bytes and sizes are the same
 * with either, in this process and in another that opens the memory.
 *
 * compressed              all of it; runs itself as the other process
 * compressed HANDLE size  opens memory, and looks at it */
#include "share.h"

enum { SIZE = 100003 };

static ze_command_list_handle_t the_list;

static unsigned char byte_at(size_t index)
{
    /* Half of it could be compressed well. */
    return index < SIZE / 2 ? 'a' : (unsigned char)(index * 2654435761u >> 13);
}

static void make_list(void)
{
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, NULL, 0, 0, 0,
                                    ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};

    DO(zeCommandListCreateImmediate(the_context, the_device, &desc, &the_list));
}

static void expect_bytes(const void *pointer)
{
    static unsigned char found[SIZE];
    void *base = NULL;
    size_t size = 0;

    DO(zeMemGetAddressRange(the_context, pointer, &base, &size));
    REQUIRE(base == pointer && size == SIZE);
    DO(zeCommandListAppendMemoryCopy(the_list, found, pointer, SIZE, NULL, 0, NULL));
    for (size_t index = 0; index < SIZE; index++)
        REQUIRE(found[index] == byte_at(index));
}

static int be_the_other(const char *text)
{
    ze_ipc_mem_handle_t handle;
    void *pointer = NULL;

    read_handle(text, handle.data);
    begin();
    make_list();
    DO(zeMemOpenIpcHandle(the_context, the_device, handle, ZE_IPC_MEMORY_FLAG_BIAS_UNCACHED,
                          &pointer));
    expect_bytes(pointer);
    DO(zeMemCloseIpcHandle(the_context, pointer));
    DO(zeCommandListDestroy(the_list));
    return 0;
}

static ze_result_t allocate(int shared, uint32_t flags, void **pointer)
{
    ze_memory_compression_hints_ext_desc_t hints = {
        ZE_STRUCTURE_TYPE_MEMORY_COMPRESSION_HINTS_EXT_DESC, NULL, flags};
    ze_device_mem_alloc_desc_t device = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &hints};
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};

    if (shared)
        return zeMemAllocShared(the_context, &device, &host, SIZE, 0, the_device, pointer);
    return zeMemAllocDevice(the_context, &device, SIZE, 0, the_device, pointer);
}

static void write_and_read(int shared, uint32_t flags)
{
    static unsigned char bytes[SIZE];
    ze_ipc_mem_handle_t handle;
    void *pointer = NULL;

    for (size_t index = 0; index < SIZE; index++)
        bytes[index] = byte_at(index);
    DO(allocate(shared, flags, &pointer));
    DO(zeCommandListAppendMemoryCopy(the_list, pointer, bytes, SIZE, NULL, 0, NULL));
    expect_bytes(pointer);
    if (shared) {
        REQUIRE(memcmp(pointer, bytes, SIZE) == 0);
    } else {
        DO(zeMemGetIpcHandle(the_context, pointer, &handle));
        end_well(start_with(handle.data, "size"));
        DO(zeMemPutIpcHandle(the_context, handle));
    }
    DO(zeMemFree(the_context, pointer));
}

int main(int count, char **arguments)
{
    static const uint32_t wrong[] = {0,
                                     ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_COMPRESSED |
                                         ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_UNCOMPRESSED,
                                     4};
    void *pointer = NULL;

    if (count > 2)
        return be_the_other(arguments[1]);
    begin();
    make_list();
    for (int shared = 0; shared < 2; shared++) {
        write_and_read(shared, ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_COMPRESSED);
        write_and_read(shared, ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_UNCOMPRESSED);
        for (size_t index = 0; index < sizeof(wrong) / sizeof(wrong[0]); index++)
            EXPECT(ZE_RESULT_ERROR_INVALID_ENUMERATION, allocate(shared, wrong[index], &pointer));
    }
    DO(zeCommandListDestroy(the_list));
    DO(zeContextDestroy(the_context));
    return 0;
}
