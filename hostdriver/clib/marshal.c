#include "marshal.h"

#include <string.h>

#include "handles.h"
#include "readable.h"

enum { CORE = 0, TAGGED = 16, CHAIN_ROOM = 256, MOST_LINKS = 64, MOST_ELEMENTS = 1 << 13 };

typedef struct {
    uint32_t tag;
    uint32_t padding;
    void *next;
} link_head;

static bool is_before(const emuzero_tag *item, uint8_t family, uint32_t tag)
{
    return item->family != family ? item->family < family : item->tag < tag;
}

static const emuzero_structure *structure_of_tag(uint8_t family, uint32_t tag)
{
    size_t low = 0;
    size_t high = emuzero_tag_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (is_before(&emuzero_tags[middle], family, tag))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == emuzero_tag_count || emuzero_tags[low].tag != tag ||
        emuzero_tags[low].family != family)
        return NULL;
    return &emuzero_structures[emuzero_tags[low].structure];
}

/* Return whether a link is there: programs leave what was on their stack in chains that they do not
 * use. Where a chain leads to no memory, it ends. */
static bool is_link(uint8_t family, const link_head *link)
{
    const emuzero_structure *known;

    if (link == NULL || !emuzero_is_readable(link, sizeof(*link)))
        return false;
    known = structure_of_tag(family, link->tag);
    return known == NULL || emuzero_is_readable(link, known->size);
}

/* Write a chain: tag and size of each link and its bytes; unknown ones have size 0; then zeros.
 *
 * A link whose tag a program left 0 is unknown too, but would read as the end: it is left out. */
static void put_chain(emuzero_slot *slot, uint8_t family, const link_head *link)
{
    for (int count = 0; count < MOST_LINKS && is_link(family, link); count++, link = link->next) {
        const emuzero_structure *known = structure_of_tag(family, link->tag);
        uint32_t size = known == NULL ? 0 : known->size;

        if (link->tag == 0)
            continue;
        emuzero_put(slot, link->tag | (uint64_t)size << 32);
        emuzero_put_bytes(slot, link, size);
    }
    emuzero_put(slot, 0);
}

static void get_chain(emuzero_slot *slot, uint8_t family, link_head *link)
{
    for (int count = 0; count < MOST_LINKS && is_link(family, link); count++, link = link->next) {
        const emuzero_structure *known = structure_of_tag(family, link->tag);
        const uint8_t *bytes;

        if (known == NULL)
            continue;
        bytes = emuzero_get_bytes(slot, known->size);
        if (bytes != NULL)
            memcpy((uint8_t *)link + TAGGED, bytes + TAGGED, known->size - TAGGED);
    }
}

static void put_structure(emuzero_slot *slot, uint16_t number, const void *bytes)
{
    const emuzero_structure *structure = &emuzero_structures[number];

    emuzero_put_bytes(slot, bytes, structure->size);
    if (structure->is_chain)
        put_chain(slot, structure->family, ((const link_head *)bytes)->next);
}

static void get_structure(emuzero_slot *slot, uint16_t number, uint8_t *into)
{
    const emuzero_structure *structure = &emuzero_structures[number];
    size_t kept = structure->has_tag ? TAGGED : 0;
    const uint8_t *bytes = emuzero_get_bytes(slot, structure->size);

    if (bytes != NULL)
        memcpy(into + kept, bytes + kept, structure->size - kept);
    if (structure->is_chain)
        get_chain(slot, structure->family, ((link_head *)into)->next);
}

static ze_result_t put_handle(emuzero_slot *slot, uint32_t type, const void *handle)
{
    uint64_t number = 0;

    if (handle != NULL && !emuzero_number_of(handle, type, &number)) {
        emuzero_set_error("%p is no live handle of this kind", handle);
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    emuzero_put(slot, number);
    return ZE_RESULT_SUCCESS;
}

/* Write a pointer and, where it is a live handle of physical memory, that handle's number. */
static void put_place(emuzero_slot *slot, const void *pointer)
{
    uint64_t number = 0;

    emuzero_number_of(pointer, EMUZERO_TYPE_ze_physical_mem_handle_t, &number);
    emuzero_put(slot, (uint64_t)(uintptr_t)pointer);
    emuzero_put(slot, number);
}

static ze_result_t put_handles(emuzero_slot *slot, const emuzero_param *param, void *const *handles,
                               uint64_t count)
{
    ze_result_t result = ZE_RESULT_SUCCESS;

    emuzero_put(slot, handles == NULL ? 0 : count);
    for (uint64_t index = 0; handles != NULL && index < count && !slot->overflow; index++) {
        result = put_handle(slot, param->handle, handles[index]);
        if (result != ZE_RESULT_SUCCESS)
            break;
    }
    return result;
}

static void put_structures(emuzero_slot *slot, const emuzero_param *param, const uint8_t *bytes,
                           uint64_t count)
{
    emuzero_put(slot, bytes == NULL ? 0 : count);
    for (uint64_t index = 0; bytes != NULL && index < count && !slot->overflow; index++)
        put_structure(slot, param->structure, bytes + index * param->size);
}

static void put_values(emuzero_slot *slot, const void *bytes, uint64_t count, size_t size)
{
    emuzero_put(slot, bytes == NULL ? 0 : count);
    if (bytes != NULL)
        emuzero_put_bytes(slot, bytes, count > slot->capacity ? SIZE_MAX : count * size);
}

static uint64_t load(const void *from, size_t size)
{
    uint64_t value = 0;

    memcpy(&value, from, size);
    return value;
}

/* Return how many elements an array has; counts that the driver may change are behind a pointer. */
static uint64_t count_of(const emuzero_function *function, const uint64_t *arguments,
                         const emuzero_param *param)
{
    const emuzero_param *counter;
    uint64_t value;

    if (param->count == EMUZERO_NO_PARAM)
        return 1;
    counter = &function->params[param->count];
    value = arguments[param->count];
    if (counter->kind == EMUZERO_KIND_VALUE)
        return value;
    return value ? load((const void *)(uintptr_t)value, counter->size) : 0;
}

static ze_result_t put_argument(emuzero_slot *slot, const emuzero_function *function,
                                const uint64_t *arguments, const emuzero_param *param,
                                uint64_t value)
{
    void *pointer = (void *)(uintptr_t)value;
    uint64_t count = count_of(function, arguments, param);
    uint64_t fit;

    switch (param->kind) {
    case EMUZERO_KIND_VALUE:
        emuzero_put(slot, value);
        break;
    case EMUZERO_KIND_HANDLE:
        return put_handle(slot, param->handle, pointer);
    case EMUZERO_KIND_HANDLES:
        return put_handles(slot, param, pointer, count);
    case EMUZERO_KIND_PLACE:
        put_place(slot, pointer);
        break;
    case EMUZERO_KIND_BLOB:
        emuzero_put_bytes(slot, pointer, param->size);
        break;
    case EMUZERO_KIND_STRING:
        put_values(slot, pointer, pointer == NULL ? 0 : strlen(pointer), 1);
        break;
    case EMUZERO_KIND_MEMORY:
    case EMUZERO_KIND_VALUES:
        put_values(slot, pointer, count, param->size);
        break;
    case EMUZERO_KIND_CHAIN:
        put_chain(slot, CORE, pointer);
        break;
    case EMUZERO_KIND_STRUCTURES:
        put_structures(slot, param, pointer, count);
        break;
    case EMUZERO_KIND_STRUCTURES_OUT:
        /* Whoever offers a large array gets as many as one reply holds. */
        fit = (slot->capacity - slot->position) / (param->size + CHAIN_ROOM);
        put_structures(slot, param, pointer, count < fit ? count : fit);
        break;
    case EMUZERO_KIND_STRUCTURE:
    case EMUZERO_KIND_STRUCTURE_OUT:
        emuzero_put(slot, pointer != NULL);
        if (pointer != NULL)
            put_structure(slot, param->structure, pointer);
        break;
    case EMUZERO_KIND_VALUE_INOUT:
        emuzero_put(slot, pointer != NULL);
        emuzero_put(slot, pointer == NULL ? 0 : load(pointer, param->size));
        break;
    default:
        /* Nothing but whether it is wanted, and how much room there is: more than fits is no use. */
        emuzero_put(slot, pointer == NULL ? 0 : count < MOST_ELEMENTS ? count : MOST_ELEMENTS);
    }
    return ZE_RESULT_SUCCESS;
}

static ze_result_t put_each(emuzero_slot *slot, const emuzero_function *function,
                            const uint64_t *arguments)
{
    for (int index = 0; index < function->param_count; index++) {
        const emuzero_param *param = &function->params[index];
        ze_result_t result = put_argument(slot, function, arguments, param, arguments[index]);

        if (result != ZE_RESULT_SUCCESS)
            return result;
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t emuzero_put_arguments(emuzero_slot *slot, const emuzero_function *function,
                                  const uint64_t *arguments)
{
    ze_result_t result = put_each(slot, function, arguments);

    if (result == ZE_RESULT_SUCCESS && slot->overflow) {
        emuzero_set_error("the arguments of %s are more than the %zu bytes of a call",
                          function->name, slot->capacity);
        result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    return result;
}

bool emuzero_put_all(emuzero_slot *slot, const emuzero_function *function,
                     const uint64_t *arguments)
{
    return put_each(slot, function, arguments) == ZE_RESULT_SUCCESS && !slot->overflow;
}

static bool is_output(uint8_t kind)
{
    return kind >= EMUZERO_KIND_VALUE_OUT;
}

static ze_result_t get_handles(emuzero_slot *slot, const emuzero_param *param, void **into,
                               uint64_t count)
{
    for (uint64_t index = 0; index < count; index++) {
        uint64_t number = emuzero_get(slot);

        into[index] = number ? emuzero_handle_of(param->handle, number) : NULL;
        if (number && into[index] == NULL) {
            emuzero_set_error("no memory is left for a handle");
            return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        }
    }
    return ZE_RESULT_SUCCESS;
}

/* Take the handle of an event or fence, and where its slot is. */
static ze_result_t get_event(emuzero_slot *slot, const emuzero_param *param, void **into)
{
    ze_result_t result = get_handles(slot, param, into, 1);
    uint64_t address = emuzero_get(slot);
    uint64_t is_counting = emuzero_get(slot);

    if (result == ZE_RESULT_SUCCESS && !slot->overflow)
        emuzero_set_event(*into, (emuzero_event){(void *)(uintptr_t)address, is_counting},
                          slot->times_forgotten);
    return result;
}

/* Take a handle and a number of which the library makes use; `note` keeps it. */
static ze_result_t get_noted(emuzero_slot *slot, const emuzero_param *param, void **into,
                             void (*note)(const void *, uint32_t))
{
    ze_result_t result = get_handles(slot, param, into, 1);
    uint64_t number = emuzero_get(slot);

    if (result == ZE_RESULT_SUCCESS && !slot->overflow)
        note(*into, (uint32_t)number);
    return result;
}

static ze_result_t get_output(emuzero_slot *slot, const emuzero_param *param, void *into,
                              uint64_t count)
{
    const uint8_t *bytes;
    uint64_t value;

    switch (param->kind) {
    case EMUZERO_KIND_VALUE_OUT:
    case EMUZERO_KIND_VALUE_INOUT:
        value = emuzero_get(slot);
        memcpy(into, &value, param->size);
        break;
    case EMUZERO_KIND_HANDLE_OUT:
    case EMUZERO_KIND_HANDLES_OUT:
        return get_handles(slot, param, into, count);
    case EMUZERO_KIND_EVENT_OUT:
        return get_event(slot, param, into);
    case EMUZERO_KIND_LIST_OUT:
        return get_noted(slot, param, into, emuzero_set_list);
    case EMUZERO_KIND_STREAM_OUT:
        return get_noted(slot, param, into, emuzero_set_stream);
    case EMUZERO_KIND_STRUCTURE_OUT:
    case EMUZERO_KIND_STRUCTURES_OUT:
        for (uint64_t index = 0; index < count; index++)
            get_structure(slot, param->structure, (uint8_t *)into + index * param->size);
        break;
    default:
        bytes = emuzero_get_bytes(slot, count * param->size);
        if (bytes != NULL)
            memcpy(into, bytes, count * param->size);
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t emuzero_get_outputs(emuzero_slot *slot, const emuzero_function *function,
                                const uint64_t *arguments)
{
    ze_result_t result = ZE_RESULT_SUCCESS;

    for (int index = 0; index < function->param_count && result == ZE_RESULT_SUCCESS; index++) {
        const emuzero_param *param = &function->params[index];
        void *into = (void *)(uintptr_t)arguments[index];
        uint64_t count;
        uint64_t room;

        if (!is_output(param->kind))
            continue;
        count = emuzero_get(slot);
        room = into == NULL ? 0 : count_of(function, arguments, param);
        if (count > room)
            slot->overflow = true;
        else if (count)
            result = get_output(slot, param, into, count);
    }
    if (result == ZE_RESULT_SUCCESS && slot->overflow) {
        emuzero_set_error("the driver's answer to %s is malformed", function->name);
        result = ZE_RESULT_ERROR_UNKNOWN;
    }
    return result;
}
