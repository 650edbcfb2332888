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

static const _Atomic uint32_t not_asked_yet = NOT_ASKED_YET;

const _Atomic uint32_t *_Atomic emuzero_watching = &not_asked_yet;

/* The call under way in this thread. */
static _Thread_local struct {
    uint64_t began; /* 0: none that is watched */
    bool is_sent;
    const emuzero_function *unasked; /* what it is, until the driver is asked */
    uint64_t number;                 /* to be told with its end; 0: none */
    bool is_asked;
} under_way;

static bool is_wanted(uint32_t what)
{
    uint32_t watching = *emuzero_watching;

    return !(watching & NOT_ASKED_YET) && watching & what;
}

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

void emuzero_watch_anew(void)
{
    emuzero_watching = &not_asked_yet;
}

void emuzero_watch_as_wanted(const uint32_t *watching)
{
    emuzero_watching = (const _Atomic uint32_t *)watching;
}

bool emuzero_begin_watch(void)
{
    if (under_way.began)
        return false;
    under_way.began = now();
    under_way.is_sent = false;
    under_way.unasked = NULL;
    under_way.number = 0;
    under_way.is_asked = false;
    return true;
}

/* Send numbers about the call under way; true: the driver has a result for the program, with its
 * text, else an answer. */
static bool is_ended_by(uint32_t what, const uint64_t *numbers, int count, uint64_t *answer,
                        ze_result_t *result)
{
    emuzero_slot slot;
    bool is_answered;
    bool is_ended;
    int cancelling;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    slot = emuzero_take_slot();
    for (int index = 0; index < count; index++)
        emuzero_put(&slot, numbers[index]);
    slot.header->thread = (uint32_t)syscall(SYS_gettid);
    is_answered = emuzero_exchange(&slot, EMUZERO_MESSAGE_KIND_CALL, what) == ZE_RESULT_SUCCESS;
    is_ended = is_answered && slot.size == 0;
    *answer = is_answered && !is_ended ? emuzero_get(&slot) : 0;
    if (is_ended) {
        *result = (ze_result_t)slot.header->result;
        if (slot.header->text_size <= slot.capacity)
            emuzero_set_error_text((const char *)slot.data, slot.header->text_size);
    }
    emuzero_give_slot(&slot);
    pthread_setcancelstate(cancelling, NULL);
    return is_ended;
}

static bool ask(const emuzero_function *function, ze_result_t *result)
{
    const uint64_t numbers[] = {function->number};

    under_way.unasked = NULL;
    if (!is_wanted(EMUZERO_WATCHING_ASK) || !emuzero_has_session())
        return false;
    under_way.is_asked = !is_ended_by(EMUZERO_CHANNEL_ASK, numbers, 1, &under_way.number, result);
    return !under_way.is_asked;
}

bool emuzero_is_refused(const emuzero_function *function, ze_result_t *result)
{
    under_way.unasked = function;
    return emuzero_is_connected() && ask(function, result);
}

ze_result_t emuzero_ask_late(void)
{
    ze_result_t result;

    if (under_way.began && under_way.unasked != NULL && ask(under_way.unasked, &result))
        return result;
    return ZE_RESULT_SUCCESS;
}

/* Tell of the end of a call; returns what the program gets. */
static ze_result_t tell(const emuzero_function *function, ze_result_t result)
{
    const uint64_t numbers[] = {function->number, under_way.number, result};
    uint64_t answer;

    if (under_way.is_asked && emuzero_has_session() &&
        (under_way.number || is_wanted(EMUZERO_WATCHING_TELL)))
        is_ended_by(EMUZERO_CHANNEL_TELL, numbers, 3, &answer, &result);
    return result;
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

ze_result_t emuzero_leave(const emuzero_function *function, const uint64_t *arguments,
                          uint64_t returned, ze_result_t result)
{
    uint64_t nanoseconds = now() - under_way.began;
    ze_result_t told = tell(function, result);

    /* What a result is not, is returned as it is. */
    returned = told == result ? returned : told;
    if (emuzero_is_connected()) {
        if (is_wanted(EMUZERO_WATCHING_COUNT))
            count(function->number, nanoseconds, EMUZERO_IS_ERROR(told));
        if (is_wanted(EMUZERO_WATCHING_TRACE) && !under_way.is_sent && emuzero_has_session())
            send_note(function, arguments, returned, EMUZERO_IS_ERROR(told), nanoseconds);
    }
    under_way.began = 0;
    return told;
}

void emuzero_mark(const emuzero_slot *slot)
{
    if (!is_wanted(EMUZERO_WATCHING_TRACE | EMUZERO_WATCHING_MARK | EMUZERO_WATCHING_ASK))
        return;
    slot->header->thread = (uint32_t)syscall(SYS_gettid);
    slot->header->began = under_way.began;
    under_way.is_sent = true;
}
