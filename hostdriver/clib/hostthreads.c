#define _GNU_SOURCE
#include "hostthreads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "channel.h"
#include "questions.h"

/* What a thread has to post first: the call of a number, or the answer of one that ended itself. */
typedef struct {
    uint32_t kind;
    uint64_t number;
    sigset_t signals; /* of the thread that asked for it: the program's functions have them */
} beginning;

/* Signals of the program go to threads of the program; those that a thread causes stay its own. */
static void hold_signals(sigset_t *before)
{
    static const int caused[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t held;

    sigfillset(&held);
    for (size_t index = 0; index < sizeof(caused) / sizeof(*caused); index++)
        sigdelset(&held, caused[index]);
    pthread_sigmask(SIG_SETMASK, &held, before);
}

static int start(const beginning *how);

/* The function has ended its thread instead of returning: another one goes on. */
static void go_on_elsewhere(void *how)
{
    hold_signals(NULL);
    start(how);
}

/* Call the function of the program that stands in the slot, holding nothing meanwhile; the answer
 * goes into any slot, with the number of the wait.
 *
 * Returns whether the thread may go on: it is not the one of a child that the function forked. */
static bool call_function(emuzero_slot *slot, const sigset_t *signals, uint32_t *number)
{
    ze_host_function_callback_t function = (ze_host_function_callback_t)(uintptr_t)emuzero_get(slot);
    void *user_data = (void *)(uintptr_t)emuzero_get(slot);
    beginning next = {EMUZERO_MESSAGE_KIND_ANSWER, emuzero_get(slot), *signals};
    uint64_t forks = emuzero_times_forked();

    emuzero_give_slot(slot);
    pthread_sigmask(SIG_SETMASK, signals, NULL);
    pthread_cleanup_push(go_on_elsewhere, &next);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    function(user_data);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cleanup_pop(0);
    hold_signals(NULL);
    if (forks != emuzero_times_forked())
        return false;
    *slot = emuzero_take_slot();
    *number = (uint32_t)next.number;
    return true;
}

static void *serve(void *memory)
{
    beginning how = *(beginning *)memory;
    emuzero_slot slot = emuzero_take_slot();
    uint32_t what = EMUZERO_CHANNEL_THREAD;
    ze_result_t result;

    free(memory);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    if (how.kind == EMUZERO_MESSAGE_KIND_CALL)
        emuzero_put(&slot, how.number);
    else
        what = (uint32_t)how.number;
    result = emuzero_exchange(&slot, how.kind, what);
    while (result == ZE_RESULT_SUCCESS && slot.header->kind == EMUZERO_MESSAGE_KIND_QUESTION) {
        if (slot.header->what != EMUZERO_QUESTION_KIND_CALL_HOST)
            what = emuzero_answer(&slot);
        else if (!call_function(&slot, &how.signals, &what))
            return NULL;
        result = emuzero_exchange(&slot, EMUZERO_MESSAGE_KIND_ANSWER, what);
    }
    emuzero_give_slot(&slot);
    return NULL;
}

/* Begin a thread; the caller holds signals back, for both. Returns 0 or errno. */
static int start(const beginning *how)
{
    beginning *memory = malloc(sizeof(*memory));
    pthread_attr_t attributes;
    pthread_t thread;
    int result;

    if (memory == NULL)
        return ENOMEM;
    *memory = *how;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    result = pthread_create(&thread, &attributes, serve, memory);
    pthread_attr_destroy(&attributes);
    if (result != 0)
        free(memory);
    return result;
}

int emuzero_start_thread(uint64_t number)
{
    beginning how = {.kind = EMUZERO_MESSAGE_KIND_CALL, .number = number};
    int result;

    hold_signals(&how.signals);
    result = start(&how);
    pthread_sigmask(SIG_SETMASK, &how.signals, NULL);
    return result;
}
