/* A Level Zero program: what its calls take that the library answers by itself, and their limits.
 *
 * program            asked by lines; COUNT calls are measured for each
 *   properties COUNT   zeMemGetAllocProperties of its memory, by pointers into the middle
 *   unknown COUNT      the same of pointers that are not the driver's
 *   range COUNT        zeMemGetAddressRange
 *   find COUNT         limit: a sorted table of as many pointers behind a lock, searched
 *   poll COUNT         zeEventQueryStatus of an event that is not signalled
 *   wait COUNT         zeEventHostSynchronize with no time, of one that is
 *   fence COUNT        zeFenceQueryStatus
 *   queue COUNT        zeCommandQueueSynchronize with no time, all done
 *   set COUNT          zeEventHostSignal and zeEventHostReset
 *   load COUNT         limit: a word behind a lock, loaded
 *   handles COUNT      zeMemGetIpcHandle and zeMemPutIpcHandle, each from 8 threads
 *   counts COUNT       limit: 64 bytes behind a lock copied, a count raised and lowered, likewise
 *   calls COUNT        zeDeviceGetStatus: a call that the driver answers */
#include "limit.h"

#include <pthread.h>

#include "level_zero.h"

enum { POINTERS = 1000, SIZE = 4096, THREADS = 8 };

static ze_context_handle_t the_context;
static ze_device_handle_t the_device;
static ze_event_handle_t not_signalled, signalled;
static ze_fence_handle_t fence;
static ze_command_queue_handle_t queue;
static char *pointers[POINTERS];
static char *sorted[POINTERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t word;
static volatile uint64_t sink;

static void need(ze_result_t wanted, ze_result_t found)
{
    if (wanted != found) {
        const char *why = "";
        zerGetLastErrorDescription(&why);
        fprintf(stderr, "%#x, expected %#x: %s\n", (unsigned)found, (unsigned)wanted, why);
        exit(1);
    }
}

static int by_address(const void *left, const void *right)
{
    const char *a = *(char *const *)left, *b = *(char *const *)right;
    return (a > b) - (a < b);
}

static ze_event_handle_t make_event(ze_event_pool_handle_t pool, uint32_t index)
{
    ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, index, 0, ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t event;
    need(ZE_RESULT_SUCCESS, zeEventCreate(pool, &desc, &event));
    return event;
}

static void begin(void)
{
    uint32_t count = 1;
    ze_driver_handle_t driver;
    ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                      ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 2};
    ze_command_queue_desc_t queue_desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_fence_desc_t fence_desc = {ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_event_pool_handle_t pool;

    need(ZE_RESULT_SUCCESS, zeInit(0));
    need(ZE_RESULT_SUCCESS, zeDriverGet(&count, &driver));
    count = 1;
    need(ZE_RESULT_SUCCESS, zeDeviceGet(driver, &count, &the_device));
    need(ZE_RESULT_SUCCESS, zeContextCreate(driver, &desc, &the_context));
    for (int index = 0; index < POINTERS; index++) {
        need(ZE_RESULT_SUCCESS,
             zeMemAllocHost(the_context, &host, SIZE, 0, (void **)&pointers[index]));
        sorted[index] = pointers[index];
    }
    qsort(sorted, POINTERS, sizeof *sorted, by_address);
    need(ZE_RESULT_SUCCESS, zeEventPoolCreate(the_context, &pool_desc, 0, NULL, &pool));
    not_signalled = make_event(pool, 0);
    signalled = make_event(pool, 1);
    need(ZE_RESULT_SUCCESS, zeEventHostSignal(signalled));
    need(ZE_RESULT_SUCCESS, zeCommandQueueCreate(the_context, the_device, &queue_desc, &queue));
    need(ZE_RESULT_SUCCESS, zeFenceCreate(queue, &fence_desc, &fence));
}

static char *pointer_of(uint32_t number)
{
    return pointers[number * 7919 % POINTERS] + number % SIZE;
}

static void ask_properties(uint32_t number)
{
    ze_memory_allocation_properties_t properties = {
        ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t device;
    need(ZE_RESULT_SUCCESS,
         zeMemGetAllocProperties(the_context, pointer_of(number), &properties, &device));
    sink += properties.id;
}

static void ask_unknown(uint32_t number)
{
    ze_memory_allocation_properties_t properties = {
        ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t device;
    need(ZE_RESULT_SUCCESS, zeMemGetAllocProperties(the_context, (char *)pointers + number % SIZE,
                                                    &properties, &device));
    sink += properties.type;
}

static void ask_range(uint32_t number)
{
    void *base;
    size_t size;
    need(ZE_RESULT_SUCCESS, zeMemGetAddressRange(the_context, pointer_of(number), &base, &size));
    sink += size;
}

static __attribute__((noinline)) void find(uint32_t number)
{
    const char *wanted = pointer_of(number);
    uint32_t low = 0, high = POINTERS;
    pthread_mutex_lock(&lock);
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (sorted[middle] <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    sink += (uintptr_t)sorted[low - 1];
    pthread_mutex_unlock(&lock);
}

static void poll_event(uint32_t number)
{
    (void)number;
    need(ZE_RESULT_NOT_READY, zeEventQueryStatus(not_signalled));
}

static void wait_event(uint32_t number)
{
    (void)number;
    need(ZE_RESULT_SUCCESS, zeEventHostSynchronize(signalled, 0));
}

static void set_and_reset(uint32_t number)
{
    (void)number;
    need(ZE_RESULT_SUCCESS, zeEventHostSignal(not_signalled));
    need(ZE_RESULT_SUCCESS, zeEventHostReset(not_signalled));
}

static void poll_fence(uint32_t number)
{
    (void)number;
    need(ZE_RESULT_NOT_READY, zeFenceQueryStatus(fence));
}

static void look_at_queue(uint32_t number)
{
    (void)number;
    need(ZE_RESULT_SUCCESS, zeCommandQueueSynchronize(queue, 0));
}

static __attribute__((noinline)) void load_word(uint32_t number)
{
    (void)number;
    pthread_mutex_lock(&lock);
    sink += __atomic_load_n(&word, __ATOMIC_ACQUIRE);
    pthread_mutex_unlock(&lock);
}

static void ask_driver(uint32_t number)
{
    (void)number;
    need(ZE_RESULT_SUCCESS, zeDeviceGetStatus(the_device));
}

static void get_and_put(uint32_t number)
{
    ze_ipc_mem_handle_t handle;
    need(ZE_RESULT_SUCCESS, zeMemGetIpcHandle(the_context, pointers[number % THREADS], &handle));
    need(ZE_RESULT_SUCCESS, zeMemPutIpcHandle(the_context, handle));
}

static __attribute__((noinline)) void count_up_and_down(uint32_t number)
{
    static char bytes[THREADS][64];
    char copy[64];
    pthread_mutex_lock(&lock);
    memcpy(copy, bytes[number % THREADS], sizeof copy);
    word++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    word--;
    pthread_mutex_unlock(&lock);
    sink += copy[0];
}

typedef void (*measured)(uint32_t number);

static double nanoseconds_each(measured call, uint32_t count)
{
    uint64_t begun = now();
    for (uint32_t number = 0; number < count; number++)
        call(number);
    return (double)(now() - begun) / count;
}

typedef struct {
    measured call;
    uint32_t count;
} work;

static void *carry_out(void *argument)
{
    const work *own = argument;
    for (uint32_t number = 0; number < own->count; number++)
        own->call(number);
    return NULL;
}

/* The time that one call takes of all threads together. */
static double from_threads(measured call, uint32_t count)
{
    work own = {call, count};
    pthread_t threads[THREADS];
    uint64_t begun = now();
    for (int index = 0; index < THREADS; index++)
        if (pthread_create(&threads[index], NULL, carry_out, &own))
            fail("pthread_create");
    for (int index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
    return (double)(now() - begun) / count / THREADS;
}

int main(void)
{
    static const struct {
        const char *name;
        measured call;
        double (*way)(measured, uint32_t);
    } questions[] = {
        {"properties", ask_properties, nanoseconds_each}, {"unknown", ask_unknown, nanoseconds_each},
        {"range", ask_range, nanoseconds_each},           {"find", find, nanoseconds_each},
        {"poll", poll_event, nanoseconds_each},           {"wait", wait_event, nanoseconds_each},
        {"fence", poll_fence, nanoseconds_each},          {"load", load_word, nanoseconds_each},
        {"handles", get_and_put, from_threads},           {"counts", count_up_and_down, from_threads},
        {"calls", ask_driver, nanoseconds_each},          {"queue", look_at_queue, nanoseconds_each},
        {"set", set_and_reset, nanoseconds_each},
    };
    char line[LINE];
    ze_ipc_mem_handle_t kept[THREADS];

    begin();
    /* Exported already: what is measured is one more get and its put. */
    for (int index = 0; index < THREADS; index++)
        need(ZE_RESULT_SUCCESS, zeMemGetIpcHandle(the_context, pointers[index], &kept[index]));
    while (fgets(line, sizeof line, stdin)) {
        char name[LINE];
        uint32_t count;
        if (sscanf(line, "%s %u", name, &count) != 2)
            return 2;
        for (size_t index = 0; index < sizeof questions / sizeof *questions; index++)
            if (!strcmp(name, questions[index].name))
                answer(questions[index].way(questions[index].call, count));
    }
    return 0;
}
