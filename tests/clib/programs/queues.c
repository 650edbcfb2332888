/* Queues and immediate lists, more than the device has: whoever is told that all is done finds it so. */
#include "check.h"

enum { QUEUES = 12, ROUNDS = 40, SIZE = 64, COMMANDS = 8 };

static ze_command_queue_handle_t queues[QUEUES];
static ze_command_list_handle_t lists[QUEUES];
static ze_command_list_handle_t immediate[QUEUES];
static char *memory;

static char *place_of(int index, int which)
{
    return memory + (2 * index + which) * SIZE;
}

static void make_all(void)
{
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t list_desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};

    for (int index = 0; index < QUEUES; index++) {
        DO(zeCommandQueueCreate(the_context, the_device, &desc, &queues[index]));
        DO(zeCommandListCreate(the_context, the_device, &list_desc, &lists[index]));
        DO(zeCommandListCreateImmediate(the_context, the_device, &desc, &immediate[index]));
        DO(zeCommandQueueSynchronize(queues[index], 0));
        DO(zeCommandListHostSynchronize(immediate[index], 0));
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandListHostSynchronize(lists[index], 0));
    }
}

static void hand_over(int index, char byte)
{
    DO(zeCommandListReset(lists[index]));
    for (int count = 0; count < COMMANDS; count++) {
        char now = count == COMMANDS - 1 ? byte : 0;

        DO(zeCommandListAppendMemoryFill(lists[index], place_of(index, 0), &now, 1, SIZE, NULL, 0,
                                         NULL));
        DO(zeCommandListAppendMemoryFill(immediate[index], place_of(index, 1), &now, 1, SIZE, NULL, 0,
                                         NULL));
    }
    DO(zeCommandListClose(lists[index]));
    DO(zeCommandQueueExecuteCommandLists(queues[index], 1, &lists[index], NULL));
}

static void require_done(int index, int which, char byte)
{
    for (int at = 0; at < SIZE; at++)
        REQUIRE(place_of(index, which)[at] == byte);
}

static void look_until_done(int index, char byte)
{
    ze_result_t result;

    while ((result = zeCommandQueueSynchronize(queues[index], 0)) == ZE_RESULT_NOT_READY)
        ;
    DO(result);
    require_done(index, 0, byte);
    DO(zeCommandQueueSynchronize(queues[index], 0));
    while ((result = zeCommandListHostSynchronize(immediate[index], 0)) == ZE_RESULT_NOT_READY)
        ;
    DO(result);
    require_done(index, 1, byte);
    DO(zeCommandListHostSynchronize(immediate[index], UINT64_MAX));
}

static void end_all(void)
{
    for (int index = 0; index < QUEUES; index++) {
        DO(zeCommandQueueDestroy(queues[index]));
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandQueueSynchronize(queues[index], 0));
        DO(zeCommandListDestroy(lists[index]));
        DO(zeCommandListDestroy(immediate[index]));
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
               zeCommandListHostSynchronize(immediate[index], 0));
    }
}

int main(void)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};

    begin();
    DO(zeMemAllocHost(the_context, &desc, 2 * SIZE * QUEUES, 0, (void **)&memory));
    make_all();
    for (int round = 1; round <= ROUNDS; round++) {
        for (int index = 0; index < QUEUES; index++)
            hand_over(index, (char)(round + index));
        for (int index = QUEUES - 1; index >= 0; index--)
            look_until_done(index, (char)(round + index));
    }
    end_all();
    DO(zeMemFree(the_context, memory));
    return 0;
}
