/* Two processes share device memory, and look at every result: something to inject faults into.
 *
 *     cc exchange.c -lze_loader -o exchange      (without the system's loader: docs/faults-gallery.md)
 *     emuzero run -- ./exchange
 *
 * The first process allocates four pieces of memory, fills them, and starts itself once more for each
 * handle; that process opens the memory, reads it and says what it found. Whoever meets an error says
 * which call returned it, and ends with exit status 1.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if __has_include(<level_zero/ze_api.h>)
#include <level_zero/ze_api.h>
#else
#include "level_zero.h" /* comes with emuzero */
#endif

enum { PIECES = 4, SIZE = 64 * 1024 };

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_command_list_handle_t list;

static void check(ze_result_t result, const char *call)
{
    const char *text = NULL;

    if (result == ZE_RESULT_SUCCESS)
        return;
    if (driver)
        zeDriverGetLastErrorDescription(driver, &text);
    fprintf(stderr, "%s returned %#x: %s\n", call, (unsigned)result, text ? text : "");
    exit(1);
}

#define CHECK(function, ...) check(function(__VA_ARGS__), #function)

static void begin(void)
{
    uint32_t one = 1;
    ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                          .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};

    CHECK(zeInit, 0);
    CHECK(zeDriverGet, &one, &driver);
    CHECK(zeDeviceGet, driver, &one, &device);
    CHECK(zeContextCreate, driver, &context_desc, &context);
    CHECK(zeCommandListCreateImmediate, context, device, &queue_desc, &list);
}

static void end(void)
{
    CHECK(zeCommandListDestroy, list);
    CHECK(zeContextDestroy, context);
}

/* The other process: open, read, compare. */
static int receive(const char *text)
{
    ze_ipc_mem_handle_t handle;
    unsigned char found[SIZE];
    void *memory;

    for (size_t index = 0; index < sizeof(handle.data); index++) {
        unsigned value;

        if (sscanf(text + 2 * index, "%2x", &value) != 1)
            return 1;
        handle.data[index] = (char)value;
    }
    begin();
    CHECK(zeMemOpenIpcHandle, context, device, handle, 0, &memory);
    CHECK(zeCommandListAppendMemoryCopy, list, found, memory, SIZE, NULL, 0, NULL);
    CHECK(zeMemCloseIpcHandle, context, memory);
    end();
    for (size_t index = 1; index < SIZE; index++)
        if (found[index] != found[0]) {
            fprintf(stderr, "byte %zu is %#x, expected %#x\n", index, found[index], found[0]);
            return 1;
        }
    printf("piece %d arrived\n", found[0]);
    return 0;
}

/* Start this program again with a handle; return whether it was content. */
static int give(const ze_ipc_mem_handle_t *handle)
{
    char text[2 * sizeof(handle->data) + 1];
    int status;
    pid_t child;

    for (size_t index = 0; index < sizeof(handle->data); index++)
        sprintf(text + 2 * index, "%02x", (unsigned char)handle->data[index]);
    child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "exchange", text, (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int count, char **arguments)
{
    ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *pieces[PIECES];

    if (count > 1)
        return receive(arguments[1]);
    begin();
    for (int piece = 0; piece < PIECES; piece++) {
        unsigned char value = (unsigned char)(piece + 1);

        CHECK(zeMemAllocDevice, context, &desc, SIZE, 0, device, &pieces[piece]);
        CHECK(zeCommandListAppendMemoryFill, list, pieces[piece], &value, 1, SIZE, NULL, 0, NULL);
    }
    for (int piece = 0; piece < PIECES; piece++) {
        ze_ipc_mem_handle_t handle;

        CHECK(zeMemGetIpcHandle, context, pieces[piece], &handle);
        if (!give(&handle)) {
            fprintf(stderr, "piece %d did not arrive\n", piece + 1);
            return 1;
        }
        CHECK(zeMemPutIpcHandle, context, handle);
    }
    for (int piece = 0; piece < PIECES; piece++)
        CHECK(zeMemFree, context, pieces[piece]);
    end();
    return 0;
}
