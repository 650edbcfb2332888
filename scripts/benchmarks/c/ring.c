/* Limit of a work ring: driver and device are two C processes that poll shared memory.
 *
 *   ring SOURCE DESTINATION PAGES DRIVER_CPU DEVICE_CPU FILE ...
 *
 * Each FILE holds commands that one list is made of; PAGES pages from each of the two addresses are
 * mapped. "list N COUNT" submits the N-th list COUNT times and waits for `completed`, "fence N
 * COUNT" waits for fence slot 0. The answer is the median from the first store of the driver on.
 */
#include "limit.h"

#include <sys/wait.h>

#include "executor.h"

enum { RING_ENTRIES = 2048, MOST_LISTS = 8 };

struct shared {
    _Alignas(64) struct emuzero_ring_header ring;
    _Alignas(64) int running, stop;
    _Alignas(64) struct emuzero_fence_slot fences[FENCES];
    _Alignas(64) uint8_t entries[RING_ENTRIES][EMUZERO_WORK_COMMAND_SIZE];
};

struct list {
    uint8_t *entries;
    uint32_t count;
};

static void serve(struct shared *shared, struct executor *device)
{
    struct emuzero_ring_header *ring = &shared->ring;
    uint32_t head = ring->head;
    uint64_t completed = ring->completed;
    __atomic_store_n(&shared->running, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
        uint32_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
        if (tail == head)
            continue;
        for (; head != tail; head++, completed++)
            if (!execute(device, shared->entries[head % RING_ENTRIES]))
                exit(1);
        __atomic_store_n(&ring->completed, completed, __ATOMIC_RELEASE);
        __atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&shared->running, 0, __ATOMIC_RELEASE);
}

static void be_device(struct shared *shared, char **arguments, int gate)
{
    static struct executor device;
    uint64_t pages = strtoull(arguments[3], 0, 0), size = pages << EMUZERO_PAGE_SHIFT;
    device.memory = memory_of(2 * size, MAP_PRIVATE);
    device.fences = shared->fences;
    for (uint64_t area = 0; area < 2; area++)
        for (uint64_t page = 0; page < pages; page++)
            fill_entry(
                &device, (strtoull(arguments[1 + area], 0, 0) >> EMUZERO_PAGE_SHIFT) + page,
                (area * size + (page << EMUZERO_PAGE_SHIFT)) | EMUZERO_PTE_READ_MASK
                    | EMUZERO_PTE_WRITE_MASK);
    pin(atoi(arguments[5]));
    char go;
    while (read(gate, &go, 1) == 1)
        serve(shared, &device);
    exit(0);
}

static struct list read_list(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct list list = {malloc(RING_ENTRIES * EMUZERO_WORK_COMMAND_SIZE), 0};
    if (!file || !list.entries)
        fail(path);
    list.count = fread(list.entries, EMUZERO_WORK_COMMAND_SIZE, RING_ENTRIES, file);
    fclose(file);
    return list;
}

/* Submit a list; return the nanoseconds until its end is seen. */
static uint64_t submit(struct shared *shared, const struct list *list, uint64_t fence)
{
    struct emuzero_ring_header *ring = &shared->ring;
    uint32_t tail = ring->tail;
    uint64_t start = now(), target = ring->completed + list->count;
    for (uint32_t i = 0; i < list->count; i++)
        memcpy(
            shared->entries[(tail + i) % RING_ENTRIES],
            list->entries + i * EMUZERO_WORK_COMMAND_SIZE, EMUZERO_WORK_COMMAND_SIZE);
    __atomic_store_n(&ring->tail, tail + list->count, __ATOMIC_RELEASE);
    if (fence)
        while (__atomic_load_n(&shared->fences[0].value, __ATOMIC_ACQUIRE) != fence)
            ;
    else
        while (__atomic_load_n(&ring->completed, __ATOMIC_ACQUIRE) != target)
            ;
    uint64_t elapsed = now() - start;
    while (__atomic_load_n(&ring->completed, __ATOMIC_ACQUIRE) != target)
        ;
    return elapsed;
}

static double measure(struct shared *shared, struct list *list, uint32_t count, int fenced)
{
    static uint64_t samples[MOST_SAMPLES], fence;
    for (uint32_t i = 0; i < count; i++) {
        if (fenced) {
            fence++;
            ((struct emuzero_work_fence_write *)list->entries)->value = fence;
        }
        samples[i] = submit(shared, list, fenced ? fence : 0);
    }
    return median(samples, count);
}

int main(int argc, char **argv)
{
    struct shared *shared = (struct shared *)memory_of(sizeof *shared, MAP_SHARED);
    struct list lists[MOST_LISTS];
    int gate[2];
    if (argc < 7 || argc > 6 + MOST_LISTS || pipe(gate))
        fail("arguments");
    for (int i = 6; i < argc; i++)
        lists[i - 6] = read_list(argv[i]);
    pid_t device = fork_device();
    if (!device) {
        close(gate[1]);
        be_device(shared, argv, gate[0]);
    }
    pin(atoi(argv[4]));
    char line[LINE], kind[LINE];
    unsigned which, count;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%s %u %u", kind, &which, &count) != 3 || which >= (unsigned)argc - 6)
            fail(line);
        __atomic_store_n(&shared->stop, 0, __ATOMIC_RELEASE);
        if (write(gate[1], "g", 1) != 1)
            fail("gate");
        while (!__atomic_load_n(&shared->running, __ATOMIC_ACQUIRE))
            if (waitpid(device, 0, WNOHANG))
                fail("device");
        double found = measure(shared, &lists[which], count, !strcmp(kind, "fence"));
        __atomic_store_n(&shared->stop, 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(&shared->running, __ATOMIC_ACQUIRE))
            ;
        answer(found);
    }
    return 0;
}
