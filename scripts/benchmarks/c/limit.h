/* What the limit programs share: time, memory, a second process, answers.
 *
 * A limit program is asked by lines on its standard input ("NAME NUMBER ...") and answers each
 * with one number: nanoseconds. Between two questions none of its processes runs.
 */
#ifndef LIMIT_H
#define LIMIT_H

#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SAMPLES = 1 << 16, LINE = 256 };

static inline uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * UINT64_C(1000000000) + time.tv_nsec;
}

static inline void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Run on one processor only; a negative number leaves the choice to the system. */
static inline void pin(int processor)
{
    if (processor < 0)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        fail("sched_setaffinity");
}

/* Zeroed memory that exists: `flags` is MAP_SHARED (with children) or MAP_PRIVATE. */
static inline uint8_t *memory_of(size_t size, int flags)
{
    uint8_t *memory =
        mmap(0, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        fail("mmap");
    memset(memory, 1, size);
    memset(memory, 0, size);
    return memory;
}

/* Return 0 in a new process that ends with this one, and its number here. */
static inline pid_t fork_device(void)
{
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (!child)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* One by one and the median, so that a moment without a processor moves nothing. */
static inline double median(uint64_t *samples, uint32_t count)
{
    qsort(samples, count, sizeof *samples, by_size);
    return (double)samples[count / 2];
}

static inline void answer(double nanoseconds)
{
    printf("%.3f\n", nanoseconds);
    fflush(stdout);
}

#endif
