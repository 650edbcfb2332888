#include "handles.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

extern const char emuzero_ze_tables[];
extern const char emuzero_zer_tables[];
extern const char emuzero_zes_tables[];

typedef struct handle {
    /* The interface wants these four first. */
    const void *core;
    const void *tools;
    const void *sysman;
    const void *runtime;
    uint64_t number;
    uint32_t type;
    emuzero_event event; /* for events and fences */
    _Atomic uint32_t most_pattern; /* of a regular list: what a fill takes; else 0 */
    _Atomic bool is_closed;        /* list that takes no commands */
    _Atomic uint32_t row;          /* of a queue or immediate list: what shows its state, or 0 */
    struct handle *_Atomic next_by_address;
    struct handle *_Atomic next_by_number;
    struct handle *next_grave;
} handle;

typedef struct {
    size_t bucket_count;
    handle *_Atomic *by_address;
    handle *_Atomic *by_number;
} table;

enum { FIRST_BUCKETS = 256, GRAVES = 4096, A_FEW = 16 };

/* Whoever changes something holds the lock. Looking up goes without it: tables and handles are never
 * given back to the system, so that a look that comes late finds nothing or a handle, and whoever
 * finds nothing looks once more under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static table *_Atomic current;
static size_t handle_count;
static _Atomic uint64_t times_forgotten; /* that slots of events were */
/* Dropped handles, used anew when as many came after them: their addresses do not return soon. */
static handle *oldest_grave;
static handle *newest_grave;
static size_t grave_count;

static size_t hash(const table *in, uint64_t value)
{
    value *= UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(value >> 32) & (in->bucket_count - 1);
}

static handle *_Atomic *bucket_of_address(const table *in, const void *address)
{
    return &in->by_address[hash(in, (uint64_t)(uintptr_t)address >> 4)];
}

static handle *_Atomic *bucket_of_number(const table *in, uint32_t type, uint64_t number)
{
    return &in->by_number[hash(in, number << 8 | type)];
}

static void enter(const table *in, handle *item)
{
    handle *_Atomic *place = bucket_of_address(in, item);
    handle *_Atomic *other = bucket_of_number(in, item->type, item->number);

    item->next_by_address = *place;
    *place = item;
    item->next_by_number = *other;
    *other = item;
}

static table *make_table(size_t bucket_count)
{
    table *made = malloc(sizeof(*made));
    handle *_Atomic *buckets = calloc(2 * bucket_count, sizeof(*buckets));

    if (made == NULL || buckets == NULL) {
        free(made);
        free(buckets);
        return NULL;
    }
    *made = (table){bucket_count, buckets, buckets + bucket_count};
    return made;
}

/* Make room for one more; false: no memory, nothing changed. */
static bool grow(void)
{
    const table *old = current;
    table *made;

    if (old != NULL && handle_count < old->bucket_count)
        return true;
    made = make_table(old == NULL ? FIRST_BUCKETS : 2 * old->bucket_count);
    if (made == NULL)
        return old != NULL;
    for (size_t index = 0; old != NULL && index < old->bucket_count; index++)
        for (handle *item = old->by_address[index], *next; item != NULL; item = next) {
            next = item->next_by_address;
            enter(made, item);
        }
    current = made;
    return true;
}

static handle *find(const void *address, size_t most_steps)
{
    const table *in = atomic_load_explicit(&current, memory_order_acquire);
    handle *item = in == NULL ? NULL : *bucket_of_address(in, address);

    /* Without the lock a chain may become another one underway. */
    for (size_t step = 0; item != NULL && item != address && step < most_steps; step++)
        item = item->next_by_address;
    return item == address ? item : NULL;
}

static handle *find_number(uint32_t type, uint64_t number, size_t most_steps)
{
    const table *in = atomic_load_explicit(&current, memory_order_acquire);
    handle *item = in == NULL ? NULL : *bucket_of_number(in, type, number);

    for (size_t step = 0; item != NULL && step < most_steps; step++) {
        if (item->type == type && item->number == number)
            return item;
        item = item->next_by_number;
    }
    return NULL;
}

/* Find a handle, or look once more under the lock: only then there is none. */
static const handle *look_up(const void *address)
{
    const handle *item = find(address, A_FEW);

    if (item != NULL || address == NULL)
        return item;
    pthread_mutex_lock(&lock);
    item = find(address, SIZE_MAX);
    pthread_mutex_unlock(&lock);
    return item;
}

/* Return the handle that was dropped longest ago, if enough came after it. */
static handle *take_grave(void)
{
    handle *item = grave_count > GRAVES ? oldest_grave : NULL;

    if (item != NULL) {
        oldest_grave = item->next_grave;
        grave_count--;
    }
    return item;
}

static void bury(handle *item)
{
    item->next_grave = NULL;
    if (grave_count++ == 0)
        oldest_grave = item;
    else
        newest_grave->next_grave = item;
    newest_grave = item;
}

static handle *make(uint32_t type, uint64_t number)
{
    handle *item = grow() ? take_grave() : NULL;

    if (item == NULL && current != NULL)
        item = malloc(sizeof(handle));
    if (item == NULL)
        return NULL;
    *item = (handle){.core = emuzero_ze_tables,
                     .sysman = emuzero_zes_tables,
                     .runtime = emuzero_zer_tables,
                     .number = number,
                     .type = type};
    enter(current, item);
    handle_count++;
    return item;
}

static void drop(handle *item)
{
    handle *_Atomic *link = bucket_of_address(current, item);

    while (*link != item)
        link = &(*link)->next_by_address;
    *link = item->next_by_address;
    link = bucket_of_number(current, item->type, item->number);
    while (*link != item)
        link = &(*link)->next_by_number;
    *link = item->next_by_number;
    handle_count--;
    bury(item);
}

void *emuzero_handle_of(uint32_t type, uint64_t number)
{
    handle *item = find_number(type, number, A_FEW);

    if (item != NULL)
        return item;
    pthread_mutex_lock(&lock);
    item = find_number(type, number, SIZE_MAX);
    if (item == NULL)
        item = make(type, number);
    pthread_mutex_unlock(&lock);
    return item;
}

bool emuzero_number_of(const void *address, uint32_t type, uint64_t *number)
{
    const handle *item = look_up(address);

    if (item == NULL || item->type != type)
        return false;
    *number = item->number;
    return true;
}

uint64_t emuzero_times_forgotten(void)
{
    return times_forgotten;
}

void emuzero_set_event(const void *address, emuzero_event event, uint64_t times)
{
    handle *item;

    pthread_mutex_lock(&lock);
    item = find(address, SIZE_MAX);
    if (item != NULL && times == times_forgotten)
        item->event = event;
    pthread_mutex_unlock(&lock);
}

bool emuzero_event_of(const void *address, uint32_t type, emuzero_event *event)
{
    const handle *item = look_up(address);

    if (item == NULL || item->type != type)
        return false;
    /* Copied before it is looked at: another thread may close the pool at any moment. */
    *event = item->event;
    return event->slot != NULL;
}

void emuzero_set_list(const void *address, uint32_t most_pattern)
{
    handle *item;

    pthread_mutex_lock(&lock);
    item = find(address, SIZE_MAX);
    if (item != NULL)
        item->most_pattern = most_pattern;
    pthread_mutex_unlock(&lock);
}

void emuzero_open_list(const void *address, bool is_open)
{
    handle *item;

    pthread_mutex_lock(&lock);
    item = find(address, SIZE_MAX);
    if (item != NULL)
        item->is_closed = !is_open;
    pthread_mutex_unlock(&lock);
}

bool emuzero_list_of(const void *address, uint32_t *most_pattern)
{
    const handle *item = look_up(address);

    if (item == NULL || item->type != EMUZERO_TYPE_ze_command_list_handle_t)
        return false;
    *most_pattern = item->most_pattern;
    return *most_pattern && !item->is_closed;
}

void emuzero_set_stream(const void *address, uint32_t row)
{
    handle *item;

    pthread_mutex_lock(&lock);
    item = find(address, SIZE_MAX);
    if (item != NULL)
        item->row = row;
    pthread_mutex_unlock(&lock);
}

bool emuzero_stream_of(const void *address, uint32_t type, uint32_t *row)
{
    const handle *item = look_up(address);

    if (item == NULL || item->type != type)
        return false;
    *row = item->row;
    return *row;
}

void emuzero_forget_slots(uint64_t address, uint64_t size)
{
    const table *in;

    pthread_mutex_lock(&lock);
    times_forgotten++;
    in = current;
    for (size_t index = 0; in != NULL && index < in->bucket_count; index++)
        for (handle *item = in->by_address[index]; item != NULL; item = item->next_by_address)
            if ((uint64_t)(uintptr_t)item->event.slot - address < size)
                item->event.slot = NULL;
    pthread_mutex_unlock(&lock);
}

void emuzero_drop_handle(const void *address)
{
    handle *item;

    pthread_mutex_lock(&lock);
    item = find(address, SIZE_MAX);
    if (item != NULL)
        drop(item);
    pthread_mutex_unlock(&lock);
}

void emuzero_drop_handles_of_parent(void)
{
    const table *in;

    pthread_mutex_lock(&lock);
    in = current;
    for (size_t index = 0; in != NULL && index < in->bucket_count; index++)
        for (handle *item = in->by_address[index], *next; item != NULL; item = next) {
            next = item->next_by_address;
            if (item->type != EMUZERO_TYPE_ze_driver_handle_t &&
                item->type != EMUZERO_TYPE_ze_device_handle_t)
                drop(item);
        }
    pthread_mutex_unlock(&lock);
}

void emuzero_lock_handles(void)
{
    pthread_mutex_lock(&lock);
}

void emuzero_unlock_handles(void)
{
    pthread_mutex_unlock(&lock);
}
