/* A process that is interrupted, forks and ends while its threads are inside calls.
 *
 * ends             all of it; runs itself for what ends by exit
 * ends any exit    leaves by exit with threads inside calls, and calls while it leaves */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "share.h"
#include "work.h"

enum { THREADS = 6, INTERRUPTS = 20, CHILDREN = 8, ROUNDS_BEFORE = 30 };

static atomic_int handled;

static void handle(int signal)
{
    (void)signal;
    atomic_fetch_add(&handled, 1);
}

static ze_event_handle_t make_event(ze_event_pool_handle_t *pool)
{
    ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                      ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
    ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_handle_t event;

    DO(zeEventPoolCreate(the_context, &pool_desc, 0, NULL, pool));
    DO(zeEventCreate(*pool, &desc, &event));
    return event;
}

static void *wait_for(void *event)
{
    DO(zeEventHostSynchronize(event, UINT64_MAX));
    return NULL;
}

static void start(pthread_t *threads)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};

    DO(zeMemAllocHost(the_context, &desc, 4096, 0, &kept));
    for (int index = 0; index < THREADS; index++)
        REQUIRE(pthread_create(&threads[index], NULL, work, NULL) == 0);
    await_rounds(ROUNDS_BEFORE);
}

/* A wait goes on over the program's signals, and its handlers run meanwhile. */
static void be_interrupted(void)
{
    struct sigaction action = {.sa_handler = handle};
    ze_event_pool_handle_t pool;
    ze_event_handle_t event = make_event(&pool);
    pthread_t thread;

    REQUIRE(sigaction(SIGINT, &action, NULL) == 0);
    REQUIRE(pthread_create(&thread, NULL, wait_for, event) == 0);
    for (int count = 1; count <= INTERRUPTS; count++) {
        REQUIRE(pthread_kill(thread, SIGINT) == 0);
        while (handled < count)
            sched_yield();
    }
    REQUIRE(pthread_tryjoin_np(thread, NULL) != 0);
    DO(zeEventHostSignal(event));
    REQUIRE(pthread_join(thread, NULL) == 0);
    DO(zeEventDestroy(event));
    DO(zeEventPoolDestroy(pool));
}

/* Children that are forked between any two instructions of other threads' calls. */
static void fork_meanwhile(void)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    pthread_t threads[THREADS];

    start(threads);
    for (int count = 0; count < CHILDREN; count++) {
        pid_t child = fork();

        if (child == 0) {
            void *pointer = NULL;

            EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(the_context, kept));
            begin();
            DO(zeMemAllocHost(the_context, &desc, 4096, 0, &pointer));
            exit(0);
        }
        end_well(child);
    }
    is_over = true;
    for (int index = 0; index < THREADS; index++)
        REQUIRE(pthread_join(threads[index], NULL) == 0);
    DO(zeMemFree(the_context, kept));
}

static void *freed_at_exit;

static void call_while_leaving(void)
{
    void *base = NULL;

    DO(zeMemGetAddressRange(the_context, freed_at_exit, &base, NULL));
    DO(zeMemFree(the_context, freed_at_exit));
}

static int leave_by_exit(void)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    pthread_t threads[THREADS];
    pthread_t waiting;
    ze_event_pool_handle_t pool;

    begin();
    DO(zeMemAllocHost(the_context, &desc, 4096, 0, &freed_at_exit));
    REQUIRE(pthread_create(&waiting, NULL, wait_for, make_event(&pool)) == 0);
    start(threads);
    atexit(call_while_leaving);
    exit(0);
}

int main(int count, char **arguments)
{
    (void)arguments;
    if (count > 2)
        return leave_by_exit();
    begin();
    be_interrupted();
    fork_meanwhile();
    for (int round = 0; round < 3; round++)
        end_well(start_with((char[HANDLE_BYTES]){0}, "exit"));
    return 0;
}
