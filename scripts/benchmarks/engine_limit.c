/* The limit of the engine's benchmarks: the same ring, TLB and copies in C.
 *
 * A command is 64 bytes: opcode and flags (u32), tag (u32), source, destination, size (u64 each),
 * reserved. Translation is a direct-mapped cache of 4 KiB pages, full before anything is measured.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { COPY = 1, PAGE_SHIFT = 12, PAGE = 1 << PAGE_SHIFT, TLB = 4096, READ = 4, WRITE = 8 };

struct command {
    uint32_t head, tag;
    uint64_t source, destination, size;
    uint8_t reserved[32];
};

struct ring {
    _Alignas(64) _Atomic uint32_t tail;
    _Alignas(64) _Atomic uint32_t head;
    _Alignas(64) _Atomic uint64_t completed;
    _Atomic int stop;
    const struct command *entries;
    uint32_t mask;
    uint8_t *memory;
};

static uint64_t tags[TLB], pages[TLB];

void fill_tlb(const uint64_t *vpn, const uint64_t *entry, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        tags[vpn[i] % TLB] = vpn[i];
        pages[vpn[i] % TLB] = entry[i];
    }
}

static inline uint8_t *translate(uint8_t *memory, uint64_t va, uint64_t need)
{
    uint64_t vpn = va >> PAGE_SHIFT, page = pages[vpn % TLB];
    if (tags[vpn % TLB] != vpn || (page & need) != need)
        return 0;
    return memory + (page & ~(uint64_t)(PAGE - 1)) + va % PAGE;
}

static int execute(struct ring *ring, uint32_t head)
{
    static const uint8_t zeros[32];
    struct command command = ring->entries[head & ring->mask];
    if (command.head != COPY || memcmp(command.reserved, zeros, sizeof zeros))
        return 0;
    uint8_t *source = translate(ring->memory, command.source, READ);
    uint8_t *destination = translate(ring->memory, command.destination, WRITE);
    if (!source || !destination || command.size > PAGE)
        return 0;
    memmove(destination, source, command.size);
    return 1;
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* Nanoseconds for `count` commands in one go, completion published once; 0: one was refused. */
uint64_t run_list(const void *entries, uint32_t count, uint8_t *memory)
{
    struct ring ring = {.entries = entries, .mask = UINT32_MAX, .memory = memory};
    uint64_t start = now();
    for (uint32_t head = 0; head < count; head++)
        if (!execute(&ring, head))
            return 0;
    atomic_store(&ring.completed, count);
    return now() - start;
}

static void *serve(void *argument)
{
    struct ring *ring = argument;
    uint32_t head = 0;
    while (!atomic_load_explicit(&ring->stop, memory_order_relaxed)) {
        uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
        if (tail == head)
            continue;
        while (head != tail && execute(ring, head))
            head++;
        atomic_store_explicit(&ring->completed, head, memory_order_release);
        atomic_store_explicit(&ring->head, head, memory_order_release);
    }
    return 0;
}

/* Stores the nanoseconds of each of `count` commands, submitted one by one to a polling thread.
 *
 * One by one, so that a median is not moved by the few during which a thread was not running.
 */
int run_synchronous(const void *entries, uint32_t count, uint8_t *memory, uint64_t *times)
{
    struct ring ring = {.entries = entries, .mask = 0, .memory = memory};
    pthread_t thread;
    if (pthread_create(&thread, 0, serve, &ring))
        return 1;
    for (uint32_t tail = 1; tail <= count; tail++) {
        uint64_t start = now();
        atomic_store_explicit(&ring.tail, tail, memory_order_release);
        while (atomic_load_explicit(&ring.completed, memory_order_acquire) != tail)
            ;
        times[tail - 1] = now() - start;
    }
    atomic_store(&ring.stop, 1);
    return pthread_join(thread, 0);
}
