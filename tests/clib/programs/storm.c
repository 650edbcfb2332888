/* Every function with null, garbage and stale arguments, from several threads at once.
 *
 * storm SEED CALLS THREADS
 *
 * Whatever a driver may rightly read or write is memory of this program; all else is up to chance.
 * When it is over, everything that lives is destroyed, and nothing may be left in this process. */
#include <sys/mman.h>

#include "storm_objects.h"

/* The driver has a word for every mistake of a program: this one is for its own. */
static void complain(const function *called)
{
    const char *why = "";

    zerGetLastErrorDescription(&why);
    fprintf(stderr, "%s: %s\n", called->name, why);
    failures++;
}

static void call_once(storm_thread *self, uint32_t number)
{
    const function *called = &functions[number];
    uint64_t arguments[MOST_PARAMS] = {0};
    uint64_t begun;
    uint64_t taken;
    uint64_t result;

    for (int index = 0; index < called->param_count; index++)
        arguments[index] = any_argument(self, called, index, arguments);
    begun = now();
    result = called->call(arguments);
    taken = now() - begun;
    if (taken > slowest)
        slowest = taken;
    if (!called->returns_result)
        return;
    if ((uint32_t)result == ZE_RESULT_ERROR_UNKNOWN)
        complain(called);
    if ((uint32_t)result == ZE_RESULT_SUCCESS || (uint32_t)result == ZE_RESULT_NOT_READY)
        succeeded[number]++;
    if ((uint32_t)result != ZE_RESULT_SUCCESS)
        return;
    keep_outputs(called, arguments);
}

static void *storm(void *argument)
{
    storm_thread *self = argument;

    for (uint64_t call = 0; call < self->calls; call++) {
        uint32_t limit = in_percent(self, 80) ? SERVED_COUNT : FUNCTION_COUNT;

        if (call % 50 == 0)
            make_objects(self);
        call_once(self, (uint32_t)below(self, limit));
    }
    return NULL;
}

/* Mappings of memory files that this process shares with devices. */
static int count_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int count = 0;

    REQUIRE(maps != NULL);
    while (fgets(line, sizeof(line), maps) != NULL)
        count += strstr(line, "memfd:") != NULL;
    fclose(maps);
    return count;
}

static void make_scratch(void)
{
    uint8_t *place = mmap(NULL, 2 * GUARD + SCRATCH, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    REQUIRE(place != MAP_FAILED);
    scratch = place + GUARD;
    REQUIRE(mprotect(scratch, SCRATCH, PROT_READ | PROT_WRITE) == 0);
}

static void make_rooms(storm_thread *self)
{
    size_t size = (size_t)(MOST_PARAMS + 1) * 2 * ROOM;
    uint8_t *place = mmap(NULL, size + 2 * ROOM, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    REQUIRE(place != MAP_FAILED);
    self->rooms = (uint8_t *)(((uintptr_t)place + 2 * ROOM - 1) & -(uintptr_t)(2 * ROOM));
}

static void begin_storm(void)
{
    uint32_t count = 8;
    ze_device_handle_t devices[8];

    begin();
    DO(zeDeviceGet(the_driver, &count, devices));
    for (uint32_t index = 0; index < count; index++)
        remember(&handles[TYPE_ze_device_handle_t][LIVE], (uint64_t)(uintptr_t)devices[index]);
    remember(&handles[TYPE_ze_driver_handle_t][LIVE], (uint64_t)(uintptr_t)the_driver);
}

int main(int argc, char **argv)
{
    uint64_t seed = strtoull(argv[1], NULL, 10);
    uint64_t calls = strtoull(argv[2], NULL, 10);
    uint64_t count = strtoull(argv[3], NULL, 10);
    pthread_t *threads = calloc(count, sizeof(*threads));
    storm_thread *all = calloc(count, sizeof(*all));
    uint64_t reached = 0;
    uint32_t left;
    int descriptors;
    int mappings;

    REQUIRE(argc == 4);
    make_scratch();
    begin_storm();
    descriptors = count_descriptors();
    mappings = count_mappings();
    for (uint64_t index = 0; index < count; index++) {
        all[index].state = seed * 1000 + index;
        all[index].calls = calls / count;
        make_rooms(&all[index]);
        REQUIRE(pthread_create(&threads[index], NULL, storm, &all[index]) == 0);
    }
    for (uint64_t index = 0; index < count; index++)
        REQUIRE(pthread_join(threads[index], NULL) == 0);
    free(threads);
    free(all);
    left = destroy_all();
    for (uint32_t index = 0; index < FUNCTION_COUNT; index++)
        reached += succeeded[index] > 0;
    descriptors = count_descriptors() - descriptors;
    mappings = count_mappings() - mappings;
    printf("functions=%d succeeded=%llu slowest=%lluus descriptors=%d mappings=%d\n",
           FUNCTION_COUNT, (unsigned long long)reached, (unsigned long long)slowest / 1000,
           descriptors, mappings);
    DO(zeDeviceGetStatus(the_device));
    REQUIRE(failures == 0 && left == 0);
    REQUIRE(descriptors == 0 && mappings <= KEPT_POOLS);
    REQUIRE(reached >= SERVED_COUNT / 2 || calls < MANY_CALLS);
    REQUIRE(slowest < (uint64_t)MOST_SECONDS * 1000000000);
    return 0;
}
