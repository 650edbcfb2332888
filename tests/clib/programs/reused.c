/* A descriptor's number goes to another handle when its memory is gone: the number alone names what
 * has it now, however many handles of the old memory were never put. */
#include <fcntl.h>
#include <stdbool.h>

#include "share.h"

enum { SIZE = 1 << 16 };

static bool is_open(int descriptor)
{
    return fcntl(descriptor, F_GETFD) >= 0;
}

static void put_number(int descriptor)
{
    ze_ipc_mem_handle_t alone = {{0}};

    memcpy(alone.data, &descriptor, sizeof(descriptor));
    DO(zeMemPutIpcHandle(the_context, alone));
}

static int number_in(const ze_ipc_mem_handle_t *handle)
{
    int number;

    memcpy(&number, handle->data, sizeof(number));
    return number;
}

static ze_physical_mem_handle_t make_physical(const void *chain)
{
    ze_physical_mem_desc_t desc = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, chain,
                                   ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE, SIZE};
    ze_physical_mem_handle_t made = NULL;

    DO(zePhysicalMemCreate(the_context, the_device, &desc, &made));
    return made;
}

/* Asking for the descriptor counts as getting the handle. */
static int ask_descriptor(ze_physical_mem_handle_t physical)
{
    ze_external_memory_export_fd_t answer = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD, NULL,
                                             ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, -1};
    ze_physical_mem_properties_t properties = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES, &answer};

    DO(zePhysicalMemGetProperties(the_context, physical, &properties));
    REQUIRE(is_open(answer.fd));
    return answer.fd;
}

/* A physical object that is destroyed lives on in its handle, until that is put. */
static void put_what_has_the_number(int number)
{
    ze_physical_mem_handle_t physical = make_physical(NULL);

    REQUIRE(ask_descriptor(physical) == number);
    DO(zePhysicalMemDestroy(the_context, physical));
    REQUIRE(is_open(number));
    put_number(number);
    REQUIRE(!is_open(number));
}

static void free_with_handles(void)
{
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_ipc_mem_handle_t handle;
    void *pointer = NULL;

    DO(zeMemAllocDevice(the_context, &desc, SIZE, 0, the_device, &pointer));
    for (int count = 0; count < 3; count++)
        DO(zeMemGetIpcHandle(the_context, pointer, &handle));
    DO(zeMemFree(the_context, pointer));
    REQUIRE(!is_open(number_in(&handle)));
    put_what_has_the_number(number_in(&handle));
    DO(zeMemPutIpcHandle(the_context, handle));
}

static void destroy_with_file(void)
{
    ze_external_memory_export_desc_t export = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC, NULL,
                                               ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD};
    ze_physical_mem_handle_t physical = make_physical(&export);
    ze_ipc_mem_handle_t handle;
    uint64_t number = 0;
    void *opened = NULL;

    DO(zeMemGetIpcHandle(the_context, physical, &handle));
    REQUIRE(ask_descriptor(physical) == number_in(&handle));
    /* The file goes with the object; the handle still opens what was in it. */
    DO(zePhysicalMemDestroy(the_context, physical));
    REQUIRE(!is_open(number_in(&handle)));
    put_what_has_the_number(number_in(&handle));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemGetFileDescriptorFromIpcHandleExp(the_context, handle, &number));
    DO(zeMemOpenIpcHandle(the_context, the_device, handle, 0, &opened));
    DO(zeMemCloseIpcHandle(the_context, opened));
    DO(zeMemPutIpcHandle(the_context, handle));
    put_number(number_in(&handle));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemOpenIpcHandle(the_context, the_device, handle, 0, &opened));
}

int main(void)
{
    begin();
    free_with_handles();
    destroy_with_file();
    DO(zeContextDestroy(the_context));
    return 0;
}
