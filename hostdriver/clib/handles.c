#include "handles.h"

#include <pthread.h>
#include <stdlib.h>

#include "rooms.h"

extern const char emuzero_ze_tables[];
extern const char emuzero_zer_tables[];
extern const char emuzero_zes_tables[];

typedef struct table {
    size_t bucket_count;
    emuzero_handle *_Atomic *buckets;
    struct table *older; /* may still be looked at */
} table;

enum { FIRST_BUCKETS = 256, GRAVES = 4096, A_FEW = 16 };

/* Whoever changes something holds the lock. Looking up goes without it: tables and handles are never
 * given back to the system, so that a look that comes late finds nothing or a handle, and whoever
 * finds no handle of a number looks once more under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static table *_Atomic by_number;
static size_t handle_count;
static _Atomic uint64_t times_forgotten; /* that slots of events were */
/* Dropped handles, used anew when as many came after them: their addresses do not return soon. */
static emuzero_handle *oldest_grave;
static emuzero_handle *newest_grave;
static size_t grave_count;

static emuzero_handle *_Atomic *bucket_of(const table *in, uint32_t type, uint64_t number)
{
    uint64_t hash = (number << 8 | type) * UINT64_C(0x9E3779B97F4A7C15);

    return &in->buckets[(size_t)(hash >> 32) & (in->bucket_count - 1)];
}

static void enter(const table *in, emuzero_handle *item)
{
    emuzero_handle *_Atomic *place = bucket_of(in, item->type, item->number);

    item->next_by_number = *place;
    *place = item;
}

static table *make_table(size_t bucket_count)
{
    table *made = malloc(sizeof(*made));
    emuzero_handle *_Atomic *buckets = calloc(bucket_count, sizeof(*buckets));

    if (made == NULL || buckets == NULL) {
        free(made);
        free(buckets);
        return NULL;
    }
    *made = (table){bucket_count, buckets, by_number};
    return made;
}

/* Make room for one more in the table; false: no memory, nothing changed. */
static bool grow(void)
{
    table *old = by_number;
    table *made;
    int room;

    if (old != NULL && handle_count < old->bucket_count)
        return true;
    made = make_table(old == NULL ? FIRST_BUCKETS : 2 * old->bucket_count);
    if (made == NULL)
        return old != NULL;
    for (emuzero_handle *item = emuzero_handle_after(NULL, &room); item != NULL;
         item = emuzero_handle_after(item, &room))
        if (item->type)
            enter(made, item);
    by_number = made;
    return true;
}

static emuzero_handle *find_number(uint32_t type, uint64_t number, size_t most_steps)
{
    const table *in = atomic_load_explicit(&by_number, memory_order_acquire);
    emuzero_handle *item = in == NULL ? NULL : *bucket_of(in, type, number);

    /* Without the lock a chain may become another one underway. */
    for (size_t step = 0; item != NULL && step < most_steps; step++) {
        if (item->type == type && item->number == number)
            return item;
        item = item->next_by_number;
    }
    return NULL;
}

/* Find a live handle of any type; to be called under the lock. */
static emuzero_handle *find(const void *address)
{
    emuzero_handle *item = emuzero_handle_at(address);

    return item != NULL && item->type ? item : NULL;
}

/* Return the handle that was dropped longest ago, if enough came after it. */
static emuzero_handle *take_grave(void)
{
    emuzero_handle *item = grave_count > GRAVES ? oldest_grave : NULL;

    if (item != NULL) {
        oldest_grave = item->next_grave;
        grave_count--;
    }
    return item;
}

static void bury(emuzero_handle *item)
{
    item->next_grave = NULL;
    if (grave_count++ == 0)
        oldest_grave = item;
    else
        newest_grave->next_grave = item;
    newest_grave = item;
}

static emuzero_handle *make(uint32_t type, uint64_t number)
{
    emuzero_handle *item = grow() ? take_grave() : NULL;

    if (item == NULL && by_number != NULL)
        item = emuzero_take_unused();
    if (item == NULL)
        return NULL;
    item->core = emuzero_ze_tables;
    item->sysman = emuzero_zes_tables;
    item->runtime = emuzero_zer_tables;
    item->number = number;
    item->event = (emuzero_event){NULL, false};
    item->most_pattern = 0;
    item->is_closed = false;
    item->row = 0;
    /* From here on it is found by its address. */
    atomic_store_explicit(&item->type, type, memory_order_release);
    enter(by_number, item);
    handle_count++;
    return item;
}

static void drop(emuzero_handle *item)
{
    emuzero_handle *_Atomic *link = bucket_of(by_number, item->type, item->number);

    while (*link != item)
        link = &(*link)->next_by_number;
    *link = item->next_by_number;
    item->type = 0;
    handle_count--;
    bury(item);
}

void *emuzero_handle_of(uint32_t type, uint64_t number)
{
    emuzero_handle *item = find_number(type, number, A_FEW);

    if (item != NULL)
        return item;
    pthread_mutex_lock(&lock);
    item = find_number(type, number, SIZE_MAX);
    if (item == NULL)
        item = make(type, number);
    pthread_mutex_unlock(&lock);
    return item;
}

uint64_t emuzero_times_forgotten(void)
{
    return times_forgotten;
}

void emuzero_set_event(const void *address, emuzero_event event, uint64_t times)
{
    emuzero_handle *item;

    pthread_mutex_lock(&lock);
    item = find(address);
    if (item != NULL && times == times_forgotten)
        item->event = event;
    pthread_mutex_unlock(&lock);
}

void emuzero_set_list(const void *address, uint32_t most_pattern)
{
    emuzero_handle *item;

    pthread_mutex_lock(&lock);
    item = find(address);
    if (item != NULL)
        item->most_pattern = most_pattern;
    pthread_mutex_unlock(&lock);
}

void emuzero_open_list(const void *address, bool is_open)
{
    emuzero_handle *item;

    pthread_mutex_lock(&lock);
    item = find(address);
    if (item != NULL)
        item->is_closed = !is_open;
    pthread_mutex_unlock(&lock);
}

void emuzero_set_stream(const void *address, uint32_t row)
{
    emuzero_handle *item;

    pthread_mutex_lock(&lock);
    item = find(address);
    if (item != NULL)
        item->row = row;
    pthread_mutex_unlock(&lock);
}

void emuzero_forget_slots(uint64_t address, uint64_t size)
{
    int room;

    pthread_mutex_lock(&lock);
    times_forgotten++;
    for (emuzero_handle *item = emuzero_handle_after(NULL, &room); item != NULL;
         item = emuzero_handle_after(item, &room))
        if (item->type && (uint64_t)(uintptr_t)item->event.slot - address < size)
            item->event.slot = NULL;
    pthread_mutex_unlock(&lock);
}

void emuzero_drop_handle(const void *address)
{
    emuzero_handle *item;

    pthread_mutex_lock(&lock);
    item = find(address);
    if (item != NULL)
        drop(item);
    pthread_mutex_unlock(&lock);
}

void emuzero_drop_handles_of_parent(void)
{
    int room;

    pthread_mutex_lock(&lock);
    for (emuzero_handle *item = emuzero_handle_after(NULL, &room); item != NULL;
         item = emuzero_handle_after(item, &room))
        if (item->type && item->type != EMUZERO_TYPE_ze_driver_handle_t &&
            item->type != EMUZERO_TYPE_ze_device_handle_t)
            drop(item);
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
