/* Does what it is told line by line, and tells how each call ended: "RESULT|VALUE|TEXT". */
#include <inttypes.h>
#include <unistd.h>

#include "check.h"

enum { MOST = 4096, HANDLE = sizeof(ze_ipc_mem_handle_t) };

static ze_event_handle_t the_event;
static ze_command_list_handle_t the_list;
static void *last;
static char shown[2 * HANDLE + 1];

static void show(const char *bytes)
{
    for (int index = 0; index < HANDLE; index++)
        snprintf(shown + 2 * index, 3, "%02x", (unsigned char)bytes[index]);
}

static void read_handle(const char *text, char *bytes)
{
    for (int index = 0; index < HANDLE; index++) {
        unsigned byte;

        REQUIRE(sscanf(text + 2 * index, "%2x", &byte) == 1);
        bytes[index] = (char)byte;
    }
}

static int count_maps(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512];
    int count = 0;

    REQUIRE(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL)
        count += strstr(line, "memfd:emuzero") != NULL;
    fclose(file);
    return count;
}

static ze_result_t make_event(void)
{
    ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                      ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
    ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_pool_handle_t pool;
    ze_result_t result = zeEventPoolCreate(the_context, &pool_desc, 0, NULL, &pool);

    if (result != ZE_RESULT_SUCCESS)
        return result;
    last = pool;
    return zeEventCreate(pool, &desc, &the_event);
}

static ze_result_t make_list(void)
{
    ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};

    return zeCommandListCreate(the_context, the_device, &desc, &the_list);
}

static ze_result_t start(void)
{
    uint32_t count = 1;
    ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_result_t result = zeInit(0);

    if (result == ZE_RESULT_SUCCESS)
        result = zeDriverGet(&count, &the_driver);
    count = 1;
    if (result == ZE_RESULT_SUCCESS)
        result = zeDeviceGet(the_driver, &count, &the_device);
    if (result == ZE_RESULT_SUCCESS)
        result = zeContextCreate(the_driver, &desc, &the_context);
    return result;
}

static ze_result_t allocate(const char *kind, size_t size, int descriptor)
{
    ze_external_memory_export_desc_t export = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC, NULL,
                                               ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF};
    ze_external_memory_import_fd_t import = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, NULL,
                                             ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF, descriptor};
    const void *chain = strcmp(kind, "file") == 0     ? (void *)&export
                        : strcmp(kind, "import") == 0 ? (void *)&import
                                                      : NULL;
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, chain};
    ze_device_mem_alloc_desc_t device = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, chain};

    if (strcmp(kind, "host") == 0)
        return zeMemAllocHost(the_context, &host, size, 0, &last);
    return zeMemAllocDevice(the_context, &device, size, 0, the_device, &last);
}

static ze_result_t find_descriptor(void *pointer)
{
    ze_external_memory_export_fd_t found = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD, NULL,
                                            ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF, -1};
    ze_memory_allocation_properties_t properties = {
        ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES, &found};
    ze_result_t result = zeMemGetAllocProperties(the_context, pointer, &properties, NULL);

    last = (void *)(intptr_t)found.fd;
    return result;
}

static ze_result_t carry_out(const char *what, const char *text)
{
    uint64_t number = strtoull(text, NULL, 0);
    void *pointer = (void *)(uintptr_t)number;
    ze_ipc_mem_handle_t handle = {{0}};
    ze_memory_allocation_properties_t properties = {
        ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_result_t result;

    if (strcmp(what, "start") == 0)
        return start();
    if (strcmp(what, "host") == 0 || strcmp(what, "device") == 0 || strcmp(what, "file") == 0)
        return allocate(what, number, -1);
    if (strcmp(what, "import") == 0)
        return allocate(what, 0, (int)number);
    if (strcmp(what, "descriptor") == 0)
        return find_descriptor(pointer);
    if (strcmp(what, "free") == 0)
        return zeMemFree(the_context, pointer);
    if (strcmp(what, "type") == 0) {
        result = zeMemGetAllocProperties(the_context, pointer, &properties, NULL);
        last = (void *)(uintptr_t)properties.type;
        return result;
    }
    if (strcmp(what, "get") == 0) {
        result = zeMemGetIpcHandle(the_context, pointer, &handle);
        show(handle.data);
        return result;
    }
    if (strcmp(what, "put") == 0) {
        read_handle(text, handle.data);
        return zeMemPutIpcHandle(the_context, handle);
    }
    if (strcmp(what, "open") == 0) {
        read_handle(text, handle.data);
        return zeMemOpenIpcHandle(the_context, the_device, handle, 0, &last);
    }
    if (strcmp(what, "close") == 0)
        return zeMemCloseIpcHandle(the_context, pointer);
    if (strcmp(what, "reserve") == 0)
        return zeVirtualMemReserve(the_context, (void *)(uintptr_t)0x7fff0000, number, &last);
    if (strcmp(what, "unreserve") == 0)
        return zeVirtualMemFree(the_context, pointer, 1 << 21);
    if (strcmp(what, "event") == 0)
        return make_event();
    if (strcmp(what, "unevent") == 0) {
        result = zeEventDestroy(the_event);
        return result == ZE_RESULT_SUCCESS ? zeEventPoolDestroy(pointer) : result;
    }
    if (strcmp(what, "query") == 0)
        return zeEventQueryStatus(the_event);
    if (strcmp(what, "list") == 0)
        return make_list();
    if (strcmp(what, "append") == 0)
        return zeCommandListAppendMemoryFill(the_list, pointer, "x", 1, 16, NULL, 0, NULL);
    if (strcmp(what, "unlist") == 0)
        return zeCommandListDestroy(the_list);
    if (strcmp(what, "image") == 0)
        return zeImageDestroy(NULL);
    if (strcmp(what, "identifier") == 0) {
        last = (void *)(uintptr_t)zerTranslateDeviceHandleToIdentifier(the_device);
        return ZE_RESULT_SUCCESS;
    }
    fprintf(stderr, "nobody knows %s\n", what);
    exit(2);
}

int main(void)
{
    char line[MOST];

    while (fgets(line, sizeof(line), stdin) != NULL) {
        char *text = strchr(line, ' ');
        const char *why = "";
        ze_result_t result;

        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "held") == 0) {
            printf("%d %d\n", count_descriptors(), count_maps());
            fflush(stdout);
            continue;
        }
        if (text != NULL)
            *text++ = '\0';
        shown[0] = '\0';
        last = (void *)(intptr_t)-1;
        result = carry_out(line, text == NULL ? "" : text);
        zerGetLastErrorDescription(&why);
        if (shown[0] == '\0')
            snprintf(shown, sizeof(shown), "%#" PRIxPTR, (uintptr_t)last);
        printf("%#x|%s|%s\n", (unsigned)result, shown, result == ZE_RESULT_SUCCESS ? "" : why);
        fflush(stdout);
    }
    return 0;
}
