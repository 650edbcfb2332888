/* A Level Zero program under a loader, with whatever driver that finds: what local calls take.
 *
 * loaded             asked by lines: NAME CALLS; answers nanoseconds a call, the median of samples
 *   properties         zeMemGetAllocProperties of 1,000 allocations by turns, into the middle
 *   unknown            the same of pointers that are not the driver's
 *   range              zeMemGetAddressRange
 *   poll               zeEventQueryStatus
 *   wait               zeEventHostSynchronize with no time
 *   fence              zeFenceQueryStatus
 *   queue              zeCommandQueueSynchronize with no time
 *   signal             zeEventHostSignal
 *   handle             zeMemGetIpcHandle of memory that is exported already
 *   append             zeCommandListAppendMemoryCopy to a regular list */
#include "limit.h"

#include "level_zero.h"

enum { POINTERS = 1000, SIZE = 4096, SAMPLES = 101 };

static ze_context_handle_t the_context;
static ze_device_handle_t the_device;
static ze_event_handle_t event;
static ze_fence_handle_t fence;
static ze_command_queue_handle_t queue;
static ze_command_list_handle_t list;
static char *pointers[POINTERS];

static void need(ze_result_t found)
{
    if (found && found != ZE_RESULT_NOT_READY) {
        fprintf(stderr, "a call answers %#x\n", (unsigned)found);
        exit(1);
    }
}

static void make_objects(void)
{
    ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                      ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
    ze_event_desc_t event_desc = {ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_command_queue_desc_t queue_desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t list_desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_fence_desc_t fence_desc = {ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_event_pool_handle_t pool;

    need(zeEventPoolCreate(the_context, &pool_desc, 0, NULL, &pool));
    need(zeEventCreate(pool, &event_desc, &event));
    need(zeCommandQueueCreate(the_context, the_device, &queue_desc, &queue));
    need(zeFenceCreate(queue, &fence_desc, &fence));
    need(zeCommandListCreate(the_context, the_device, &list_desc, &list));
}

static void begin(void)
{
    uint32_t count = 1;
    ze_driver_handle_t driver;
    ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};

    need(zeInit(0));
    need(zeDriverGet(&count, &driver));
    count = 1;
    need(zeDeviceGet(driver, &count, &the_device));
    need(zeContextCreate(driver, &desc, &the_context));
    for (int index = 0; index < POINTERS; index++)
        need(zeMemAllocHost(the_context, &host, SIZE, 0, (void **)&pointers[index]));
    make_objects();
}

static char *pointer_of(uint32_t number)
{
    return pointers[number * 7919 % POINTERS] + number % SIZE;
}

static ze_result_t ask_about(const void *pointer)
{
    ze_memory_allocation_properties_t properties = {
        ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t device;
    return zeMemGetAllocProperties(the_context, pointer, &properties, &device);
}

static ze_result_t properties(uint32_t number)
{
    return ask_about(pointer_of(number));
}

static ze_result_t unknown(uint32_t number)
{
    return ask_about((char *)pointers + number % SIZE);
}

static ze_result_t range(uint32_t number)
{
    void *base;
    size_t size;
    return zeMemGetAddressRange(the_context, pointer_of(number), &base, &size);
}

static ze_result_t poll_event(uint32_t number)
{
    (void)number;
    return zeEventQueryStatus(event);
}

static ze_result_t wait_event(uint32_t number)
{
    (void)number;
    return zeEventHostSynchronize(event, 0);
}

static ze_result_t poll_fence(uint32_t number)
{
    (void)number;
    return zeFenceQueryStatus(fence);
}

static ze_result_t look_at_queue(uint32_t number)
{
    (void)number;
    return zeCommandQueueSynchronize(queue, 0);
}

static ze_result_t signal_event(uint32_t number)
{
    (void)number;
    return zeEventHostSignal(event);
}

static ze_result_t get_handle(uint32_t number)
{
    ze_ipc_mem_handle_t handle;
    (void)number;
    return zeMemGetIpcHandle(the_context, pointers[0], &handle);
}

static ze_result_t append(uint32_t number)
{
    (void)number;
    return zeCommandListAppendMemoryCopy(list, pointers[1], pointers[2], SIZE, NULL, 0, NULL);
}

typedef ze_result_t (*measured)(uint32_t number);

/* Many short samples: those during which the system ran somebody else do not move the median. */
static double nanoseconds_each(measured call, uint32_t count)
{
    uint64_t samples[SAMPLES];
    for (int sample = 0; sample < SAMPLES; sample++) {
        if (call == append)
            need(zeCommandListReset(list));
        uint64_t begun = now();
        for (uint32_t number = 0; number < count; number++)
            need(call(number));
        samples[sample] = now() - begun;
    }
    return median(samples, SAMPLES) / count;
}

int main(void)
{
    static const struct {
        const char *name;
        measured call;
    } questions[] = {
        {"properties", properties}, {"unknown", unknown},      {"range", range},
        {"poll", poll_event},       {"wait", wait_event},      {"fence", poll_fence},
        {"queue", look_at_queue},   {"signal", signal_event},  {"handle", get_handle},
        {"append", append},
    };
    char line[LINE];

    begin();
    while (fgets(line, sizeof line, stdin)) {
        char name[LINE];
        uint32_t count;
        if (sscanf(line, "%s %u", name, &count) != 2)
            return 2;
        for (size_t index = 0; index < sizeof questions / sizeof *questions; index++)
            if (!strcmp(name, questions[index].name))
                answer(nanoseconds_each(questions[index].call, count));
    }
    return 0;
}
