/* Functions of the program among its work: called in their order, in this process, by a thread of
 * the library. With an argument the program ends in the middle of one, or hears of a lost device. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { SIZE = 4096, ROUNDS = 200, MOST = 2 * ROUNDS + 8 };

static ze_event_pool_handle_t pool;
static uint8_t *host;
static uint8_t seen[MOST];
static _Atomic int calls;
static _Atomic pid_t caller;
static _Atomic int has_appended;

static void note(void *data)
{
    REQUIRE(syscall(SYS_gettid) != getpid());
    caller = getpid();
    seen[calls++ % MOST] = host[0];
    memset(host, (int)(uintptr_t)data, SIZE);
}

static void nothing(void *data)
{
    (void)data;
    calls++;
}

static void forget(void)
{
    calls = 0;
    memset(seen, 0, sizeof(seen));
    memset(host, 0, SIZE);
}

static ze_event_handle_t new_event(uint32_t index)
{
    ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, index};
    ze_event_handle_t event;

    DO(zeEventCreate(pool, &desc, &event));
    return event;
}

static ze_command_list_handle_t new_immediate(ze_command_queue_mode_t mode)
{
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = mode};
    ze_command_list_handle_t list;

    DO(zeCommandListCreateImmediate(the_context, the_device, &desc, &list));
    return list;
}

static void runs_in_order_in_an_immediate_list(void)
{
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    ze_event_handle_t go = new_event(0);
    ze_event_handle_t done = new_event(1);
    uint8_t one = 1;
    uint8_t two = 2;

    forget();
    DO(zeCommandListAppendMemoryFill(list, host, &one, 1, SIZE, NULL, 0, NULL));
    DO(zeCommandListAppendHostFunction(list, note, (void *)9, NULL, done, 1, &go));
    DO(zeCommandListAppendMemoryCopy(list, host + 1, host, 1, NULL, 0, NULL));
    DO(zeCommandListAppendMemoryFill(list, host, &two, 1, 1, NULL, 0, NULL));
    DO(zeCommandListAppendHostFunction(list, note, NULL, NULL, NULL, 0, NULL));
    EXPECT(ZE_RESULT_NOT_READY, zeCommandListHostSynchronize(list, 1000000));
    REQUIRE(calls == 0);
    DO(zeEventHostSignal(go));
    DO(zeEventHostSynchronize(done, UINT64_MAX));
    REQUIRE(calls >= 1 && caller == getpid());
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    REQUIRE(calls == 2 && seen[0] == 1 && seen[1] == 2 && host[0] == 0);
    DO(zeCommandListDestroy(list));
    DO(zeEventDestroy(go));
    DO(zeEventDestroy(done));
}

static void runs_once_for_each_execution(void)
{
    ze_command_queue_desc_t queue_desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_list_handle_t immediate = new_immediate(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    ze_command_list_handle_t list;
    ze_command_queue_handle_t queue;

    forget();
    DO(zeCommandQueueCreate(the_context, the_device, &queue_desc, &queue));
    DO(zeCommandListCreate(the_context, the_device, &desc, &list));
    DO(zeCommandListAppendHostFunction(list, note, (void *)5, NULL, NULL, 0, NULL));
    DO(zeCommandListAppendHostFunction(list, note, (void *)6, NULL, NULL, 0, NULL));
    DO(zeCommandListClose(list));
    for (int round = 0; round < ROUNDS; round++)
        DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
    REQUIRE(calls == 2 * ROUNDS && seen[0] == 0);
    for (int call = 1; call < 2 * ROUNDS; call++)
        REQUIRE(seen[call] == (call % 2 ? 5 : 6));
    DO(zeCommandListImmediateAppendCommandListsExp(immediate, 1, &list, NULL, 0, NULL));
    REQUIRE(calls == 2 * ROUNDS + 2);
    DO(zeCommandListDestroy(immediate));
    DO(zeCommandListDestroy(list));
    DO(zeCommandQueueDestroy(queue));
}

static void fork_children(void *data)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        ze_driver_handle_t driver;
        uint32_t count = 1;

        DO(zeInit(0));
        DO(zeDriverGet(&count, &driver));
        _exit(7);
    }
    REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    child = fork();
    if (child == 0)
        return; /* and this thread is all that is left of the child */
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    nothing(data);
}

static void end_thread(void *data)
{
    nothing(data);
    pthread_exit(NULL);
}

static void use_driver(void *data)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *pointer = NULL;

    DO(zeMemAllocHost(the_context, &desc, SIZE, 0, &pointer));
    DO(zeMemFree(the_context, pointer));
    nothing(data);
}

static void look_at_signals(void *data)
{
    sigset_t held;

    REQUIRE(pthread_sigmask(SIG_BLOCK, NULL, &held) == 0);
    REQUIRE(!sigismember(&held, SIGTERM) && !sigismember(&held, SIGINT));
    nothing(data);
}

static void does_what_functions_do(void)
{
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);

    forget();
    for (int round = 0; round < 3; round++) {
        DO(zeCommandListAppendHostFunction(list, fork_children, NULL, NULL, NULL, 0, NULL));
        DO(zeCommandListAppendHostFunction(list, end_thread, NULL, NULL, NULL, 0, NULL));
        DO(zeCommandListAppendHostFunction(list, use_driver, NULL, NULL, NULL, 0, NULL));
        DO(zeCommandListAppendHostFunction(list, look_at_signals, NULL, NULL, NULL, 0, NULL));
    }
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    REQUIRE(calls == 12);
    DO(zeCommandListDestroy(list));
}

static void refuses_what_the_specification_says(void)
{
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_event_counter_based_external_sync_allocation_desc_t outside = {
        ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_SYNC_ALLOCATION_DESC, NULL,
        (uint64_t *)(void *)host, (uint64_t *)(void *)host, 1};
    ze_event_counter_based_desc_t event_desc = {ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC,
                                                &outside,
                                                ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE};
    ze_command_list_handle_t closed;
    ze_event_handle_t event;
    ze_event_handle_t none = NULL;

    forget();
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
           zeCommandListAppendHostFunction(NULL, NULL, NULL, NULL, NULL, 0, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
           zeCommandListAppendHostFunction(list, NULL, NULL, NULL, NULL, 0, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_SIZE,
           zeCommandListAppendHostFunction(list, nothing, NULL, NULL, NULL, 1, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
           zeCommandListAppendHostFunction(list, nothing, NULL, NULL, NULL, 1, &none));
    DO(zeEventCounterBasedCreate(the_context, the_device, &event_desc, &event));
    EXPECT(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
           zeCommandListAppendHostFunction(list, nothing, NULL, NULL, event, 0, NULL));
    DO(zeEventDestroy(event));
    DO(zeCommandListCreate(the_context, the_device, &desc, &closed));
    DO(zeCommandListClose(closed));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeCommandListAppendHostFunction(closed, nothing, NULL, NULL, NULL, 0, NULL));
    DO(zeCommandListDestroy(closed));
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    DO(zeCommandListDestroy(list));
    REQUIRE(calls == 0);
}

static void is_found_by_name(void)
{
    void *found = NULL;

    DO(zeDriverGetExtensionFunctionAddress(the_driver, "zeCommandListAppendHostFunction", &found));
    REQUIRE(found == (void *)zeCommandListAppendHostFunction);
}

static void tell_and_stay(void *data)
{
    (void)data;
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}

static void leave(void *data)
{
    (void)data;
    puts("ready");
    exit(0);
}

/* Main waits for a function that does not return: it is to be killed, or the function exits. */
static int stay(ze_host_function_callback_t function)
{
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);

    DO(zeCommandListAppendHostFunction(list, function, NULL, NULL, NULL, 0, NULL));
    DO(zeCommandListHostSynchronize(list, UINT64_MAX));
    return 1;
}

static void await_line(void *data)
{
    (void)data;
    while (!has_appended)
        sched_yield();
    puts("ready");
    fflush(stdout);
    REQUIRE(getchar() == '\n');
    calls++;
}

/* The emulator ends while a function runs, and one waits to be called. */
static int lose(void)
{
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    ze_event_handle_t done = new_event(0);

    DO(zeCommandListAppendHostFunction(list, await_line, NULL, NULL, NULL, 0, NULL));
    DO(zeCommandListAppendHostFunction(list, nothing, NULL, NULL, done, 0, NULL));
    has_appended = 1;
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeEventHostSynchronize(done, UINT64_MAX));
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeCommandListHostSynchronize(list, UINT64_MAX));
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST,
           zeCommandListAppendHostFunction(list, nothing, NULL, NULL, NULL, 0, NULL));
    puts("lost");
    fflush(stdout);
    while (calls == 0)
        sched_yield();
    REQUIRE(calls == 1);
    return 0;
}

/* The program ends while a function runs, without waiting for it. */
static int end_meanwhile(void)
{
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);

    DO(zeCommandListAppendHostFunction(list, tell_and_stay, NULL, NULL, NULL, 0, NULL));
    REQUIRE(getchar() == '\n');
    exit(0);
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    ze_host_mem_alloc_desc_t host_desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_event_pool_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                 ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 2};

    begin();
    DO(zeEventPoolCreate(the_context, &desc, 0, NULL, &pool));
    DO(zeMemAllocHost(the_context, &host_desc, SIZE, 0, (void **)&host));
    if (strcmp(what, "stay") == 0)
        return stay(tell_and_stay);
    if (strcmp(what, "leave") == 0)
        return stay(leave);
    if (strcmp(what, "lose") == 0)
        return lose();
    if (strcmp(what, "end") == 0)
        return end_meanwhile();
    runs_in_order_in_an_immediate_list();
    runs_once_for_each_execution();
    does_what_functions_do();
    refuses_what_the_specification_says();
    is_found_by_name();
    DO(zeMemFree(the_context, host));
    DO(zeEventPoolDestroy(pool));
    return 0;
}
