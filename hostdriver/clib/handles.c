#include "handles.h"

#include <pthread.h>
#include <stdlib.h>

extern const char emuzero_ze_tables[];
extern const char emuzero_zer_tables[];

typedef struct handle {
    /* The interface wants these four first. */
    const void *core;
    const void *tools;
    const void *sysman;
    const void *runtime;
    uint64_t number;
    uint32_t type;
    emuzero_event event; /* for events and fences */
    struct handle *next_by_address;
    struct handle *next_by_number;
} handle;

enum { FIRST_BUCKETS = 256, GRAVES = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static handle **by_address;
static handle **by_number;
static size_t bucket_count;
static size_t handle_count;
/* Dropped handles, freed when as many came after them: their addresses are not used again soon. */
static handle *graves[GRAVES];
static size_t next_grave;

static size_t hash(uint64_t value)
{
    value *= UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(value >> 32) & (bucket_count - 1);
}

static size_t place_by_address(const void *address)
{
    return hash((uint64_t)(uintptr_t)address >> 4);
}

static size_t place_by_number(uint32_t type, uint64_t number)
{
    return hash(number << 8 | type);
}

static void enter(handle *item)
{
    size_t place = place_by_address(item);
    size_t other = place_by_number(item->type, item->number);

    item->next_by_address = by_address[place];
    by_address[place] = item;
    item->next_by_number = by_number[other];
    by_number[other] = item;
}

/* Make room for one more; false: no memory, nothing changed. */
static bool grow(void)
{
    size_t old_count = bucket_count;
    size_t count = old_count ? 2 * old_count : FIRST_BUCKETS;
    handle **old = by_address;
    handle **addresses;
    handle **numbers;

    if (handle_count < old_count)
        return true;
    addresses = calloc(count, sizeof(handle *));
    numbers = calloc(count, sizeof(handle *));
    if (addresses == NULL || numbers == NULL) {
        free(addresses);
        free(numbers);
        return old_count != 0;
    }
    free(by_number);
    by_address = addresses;
    by_number = numbers;
    bucket_count = count;
    for (size_t index = 0; index < old_count; index++)
        for (handle *item = old[index], *next; item != NULL; item = next) {
            next = item->next_by_address;
            enter(item);
        }
    free(old);
    return true;
}

static handle *find(const void *address)
{
    if (bucket_count == 0)
        return NULL;
    for (handle *item = by_address[place_by_address(address)]; item != NULL;
         item = item->next_by_address)
        if (item == address)
            return item;
    return NULL;
}

static handle *find_number(uint32_t type, uint64_t number)
{
    if (bucket_count == 0)
        return NULL;
    for (handle *item = by_number[place_by_number(type, number)]; item != NULL;
         item = item->next_by_number)
        if (item->type == type && item->number == number)
            return item;
    return NULL;
}

static handle *make(uint32_t type, uint64_t number)
{
    handle *item = grow() ? malloc(sizeof(handle)) : NULL;

    if (item == NULL)
        return NULL;
    *item = (handle){.core = emuzero_ze_tables,
                     .runtime = emuzero_zer_tables,
                     .number = number,
                     .type = type};
    enter(item);
    handle_count++;
    return item;
}

static void drop(handle *item)
{
    handle **link = &by_address[place_by_address(item)];

    while (*link != item)
        link = &(*link)->next_by_address;
    *link = item->next_by_address;
    link = &by_number[place_by_number(item->type, item->number)];
    while (*link != item)
        link = &(*link)->next_by_number;
    *link = item->next_by_number;
    handle_count--;
    free(graves[next_grave]);
    graves[next_grave] = item;
    next_grave = (next_grave + 1) % GRAVES;
}

void *emuzero_handle_of(uint32_t type, uint64_t number)
{
    handle *item;

    pthread_mutex_lock(&lock);
    item = find_number(type, number);
    if (item == NULL)
        item = make(type, number);
    pthread_mutex_unlock(&lock);
    return item;
}

bool emuzero_number_of(const void *address, uint32_t type, uint64_t *number)
{
    const handle *item;

    pthread_mutex_lock(&lock);
    item = find(address);
    if (item != NULL && item->type != type)
        item = NULL;
    if (item != NULL)
        *number = item->number;
    pthread_mutex_unlock(&lock);
    return item != NULL;
}

void emuzero_set_event(const void *address, emuzero_event event)
{
    handle *item;

    pthread_mutex_lock(&lock);
    item = find(address);
    if (item != NULL)
        item->event = event;
    pthread_mutex_unlock(&lock);
}

bool emuzero_event_of(const void *address, uint32_t type, emuzero_event *event)
{
    const handle *item;

    pthread_mutex_lock(&lock);
    item = find(address);
    if (item != NULL && (item->type != type || item->event.slot == NULL))
        item = NULL;
    if (item != NULL)
        *event = item->event;
    pthread_mutex_unlock(&lock);
    return item != NULL;
}

void emuzero_drop_handle(const void *address)
{
    handle *item;

    pthread_mutex_lock(&lock);
    item = find(address);
    if (item != NULL)
        drop(item);
    pthread_mutex_unlock(&lock);
}

void emuzero_drop_handles_of_parent(void)
{
    pthread_mutex_lock(&lock);
    for (size_t index = 0; index < bucket_count; index++)
        for (handle *item = by_address[index], *next; item != NULL; item = next) {
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
