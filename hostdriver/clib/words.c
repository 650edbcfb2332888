#define _GNU_SOURCE
#include "words.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 4000 };

#define SECOND UINT64_C(1000000000)
/* Longest sleep between two looks at whether the emulator lives. */
#define LONGEST_SLEEP (SECOND / 10)

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
