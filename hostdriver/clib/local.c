#include "local.h"

#include "channel.h"
#include "handles.h"
#include "places.h"

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
