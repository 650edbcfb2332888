/* Handles got and put very often: the same one until the last put, which ends it for everybody.
 *
 * handles               all of it; runs itself as the other process
 * handles HANDLE open   opens and closes the handle
 * handles HANDLE fail   finds that it opens nothing */
#include <pthread.h>

#include "share.h"

enum { THREADS = 8, ROUNDS = 2000, MEMORIES = 3 };

static void *pointers[MEMORIES];
static ze_ipc_mem_handle_t handles[MEMORIES];

static int try_elsewhere(const char *text, const char *what)
{
    ze_ipc_mem_handle_t handle;
    void *pointer = NULL;

    read_handle(text, handle.data);
    begin();
    if (strcmp(what, "fail") == 0) {
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
               zeMemOpenIpcHandle(the_context, the_device, handle, 0, &pointer));
        return 0;
    }
    DO(zeMemOpenIpcHandle(the_context, the_device, handle, 0, &pointer));
    DO(zeMemCloseIpcHandle(the_context, pointer));
    return 0;
}

static void elsewhere(const ze_ipc_mem_handle_t *handle, const char *what)
{
    end_well(start_with(handle->data, what));
}

static void *allocate(void)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *pointer = NULL;

    DO(zeMemAllocHost(the_context, &desc, 4096, 0, &pointer));
    return pointer;
}

static ze_ipc_mem_handle_t get(const void *pointer)
{
    ze_ipc_mem_handle_t handle;

    DO(zeMemGetIpcHandle(the_context, pointer, &handle));
    return handle;
}

static void put(ze_ipc_mem_handle_t handle)
{
    DO(zeMemPutIpcHandle(the_context, handle));
}

static int is_same(const ze_ipc_mem_handle_t *left, const ze_ipc_mem_handle_t *right)
{
    return memcmp(left, right, sizeof(*left)) == 0;
}

/* Put more often than elsewhere in a row, so that the last put of all comes again and again. */
static void *get_and_put(void *argument)
{
    size_t number = (size_t)argument;

    for (int round = 0; round < ROUNDS; round++) {
        const void *pointer = pointers[(number + (size_t)round) % MEMORIES];
        ze_ipc_mem_handle_t first = get(pointer);
        ze_ipc_mem_handle_t second = get(pointer);

        REQUIRE(is_same(&first, &second));
        put(first);
        put(second);
    }
    return NULL;
}

static void from_threads(void)
{
    pthread_t threads[THREADS];

    for (size_t index = 0; index < THREADS; index++)
        REQUIRE(pthread_create(&threads[index], NULL, get_and_put, (void *)index) == 0);
    for (int index = 0; index < THREADS; index++)
        REQUIRE(pthread_join(threads[index], NULL) == 0);
}

static void count_as_the_driver_does(void)
{
    void *pointer = allocate();
    ze_ipc_mem_handle_t handle = get(pointer);
    ze_ipc_mem_handle_t descriptor_alone = {{0}};
    ze_ipc_mem_handle_t other;
    ze_ipc_mem_handle_t from_descriptor;
    uint64_t number;

    memcpy(descriptor_alone.data, handle.data, sizeof(int));
    for (int count = 0; count < 2; count++) {
        other = get(pointer);
        REQUIRE(is_same(&other, &handle));
    }
    /* One more by a way that the driver alone knows. */
    DO(zeMemGetFileDescriptorFromIpcHandleExp(the_context, handle, &number));
    DO(zeMemGetIpcHandleFromFileDescriptorExp(the_context, number, &from_descriptor));
    REQUIRE(is_same(&from_descriptor, &handle));
    put(handle);
    put(descriptor_alone);
    put(handle);
    elsewhere(&handle, "open");
    put(handle);
    elsewhere(&handle, "fail");
    put(handle); /* no error, and nothing to do */

    /* Other memory at the same place has another handle. */
    handle = get(pointer);
    DO(zeMemFree(the_context, pointer));
    elsewhere(&handle, "fail");
    for (int count = 0; count < 100; count++) {
        void *again = allocate();

        other = get(again);
        REQUIRE(!is_same(&other, &handle));
        put(other);
        DO(zeMemFree(the_context, again));
        if (again == pointer)
            break;
    }
    put(handle);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemGetIpcHandle(the_context, pointer, &other));
}

/* What the parent counted is nothing to a child. */
static void as_a_child(void)
{
    void *pointer = allocate();
    ze_ipc_mem_handle_t handle = get(pointer);
    pid_t child = fork();

    if (child == 0) {
        ze_ipc_mem_handle_t other;

        begin();
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemGetIpcHandle(the_context, pointer, &other));
        put(handle);
        put(handle);
        exit(0);
    }
    end_well(child);
    elsewhere(&handle, "open");
    put(handle);
    elsewhere(&handle, "fail");
    DO(zeMemFree(the_context, pointer));
}

int main(int count, char **arguments)
{
    if (count > 2)
        return try_elsewhere(arguments[1], arguments[2]);
    begin();
    for (int index = 0; index < MEMORIES; index++)
        pointers[index] = allocate();
    /* Of the first there is a get that stays. */
    handles[0] = get(pointers[0]);
    from_threads();
    elsewhere(&handles[0], "open");
    put(handles[0]);
    for (int index = 0; index < MEMORIES; index++) {
        elsewhere(&handles[0], "fail");
        handles[index] = get(pointers[index]);
        elsewhere(&handles[index], "open");
        put(handles[index]);
        DO(zeMemFree(the_context, pointers[index]));
    }
    count_as_the_driver_does();
    as_a_child();
    return 0;
}
