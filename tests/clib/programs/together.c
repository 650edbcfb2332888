/* Threads that ask for the one handle of the same thing at the same moment: all get it. */
#include <pthread.h>

#include "check.h"

enum { THREADS = 6, ROUNDS = 20, HANDLE_SIZE = 64 };

typedef struct {
    pthread_barrier_t *begin;
    void (*get)(void *thing, char *handle);
    void *thing;
    char handle[HANDLE_SIZE];
} asking;

static void get_of_pool(void *pool, char *handle)
{
    DO(zeEventPoolGetIpcHandle(pool, (ze_ipc_event_pool_handle_t *)handle));
}

static void get_of_counter(void *event, char *handle)
{
    DO(zeEventCounterBasedGetIpcHandle(event, (ze_ipc_event_counter_based_handle_t *)handle));
}

static void get_of_memory(void *pointer, char *handle)
{
    DO(zeMemGetIpcHandle(the_context, pointer, (ze_ipc_mem_handle_t *)handle));
}

static void *ask(void *argument)
{
    asking *own = argument;

    pthread_barrier_wait(own->begin);
    own->get(own->thing, own->handle);
    return NULL;
}

static void ask_together(void (*get)(void *, char *), void *thing, char *handle)
{
    pthread_barrier_t begin_at;
    pthread_t threads[THREADS];
    asking all[THREADS];

    pthread_barrier_init(&begin_at, NULL, THREADS);
    for (int index = 0; index < THREADS; index++) {
        all[index] = (asking){&begin_at, get, thing, {0}};
        REQUIRE(pthread_create(&threads[index], NULL, ask, &all[index]) == 0);
    }
    for (int index = 0; index < THREADS; index++) {
        REQUIRE(pthread_join(threads[index], NULL) == 0);
        REQUIRE(memcmp(all[index].handle, all[0].handle, HANDLE_SIZE) == 0);
    }
    pthread_barrier_destroy(&begin_at);
    memcpy(handle, all[0].handle, HANDLE_SIZE);
}

static void use_pool(void)
{
    ze_event_pool_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                 ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC, 1};
    ze_ipc_event_pool_handle_t handle;
    ze_event_pool_handle_t pool;
    ze_event_pool_handle_t opened;

    DO(zeEventPoolCreate(the_context, &desc, 0, NULL, &pool));
    ask_together(get_of_pool, pool, handle.data);
    for (int count = 1; count < THREADS; count++)
        DO(zeEventPoolPutIpcHandle(the_context, handle));
    DO(zeEventPoolOpenIpcHandle(the_context, handle, &opened));
    DO(zeEventPoolCloseIpcHandle(opened));
    DO(zeEventPoolPutIpcHandle(the_context, handle));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeEventPoolOpenIpcHandle(the_context, handle, &opened));
    DO(zeEventPoolDestroy(pool));
}

static void use_counter(void)
{
    ze_event_counter_based_desc_t desc = {
        ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC, NULL,
        ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ZE_EVENT_COUNTER_BASED_FLAG_IPC};
    char handle[HANDLE_SIZE];
    ze_event_handle_t event;

    DO(zeEventCounterBasedCreate(the_context, the_device, &desc, &event));
    ask_together(get_of_counter, event, handle);
    DO(zeEventDestroy(event));
}

static void use_memory(void)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_ipc_mem_handle_t handle;
    void *pointer = NULL;
    void *opened = NULL;

    DO(zeMemAllocHost(the_context, &desc, 4096, 0, &pointer));
    ask_together(get_of_memory, pointer, handle.data);
    for (int count = 1; count < THREADS; count++)
        DO(zeMemPutIpcHandle(the_context, handle));
    DO(zeMemOpenIpcHandle(the_context, the_device, handle, 0, &opened));
    DO(zeMemCloseIpcHandle(the_context, opened));
    DO(zeMemPutIpcHandle(the_context, handle));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemOpenIpcHandle(the_context, the_device, handle, 0, &opened));
    DO(zeMemFree(the_context, pointer));
}

int main(void)
{
    begin();
    for (int round = 0; round < ROUNDS; round++) {
        use_pool();
        use_counter();
        use_memory();
    }
    return 0;
}
