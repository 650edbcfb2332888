#include "local.h"

#include "call.h"
#include "channel.h"
#include "exports.h"
#include "handles.h"
#include "places.h"
#include "streams.h"
#include "words.h"

/* A wait that may last as long spins before it is a call, some times shorter than this. */
enum { MOMENT_NANOSECONDS = 1000000 };

/* Look up the memory of a pointer in a call whose handle is a live context. */
static emuzero_place_answer find(ze_context_handle_t context, const void *ptr,
                                 struct emuzero_place *place)
{
    uint64_t number;

    if (ptr == NULL || !emuzero_may_answer() ||
        !emuzero_number_of(context, EMUZERO_TYPE_ze_context_handle_t, &number))
        return EMUZERO_PLACE_ASK;
    return emuzero_find_place((uint64_t)(uintptr_t)ptr, place);
}

bool emuzero_local_zeMemGetAllocProperties(ze_context_handle_t context, const void *ptr,
                                           ze_memory_allocation_properties_t *properties,
                                           ze_device_handle_t *device, ze_result_t *result)
{
    struct emuzero_place place;
    void *handle = NULL;

    if (properties == NULL || properties->pNext != NULL)
        return false;
    switch (find(context, ptr, &place)) {
    case EMUZERO_PLACE_FOUND:
        break;
    case EMUZERO_PLACE_NONE:
        place = (struct emuzero_place){.type = ZE_MEMORY_TYPE_UNKNOWN};
        break;
    default:
        return false;
    }
    if (device != NULL && place.device) {
        handle = emuzero_handle_of(EMUZERO_TYPE_ze_device_handle_t, place.device);
        if (handle == NULL)
            return false;
    }
    properties->type = (ze_memory_type_t)place.type;
    properties->id = place.id;
    properties->pageSize = place.page_size;
    if (device != NULL)
        *device = handle;
    *result = ZE_RESULT_SUCCESS;
    return true;
}

bool emuzero_local_zeMemGetAddressRange(ze_context_handle_t context, const void *ptr, void **base,
                                        size_t *size, ze_result_t *result)
{
    struct emuzero_place place;

    switch (find(context, ptr, &place)) {
    case EMUZERO_PLACE_FOUND:
        if (base != NULL)
            *base = (void *)(uintptr_t)place.start;
        if (size != NULL)
            *size = place.size;
        *result = ZE_RESULT_SUCCESS;
        return true;
    case EMUZERO_PLACE_NONE:
        emuzero_set_error("no memory of this driver is at %p", ptr);
        *result = ZE_RESULT_ERROR_ADDRESS_NOT_FOUND;
        return true;
    default:
        return false;
    }
}

bool emuzero_local_zeMemGetIpcHandle(ze_context_handle_t context, const void *ptr,
                                     ze_ipc_mem_handle_t *handle, ze_result_t *result)
{
    const uint64_t arguments[] = {(uint64_t)(uintptr_t)context, (uint64_t)(uintptr_t)ptr,
                                  (uint64_t)(uintptr_t)handle};
    struct emuzero_place place;

    if (handle == NULL || find(context, ptr, &place) != EMUZERO_PLACE_FOUND ||
        place.kind != EMUZERO_PLACE_KIND_ALLOCATED || place.start != (uint64_t)(uintptr_t)ptr)
        return false;
    *result = ZE_RESULT_SUCCESS;
    if (emuzero_take_export(ptr, place.id, handle))
        return true;
    *result = emuzero_call(&emuzero_functions[EMUZERO_FUNCTION_zeMemGetIpcHandle], arguments);
    if (*result == ZE_RESULT_SUCCESS)
        emuzero_note_export(ptr, place.id, handle);
    return true;
}

bool emuzero_local_zeMemPutIpcHandle(ze_context_handle_t context, ze_ipc_mem_handle_t handle,
                                     ze_result_t *result)
{
    uint64_t number;

    if (!emuzero_may_answer() ||
        !emuzero_number_of(context, EMUZERO_TYPE_ze_context_handle_t, &number))
        return false;
    *result = ZE_RESULT_SUCCESS;
    return emuzero_give_export(&handle);
}

/* Look whether an event or fence is signalled. One that never will be is the driver's to tell. */
static bool look(const void *handle, uint32_t type, ze_result_t *result)
{
    emuzero_event event;
    uint64_t target;

    if (!emuzero_may_answer() || !emuzero_event_of(handle, type, &event))
        return false;
    target = event.is_counting ? __atomic_load_n(&event.slot->armed, __ATOMIC_ACQUIRE) : 1;
    *result = ZE_RESULT_SUCCESS;
    if (__atomic_load_n(&event.slot->value, __ATOMIC_ACQUIRE) >= target)
        return true;
    if (__atomic_load_n(&event.slot->status, __ATOMIC_ACQUIRE))
        return false;
    emuzero_set_error_constant("it is not signalled");
    *result = ZE_RESULT_NOT_READY;
    return true;
}

static emuzero_word word_of(const emuzero_event *event)
{
    return (emuzero_word){&event->slot->value, &event->slot->status, &event->slot->host_sleepers};
}

/* Find an event or fence that holds 0 or 1: one that counts is the driver's to refuse. */
static bool find_plain(const void *handle, uint32_t type, emuzero_event *event)
{
    return emuzero_may_answer() && emuzero_event_of(handle, type, event) && !event->is_counting;
}

/* The same for a wait: one that has to last longer than a moment is a call. */
static bool look_before_wait(const void *handle, uint32_t type, uint64_t timeout,
                             ze_result_t *result)
{
    emuzero_event event;
    emuzero_word word;

    if (timeout < MOMENT_NANOSECONDS || !find_plain(handle, type, &event))
        return look(handle, type, result) && (*result == ZE_RESULT_SUCCESS || timeout == 0);
    word = word_of(&event);
    *result = ZE_RESULT_SUCCESS;
    return emuzero_spin(&word, 1);
}

static bool reset(const void *handle, uint32_t type, ze_result_t *result)
{
    emuzero_event event;

    if (!find_plain(handle, type, &event))
        return false;
    __atomic_store_n(&event.slot->value, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&event.slot->status, 0, __ATOMIC_RELEASE);
    *result = ZE_RESULT_SUCCESS;
    return true;
}

bool emuzero_local_zeEventHostReset(ze_event_handle_t event, ze_result_t *result)
{
    return reset(event, EMUZERO_TYPE_ze_event_handle_t, result);
}

bool emuzero_local_zeFenceReset(ze_fence_handle_t fence, ze_result_t *result)
{
    return reset(fence, EMUZERO_TYPE_ze_fence_handle_t, result);
}

bool emuzero_local_zeEventHostSignal(ze_event_handle_t handle, ze_result_t *result)
{
    emuzero_event event;
    emuzero_word word;

    if (!find_plain(handle, EMUZERO_TYPE_ze_event_handle_t, &event))
        return false;
    word = word_of(&event);
    /* 1. The value is stored. 2. It is visible before what follows is loaded: an exchange, which is a
     * fence as well, takes half the time of a store and a fence. */
    __atomic_exchange_n(word.value, 1, __ATOMIC_SEQ_CST);
    /* 3. Whoever counted himself and did not see the value is found here ... */
    emuzero_wake(&word);
    /* 4. ... as is the queue of a device that said so before it looked at the value. The event is not
     * signalled a second time for it: by then somebody may have reset it. */
    *result = ZE_RESULT_SUCCESS;
    if (__atomic_load_n(&event.slot->device_waits, __ATOMIC_RELAXED))
        *result = emuzero_nudge();
    return true;
}

bool emuzero_local_zeEventQueryStatus(ze_event_handle_t event, ze_result_t *result)
{
    return look(event, EMUZERO_TYPE_ze_event_handle_t, result);
}

bool emuzero_local_zeEventHostSynchronize(ze_event_handle_t event, uint64_t timeout,
                                          ze_result_t *result)
{
    return look_before_wait(event, EMUZERO_TYPE_ze_event_handle_t, timeout, result);
}

bool emuzero_local_zeFenceQueryStatus(ze_fence_handle_t fence, ze_result_t *result)
{
    return look(fence, EMUZERO_TYPE_ze_fence_handle_t, result);
}

bool emuzero_local_zeFenceHostSynchronize(ze_fence_handle_t fence, uint64_t timeout,
                                          ze_result_t *result)
{
    return look_before_wait(fence, EMUZERO_TYPE_ze_fence_handle_t, timeout, result);
}

/* Look whether all is done that was handed over to a queue or immediate list. */
static bool look_before_stream(const void *handle, uint32_t type, uint64_t timeout,
                               ze_result_t *result)
{
    uint32_t row;

    if (!emuzero_may_answer() || !emuzero_stream_of(handle, type, &row))
        return false;
    switch (emuzero_look_at_stream(row)) {
    case EMUZERO_STREAM_DONE:
        *result = ZE_RESULT_SUCCESS;
        return true;
    case EMUZERO_STREAM_BUSY:
        if (timeout)
            return false;
        emuzero_set_error_constant("it has commands that are not done");
        *result = ZE_RESULT_NOT_READY;
        return true;
    default:
        return false;
    }
}

bool emuzero_local_zeCommandQueueSynchronize(ze_command_queue_handle_t queue, uint64_t timeout,
                                             ze_result_t *result)
{
    return look_before_stream(queue, EMUZERO_TYPE_ze_command_queue_handle_t, timeout, result);
}

bool emuzero_local_zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout,
                                                ze_result_t *result)
{
    return look_before_stream(list, EMUZERO_TYPE_ze_command_list_handle_t, timeout, result);
}
