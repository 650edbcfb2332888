#include "record.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "handles.h"
#include "marshal.h"
#include "places.h"
#include "regions.h"

enum { RING = EMUZERO_CHANNEL_APPENDS_SIZE, HEADER = sizeof(struct emuzero_append_record) };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_off;

static const void *pointer(uint64_t value)
{
    return (const void *)(uintptr_t)value;
}

static bool has_zero(const uint64_t *items, uint64_t count)
{
    for (uint64_t index = 0; items != NULL && index < count; index++)
        if (!items[index])
            return true;
    return false;
}

/* Return whether an event can be waited for, signalled and reset, and means the same at any time
 * until it is destroyed. One that counts does not: each signal that is asked for counts on. */
static bool is_plain_event(uint64_t handle)
{
    emuzero_event event;

    return emuzero_event_of(pointer(handle), EMUZERO_TYPE_ze_event_handle_t, &event) &&
           !event.is_counting;
}

static bool are_plain_events(const uint64_t *handles, uint64_t count)
{
    if (handles == NULL && count)
        return false;
    for (uint64_t index = 0; index < count; index++)
        if (!is_plain_event(handles[index]))
            return false;
    return true;
}

/* Check what has to hold of every parameter: handles live, pointers are there, events are plain. */
static bool check(const emuzero_function *function, const uint64_t *arguments)
{
    for (int index = 0; index < function->param_count; index++) {
        const emuzero_param *param = &function->params[index];
        uint64_t value = arguments[index];
        uint64_t number;

        if (!value && !(param->flags & EMUZERO_OPTIONAL))
            return false;
        if (param->kind == EMUZERO_KIND_HANDLE && value) {
            if (param->handle == EMUZERO_TYPE_ze_event_handle_t) {
                if (!is_plain_event(value))
                    return false;
            } else if (!emuzero_number_of(pointer(value), param->handle, &number)) {
                return false;
            }
        }
        if (param->kind == EMUZERO_KIND_HANDLES &&
            !are_plain_events(pointer(value), arguments[param->count]))
            return false;
    }
    return true;
}

/* The parameters around a region are its pointer before it and its pitches behind it. */
static emuzero_side side_of(const uint64_t *arguments, uint8_t region)
{
    return (emuzero_side){arguments[region - 1], pointer(arguments[region]),
                          (uint32_t)arguments[region + 1], (uint32_t)arguments[region + 2]};
}

static bool are_apart(const uint64_t *arguments, const emuzero_condition *condition)
{
    emuzero_side one = side_of(arguments, condition->param);
    emuzero_side other = side_of(arguments, condition->other);

    return emuzero_are_apart(&one, &other);
}

static bool is_known(uint64_t address)
{
    struct emuzero_place place;

    return emuzero_find_place(address, &place) == EMUZERO_PLACE_FOUND;
}

static bool holds(const emuzero_recording *recording, const uint64_t *arguments,
                  const emuzero_condition *condition, uint32_t most_pattern)
{
    uint64_t value = arguments[condition->param];
    bool has_other = condition->other != EMUZERO_NO_PARAM;
    uint8_t count;

    switch (condition->kind) {
    case EMUZERO_KNOWN:
        return is_known(value);
    case EMUZERO_NULL:
        return !value;
    case EMUZERO_NO_NULLS:
        count = recording->function->params[condition->param].count;
        return !has_zero(pointer(value), arguments[count]);
    case EMUZERO_PATTERN:
        return value && value <= most_pattern && !(value & (value - 1));
    case EMUZERO_MULTIPLE_OF:
        return value % (has_other ? arguments[condition->other] : condition->value) == 0;
    case EMUZERO_ONE_OF:
        return value < condition->value;
    case EMUZERO_APART_FROM:
        return are_apart(arguments, condition);
    default:
        return false;
    }
}

/* Return whether nothing can be wrong with an append. */
static bool is_right(const emuzero_recording *recording, const uint64_t *arguments)
{
    uint32_t most_pattern;

    if (!emuzero_list_of(pointer(arguments[0]), &most_pattern) ||
        !check(recording->function, arguments))
        return false;
    for (int index = 0; index < recording->condition_count; index++)
        if (!holds(recording, arguments, &recording->conditions[index], most_pattern))
            return false;
    return true;
}

static void mark_rest(uint8_t *at, uint32_t size)
{
    struct emuzero_append_record rest = {size, EMUZERO_CHANNEL_NO_APPEND};

    memcpy(at, &rest, sizeof(rest));
}

/* Put a record into the ring; false: it is full. Who makes a call then lets the driver empty it. */
static bool put(const uint8_t *record, uint32_t size)
{
    struct emuzero_appends_header *header = emuzero_appends();
    uint8_t *ring = (uint8_t *)(header + 1);
    uint64_t tail = __atomic_load_n(&header->tail, __ATOMIC_RELAXED);
    uint64_t used = tail - __atomic_load_n(&header->head, __ATOMIC_ACQUIRE);
    uint32_t at = (uint32_t)(tail % RING);
    uint32_t skipped = size > RING - at ? RING - at : 0;

    if (used > RING || size + skipped > RING - used)
        return false;
    if (skipped) {
        mark_rest(ring + at, skipped);
        at = 0;
    }
    memcpy(ring + at, record, size);
    __atomic_store_n(&header->tail, tail + skipped + size, __ATOMIC_RELEASE);
    return true;
}

/* Arguments are taken down as a call would send them, so that the program may change all of them. */
static bool record(const emuzero_function *function, const uint64_t *arguments)
{
    uint64_t items[EMUZERO_CHANNEL_LONGEST_APPEND / sizeof(uint64_t)];
    uint8_t *bytes = (uint8_t *)items;
    emuzero_slot slot = {.data = bytes + HEADER, .capacity = sizeof(items) - HEADER};
    struct emuzero_append_record head = {0, function->number};
    bool is_there;

    if (!emuzero_put_all(&slot, function, arguments))
        return false;
    head.size = (uint32_t)(HEADER + slot.position);
    memcpy(bytes, &head, sizeof(head));
    pthread_mutex_lock(&lock);
    is_there = put(bytes, head.size);
    pthread_mutex_unlock(&lock);
    return is_there;
}

bool emuzero_record(const emuzero_recording *recording, const uint64_t *arguments)
{
    bool is_recorded;
    int cancelling;

    if (is_off || !emuzero_may_answer())
        return false;
    /* A thread that ended in the middle would keep the lock. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    is_recorded = is_right(recording, arguments) && record(recording->function, arguments);
    pthread_setcancelstate(cancelling, NULL);
    return is_recorded;
}

void emuzero_prepare_records(void)
{
    const char *wanted = getenv("EMUZERO_RECORD");

    is_off = wanted != NULL && strcmp(wanted, "0") == 0;
}

void emuzero_lock_records(void)
{
    pthread_mutex_lock(&lock);
}

void emuzero_unlock_records(void)
{
    pthread_mutex_unlock(&lock);
}
