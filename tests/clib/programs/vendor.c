/* Functions that stand in no table: found by name, and what they do.
 *
 * vendor            shares memory, and runs itself as the one that opens it
 * vendor HANDLE     opens: 64 bytes in hexadecimal are all that it is given */
#include <sys/mman.h>

#include "share.h"

enum { SIZE = 8192 };

static ze_host_mem_alloc_desc_t HOST = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
static ze_result_t (*get_handles)(ze_context_handle_t, const void *, uint32_t *,
                                  ze_ipc_mem_handle_t *);
static ze_result_t (*open_handles)(ze_context_handle_t, ze_device_handle_t, uint32_t,
                                   ze_ipc_mem_handle_t *, ze_ipc_memory_flags_t, void **);
static ze_result_t (*on_free)(ze_context_handle_t, zex_memory_free_callback_ext_desc_t *, void *);
static ze_result_t (*import_pointer)(ze_driver_handle_t, void *, size_t);
static ze_result_t (*release_pointer)(ze_driver_handle_t, void *);
static ze_result_t (*find_base)(ze_driver_handle_t, void *, void **);

static void *find(const char *name)
{
    void *found = NULL;

    DO(zeDriverGetExtensionFunctionAddress(the_driver, name, &found));
    REQUIRE(found != NULL);
    return found;
}

static void find_all(void)
{
    void *found = &found;

    begin();
    get_handles = find("zexMemGetIpcHandles");
    open_handles = find("zexMemOpenIpcHandles");
    on_free = find("zexMemFreeRegisterCallbackExt");
    import_pointer = find("zexDriverImportExternalPointer");
    release_pointer = find("zexDriverReleaseImportedPointer");
    find_base = find("zexDriverGetHostPointerBaseAddress");
    /* Newer functions of the interface too, for programs whose loader does not know them. */
    REQUIRE(find("zeMemPutIpcHandle") == (void *)zeMemPutIpcHandle);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeDriverGetExtensionFunctionAddress(the_driver, "zexNoSuchThing", &found));
    REQUIRE(found == NULL);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeDriverGetExtensionFunctionAddress(the_driver, "", &found));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
           zeDriverGetExtensionFunctionAddress(the_driver, NULL, &found));
}

static int open_memory(const char *text)
{
    ze_ipc_mem_handle_t handles[2];
    void *pointer = NULL;
    void *other = &other;

    read_handle(text, handles[0].data);
    handles[1] = handles[0];
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           open_handles(the_context, the_device, 2, handles, 0, &other));
    REQUIRE(other == NULL);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           open_handles(the_context, the_device, 0, handles, 0, &other));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
           open_handles(the_context, the_device, 1, NULL, 0, &other));
    DO(open_handles(the_context, the_device, 1, handles, 0, &pointer));
    REQUIRE(!strcmp(pointer, "from afar"));
    strcpy(pointer, "and back");
    DO(zeMemCloseIpcHandle(the_context, pointer));
    return 0;
}

static void share_memory(void)
{
    ze_ipc_mem_handle_t handles[2] = {{{1}}, {{2}}};
    uint32_t count = 0;
    char *pointer = NULL;

    DO(zeMemAllocHost(the_context, &HOST, SIZE, 0, (void **)&pointer));
    strcpy(pointer, "from afar");
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, get_handles(the_context, &count, &count, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER, get_handles(the_context, pointer, NULL, NULL));
    DO(get_handles(the_context, pointer, &count, NULL));
    REQUIRE(count == 1);
    count = 2;
    DO(get_handles(the_context, pointer, &count, handles));
    REQUIRE(count == 1 && handles[1].data[0] == 2);
    end_well(start_with(handles[0].data, NULL));
    REQUIRE(!strcmp(pointer, "and back"));
    DO(zeMemPutIpcHandle(the_context, handles[0]));
    DO(zeMemFree(the_context, pointer));
}

static int calls;
static void *told[4];

static void be_told(void *user_data)
{
    void *pointer = NULL;

    told[calls++] = user_data;
    /* It may call what it likes. */
    DO(zeMemAllocHost(the_context, &HOST, 1, 0, &pointer));
    DO(zeMemFree(the_context, pointer));
}

static void free_and_be_told(void)
{
    zex_memory_free_callback_ext_desc_t first = {.pfnCallback = be_told, .pUserData = &first};
    zex_memory_free_callback_ext_desc_t second = {.pfnCallback = be_told, .pUserData = NULL};
    zex_memory_free_callback_ext_desc_t nothing = {0};
    ze_memory_free_ext_desc_t defer = {ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, NULL,
                                       ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE};
    char *pointer = NULL;

    DO(zeMemAllocHost(the_context, &HOST, SIZE, 0, (void **)&pointer));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, on_free(NULL, &first, pointer));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, on_free(the_context, NULL, pointer));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, on_free(the_context, &nothing, pointer));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, on_free(the_context, &first, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, on_free(the_context, &first, &first));
    DO(on_free(the_context, &first, pointer));
    DO(on_free(the_context, &second, pointer + 99));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(the_context, pointer + 1));
    /* A free that fails tells nobody, and forgets nothing. */
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemCloseIpcHandle(the_context, pointer));
    REQUIRE(calls == 0);
    DO(zeMemFree(the_context, pointer));
    REQUIRE(calls == 2 && told[0] == &first && told[1] == NULL);
    DO(zeMemAllocHost(the_context, &HOST, SIZE, 0, (void **)&pointer));
    DO(on_free(the_context, &second, pointer));
    DO(zeMemFreeExt(the_context, &defer, pointer));
    REQUIRE(calls == 3);
}

static void make_known(void)
{
    long page = sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *base = NULL;

    REQUIRE(memory != MAP_FAILED);
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, import_pointer(NULL, memory, page));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, import_pointer(the_driver, NULL, page));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, import_pointer(the_driver, memory, 0));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, import_pointer(the_driver, memory, SIZE_MAX));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, release_pointer(the_driver, memory));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, find_base(the_driver, memory, &base));
    DO(import_pointer(the_driver, memory + 11, 2 * page));
    DO(import_pointer(the_driver, memory + 11, 2 * page));
    DO(import_pointer(the_driver, memory + 4 * page, page));
    DO(find_base(the_driver, memory + page, &base));
    REQUIRE(base == memory + 11);
    DO(find_base(the_driver, memory + page, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, find_base(the_driver, memory + 10, &base));
    EXPECT(ZE_RESULT_ERROR_OVERLAPPING_REGIONS,
           import_pointer(the_driver, memory + page, 4 * page - 1));
    EXPECT(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
           import_pointer(the_driver, memory + page, 2 * page));
    EXPECT(ZE_RESULT_ERROR_INVALID_SIZE, import_pointer(the_driver, memory, page));
    REQUIRE(munmap(memory + 6 * page, page) == 0);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           import_pointer(the_driver, memory + 5 * page, 3 * page));
    DO(release_pointer(the_driver, memory + 11));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, find_base(the_driver, memory + page, &base));
    DO(release_pointer(the_driver, memory + 4 * page));
}

int main(int argc, char **argv)
{
    find_all();
    if (argc > 1)
        return open_memory(argv[1]);
    share_memory();
    free_and_be_told();
    make_known();
    DO(zeContextDestroy(the_context));
    return 0;
}
