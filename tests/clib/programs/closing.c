/* A thread that is kept from its event until the event's pool is closed: the event ended with that, and
 * nobody looks at its memory any more. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "check.h"

enum { ROUNDS = 40, SOME = 20 };

static sem_t the_release;
static atomic_int the_rounds;
static atomic_int is_held;
static atomic_int is_closed;

/* Hold the thread in the middle of whatever it does: mostly in waiting for an answer. Not for ever, as
 * it may have a lock that the others need. */
static void hold(int number)
{
    struct timespec until;

    (void)number;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    is_held = 1;
    sem_timedwait(&the_release, &until);
}

static void *make_events(void *pool)
{
    ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_handle_t event;

    while (zeEventCreate(pool, &desc, &event) == ZE_RESULT_SUCCESS) {
        int was_closed = is_closed;
        ze_result_t found = zeEventQueryStatus(event);

        REQUIRE(found == ZE_RESULT_ERROR_INVALID_ARGUMENT ||
                (found == ZE_RESULT_NOT_READY && !was_closed));
        if (zeEventDestroy(event) != ZE_RESULT_SUCCESS)
            break;
        the_rounds++;
    }
    return NULL;
}

static void close_meanwhile(ze_ipc_event_pool_handle_t handle)
{
    ze_event_pool_handle_t pool;
    pthread_t thread;

    the_rounds = is_held = is_closed = 0;
    REQUIRE(sem_init(&the_release, 0, 0) == 0);
    DO(zeEventPoolOpenIpcHandle(the_context, handle, &pool));
    REQUIRE(pthread_create(&thread, NULL, make_events, pool) == 0);
    while (the_rounds < SOME)
        sched_yield();
    REQUIRE(pthread_kill(thread, SIGUSR1) == 0);
    while (!is_held)
        sched_yield();
    DO(zeEventPoolCloseIpcHandle(pool));
    is_closed = 1;
    REQUIRE(sem_post(&the_release) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE(sem_destroy(&the_release) == 0);
}

int main(void)
{
    ze_event_pool_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                 ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC, 1};
    struct sigaction action = {.sa_handler = hold};
    ze_ipc_event_pool_handle_t handle;
    ze_event_pool_handle_t pool;

    begin();
    REQUIRE(sigaction(SIGUSR1, &action, NULL) == 0);
    DO(zeEventPoolCreate(the_context, &desc, 0, NULL, &pool));
    DO(zeEventPoolGetIpcHandle(pool, &handle));
    for (int round = 0; round < ROUNDS; round++)
        close_meanwhile(handle);
    DO(zeEventPoolPutIpcHandle(the_context, handle));
    DO(zeEventPoolDestroy(pool));
    DO(zeContextDestroy(the_context));
    return 0;
}
