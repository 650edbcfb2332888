/* What a summary and a trace have to tell: calls of two threads and a child, errors, a copy, a
 * fault when asked for one, and things that are never given back. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { SIZE = 4096 };

static void *allocate_in_thread(void *kept)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};

    DO(zeMemAllocHost(the_context, &desc, SIZE, 0, kept));
    return NULL;
}

static void copy(void *to, const void *from)
{
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_handle_t list;

    DO(zeCommandListCreateImmediate(the_context, the_device, &desc, &list));
    DO(zeCommandListAppendMemoryCopy(list, to, from, SIZE, NULL, 0, NULL));
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
}

static void meet_a_fault(void)
{
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_handle_t list;
    void *start = NULL;
    uint32_t pattern = 7;

    DO(zeVirtualMemReserve(the_context, NULL, 1 << 21, &start));
    DO(zeCommandListCreateImmediate(the_context, the_device, &desc, &list));
    DO(zeCommandListAppendMemoryFill(list, start, &pattern, sizeof(pattern), SIZE, NULL, 0, NULL));
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeCommandListHostSynchronize(list, UINT64_MAX));
}

int main(int count, char **words)
{
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *on_device = NULL;
    void *on_host = NULL;
    void *base = NULL;
    size_t size = 0;
    pthread_t thread;
    int status;

    begin();
    DO(zeMemAllocDevice(the_context, &desc, SIZE, 0, the_device, &on_device));
    EXPECT(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
           zeMemAllocDevice(the_context, &desc, 0, 0, the_device, &on_device));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeMemFree(the_context, NULL));
    REQUIRE(pthread_create(&thread, NULL, allocate_in_thread, &on_host) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    DO(zeMemAllocDevice(the_context, &desc, SIZE, 0, the_device, &on_device));
    DO(zeMemGetAddressRange(the_context, on_host, &base, &size));
    REQUIRE(base == on_host && size == SIZE);
    copy(on_device, on_host);
    DO(zeMemFree(the_context, on_host));
    if (count > 1 && strcmp(words[1], "fault") == 0)
        meet_a_fault();
    if (fork() == 0) {
        begin();
        DO(zeContextDestroy(the_context));
        _exit(0);
    }
    REQUIRE(wait(&status) > 0 && status == 0);
    puts("done");
    return 0;
}
