#define _GNU_SOURCE
#include "readable.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORD = 8, NO_SUCH_WAY = -1 };

/* The kernel reads a set of signals before it sees that there is no such way to apply it: nothing is
 * changed, and what is not there is told from what is without a signal. No sandbox forbids it. */
static bool is_word_readable(const void *memory)
{
    int before = errno;
    bool is_there = syscall(SYS_rt_sigprocmask, NO_SUCH_WAY, memory, NULL, WORD) == 0 ||
                    errno != EFAULT;

    errno = before;
    return is_there;
}

bool emuzero_is_readable(const void *memory, size_t size)
{
    uintptr_t last = (uintptr_t)memory + size - WORD;

    return last >= (uintptr_t)memory && is_word_readable(memory) &&
           is_word_readable((const void *)last);
}
