/* Waiting for a word of shared memory, from the first look to the last nap: what
 * `firmware.link.waiting` says, compiled.
 *
 * After a pause nothing of an interpreter is in the processor's caches, and each step of it costs a
 * hundred times what it does in a loop. So a wait that sleeps is one call here. The order of stores
 * and loads is that of `firmware.link.notify`. */
#include "link.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

uint64_t value_of(const struct wait *wait)
{
    if (wait->wide)
        return __atomic_load_n((uint64_t *)wait->word, __ATOMIC_ACQUIRE);
    return __atomic_load_n((uint32_t *)wait->word, __ATOMIC_ACQUIRE);
}

static bool reaches(const struct wait *wait, uint64_t value)
{
    if (wait->wide)
        return value >= wait->target;
    /* Less than half of all numbers ahead is behind: indices run freely. */
    return (int32_t)((uint32_t)value - (uint32_t)wait->target) >= 0;
}

static bool has_ended(const struct wait *wait)
{
    return (wait->status && __atomic_load_n(wait->status, __ATOMIC_ACQUIRE)) ||
           (wait->is_closed && __atomic_load_n(wait->is_closed, __ATOMIC_RELAXED));
}

bool is_reached(const struct wait *wait)
{
    return reaches(wait, value_of(wait));
}

bool is_over(const struct wait *wait)
{
    return is_reached(wait) || has_ended(wait);
}

void wake_all(void *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Look at the word until it is reached, never will be or the time has come. */
static bool spin_until(const struct wait *wait, uint64_t end)
{
    do {
        for (int count = 0; count < LOOKS; count++) {
            if (is_reached(wait))
                return true;
            relax();
        }
    } while (!has_ended(wait) && now() < end);
    return is_reached(wait);
}

/* Return whether this wait spins before it sleeps. */
static bool spins_now(struct patience *patience)
{
    if (patience->sleep_next) {
        patience->sleep_next--;
        return false;
    }
    return patience->spin != 0;
}

/* Learn from a spin. One that met a status was not in vain either. */
static void spun(struct patience *patience, bool paid)
{
    uint32_t longer = 2 * patience->sleeps_after_failure;

    longer = longer ? longer : 1;
    longer = longer < patience->most_sleeps ? longer : patience->most_sleeps;
    patience->sleeps_after_failure = paid ? 0 : longer;
    patience->sleep_next = paid ? 0 : longer;
}

/* Look after what only Python can: handlers of signals, or whether waiting is still of use. */
static Outcome look_after(const struct wait *wait, PyThreadState **thread, int error)
{
    Outcome outcome = IN_VAIN;

    PyEval_RestoreThread(*thread);
    if (error == EINTR) {
        outcome = PyErr_CheckSignals() ? FAILED : IN_VAIN;
    } else if (error == ETIMEDOUT) {
        PyObject *answer = PyObject_CallNoArgs(wait->alive);

        if (answer == NULL)
            outcome = FAILED;
        else if (answer == Py_False)
            outcome = USELESS;
        Py_XDECREF(answer);
    } else {
        /* The memory is no futex: whoever waits the other way is told. */
        outcome = USELESS;
    }
    *thread = PyEval_SaveThread();
    return outcome;
}

/* Sleep on the word until it is reached, never will be, or time is up; without the lock. */
static Outcome sleep_until(const struct wait *wait, const struct patience *patience,
                           PyThreadState **thread, uint64_t begun, uint64_t limit)
{
    Outcome outcome = IN_VAIN;

    /* 1. Say that we sleep, before the word is looked at: whoever stores later sees it. */
    __atomic_fetch_add(wait->sleepers, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        struct timespec time;
        uint64_t value, spent = 0, nap = patience->nap;

        /* 2. The count must be visible before the word is loaded. 3. Load it once: what is found
         * wanting is what the kernel compares with. */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        value = value_of(wait);
        if (reaches(wait, value)) {
            outcome = REACHED;
            break;
        }
        if (limit != FOREVER) {
            spent = now() - begun;
            nap = limit - spent < nap ? limit - spent : nap;
        }
        if (has_ended(wait) || spent >= limit)
            break;
        time.tv_sec = (time_t)(nap / SECOND);
        time.tv_nsec = (long)(nap % SECOND);
        /* 4. Sleep only if the low half still is what was found. */
        if (syscall(SYS_futex, wait->word, FUTEX_WAIT, (uint32_t)value, &time, NULL, 0) == 0 ||
            errno == EAGAIN)
            continue;
        outcome = look_after(wait, thread, errno);
        if (outcome != IN_VAIN)
            break;
    }
    __atomic_fetch_sub(wait->sleepers, 1, __ATOMIC_SEQ_CST);
    return outcome;
}

/* Wait without the interpreter's lock: spin on, if this wait spins, then sleep. */
static Outcome wait_unlocked(const struct wait *wait, struct patience *patience, bool spins,
                             uint64_t begun, uint64_t limit)
{
    uint64_t spin = limit < patience->spin ? limit : patience->spin;
    PyThreadState *thread = PyEval_SaveThread();
    bool paid = spins && (spin_until(wait, begun + spin) || has_ended(wait));
    Outcome outcome = paid && is_reached(wait) ? REACHED : IN_VAIN;

    if (!paid)
        outcome = sleep_until(wait, patience, &thread, begun, limit);
    PyEval_RestoreThread(thread);
    patience->sleeps += !paid;
    if (spins)
        spun(patience, paid);
    return outcome;
}

Outcome wait_for(const struct wait *wait, struct patience *patience, unsigned *inside,
                 uint64_t begun, uint64_t limit)
{
    bool spins = spins_now(patience);
    Outcome outcome;

    if (spins) {
        patience->spins++;
        if (spin_until(wait, begun + (limit < HELD ? limit : HELD))) {
            spun(patience, true);
            return REACHED;
        }
    }
    ++*inside;
    outcome = wait_unlocked(wait, patience, spins, begun, limit);
    --*inside;
    return outcome;
}

bool spin_for(const struct wait *wait, struct patience *patience)
{
    bool reached;

    if (patience->sleep_next || !patience->spin)
        return false;
    patience->spins++;
    Py_BEGIN_ALLOW_THREADS
    reached = spin_until(wait, now() + patience->spin);
    Py_END_ALLOW_THREADS
    spun(patience, reached || has_ended(wait));
    return reached;
}

void *word_at(const Py_buffer *view, uint64_t offset, size_t size)
{
    uint64_t end = (uint64_t)view->len;

    if (((uintptr_t)view->buf + offset) % size || offset > end || size > end - offset) {
        PyErr_Format(PyExc_ValueError, "no word at 0x%llx in %zd bytes",
                     (unsigned long long)offset, view->len);
        return NULL;
    }
    return (uint8_t *)view->buf + offset;
}
