#define _GNU_SOURCE
#include "words.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SPINS = 4000,
    MOST_LEFT_OUT = 64 /* spins that are left out after spinning did not pay */
};

#define SECOND UINT64_C(1000000000)
/* Longest sleep between two looks at whether the emulator lives. */
#define LONGEST_SLEEP (SECOND / 10)

static _Atomic uint32_t left_out_last;
static _Atomic uint32_t left_out_next;

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static emuzero_waited look(const uint64_t *value, const uint32_t *status)
{
    emuzero_waited found;

    /* The device stores the value first: what the status tells of is in it. */
    found.status = __atomic_load_n(status, __ATOMIC_ACQUIRE);
    found.value = __atomic_load_n(value, __ATOMIC_ACQUIRE);
    return found;
}

/* Sleep on the low half of a word while it has the value that was judged. */
static void sleep_on(uint64_t *value, uint32_t expected, uint64_t nanoseconds)
{
    struct timespec time = {(time_t)(nanoseconds / SECOND), (long)(nanoseconds % SECOND)};

    syscall(SYS_futex, value, FUTEX_WAIT, expected, &time, NULL, 0);
}

bool emuzero_spin(const emuzero_word *word, uint64_t target)
{
    uint32_t next = atomic_load_explicit(&left_out_next, memory_order_relaxed);
    uint32_t last;

    if (next) {
        atomic_store_explicit(&left_out_next, next - 1, memory_order_relaxed);
        return look(word->value, word->status).value >= target;
    }
    for (int count = 0; count < SPINS; count++) {
        emuzero_waited found = look(word->value, word->status);

        if (found.value >= target) {
            atomic_store_explicit(&left_out_last, 0, memory_order_relaxed);
            return true;
        }
        if (found.status)
            return false;
        __builtin_ia32_pause();
    }
    last = 2 * atomic_load_explicit(&left_out_last, memory_order_relaxed);
    last = last < 1 ? 1 : last > MOST_LEFT_OUT ? MOST_LEFT_OUT : last;
    atomic_store_explicit(&left_out_last, last, memory_order_relaxed);
    atomic_store_explicit(&left_out_next, last, memory_order_relaxed);
    return false;
}

void emuzero_wake(const emuzero_word *word)
{
    if (__atomic_load_n(word->sleepers, __ATOMIC_RELAXED))
        syscall(SYS_futex, word->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

emuzero_waited emuzero_wait(const emuzero_word *word, uint64_t target, uint64_t nanoseconds)
{
    uint64_t *value = word->value;
    uint32_t *status = word->status;
    uint32_t *sleepers = word->sleepers;
    uint64_t begun = now();
    uint64_t end = nanoseconds > UINT64_MAX - begun ? UINT64_MAX : begun + nanoseconds;
    emuzero_waited found = {0, EMUZERO_STATUS_DEVICE_LOST};

    for (int count = 0; count < SPINS; count++) {
        found = look(value, status);
        if (found.value >= target || found.status || nanoseconds == 0)
            return found;
        __builtin_ia32_pause();
    }
    __atomic_fetch_add(sleepers, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        uint64_t time = now();

        /* The device stores, makes its fence and looks at `sleepers`. */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        found = look(value, status);
        if (found.value >= target || found.status || time >= end)
            break;
        sleep_on(value, (uint32_t)found.value,
                 end - time < LONGEST_SLEEP ? end - time : LONGEST_SLEEP);
        if (emuzero_check_session() != ZE_RESULT_SUCCESS) {
            found.status = EMUZERO_STATUS_DEVICE_LOST;
            break;
        }
    }
    __atomic_fetch_sub(sleepers, 1, __ATOMIC_SEQ_CST);
    return found;
}
