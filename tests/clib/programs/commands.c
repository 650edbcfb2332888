/* Command queues and lists: bytes to the device and back, by every kind of list. */
#include "check.h"

enum { SIZE = 300001, ROUNDS = 3 };

static void *host;
static void *device;
static unsigned char *plain;

static void copy_through(ze_command_list_handle_t list)
{
    DO(zeCommandListAppendMemoryCopy(list, device, plain, SIZE, NULL, 0, NULL));
    DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    DO(zeCommandListAppendMemoryCopy(list, host, device, SIZE, NULL, 0, NULL));
}

static void refill(unsigned char byte)
{
    for (size_t index = 0; index < SIZE; index++)
        plain[index] = (unsigned char)(byte + index % 251);
    memset(host, 0, SIZE);
}

static void use_immediate_list(ze_command_queue_mode_t mode)
{
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_handle_t list;
    ze_device_handle_t owner;
    ze_bool_t is_immediate = 0;
    uint32_t pattern = 0xC0FFEE11;
    ze_copy_region_t box = {16, 1, 0, 32, 4, 1};
    ze_copy_region_t place = {0, 0, 0, 32, 4, 1};

    desc.mode = mode;
    DO(zeCommandListCreateImmediate(the_context, the_device, &desc, &list));
    DO(zeCommandListGetDeviceHandle(list, &owner));
    DO(zeCommandListIsImmediate(list, &is_immediate));
    REQUIRE(owner == the_device && is_immediate);
    refill(1);
    copy_through(list);
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    REQUIRE(memcmp(host, plain, SIZE) == 0);
    DO(zeCommandListAppendMemoryFill(list, device, &pattern, sizeof(pattern), 4096, NULL, 0, NULL));
    DO(zeCommandListAppendMemoryCopy(list, host, device, 4096, NULL, 0, NULL));
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    REQUIRE(((uint32_t *)host)[1023] == pattern);
    DO(zeCommandListAppendMemoryCopyRegion(list, host, &place, 32, 128, plain, &box, 64, 640, NULL,
                                           0, NULL));
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    REQUIRE(memcmp(host, plain + 64 + 16, 32) == 0);
    REQUIRE(memcmp((char *)host + 96, plain + 4 * 64 + 16, 32) == 0);
    DO(zeCommandListAppendMemoryPrefetch(list, device, SIZE));
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandListClose(list));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
           zeCommandListAppendMemoryCopy(list, NULL, plain, 1, NULL, 0, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_SIZE,
           zeCommandListAppendMemoryFill(list, device, &pattern, 3, 3, NULL, 0, NULL));
    DO(zeCommandListDestroy(list));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandListHostSynchronize(list, 0));
}

static void use_queue(void)
{
    ze_command_queue_desc_t queue_desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t list_desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t list;

    DO(zeCommandQueueCreate(the_context, the_device, &queue_desc, &queue));
    DO(zeCommandListCreate(the_context, the_device, &list_desc, &list));
    copy_through(list);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    DO(zeCommandListClose(list));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeCommandListAppendBarrier(list, NULL, 0, NULL));
    for (unsigned char round = 0; round < ROUNDS; round++) {
        refill(round);
        DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
        DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
        REQUIRE(memcmp(host, plain, SIZE) == 0);
    }
    DO(zeCommandListReset(list));
    DO(zeCommandListClose(list));
    DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    DO(zeCommandQueueSynchronize(queue, 1000000000));
    DO(zeCommandListDestroy(list));
    DO(zeCommandQueueDestroy(queue));
}

static void meet_a_fault(void)
{
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_handle_t list;
    const char *why = "";
    void *gone = NULL;
    ze_device_mem_alloc_desc_t memory = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};

    DO(zeMemAllocDevice(the_context, &memory, SIZE, 0, the_device, &gone));
    DO(zeMemFree(the_context, gone));
    DO(zeCommandListCreateImmediate(the_context, the_device, &desc, &list));
    zeCommandListAppendMemoryCopy(list, gone, plain, 64, NULL, 0, NULL);
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeCommandListHostSynchronize(list, UINT64_MAX));
    DO(zeDriverGetLastErrorDescription(the_driver, &why));
    REQUIRE(*why);
    DO(zeCommandListDestroy(list));
}

int main(void)
{
    ze_host_mem_alloc_desc_t host_desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_device_mem_alloc_desc_t device_desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};

    begin();
    plain = malloc(SIZE);
    DO(zeMemAllocHost(the_context, &host_desc, SIZE, 0, &host));
    DO(zeMemAllocDevice(the_context, &device_desc, SIZE, 0, the_device, &device));
    use_immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    use_immediate_list(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    use_queue();
    meet_a_fault();
    DO(zeMemFree(the_context, host));
    DO(zeMemFree(the_context, device));
    free(plain);
    return 0;
}
