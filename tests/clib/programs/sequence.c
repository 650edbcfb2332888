/* Appends in an order made of a number, right ones and wrong ones: each call and its result, and after
 * each execution what stands in memory and which events are signalled.
 *
 * sequence SEED STEPS */
#include <stdbool.h>
#include <stdint.h>

#include "check.h"

enum { LISTS = 4, SCRATCH = 3, SIZE = 4096, AREAS = 3, EVENTS = 6, MOST_WAITS = 3, TAKEN = 512 };

#define CALL(function, ...) note(#function, function(__VA_ARGS__))

static uint64_t state;
static ze_command_queue_handle_t queue;
static ze_command_list_handle_t lists[LISTS]; /* the last one is never executed */
static ze_command_list_handle_t immediate;
static ze_event_pool_handle_t pool;
static ze_event_handle_t signals[EVENTS]; /* signalled and reset by lists, never waited for */
static ze_event_handle_t waits[EVENTS];   /* signalled by the host, waited for by lists */
static ze_event_handle_t counting;
static char *areas[AREAS]; /* of the device, of the host, of nobody */
static char *times;
static void *freed;

static uint32_t below(uint32_t count)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % count);
}

static bool rarely(void)
{
    return below(12) == 0;
}

static ze_result_t note(const char *name, ze_result_t result)
{
    printf("%s %#x\n", name, (unsigned)result);
    return result;
}

static ze_command_list_handle_t some_list(void)
{
    if (rarely())
        return below(2) ? NULL : (ze_command_list_handle_t)queue;
    return lists[below(LISTS)];
}

/* Memory in which a list may store; the list that is never executed may name what is not there. */
static char *some_place(ze_command_list_handle_t list, uint32_t taken)
{
    uint32_t at = below(SIZE - taken + 1);

    if (list == lists[SCRATCH] && rarely())
        return below(2) ? NULL : (char *)freed + at;
    return areas[below(AREAS)] + (below(2) ? at : at & ~UINT32_C(255));
}

static ze_event_handle_t some_signal(ze_command_list_handle_t list)
{
    if (list == lists[SCRATCH] && rarely())
        return below(2) ? counting : (ze_event_handle_t)pool;
    return below(3) ? NULL : signals[below(EVENTS)];
}

typedef struct {
    uint32_t count;
    ze_event_handle_t events[MOST_WAITS];
} wait_list;

static wait_list some_waits(ze_command_list_handle_t list)
{
    wait_list made = {below(MOST_WAITS + 1), {NULL}};

    for (uint32_t index = 0; index < made.count; index++)
        made.events[index] = waits[below(EVENTS)];
    if (made.count && list == lists[SCRATCH] && rarely())
        made.events[0] = below(2) ? NULL : counting;
    return made;
}

/* What was handed to a call may be changed behind it. */
static void spoil(void *bytes, size_t size)
{
    memset(bytes, 0xA5, size);
}

static void append_copy(void)
{
    ze_command_list_handle_t list = some_list();
    wait_list before = some_waits(list);
    uint32_t size = below(TAKEN + 1);
    char *to = some_place(list, TAKEN);
    char *from = some_place(list, TAKEN);
    ze_base_desc_t unknown = {0x7777, NULL};

    switch (below(4)) {
    case 0:
        CALL(zeCommandListAppendMemoryCopyFromContext, list, to,
             rarely() ? (ze_context_handle_t)pool : the_context, from, size, some_signal(list),
             before.count, before.events);
        break;
    case 1:
        CALL(zeCommandListAppendMemoryCopyWithParameters, list, to, from, size,
             below(2) ? NULL : &unknown, some_signal(list), before.count, before.events);
        break;
    default:
        CALL(zeCommandListAppendMemoryCopy, list, to, from, size, some_signal(list), before.count,
             rarely() ? NULL : before.events);
    }
    spoil(&before, sizeof(before));
}

static void append_fill(void)
{
    static const uint32_t sizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 0, 3, 512};
    ze_command_list_handle_t list = some_list();
    wait_list before = some_waits(list);
    uint32_t length = sizes[below(sizeof(sizes) / sizeof(*sizes))];
    uint32_t size = below(4) ? length * below(3) : below(TAKEN);
    char *to = some_place(list, 2 * TAKEN);
    unsigned char pattern[TAKEN];

    for (uint32_t index = 0; index < TAKEN; index++)
        pattern[index] = (unsigned char)below(256);
    if (below(2))
        CALL(zeCommandListAppendMemoryFill, list, to, pattern, length, size, some_signal(list),
             before.count, before.events);
    else
        CALL(zeCommandListAppendMemoryFillWithParameters, list, to, pattern, length, size, NULL,
             some_signal(list), before.count, before.events);
    spoil(pattern, sizeof(pattern));
    spoil(&before, sizeof(before));
}

static void append_region(void)
{
    ze_command_list_handle_t list = some_list();
    wait_list before = some_waits(list);
    ze_copy_region_t to = {below(8), below(3), below(2), below(40), below(4), below(3)};
    ze_copy_region_t from = {below(8), below(3), below(2), to.width, to.height, to.depth};
    char *there = some_place(list, 3 * TAKEN);
    char *here = some_place(list, 3 * TAKEN);

    if (rarely())
        from.width++;
    CALL(zeCommandListAppendMemoryCopyRegion, list, there, &to, below(3) * 24, below(2) * 200, here,
         &from, below(3) * 24, below(2) * 200, some_signal(list), before.count, before.events);
    spoil(&to, sizeof(to));
    spoil(&from, sizeof(from));
    spoil(&before, sizeof(before));
}

static void append_barrier(void)
{
    ze_command_list_handle_t list = some_list();
    wait_list before = some_waits(list);
    size_t sizes[2] = {16, 16};
    const void *ranges[2] = {areas[0], rarely() ? NULL : areas[1]};

    if (below(2))
        CALL(zeCommandListAppendBarrier, list, some_signal(list), before.count, before.events);
    else
        CALL(zeCommandListAppendMemoryRangesBarrier, list, below(3), sizes, ranges,
             some_signal(list), before.count, before.events);
    spoil(ranges, sizeof(ranges));
    spoil(&before, sizeof(before));
}

static void append_event(void)
{
    ze_command_list_handle_t list = some_list();
    wait_list before = some_waits(list);
    ze_event_handle_t event = rarely() ? some_signal(list) : signals[below(EVENTS)];
    ze_base_desc_t unknown = {0x7777, NULL};

    switch (below(5)) {
    case 0:
        CALL(zeCommandListAppendSignalEvent, list, event);
        break;
    case 1:
        CALL(zeCommandListAppendSignalEventWithParameters, list, rarely() ? &unknown : NULL, event);
        break;
    case 2:
        CALL(zeCommandListAppendWaitOnEvents, list, before.count, before.events);
        break;
    case 3:
        CALL(zeCommandListAppendWaitOnEventsWithParameters, list, rarely() ? &unknown : NULL,
             before.count, before.events);
        break;
    default:
        CALL(zeCommandListAppendEventReset, list, event);
    }
    spoil(&before, sizeof(before));
}

static void append_hint(void)
{
    ze_command_list_handle_t list = some_list();
    char *place = areas[below(AREAS)];

    if (list == lists[SCRATCH] && rarely())
        place = freed;
    if (below(2))
        CALL(zeCommandListAppendMemoryPrefetch, list, place + below(SIZE / 2), below(SIZE / 2));
    else
        CALL(zeCommandListAppendMemAdvise, list, rarely() ? NULL : the_device, place, below(SIZE),
             (ze_memory_advice_t)below(12));
}

static void append_times(void)
{
    ze_command_list_handle_t list = some_list();
    wait_list before = some_waits(list);
    char *to = times + (rarely() ? below(64) : 8 * below(64));

    if (rarely())
        CALL(zeCommandListAppendQueryKernelTimestamps, list, 1, &signals[0], to, NULL,
             some_signal(list), before.count, before.events);
    else
        CALL(zeCommandListAppendWriteGlobalTimestamp, list, (uint64_t *)to, some_signal(list),
             before.count, before.events);
}

static void append_at_once(void)
{
    char *to = areas[below(AREAS)];
    char *from = areas[below(AREAS)];

    CALL(zeCommandListAppendMemoryCopy, immediate, to, from + below(SIZE / 2), below(SIZE / 2), NULL,
         0, NULL);
    CALL(zeCommandListHostSynchronize, immediate, UINT64_MAX);
}

static void make_list(uint32_t index)
{
    ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};

    CALL(zeCommandListCreate, the_context, the_device, &desc, &lists[index]);
}

static void turn_list(void)
{
    uint32_t index = below(LISTS);
    ze_command_list_handle_t list = rarely() ? some_list() : lists[index];

    switch (below(6)) {
    case 0:
        CALL(zeCommandListClose, list);
        break;
    case 1:
    case 2:
    case 3:
    case 4:
        CALL(zeCommandListReset, list);
        break;
    default:
        list = lists[index];
        CALL(zeCommandListDestroy, list);
        CALL(zeCommandListAppendBarrier, list, NULL, 0, NULL);
        make_list(index);
    }
}

static void turn_event(void)
{
    ze_event_handle_t *event = &signals[below(EVENTS)];
    uint32_t index = (uint32_t)(event - signals);
    ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, index};
    ze_event_handle_t old = *event;

    switch (below(6)) {
    case 0:
        CALL(zeEventHostSignal, old);
        break;
    case 1:
        CALL(zeEventHostReset, old);
        break;
    case 2:
        /* What names it cannot be executed any more. */
        CALL(zeEventDestroy, old);
        CALL(zeCommandListAppendSignalEvent, lists[SCRATCH], old);
        CALL(zeEventCreate, pool, &desc, event);
        break;
    case 3:
        CALL(zeCommandListAppendSignalEvent, lists[SCRATCH], counting);
        CALL(zeEventQueryStatus, counting);
        break;
    default:
        CALL(zeEventQueryStatus, old);
    }
}

static void turn_memory(void)
{
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};

    CALL(zeMemAllocDevice, the_context, &desc, 65536, 0, the_device, &freed);
    CALL(zeCommandListAppendMemoryPrefetch, lists[SCRATCH], freed, 64);
    CALL(zeMemFree, the_context, freed);
}

static void tell_memory(void)
{
    static char copy[SIZE];
    uint64_t hash = UINT64_C(14695981039346656037);

    for (int area = 0; area < AREAS; area++) {
        CALL(zeCommandListAppendMemoryCopy, immediate, copy, areas[area], SIZE, NULL, 0, NULL);
        CALL(zeCommandListHostSynchronize, immediate, UINT64_MAX);
        for (int index = 0; index < SIZE; index++)
            hash = (hash ^ (unsigned char)copy[index]) * UINT64_C(1099511628211);
    }
    printf("= %llx\n", (unsigned long long)hash);
    for (int index = 0; index < EVENTS; index++)
        CALL(zeEventQueryStatus, signals[index]);
}

static void execute(void)
{
    uint32_t first = below(SCRATCH);
    uint32_t count = 1 + below(SCRATCH - first);

    for (uint32_t index = first; index < first + count; index++)
        if (below(3))
            CALL(zeCommandListClose, lists[index]);
    if (CALL(zeCommandQueueExecuteCommandLists, queue, count, &lists[first], NULL) == 0) {
        CALL(zeCommandQueueSynchronize, queue, UINT64_MAX);
        tell_memory();
    }
    for (uint32_t index = first; index < first + count; index++)
        if (below(4))
            CALL(zeCommandListReset, lists[index]);
}

static void make_all(void)
{
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_device_mem_alloc_desc_t device = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL, 0, 2 * EVENTS};
    ze_event_counter_based_desc_t counter = {ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC, NULL,
                                             ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE};

    CALL(zeMemAllocDevice, the_context, &device, SIZE, 0, the_device, (void **)&areas[0]);
    CALL(zeMemAllocDevice, the_context, &device, SIZE, 0, the_device, (void **)&times);
    CALL(zeMemAllocHost, the_context, &host, SIZE, 0, (void **)&areas[1]);
    areas[2] = aligned_alloc(SIZE, SIZE);
    CALL(zeCommandQueueCreate, the_context, the_device, &desc, &queue);
    CALL(zeCommandListCreateImmediate, the_context, the_device, &desc, &immediate);
    CALL(zeEventPoolCreate, the_context, &pool_desc, 0, NULL, &pool);
    CALL(zeEventCounterBasedCreate, the_context, the_device, &counter, &counting);
    for (uint32_t index = 0; index < EVENTS; index++) {
        ze_event_desc_t one = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, index};
        ze_event_desc_t other = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, EVENTS + index};

        CALL(zeEventCreate, pool, &one, &signals[index]);
        CALL(zeEventCreate, pool, &other, &waits[index]);
        CALL(zeEventHostSignal, waits[index]);
    }
    for (uint32_t index = 0; index < LISTS; index++)
        make_list(index);
    for (int index = 0; index < SIZE; index++)
        areas[1][index] = areas[2][index] = (char)below(256);
    CALL(zeCommandListAppendMemoryCopy, immediate, areas[0], areas[1], SIZE, NULL, 0, NULL);
    CALL(zeCommandListHostSynchronize, immediate, UINT64_MAX);
    turn_memory();
}

int main(int count, char **arguments)
{
    static void (*const steps[])(void) = {
        append_copy, append_copy,  append_fill, append_fill,    append_region, append_region,
        append_barrier, append_event, append_event, append_hint, append_times, append_at_once,
        turn_list,   turn_event,   turn_memory, execute,
    };

    state = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    begin();
    puts("begin");
    make_all();
    for (long left = count > 2 ? atol(arguments[2]) : 300; left > 0; left--)
        steps[below(sizeof(steps) / sizeof(*steps))]();
    return 0;
}
