#define _GNU_SOURCE
#include "watch.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "handles.h"

#define NOT_ASKED_YET UINT32_C(0x80000000)
#define SECOND UINT64_C(1000000000)

_Atomic uint32_t emuzero_watching = NOT_ASKED_YET;

/* The call under way in this thread. */
static _Thread_local struct {
    uint64_t began; /* 0: none that is watched */
    bool is_sent;
} under_way;

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

void emuzero_watch_anew(void)
{
    emuzero_watching = NOT_ASKED_YET;
}

void emuzero_watch_as_wanted(uint32_t watching)
{
    emuzero_watching = watching & (EMUZERO_WATCHING_COUNT | EMUZERO_WATCHING_TRACE);
}

bool emuzero_begin_watch(void)
{
    if (under_way.began)
        return false;
    under_way.began = now();
    under_way.is_sent = false;
    return true;
}

static void count(uint16_t number, uint64_t nanoseconds, bool is_error)
{
    struct emuzero_call_counts *counts = emuzero_counts_of(number);
    uint64_t longest;

    if (counts == NULL)
        return;
    __atomic_fetch_add(&counts->calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->errors, is_error, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->nanoseconds, nanoseconds, __ATOMIC_RELAXED);
    longest = __atomic_load_n(&counts->longest, __ATOMIC_RELAXED);
    while (longest < nanoseconds &&
           !__atomic_compare_exchange_n(&counts->longest, &longest, nanoseconds, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void put_argument(emuzero_slot *slot, const emuzero_param *param, uint64_t value)
{
    const void *pointer = (const void *)(uintptr_t)value;
    uint64_t number;

    if (param->kind == EMUZERO_KIND_BLOB) {
        emuzero_put(slot, EMUZERO_ARGUMENT_NOTE_BYTES);
        emuzero_put(slot, param->size);
        emuzero_put_bytes(slot, pointer, param->size);
    } else if (param->kind == EMUZERO_KIND_HANDLE && value &&
               emuzero_number_of(pointer, param->handle, &number)) {
        emuzero_put(slot, EMUZERO_ARGUMENT_NOTE_HANDLE);
        emuzero_put(slot, number);
    } else {
        emuzero_put(slot, EMUZERO_ARGUMENT_NOTE_NUMBER);
        emuzero_put(slot, value);
    }
}

/* Tell the driver of a call that it did not see. */
static void send_note(const emuzero_function *function, const uint64_t *arguments, uint64_t result,
                      bool is_error, uint64_t nanoseconds)
{
    const char *text = is_error ? emuzero_error() : "";
    emuzero_slot slot;
    int cancelling;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    slot = emuzero_take_slot();
    emuzero_put(&slot, function->number);
    emuzero_put(&slot, result);
    emuzero_put(&slot, nanoseconds);
    emuzero_put(&slot, function->param_count);
    for (int index = 0; index < function->param_count; index++)
        put_argument(&slot, &function->params[index], arguments[index]);
    emuzero_put(&slot, strlen(text));
    emuzero_put_bytes(&slot, text, strlen(text));
    emuzero_mark(&slot);
    emuzero_exchange(&slot, EMUZERO_MESSAGE_KIND_CALL, EMUZERO_CHANNEL_NOTE);
    emuzero_give_slot(&slot);
    pthread_setcancelstate(cancelling, NULL);
}

void emuzero_leave(const emuzero_function *function, const uint64_t *arguments, uint64_t result,
                   bool is_error)
{
    uint64_t nanoseconds = now() - under_way.began;
    uint32_t watching = emuzero_watching;

    if (emuzero_is_connected() && !(watching & NOT_ASKED_YET)) {
        if (watching & EMUZERO_WATCHING_COUNT)
            count(function->number, nanoseconds, is_error);
        if (watching & EMUZERO_WATCHING_TRACE && !under_way.is_sent && emuzero_has_session())
            send_note(function, arguments, result, is_error, nanoseconds);
    }
    under_way.began = 0;
}

void emuzero_mark(const emuzero_slot *slot)
{
    if (!(emuzero_watching & EMUZERO_WATCHING_TRACE))
        return;
    slot->header->thread = (uint32_t)syscall(SYS_gettid);
    slot->header->began = under_way.began;
    under_way.is_sent = true;
}
