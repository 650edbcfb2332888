/* Recorded appends: errors at once, several threads, more than fit, children, an append that fails late. */
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "emuzero_abi.h"

enum { THREADS = 8, ROUNDS = 5, SIZE = 256, COPIES = 64, MANY = 6000 };

static ze_command_queue_handle_t queue;
static char *device;

static ze_command_list_handle_t make_list(void)
{
    ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_list_handle_t list;

    DO(zeCommandListCreate(the_context, the_device, &desc, &list));
    return list;
}

static void execute(ze_command_list_handle_t list)
{
    DO(zeCommandListClose(list));
    DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
}

static void meet_errors_at_once(void)
{
    ze_command_list_handle_t list = make_list();
    ze_copy_region_t box = {0, 0, 0, 8, 4, 1};
    char place[SIZE];
    uint32_t pattern = 0;

    DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
           zeCommandListAppendMemoryCopy(list, NULL, place, 1, NULL, 0, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_SIZE,
           zeCommandListAppendMemoryFill(list, place, &pattern, 3, 3, NULL, 0, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_SIZE,
           zeCommandListAppendMemoryFill(list, place, &pattern, 4, 6, NULL, 0, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_SIZE, zeCommandListAppendBarrier(list, NULL, 1, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeCommandListAppendSignalEvent(list, (ze_event_handle_t)place));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandListAppendMemoryPrefetch(list, place, SIZE));
    EXPECT(ZE_RESULT_ERROR_INVALID_ENUMERATION,
           zeCommandListAppendMemAdvise(list, the_device, device, SIZE, (ze_memory_advice_t)10));
    EXPECT(ZE_RESULT_ERROR_OVERLAPPING_REGIONS,
           zeCommandListAppendMemoryCopyRegion(list, place, &box, 16, 0, place + 4, &box, 16, 0, NULL,
                                               0, NULL));
    EXPECT(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
           zeCommandListAppendWriteGlobalTimestamp(list, (uint64_t *)(device + 1), NULL, 0, NULL));
    execute(list);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandListAppendBarrier(list, NULL, 0, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandListClose(list));
    DO(zeCommandListReset(list));
    DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    DO(zeCommandListDestroy(list));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandListAppendBarrier(list, NULL, 0, NULL));
}

/* Signals that count are asked for by appends, also when nothing of the list ever runs. */
static void ask_for_a_count(void)
{
    ze_event_counter_based_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC, NULL,
                                          ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE};
    ze_command_list_handle_t list = make_list();
    ze_event_handle_t event;

    DO(zeEventCounterBasedCreate(the_context, the_device, &desc, &event));
    DO(zeEventQueryStatus(event));
    DO(zeCommandListAppendSignalEvent(list, event));
    EXPECT(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
    execute(list);
    DO(zeEventQueryStatus(event));
    DO(zeCommandListDestroy(list));
    DO(zeEventDestroy(event));
}

static void *record_much(void *own)
{
    unsigned char mark = (unsigned char)(uintptr_t)own;
    ze_command_list_handle_t list = make_list();
    unsigned char *to = malloc(SIZE * COPIES);

    for (int round = 0; round < ROUNDS; round++) {
        unsigned char pattern = (unsigned char)(mark + round);
        unsigned char copies[COPIES];

        memset(to, 0, SIZE * COPIES);
        for (int copy = 0; copy < COPIES; copy++) {
            copies[copy] = (unsigned char)(pattern ^ copy);
            DO(zeCommandListAppendMemoryFill(list, to + copy * SIZE, &copies[copy], 1, SIZE, NULL, 0,
                                             NULL));
            copies[copy] = 0;
        }
        execute(list);
        for (int at = 0; at < SIZE * COPIES; at++)
            REQUIRE(to[at] == (unsigned char)(pattern ^ at / SIZE));
        DO(zeCommandListReset(list));
    }
    DO(zeCommandListDestroy(list));
    free(to);
    return NULL;
}

static void record_from_threads(void)
{
    pthread_t threads[THREADS];

    for (uintptr_t index = 0; index < THREADS; index++)
        REQUIRE(pthread_create(&threads[index], NULL, record_much, (void *)(index * 16)) == 0);
    for (int index = 0; index < THREADS; index++)
        REQUIRE(pthread_join(threads[index], NULL) == 0);
}

/* Several times what the library has room for. */
static void record_more_than_fits(void)
{
    ze_command_list_handle_t list = make_list();
    uint32_t *counts = calloc(MANY + 1, sizeof(*counts));

    counts[0] = 0xFEED;
    for (int index = 0; index < MANY; index++)
        DO(zeCommandListAppendMemoryCopy(list, &counts[index + 1], &counts[index], sizeof(*counts),
                                         NULL, 0, NULL));
    execute(list);
    REQUIRE(counts[MANY] == 0xFEED);
    DO(zeCommandListDestroy(list));
    free(counts);
}

/* A child has nothing of what its parent recorded, and the parent all of it. */
static void record_around_a_fork(void)
{
    ze_command_list_handle_t list = make_list();
    char place[SIZE] = "";
    int status;
    pid_t child;

    DO(zeCommandListAppendMemoryFill(list, place, "a", 1, SIZE / 2, NULL, 0, NULL));
    child = fork();
    if (child == 0) {
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandListAppendBarrier(list, NULL, 0, NULL));
        begin();
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandListAppendBarrier(list, NULL, 0, NULL));
        list = make_list();
        DO(zeCommandListAppendMemoryFill(list, place, "c", 1, SIZE / 2, NULL, 0, NULL));
        DO(zeCommandListClose(list));
        _exit(0);
    }
    DO(zeCommandListAppendMemoryFill(list, place + SIZE / 2, "b", 1, SIZE / 2, NULL, 0, NULL));
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    execute(list);
    REQUIRE(place[0] == 'a' && place[SIZE / 2 - 1] == 'a');
    REQUIRE(place[SIZE / 2] == 'b' && place[SIZE - 1] == 'b');
    DO(zeCommandListDestroy(list));
}

/* Return where the library records, the channel's mapping in this process. */
static struct emuzero_appends_header *find_ring(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char *found = NULL;
    char line[512];

    while (fgets(line, sizeof(line), maps) != NULL) {
        char *start = (char *)strtoull(line, NULL, 16);
        bool is_ours = strstr(line, "emuzero") != NULL && strstr(line, " rw-s 00000000") != NULL;

        if (is_ours && *(uint64_t *)start == EMUZERO_CHANNEL_MAGIC)
            found = start;
    }
    fclose(maps);
    REQUIRE(found != NULL);
    return (struct emuzero_appends_header *)(found + EMUZERO_CHANNEL_APPENDS_OFFSET);
}

/* Let the last record, of a barrier, name an event that does not exist. */
static void spoil_last_record(void)
{
    enum { BARRIER = 40, SIGNAL = 16 };
    struct emuzero_appends_header *header = find_ring();
    uint8_t *ring = (uint8_t *)(header + 1);
    uint64_t last = (header->tail - BARRIER) % EMUZERO_CHANNEL_APPENDS_SIZE;

    REQUIRE(header->tail != header->head);
    REQUIRE(((struct emuzero_append_record *)(ring + last))->size == BARRIER);
    *(uint64_t *)(ring + last + SIGNAL) = 1 << 30;
}

/* What only the driver can find is told by the calls that come, until the list is reset. */
static void fail_late(void)
{
    ze_command_list_handle_t list = make_list();
    ze_command_list_handle_t other = make_list();
    const char *why = "";
    char place[1] = "";

    DO(zeCommandListAppendBarrier(other, NULL, 0, NULL));
    DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    spoil_last_record();
    DO(zeCommandListAppendMemoryFill(list, place, "a", 1, 1, NULL, 0, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandListClose(list));
    DO(zeDriverGetLastErrorDescription(the_driver, &why));
    REQUIRE(strstr(why, "an append before: ") == why);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandListClose(list));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandListAppendBarrier(list, NULL, 0, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    DO(zeCommandListReset(list));
    DO(zeCommandListAppendMemoryFill(list, place, "b", 1, 1, NULL, 0, NULL));
    execute(list);
    REQUIRE(place[0] == 'b');
    execute(other);
    DO(zeCommandListDestroy(list));
    DO(zeCommandListDestroy(other));
}

int main(void)
{
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_command_queue_desc_t queue_desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};

    begin();
    DO(zeMemAllocDevice(the_context, &desc, SIZE, 0, the_device, (void **)&device));
    DO(zeCommandQueueCreate(the_context, the_device, &queue_desc, &queue));
    meet_errors_at_once();
    ask_for_a_count();
    record_from_threads();
    record_more_than_fits();
    record_around_a_fork();
    fail_late();
    DO(zeCommandQueueDestroy(queue));
    DO(zeMemFree(the_context, device));
    return 0;
}
