/* Handles: objects that begin with the interface's tables, known to the driver by number.
 *
 * A pointer that a program hands in is looked up before it is read, so that stale, foreign and
 * made-up handles are told from live ones without touching them. */
#ifndef EMUZERO_HANDLES_H
#define EMUZERO_HANDLES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "platform.h"

/* What the library may look at of an event or fence. */
typedef struct {
    struct emuzero_fence_slot *slot; /* NULL: the driver has to be asked */
    bool is_counting;                      /* signalled from the value on that was asked for last */
} emuzero_event;

typedef struct emuzero_handle {
    /* The interface wants these four first. */
    const void *core;
    const void *tools;
    const void *sysman;
    const void *runtime;
    uint64_t number;
    _Atomic uint32_t type; /* 0: no live handle */
    _Atomic uint32_t most_pattern; /* of a regular list: what a fill takes; else 0 */
    emuzero_event event;           /* for events and fences */
    _Atomic bool is_closed;        /* list that takes no commands */
    _Atomic uint32_t row;          /* of a queue or immediate list: what shows its state, or 0 */
    struct emuzero_handle *_Atomic next_by_number;
    struct emuzero_handle *next_grave;
} emuzero_handle;

enum {
    EMUZERO_HANDLE_SIZE = 128, /* bytes that a handle has: its address is a multiple of them */
    EMUZERO_MOST_ROOMS = 16
};

_Static_assert(sizeof(emuzero_handle) <= EMUZERO_HANDLE_SIZE, "a handle has to fit");

/* Memory in which nothing but handles lies. It is never given back: whatever points there may be read. */
typedef struct {
    _Atomic uint64_t start;
    _Atomic uint64_t size; /* 0: there is no such room, nor any after it */
} emuzero_room;

extern emuzero_room emuzero_rooms[EMUZERO_MOST_ROOMS];

/* Return what a pointer names, a handle that is live or not; NULL: it never was one. */
static inline emuzero_handle *emuzero_handle_at(const void *address)
{
    uint64_t value = (uint64_t)(uintptr_t)address;
    uint64_t size;

    for (int index = 0; index < EMUZERO_MOST_ROOMS; index++) {
        const emuzero_room *room = &emuzero_rooms[index];

        size = atomic_load_explicit(&room->size, memory_order_acquire);
        if (value - atomic_load_explicit(&room->start, memory_order_relaxed) < size)
            return value % EMUZERO_HANDLE_SIZE ? NULL : (emuzero_handle *)(uintptr_t)address;
        if (!size)
            break;
    }
    return NULL;
}

/* Return the live handle of a type that a pointer is; NULL: it is none. */
static inline emuzero_handle *emuzero_find_handle(const void *address, uint32_t type)
{
    emuzero_handle *item = emuzero_handle_at(address);

    if (item == NULL || atomic_load_explicit(&item->type, memory_order_acquire) != type)
        return NULL;
    return item;
}

/* Return the handle of a driver's object, the same one as long as it lives; NULL: no memory. */
void *emuzero_handle_of(uint32_t type, uint64_t number);

/* Store the number of a live handle of a type; false: it is none. */
static inline bool emuzero_number_of(const void *handle, uint32_t type, uint64_t *number)
{
    const emuzero_handle *item = emuzero_find_handle(handle, type);

    if (item != NULL)
        *number = item->number;
    return item != NULL;
}

/* Return how often slots were forgotten. */
uint64_t emuzero_times_forgotten(void);

/* Set what is known of a live event or fence, unless slots were forgotten since `times`: its own may
 * be among them. */
void emuzero_set_event(const void *handle, emuzero_event event, uint64_t times);

/* Look up what is known of a live event or fence; false: nothing. */
static inline bool emuzero_event_of(const void *handle, uint32_t type, emuzero_event *event)
{
    const emuzero_handle *item = emuzero_find_handle(handle, type);

    if (item == NULL)
        return false;
    /* Copied before it is looked at: another thread may close the pool at any moment. */
    *event = item->event;
    return event->slot != NULL;
}

/* Say of a new regular command list, which takes commands, how long a pattern of a fill may be. */
void emuzero_set_list(const void *handle, uint32_t most_pattern);

/* Say whether a live command list takes commands; an immediate one stays as it is. */
void emuzero_open_list(const void *handle, bool is_open);

/* Look up a live command list; false: it is none, or takes no commands, or is immediate. */
static inline bool emuzero_list_of(const void *handle, uint32_t *most_pattern)
{
    const emuzero_handle *item = emuzero_find_handle(handle, EMUZERO_TYPE_ze_command_list_handle_t);

    if (item == NULL)
        return false;
    *most_pattern = atomic_load_explicit(&item->most_pattern, memory_order_relaxed);
    return *most_pattern && !atomic_load_explicit(&item->is_closed, memory_order_acquire);
}

/* Say of a new queue or immediate list which row shows what it has to do; 0: none does. */
void emuzero_set_stream(const void *handle, uint32_t row);

/* Look up that row; false: it is no live handle of the type, or has none. */
static inline bool emuzero_stream_of(const void *handle, uint32_t type, uint32_t *row)
{
    const emuzero_handle *item = emuzero_find_handle(handle, type);

    if (item == NULL)
        return false;
    *row = atomic_load_explicit(&item->row, memory_order_relaxed);
    return *row;
}

/* Forget what is known of the events whose slots lie in memory that goes. Their handles may stay: the
 * events of an opened pool end with it. */
void emuzero_forget_slots(uint64_t address, uint64_t size);

/* Forget a handle; its memory stays unused, so that no other object has its address soon. */
void emuzero_drop_handle(const void *handle);

/* Forget all handles but those of drivers and devices, for a child after fork. */
void emuzero_drop_handles_of_parent(void);

void emuzero_lock_handles(void);
void emuzero_unlock_handles(void);

#endif
