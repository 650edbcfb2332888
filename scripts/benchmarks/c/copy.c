/* Limit of large copies: memcpy by one or two threads, on the memory that the device uses.
 *
 *   copy BYTES              twice as much private memory, and as much in a memory file
 *
 * "private SIZE THREADS" copies SIZE bytes within the private memory, of which VRAM is made,
 * "shared SIZE THREADS" from the file, of which system memory is made.
 */
#include "limit.h"

#include <pthread.h>

struct part {
    uint8_t *destination, *source;
    size_t size;
};

static void *move(void *argument)
{
    struct part *part = argument;
    memcpy(part->destination, part->source, part->size);
    return 0;
}

static double copy_by(uint8_t *destination, uint8_t *source, size_t size, int threads)
{
    size_t half = size / threads;
    struct part first = {destination, source, half};
    struct part rest = {destination + half, source + half, size - half};
    pthread_t thread;
    uint64_t start = now();
    if (threads == 2 && pthread_create(&thread, 0, move, &rest))
        fail("pthread_create");
    move(&first);
    if (threads == 2)
        pthread_join(thread, 0);
    return now() - start;
}

int main(int argc, char **argv)
{
    size_t most = argc == 2 ? strtoull(argv[1], 0, 0) : 0, size;
    uint8_t *memory = memory_of(2 * most, MAP_PRIVATE), *shared = memory_of(most, MAP_SHARED);
    char kind[16];
    int threads;
    while (scanf("%15s %zu %d", kind, &size, &threads) == 3) {
        if (size > most || threads < 1 || threads > 2)
            fail("arguments");
        answer(copy_by(memory + most, strcmp(kind, "shared") ? memory : shared, size, threads));
    }
    return 0;
}
