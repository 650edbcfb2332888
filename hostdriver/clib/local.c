#include "local.h"

#include "call.h"
#include "channel.h"
#include "exports.h"
#include "handles.h"
#include "places.h"
#include "streams.h"

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
    static const char text[] = "it is not signalled";
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
    emuzero_set_error_text(text, sizeof(text) - 1);
    *result = ZE_RESULT_NOT_READY;
    return true;
}

/* The same for a wait: one that has to last is a call. */
static bool look_before_wait(const void *handle, uint32_t type, uint64_t timeout,
                             ze_result_t *result)
{
    return look(handle, type, result) && (*result == ZE_RESULT_SUCCESS || timeout == 0);
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
    static const char text[] = "it has commands that are not done";
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
        emuzero_set_error_text(text, sizeof(text) - 1);
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
