/* Limit of the engines alone: the commands of a list, and of a ring that another thread polls.
 *
 * A library for a benchmark in one process; see executor.h for what it does with a command.
 */
#include "limit.h"

#include <pthread.h>

#include "executor.h"

struct ring {
    _Alignas(64) uint32_t tail;
    _Alignas(64) uint64_t completed;
    int stop;
    const void *entry;
};

static struct executor device;

void fill_tlb(const uint64_t *vpn, const uint64_t *entry, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        fill_entry(&device, vpn[i], entry[i]);
}

/* Nanoseconds for `count` commands in one go, completion published once; 0: one was refused. */
uint64_t run_list(const uint8_t *entries, uint32_t count, uint8_t *memory)
{
    static uint64_t completed;
    device.memory = memory;
    uint64_t start = now();
    for (uint32_t i = 0; i < count; i++)
        if (!execute(&device, entries + i * EMUZERO_WORK_COMMAND_SIZE))
            return 0;
    __atomic_store_n(&completed, count, __ATOMIC_RELEASE);
    return now() - start;
}

static void *serve(void *argument)
{
    struct ring *ring = argument;
    uint32_t head = 0;
    while (!__atomic_load_n(&ring->stop, __ATOMIC_RELAXED)) {
        if (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) == head)
            continue;
        head += execute(&device, ring->entry);
        __atomic_store_n(&ring->completed, head, __ATOMIC_RELEASE);
    }
    return 0;
}

/* Stores the nanoseconds of each of `count` runs of one command, submitted to a polling thread. */
int run_synchronous(const void *entry, uint32_t count, uint8_t *memory, uint64_t *times)
{
    struct ring ring = {.entry = entry};
    pthread_t thread;
    device.memory = memory;
    if (pthread_create(&thread, 0, serve, &ring))
        return 1;
    for (uint32_t tail = 1; tail <= count; tail++) {
        uint64_t start = now();
        __atomic_store_n(&ring.tail, tail, __ATOMIC_RELEASE);
        while (__atomic_load_n(&ring.completed, __ATOMIC_ACQUIRE) != tail)
            ;
        times[tail - 1] = now() - start;
    }
    __atomic_store_n(&ring.stop, 1, __ATOMIC_RELEASE);
    return pthread_join(thread, 0);
}
