#define _GNU_SOURCE
#include "address_space.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define LARGEST_ARENA (UINT64_C(8) << 40)
#define SMALLEST_ARENA (UINT64_C(64) << 30)

enum { RESERVED = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };

enum { KEPT = 64 };

typedef struct {
    uint64_t address;
    uint64_t size;
} left;

static uint64_t arena_start;
static uint64_t arena_size;

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* At its limit of mappings a process may make none, not even in the place of another. So what gives
 * memory back then takes these instead: one above the limit, and two that a cut leaves. */
enum { SPARES = 3 };
static pthread_mutex_t spares_lock = PTHREAD_MUTEX_INITIALIZER;
static void *spares[SPARES];

static void keep_spares(void)
{
    for (int index = 0; index < SPARES; index++)
        if (spares[index] == NULL) {
            /* Shared memory of its own each, which the system never joins to a neighbour. */
            void *found = mmap(NULL, 1, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

            if (found == MAP_FAILED)
                return;
            spares[index] = found;
        }
}

static void give_spares(void)
{
    for (int index = 0; index < SPARES; index++)
        if (spares[index] != NULL) {
            void *spare = spares[index];

            /* Forgotten first: a child may begin between the two. */
            spares[index] = NULL;
            munmap(spare, 1);
        }
}

void emuzero_reserve_arena(uint64_t *start, uint64_t *size)
{
    for (uint64_t wanted = LARGEST_ARENA; !arena_size && wanted >= SMALLEST_ARENA; wanted /= 2) {
        void *found = mmap(NULL, wanted, PROT_NONE, RESERVED, -1, 0);

        if (found != MAP_FAILED) {
            arena_start = (uint64_t)(uintptr_t)found;
            arena_size = wanted;
        }
    }
    *start = arena_start;
    *size = arena_size;
    pthread_mutex_lock(&spares_lock);
    keep_spares();
    pthread_mutex_unlock(&spares_lock);
}

void emuzero_permit_reach(void)
{
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

void emuzero_forget_addresses(void)
{
    arena_start = arena_size = 0;
    /* A thread of the parent may have had it. */
    pthread_mutex_init(&spares_lock, NULL);
}

void emuzero_put_environment(emuzero_slot *slot)
{
    static const char *const names[] = {
        "EMUZERO_DISABLE_EXTENSIONS", "ZE_AFFINITY_MASK",           "ZE_FLAT_DEVICE_HIERARCHY",
        "ZE_ENABLE_PCI_ID_DEVICE_ORDER", "ZE_SHARED_FORCE_DEVICE_ALLOC",
    };

    for (size_t index = 0; index < sizeof(names) / sizeof(names[0]); index++) {
        const char *value = getenv(names[index]);

        if (value == NULL)
            continue;
        emuzero_put(slot, strlen(names[index]));
        emuzero_put_bytes(slot, names[index], strlen(names[index]));
        emuzero_put(slot, strlen(value));
        emuzero_put_bytes(slot, value, strlen(value));
    }
    emuzero_put(slot, 0);
}

uint64_t emuzero_reserve(uint64_t size, uint64_t hint, uint64_t alignment)
{
    uint64_t whole = hint ? size : size + alignment;
    int flags = hint ? RESERVED | MAP_FIXED_NOREPLACE : RESERVED;
    void *found = mmap(pointer(hint), whole, PROT_NONE, flags, -1, 0);
    uint64_t start;
    uint64_t address;

    if (found == MAP_FAILED)
        return 0;
    start = (uint64_t)(uintptr_t)found;
    if (hint) {
        if (start == hint)
            return hint;
        /* A kernel that does not know the flag takes the address as a wish. */
        munmap(found, whole);
        return 0;
    }
    address = (start + alignment - 1) & ~(alignment - 1);
    if (address > start)
        munmap(found, address - start);
    if (start + whole > address + size)
        munmap(pointer(address + size), start + whole - address - size);
    return address;
}

void emuzero_unmap_later(uint64_t address, uint64_t size)
{
    static left *_Atomic last[KEPT];
    static _Atomic size_t next;
    left *item = malloc(sizeof(*item));

    if (item == NULL) {
        munmap(pointer(address), size);
        return;
    }
    *item = (left){address, size};
    item = atomic_exchange(&last[atomic_fetch_add(&next, 1) % KEPT], item);
    if (item == NULL)
        return;
    munmap(pointer(item->address), item->size);
    free(item);
}

void emuzero_release(uint64_t address, uint64_t size)
{
    munmap(pointer(address), size);
}

int emuzero_map(int descriptor, uint64_t offset, uint64_t address, uint64_t size)
{
    void *found = mmap(pointer(address), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                       descriptor, (off_t)offset);

    return found == MAP_FAILED ? errno : 0;
}

static int cover(uint64_t address, uint64_t size)
{
    void *found = mmap(pointer(address), size, PROT_NONE, RESERVED | MAP_FIXED, -1, 0);

    return found == MAP_FAILED ? errno : 0;
}

int emuzero_protect_none(uint64_t address, uint64_t size)
{
    int error = cover(address, size);

    if (error != ENOMEM)
        return error;
    pthread_mutex_lock(&spares_lock);
    give_spares();
    error = cover(address, size);
    keep_spares();
    pthread_mutex_unlock(&spares_lock);
    return error;
}
