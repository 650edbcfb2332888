/* A Level Zero program: what appends to a regular command list take, and their limit.
 *
 * appends            asked by lines; lists of COUNT appends are measured
 *   append COUNT       zeCommandListAppendMemoryCopy, each
 *   signal COUNT       the same with an event to wait for and one to signal, each
 *   list COUNT         zeCommandListReset, the appends, zeCommandListClose: for each append
 *   signals COUNT      the same with events
 *   put COUNT          limit: as many bytes put into a ring behind a lock, each */
#include "limit.h"

#include <pthread.h>

#include "need.h"

enum { LISTS = 9, SIZE = 4096, RECORD = 72, RING = 1 << 18 };

static ze_context_handle_t the_context;
static ze_device_handle_t the_device;
static ze_event_handle_t events[2];
static ze_command_list_handle_t list;
static char *memory;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t tail;
static char ring[RING];

static void make_events(void)
{
    ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL, 0, 2};
    ze_event_pool_handle_t pool;
    need(zeEventPoolCreate(the_context, &pool_desc, 0, NULL, &pool));
    for (uint32_t index = 0; index < 2; index++) {
        ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, index};
        need(zeEventCreate(pool, &desc, &events[index]));
    }
}

static void begin(void)
{
    uint32_t count = 1;
    ze_driver_handle_t driver;
    ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_device_mem_alloc_desc_t device = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_command_list_desc_t list_desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    need(zeInit(0));
    need(zeDriverGet(&count, &driver));
    count = 1;
    need(zeDeviceGet(driver, &count, &the_device));
    need(zeContextCreate(driver, &desc, &the_context));
    need(zeMemAllocDevice(the_context, &device, 2 * SIZE, 0, the_device, (void **)&memory));
    need(zeCommandListCreate(the_context, the_device, &list_desc, &list));
    make_events();
}

static void append(void)
{
    need(zeCommandListAppendMemoryCopy(list, memory, memory + SIZE, SIZE, NULL, 0, NULL));
}

static void append_with_events(void)
{
    need(zeCommandListAppendMemoryCopy(list, memory, memory + SIZE, SIZE, events[0], 1,
                                       &events[1]));
}

static __attribute__((noinline)) void put(void)
{
    static const char record[RECORD];
    pthread_mutex_lock(&lock);
    memcpy(ring + tail % (RING - RECORD), record, RECORD);
    __atomic_store_n(&tail, tail + RECORD, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

/* Return the median of nanoseconds; `whole`: opening and closing the list counts, too. */
static double measure(void (*step)(void), uint32_t count, int whole)
{
    uint64_t samples[LISTS];
    for (int round = 0; round < LISTS; round++) {
        uint64_t begun = now();
        need(zeCommandListReset(list));
        begun = whole ? begun : now();
        for (uint32_t number = 0; number < count; number++)
            step();
        samples[round] = now() - begun;
        need(zeCommandListClose(list));
        samples[round] = whole ? now() - begun : samples[round];
    }
    return median(samples, LISTS) / count;
}

int main(void)
{
    char line[LINE];

    begin();
    while (fgets(line, sizeof line, stdin)) {
        char name[LINE];
        uint32_t count;
        if (sscanf(line, "%s %u", name, &count) != 2)
            return 2;
        if (!strcmp(name, "append"))
            answer(measure(append, count, 0));
        if (!strcmp(name, "signal"))
            answer(measure(append_with_events, count, 0));
        if (!strcmp(name, "list"))
            answer(measure(append, count, 1));
        if (!strcmp(name, "signals"))
            answer(measure(append_with_events, count, 1));
        if (!strcmp(name, "put"))
            answer(measure(put, count, 0));
    }
    return 0;
}
