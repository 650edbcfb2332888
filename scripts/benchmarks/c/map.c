/* Limit of memory commands: what the system itself takes to map and to make memory.
 *
 *   map BYTES               a memory file of so many bytes
 *
 * "map SIZE COUNT" lays SIZE bytes of the file over a reserved range and takes them away again,
 * "list SIZE COUNT" lays COUNT pieces beside each other, in an order in which none can be merged
 * with the next, "memory SIZE COUNT" makes zeroed memory, touches its pages and gives it back.
 * "file SIZE COUNT" makes a memory file, maps it, unmaps and closes it.
 * The answer is nanoseconds for one.
 */
#include "limit.h"

static int file;
static uint8_t *range;
static size_t most;

static void lay(uint8_t *at, size_t size, size_t offset)
{
    if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, offset) == MAP_FAILED)
        fail("mmap");
}

static void take_away(uint8_t *at, size_t size)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(at, size, PROT_NONE, flags, -1, 0) == MAP_FAILED)
        fail("mmap");
}

static double map_pairs(size_t size, unsigned count)
{
    static uint64_t samples[MOST_SAMPLES];
    for (unsigned i = 0; i < count; i++) {
        uint64_t start = now();
        lay(range, size, 0);
        take_away(range, size);
        samples[i] = now() - start;
    }
    return median(samples, count);
}

static double map_list(size_t size, unsigned count)
{
    uint64_t start = now();
    /* Pairs of pieces change places: no two neighbours follow each other in the file. */
    for (size_t i = 0; i < count; i++)
        lay(range + i * size, size, (i ^ 1) * size);
    double elapsed = now() - start;
    take_away(range, count * size);
    return elapsed / count;
}

static double make_memory(size_t size, unsigned count)
{
    static uint64_t samples[MOST_SAMPLES];
    for (unsigned i = 0; i < count; i++) {
        uint64_t start = now();
        uint8_t *made = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made == MAP_FAILED)
            fail("mmap");
        for (size_t at = 0; at < size; at += 4096)
            *(volatile uint8_t *)(made + at) = 1;
        munmap(made, size);
        samples[i] = now() - start;
    }
    return median(samples, count);
}

static double make_file(size_t size, unsigned count)
{
    static uint64_t samples[MOST_SAMPLES];
    for (unsigned i = 0; i < count; i++) {
        uint64_t start = now();
        int made = memfd_create("limit", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (made < 0 || ftruncate(made, size))
            fail("memfd");
        uint8_t *at = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
        if (at == MAP_FAILED)
            fail("mmap");
        munmap(at, size);
        close(made);
        samples[i] = now() - start;
    }
    return median(samples, count);
}

int main(int argc, char **argv)
{
    most = argc == 2 ? strtoull(argv[1], 0, 0) : 0;
    file = memfd_create("limit", MFD_CLOEXEC);
    if (!most || file < 0 || ftruncate(file, most))
        fail("arguments");
    range = mmap(0, most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
        fail("mmap");
    char kind[16];
    size_t size;
    unsigned count;
    while (scanf("%15s %zu %u", kind, &size, &count) == 3) {
        if (!strcmp(kind, "map"))
            answer(map_pairs(size, count));
        else if (!strcmp(kind, "list"))
            answer(map_list(size, count));
        else if (!strcmp(kind, "memory"))
            answer(make_memory(size, count));
        else if (!strcmp(kind, "file"))
            answer(make_file(size, count));
        else
            fail(kind);
    }
    return 0;
}
