/* What the files of the compiled part share: words of shared memory, and how they are waited for. */
#ifndef EMUZERO_LINK_H
#define EMUZERO_LINK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#define SECOND UINT64_C(1000000000)
#define FOREVER UINT64_MAX
/* How long a spin keeps the interpreter's lock, which other threads may want: a partner that spins
 * as well answers within it, and giving up the lock takes as long as looking ten times. */
#define HELD UINT64_C(10000)
/* Looks at words between two at the clock. */
enum { LOOKS = 16 };

/* A wait for a word: until it reaches the target, gets a status, or the waiter was given up. */
struct wait {
    void *word; /* a u64, or (not wide) a free-running u32 index */
    uint64_t target;
    bool wide;
    uint32_t *status;      /* ends the wait when it is not zero; NULL: there is none */
    uint32_t *sleepers;    /* counts who sleeps on the word, in whatever process */
    const bool *is_closed; /* ends the wait when it is set; NULL: it never is */
    PyObject *alive;       /* called after each nap; false or an exception: waiting is of no use */
};

/* How long to wait in which way, and how spins went: see `firmware.link.waiting`. */
struct patience {
    uint64_t spin; /* longest spin in nanoseconds; 0: never */
    uint64_t nap;  /* longest sleep without a look at `alive` */
    uint32_t most_sleeps;
    uint32_t sleeps_after_failure;
    uint32_t sleep_next;
    uint64_t spins, sleeps; /* waits that spun first, waits that slept */
};

typedef enum { IN_VAIN, REACHED, USELESS, FAILED } Outcome;

uint64_t now(void);
/* Give way for a moment between two looks at memory, which are made anew each time. */
static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Whether an index that went from `old` to `next` passed the event index of the peer: the rule of
 * `firmware.abi.rings.needs_notify`. */
static inline bool passes(uint32_t event, uint32_t next, uint32_t old)
{
    return next - event - 1 < next - old;
}

uint64_t value_of(const struct wait *wait);
bool is_reached(const struct wait *wait);
/* Whether it ended, reached or not; a word that was reached counts more than a status. */
bool is_over(const struct wait *wait);
void wake_all(void *word);

/* Wait until the word is reached or `limit` nanoseconds after `begun` are over (IN_VAIN; as when a
 * status ended it). Called with the interpreter's lock; `inside` counts who gave it up meanwhile. */
Outcome wait_for(const struct wait *wait, struct patience *patience, unsigned *inside,
                 uint64_t begun, uint64_t limit);
/* Only look at the word for the length of a spin; a spin that does not pay now is left out. */
bool spin_for(const struct wait *wait, struct patience *patience);

/* Return the word of `size` bytes at an offset of a buffer; NULL: an exception is set. */
void *word_at(const Py_buffer *view, uint64_t offset, size_t size);

/* Each file adds to the module what it makes; false: an exception is set. */
bool add_type(PyObject *module, const char *name, PyType_Spec *spec);
bool add_slots(PyObject *module);
bool add_waiters(PyObject *module);
bool add_bells(PyObject *module);
bool add_notices(PyObject *module);
bool add_look(PyObject *module);
bool add_copies(PyObject *module);

#endif
