/* Appends while the emulator stands still: they are recorded, all together make one list. */
#include <unistd.h>

#include "check.h"

enum { SIZE = 4096, HALF = SIZE / 2, PATTERN = 8 };

static ze_command_list_handle_t list;
static ze_event_handle_t events[2];
static char *device;
static char *host;
static char plain[SIZE];

static void make_events(ze_event_pool_handle_t *pool)
{
    ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                      ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 2};

    DO(zeEventPoolCreate(the_context, &pool_desc, 0, NULL, pool));
    for (uint32_t index = 0; index < 2; index++) {
        ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, index};

        DO(zeEventCreate(*pool, &desc, &events[index]));
    }
}

/* Fill device memory, copy half of it in rows and half of it at once, each behind the first event. */
static void append_all(void)
{
    ze_copy_region_t rows = {0, 0, 0, 64, HALF / 64, 1};
    ze_event_handle_t waits[1] = {events[0]};
    const void *ranges[1] = {device};
    size_t sizes[1] = {SIZE};
    char pattern[PATTERN] = "pattern";

    DO(zeCommandListAppendWaitOnEvents(list, 1, waits));
    DO(zeCommandListAppendMemoryFill(list, device, pattern, PATTERN, SIZE, NULL, 1, waits));
    memset(pattern, 'x', PATTERN);
    DO(zeCommandListAppendMemoryCopyRegion(list, host, &rows, 64, HALF, device, &rows, 0, 0, NULL, 1,
                                           waits));
    memset(&rows, 0xFF, sizeof(rows));
    DO(zeCommandListAppendMemoryCopy(list, plain, device, HALF, NULL, 1, waits));
    DO(zeCommandListAppendMemoryCopyFromContext(list, plain + HALF, the_context, host, HALF, NULL, 0,
                                                NULL));
    waits[0] = (ze_event_handle_t)pattern;
    DO(zeCommandListAppendMemoryPrefetch(list, device, SIZE));
    DO(zeCommandListAppendMemAdvise(list, the_device, device, SIZE, ZE_MEMORY_ADVICE_BIAS_CACHED));
    DO(zeCommandListAppendMemoryRangesBarrier(list, 1, sizes, ranges, NULL, 0, NULL));
    ranges[0] = NULL;
    DO(zeCommandListAppendWriteGlobalTimestamp(list, (uint64_t *)(host + HALF), NULL, 0, NULL));
    DO(zeCommandListAppendMemoryCopyWithParameters(list, host + HALF + 8, device, PATTERN, NULL, NULL,
                                                   0, NULL));
    DO(zeCommandListAppendMemoryFillWithParameters(list, host + HALF + 16, "y", 1, 8, NULL, NULL, 0,
                                                   NULL));
    DO(zeCommandListAppendSignalEvent(list, events[1]));
    DO(zeCommandListAppendEventReset(list, events[1]));
    DO(zeCommandListAppendSignalEventWithParameters(list, NULL, events[0]));
    DO(zeCommandListAppendWaitOnEventsWithParameters(list, NULL, 1, &events[0]));
    DO(zeCommandListAppendBarrier(list, events[1], 0, NULL));
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(events[1]));
}

static void execute(void)
{
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_queue_handle_t queue;

    DO(zeCommandListClose(list));
    DO(zeCommandQueueCreate(the_context, the_device, &desc, &queue));
    DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(events[1]));
    DO(zeEventHostSignal(events[0]));
    DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
    DO(zeEventQueryStatus(events[1]));
    for (int at = 0; at < SIZE; at += PATTERN)
        REQUIRE(memcmp(plain + at, "pattern", PATTERN) == 0);
    REQUIRE(memcmp(host + HALF - PATTERN, "pattern", PATTERN) == 0);
    REQUIRE(memcmp(host + HALF, "\0\0\0\0\0\0\0", PATTERN) != 0);
    REQUIRE(memcmp(host + HALF + 8, "pattern\0yyyyyyyy", 16) == 0);
    DO(zeCommandQueueDestroy(queue));
}

int main(void)
{
    ze_host_mem_alloc_desc_t host_desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_device_mem_alloc_desc_t device_desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_event_pool_handle_t pool;
    char line[8];

    begin();
    DO(zeMemAllocHost(the_context, &host_desc, SIZE, 0, (void **)&host));
    DO(zeMemAllocDevice(the_context, &device_desc, SIZE, 0, the_device, (void **)&device));
    memset(host, 0, SIZE);
    DO(zeCommandListCreate(the_context, the_device, &desc, &list));
    make_events(&pool);
    puts("ready");
    fflush(stdout);
    REQUIRE(read(0, line, 3) == 3);
    append_all();
    puts("done");
    fflush(stdout);
    REQUIRE(read(0, line, 1) == 0);
    execute();
    DO(zeCommandListDestroy(list));
    DO(zeEventDestroy(events[0]));
    DO(zeEventDestroy(events[1]));
    DO(zeEventPoolDestroy(pool));
    DO(zeMemFree(the_context, host));
    DO(zeMemFree(the_context, device));
    return 0;
}
