/* What the storm of calls remembers, and its random numbers. */
#ifndef STORM_POOLS_H
#define STORM_POOLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "share.h"
#include "storm.h"
#include "storm_tables.h"

enum {
    MOST_PARAMS = 16,
    POOL = 1 << 14,      /* handles or pointers of a kind that are remembered */
    ENOUGH = 16,         /* of a kind, not to make more on purpose */
    ROOM = 1 << 16,      /* bytes behind each pointer argument */
    MOST_ELEMENTS = 64,  /* of an array in such a room */
    SCRATCH = 1 << 20,   /* bytes of the program that devices may have */
    NO_DESCRIPTOR = 100000, /* from this number on */
    LIVE = 0,
    STALE = 1,
    KEPT_POOLS = 64 + 8, /* that the library leaves mapped for threads that still look at them */
    MANY_CALLS = 20000,  /* enough to reach most functions that are served */
    MOST_LINKS = 64,     /* of a chain that a call succeeded with */
    MOST_SECONDS = 20,   /* that one call may take, or the end of all objects */
};
static const uint64_t GUARD = UINT64_C(1) << 36; /* without access, on both sides of the scratch */

typedef struct {
    uint64_t items[POOL];
    uint32_t count;
} pool;

typedef struct {
    uint64_t state; /* of its random numbers */
    uint64_t calls;
    uint8_t *rooms; /* one for each parameter, and one for links of chains */
} storm_thread;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pool handles[TYPE_COUNT][2];
static pool counting; /* events that lists do not wait for: circles of them would never end */
static pool pointers[2];
static pool shared_bytes; /* IPC handles, as addresses of 64 bytes each */
static uint8_t kept_bytes[POOL][HANDLE_BYTES];
static pool told; /* descriptors of memory: each was counted as a get of its handle */
static uint8_t *scratch;
static _Atomic uint64_t succeeded[FUNCTION_COUNT];
static _Atomic uint64_t slowest;
static _Atomic uint64_t failures;

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t next(storm_thread *self)
{
    uint64_t value = self->state += UINT64_C(0x9E3779B97F4A7C15);

    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

static uint64_t below(storm_thread *self, uint64_t limit)
{
    return next(self) % limit;
}

static bool in_percent(storm_thread *self, unsigned percent)
{
    return below(self, 100) < percent;
}

static uint64_t any_number(storm_thread *self)
{
    static const uint64_t numbers[] = {0,       1,       2,         3,         4,
                                       7,       8,       64,        4096,      4097,
                                       8192,    1 << 16, 1 << 21,   3 << 20,   UINT32_MAX,
                                       1 << 30, INT64_MAX, UINT64_MAX, UINT64_C(1) << 47,
                                       UINT64_C(1) << 63};

    if (in_percent(self, 10))
        return next(self);
    if (in_percent(self, 50))
        return below(self, 5);
    return numbers[below(self, sizeof(numbers) / sizeof(numbers[0]))];
}

static void remember(pool *into, uint64_t item)
{
    pthread_mutex_lock(&lock);
    if (into->count == POOL) {
        fprintf(stderr, "more than %d objects of a kind live\n", POOL);
        exit(1);
    }
    into->items[into->count++] = item;
    pthread_mutex_unlock(&lock);
}

/* The last ones are enough. */
static void remember_stale(pool *into, uint64_t item)
{
    pthread_mutex_lock(&lock);
    if (into->count < ENOUGH)
        into->count++;
    memmove(into->items + 1, into->items, (into->count - 1) * sizeof(item));
    into->items[0] = item;
    pthread_mutex_unlock(&lock);
}

static void forget(pool *from, uint64_t item)
{
    pthread_mutex_lock(&lock);
    for (uint32_t index = 0; index < from->count; index++)
        if (from->items[index] == item)
            from->items[index--] = from->items[--from->count];
    pthread_mutex_unlock(&lock);
}

static uint64_t pick(storm_thread *self, const pool *from)
{
    uint64_t found = 0;
    uint64_t chance = next(self);

    pthread_mutex_lock(&lock);
    if (from->count)
        found = from->items[chance % from->count];
    pthread_mutex_unlock(&lock);
    return found;
}

static uint64_t any_handle(storm_thread *self, uint16_t type)
{
    uint64_t chance = below(self, 100);

    if (chance < 75)
        return pick(self, &handles[type][LIVE]);
    if (chance < 82)
        return pick(self, &handles[type][STALE]);
    if (chance < 88)
        return pick(self, &handles[below(self, TYPE_COUNT)][below(self, 2)]);
    if (chance < 92)
        return (uint64_t)(uintptr_t)self->rooms + below(self, ROOM);
    return chance < 96 ? 0 : any_number(self);
}

/* A pointer that devices may use, or that leads nowhere. */
static uint64_t any_pointer(storm_thread *self)
{
    uint64_t chance = below(self, 100);
    uint64_t found = pick(self, &pointers[chance < 70 ? LIVE : STALE]);

    if (chance < 85)
        return found && in_percent(self, 30) ? found + below(self, 1 << 16) : found;
    if (chance < 93)
        return (uint64_t)(uintptr_t)scratch + below(self, SCRATCH / 4096) * 4096 +
               (in_percent(self, 20) ? below(self, 64) : 0);
    if (chance < 96)
        return 0;
    return chance < 98 ? below(self, 4096) : UINT64_C(1) << 63 | next(self);
}

#endif
