/* Memory by descriptor: exported, mapped by the program itself, imported; handles in three forms.
 *
 * descriptors              all of it; runs itself as the other process
 * descriptors HANDLE WHAT  opens or imports in the other process; PEER is its socket
 *                          (WHAT: bytes, passed, stale, pulled, device, host, physical) */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>

#include "share.h"

enum { SIZE = 3 * 4096 + 5, WHOLE = 4 * 4096, OPENS = 300 };

static ze_command_list_handle_t the_list;

/* Read or write memory of whatever kind by the device. */
static void copy(void *to, const void *from, size_t size)
{
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, NULL, 0, 0, 0,
                                    ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};

    if (the_list == NULL)
        DO(zeCommandListCreateImmediate(the_context, the_device, &desc, &the_list));
    DO(zeCommandListAppendMemoryCopy(the_list, to, from, size, NULL, 0, NULL));
}

static void expect_text(const void *pointer, const char *text)
{
    char found[32] = "";

    copy(found, pointer, strlen(text));
    if (strcmp(found, text) != 0) {
        fprintf(stderr, "%s stands there, expected %s\n", found, text);
        exit(1);
    }
}

static void *allocate(int host, const void *chain)
{
    ze_device_mem_alloc_desc_t device_desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, chain};
    ze_host_mem_alloc_desc_t host_desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, chain};
    size_t size = chain != NULL && *(const ze_structure_type_t *)chain ==
                                       ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD
                      ? 0
                      : SIZE;
    void *pointer = NULL;

    if (host)
        DO(zeMemAllocHost(the_context, &host_desc, size, 0, &pointer));
    else
        DO(zeMemAllocDevice(the_context, &device_desc, size, 0, the_device, &pointer));
    return pointer;
}

static int peer_socket(void)
{
    return atoi(getenv("PEER"));
}

/* The descriptor of the exporter, pulled out of it. */
static int pull(const char *handle)
{
    int number;
    int process = (int)syscall(SYS_pidfd_open, getppid(), 0);
    int found;

    memcpy(&number, handle, sizeof(number));
    found = (int)syscall(SYS_pidfd_getfd, process, number, 0);
    REQUIRE(process >= 0 && found >= 0);
    close(process);
    return found;
}

static void open_once(const char *text, const char *what)
{
    ze_ipc_mem_handle_t handle;
    void *pointer = NULL;
    void *base;
    size_t size;
    int descriptor = -1;

    read_handle(text, handle.data);
    if (strcmp(what, "bytes") != 0) {
        descriptor = strcmp(what, "pulled") == 0 ? pull(handle.data)
                                                 : receive_descriptor(peer_socket());
        if (strcmp(what, "passed") == 0)
            memset(handle.data, 0, sizeof(handle.data));
        else if (strcmp(what, "stale") == 0)
            memset(handle.data, 0xA5, sizeof(handle.data));
        memcpy(handle.data, &descriptor, sizeof(descriptor));
    }
    DO(zeMemOpenIpcHandle(the_context, the_device, handle, 0, &pointer));
    if (descriptor >= 0)
        close(descriptor);
    DO(zeMemGetAddressRange(the_context, pointer, &base, &size));
    REQUIRE(base == pointer && size == SIZE);
    expect_text(pointer, "exporter");
    copy(pointer, what, strlen(what) + 1);
    DO(zeMemCloseIpcHandle(the_context, pointer));
}

static void import_into(const char *what)
{
    ze_external_memory_import_fd_t import = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, NULL,
                                             ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF,
                                             receive_descriptor(peer_socket())};
    void *pointer = allocate(strcmp(what, "host") == 0, &import);
    void *base;
    size_t size;

    close(import.fd);
    DO(zeMemGetAddressRange(the_context, pointer, &base, &size));
    REQUIRE(base == pointer && size == SIZE);
    expect_text(pointer, "exporter");
    if (strcmp(what, "host") == 0)
        strcpy(pointer, what); /* the CPU's at once */
    else
        copy(pointer, what, strlen(what) + 1);
    DO(zeMemFree(the_context, pointer));
}

static void import_physical(void)
{
    ze_external_memory_import_fd_t import = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, NULL,
                                             ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD,
                                             receive_descriptor(peer_socket())};
    ze_physical_mem_desc_t desc = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, &import,
                                   ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST, WHOLE};
    ze_physical_mem_handle_t physical;
    char *pointer = NULL;

    DO(zePhysicalMemCreate(the_context, the_device, &desc, &physical));
    close(import.fd);
    DO(zeVirtualMemReserve(the_context, NULL, WHOLE, (void **)&pointer));
    DO(zeVirtualMemMap(the_context, pointer, WHOLE, physical, 0,
                       ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    REQUIRE(strcmp(pointer, "exporter") == 0);
    strcpy(pointer, "physical");
    DO(zeVirtualMemUnmap(the_context, pointer, WHOLE));
    DO(zeVirtualMemFree(the_context, pointer, WHOLE));
    DO(zePhysicalMemDestroy(the_context, physical));
}

static int be_the_other(const char *text, const char *what)
{
    begin();
    if (strcmp(what, "device") == 0 || strcmp(what, "host") == 0)
        import_into(what);
    else if (strcmp(what, "physical") == 0)
        import_physical();
    else
        open_once(text, what);
    if (the_list != NULL)
        DO(zeCommandListDestroy(the_list));
    return 0;
}

/* Let the other process do something to memory that holds "exporter", and look at what it wrote. */
static void let_other(void *pointer, const char *handle, int descriptor, const char *what)
{
    int sockets[2];
    char number[16];
    pid_t child;

    copy(pointer, "exporter", 9);
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) == 0);
    snprintf(number, sizeof(number), "%d", sockets[1]);
    setenv("PEER", number, 1);
    child = start_with(handle, what);
    if (descriptor >= 0)
        send_descriptor(sockets[0], descriptor);
    end_well(child);
    expect_text(pointer, what);
    close(sockets[0]);
    close(sockets[1]);
}

static int descriptor_in(const ze_ipc_mem_handle_t *handle)
{
    int number;

    memcpy(&number, handle->data, sizeof(number));
    return number;
}

/* Plain memory: the descriptor identifies it. */
static void use_forms(int host)
{
    ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, NULL, 0};
    ze_context_handle_t other;
    void *pointer = allocate(host, NULL);
    void *opened = &other;
    int before = count_descriptors();
    ze_ipc_mem_handle_t handle;
    ze_ipc_mem_handle_t again;
    int descriptor;

    DO(zeContextCreate(the_driver, &desc, &other));
    DO(zeMemGetIpcHandle(the_context, pointer, &handle));
    DO(zeMemGetIpcHandle(the_context, pointer, &again));
    REQUIRE(memcmp(&handle, &again, sizeof(handle)) == 0);
    descriptor = descriptor_in(&handle);
    let_other(pointer, handle.data, -1, "bytes");
    let_other(pointer, handle.data, descriptor, "passed");
    let_other(pointer, handle.data, descriptor, "stale");
    let_other(pointer, handle.data, -1, "pulled");
    DO(zeMemPutIpcHandle(other, handle));
    DO(zeMemPutIpcHandle(the_context, handle));
    REQUIRE(count_descriptors() == before);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemOpenIpcHandle(the_context, the_device, handle, 0, &opened));
    REQUIRE(opened == NULL);
    DO(zeMemFree(the_context, pointer));
    DO(zeContextDestroy(other));
}

/* One handle opened many times: as many pointers, and no descriptor for any. */
static void open_often(void)
{
    static void *opened[OPENS];
    void *pointer = allocate(1, NULL);
    ze_ipc_mem_handle_t handle;
    int before;

    DO(zeMemGetIpcHandle(the_context, pointer, &handle));
    before = count_descriptors();
    for (int index = 0; index < OPENS; index++) {
        DO(zeMemOpenIpcHandle(the_context, the_device, handle, 0, &opened[index]));
        REQUIRE(index == 0 || opened[index] != opened[index - 1]);
    }
    strcpy(pointer, "shared");
    REQUIRE(strcmp(opened[0], "shared") == 0 && strcmp(opened[OPENS - 1], "shared") == 0);
    REQUIRE(count_descriptors() == before);
    for (int index = 0; index < OPENS; index++)
        DO(zeMemCloseIpcHandle(the_context, opened[index]));
    DO(zeMemPutIpcHandle(the_context, handle));
    DO(zeMemFree(the_context, pointer));
}

/* Memory made to be exported: its descriptor carries it. */
static void use_exported(int host)
{
    ze_external_memory_export_desc_t export = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC, NULL,
                                               ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF};
    ze_external_memory_export_fd_t answer = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD, NULL,
                                             ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF, -1};
    ze_memory_allocation_properties_t properties = {
        ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES, &answer};
    int before = count_descriptors();
    void *pointer = allocate(host, &export);
    ze_ipc_mem_handle_t handle;
    ze_ipc_mem_handle_t same;
    uint64_t number = 0;
    char *mapped;

    DO(zeMemGetAllocProperties(the_context, pointer, &properties, NULL));
    REQUIRE(properties.type == (host ? ZE_MEMORY_TYPE_HOST : ZE_MEMORY_TYPE_DEVICE));
    REQUIRE(answer.fd >= 0);
    DO(zeMemGetIpcHandle(the_context, pointer, &handle));
    REQUIRE(descriptor_in(&handle) == answer.fd);
    DO(zeMemGetFileDescriptorFromIpcHandleExp(the_context, handle, &number));
    REQUIRE(number == (uint64_t)answer.fd);
    DO(zeMemGetIpcHandleFromFileDescriptorExp(the_context, number, &same));
    REQUIRE(memcmp(&same, &handle, sizeof(same)) == 0);

    mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, answer.fd, 0);
    REQUIRE(mapped != MAP_FAILED);
    copy(pointer, "by the device", 14);
    REQUIRE(strcmp(mapped, "by the device") == 0);
    strcpy(mapped, "by the program");
    expect_text(pointer, "by the program");
    REQUIRE(munmap(mapped, SIZE) == 0);

    let_other(pointer, handle.data, answer.fd, host ? "host" : "device");
    let_other(pointer, handle.data, answer.fd, "passed");
    let_other(pointer, handle.data, -1, "pulled");
    let_other(pointer, handle.data, -1, "bytes");
    for (int count = 0; count < 3; count++)
        DO(zeMemPutIpcHandle(the_context, handle));
    DO(zeMemFree(the_context, pointer));
    REQUIRE(count_descriptors() == before);
}

/* Physical memory by its handle, in the place of a pointer, and by descriptor. */
static void use_physical(void)
{
    ze_external_memory_export_desc_t export = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC, NULL,
                                               ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD};
    ze_external_memory_export_fd_t answer = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD, NULL,
                                             ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, -1};
    ze_physical_mem_properties_t properties = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES, &answer};
    ze_physical_mem_desc_t desc = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, &export,
                                   ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST, WHOLE};
    int before = count_descriptors();
    ze_physical_mem_handle_t physical;
    ze_ipc_mem_handle_t handle;
    void *start = NULL;
    void *opened = NULL;

    DO(zePhysicalMemCreate(the_context, the_device, &desc, &physical));
    DO(zeVirtualMemReserve(the_context, NULL, WHOLE, &start));
    DO(zeVirtualMemMap(the_context, start, WHOLE, physical, 0,
                       ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    DO(zePhysicalMemGetProperties(the_context, physical, &properties));
    REQUIRE(properties.size == WHOLE && answer.fd >= 0);
    let_other(start, (char[64]){0}, answer.fd, "physical");
    DO(zeMemGetIpcHandle(the_context, physical, &handle));
    REQUIRE(descriptor_in(&handle) == answer.fd);
    DO(zeMemOpenIpcHandle(the_context, the_device, handle, 0, &opened));
    REQUIRE(opened != start && strcmp(opened, "physical") == 0);
    DO(zeMemCloseIpcHandle(the_context, opened));
    for (int count = 0; count < 2; count++)
        DO(zeMemPutIpcHandle(the_context, handle));
    DO(zeVirtualMemUnmap(the_context, start, WHOLE));
    DO(zeVirtualMemFree(the_context, start, WHOLE));
    DO(zePhysicalMemDestroy(the_context, physical));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemGetIpcHandle(the_context, physical, &handle));
    REQUIRE(count_descriptors() == before);
}

static void be_refused(void)
{
    ze_external_memory_import_fd_t import = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, NULL,
                                             ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF, -1};
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &import};
    ze_external_memory_export_fd_t answer = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD, NULL,
                                             ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF, -1};
    ze_memory_allocation_properties_t properties = {
        ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES, &answer};
    ze_ipc_mem_handle_t handle;
    void *pointer = allocate(0, NULL);
    void *other = (void *)0x1;
    int numbers[] = {-1, 0, 1000, memfd_create("foreign", 0)};

    for (size_t index = 0; index < sizeof(numbers) / sizeof(numbers[0]); index++) {
        import.fd = numbers[index];
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
               zeMemAllocDevice(the_context, &desc, 0, 0, the_device, &other));
        REQUIRE(other == NULL);
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
               zeMemGetIpcHandleFromFileDescriptorExp(the_context, (uint64_t)numbers[index],
                                                      &handle));
    }
    /* Plain memory has a descriptor that names it and does not carry it. */
    DO(zeMemGetAllocProperties(the_context, pointer, &properties, NULL));
    REQUIRE(answer.fd >= 0);
    import.fd = answer.fd;
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemAllocDevice(the_context, &desc, 0, 0, the_device, &other));
    answer.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_WIN32;
    EXPECT(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
           zeMemGetAllocProperties(the_context, pointer, &properties, NULL));
    DO(zeMemFree(the_context, pointer));
    close(numbers[3]);
}

int main(int count, char **arguments)
{
    if (count > 2)
        return be_the_other(arguments[1], arguments[2]);
    begin();
    /* The list is there before descriptors are counted. */
    copy(&(int){0}, &(int){1}, sizeof(int));
    for (int host = 0; host < 2; host++) {
        use_forms(host);
        use_exported(host);
    }
    open_often();
    use_physical();
    be_refused();
    DO(zeCommandListDestroy(the_list));
    return 0;
}
