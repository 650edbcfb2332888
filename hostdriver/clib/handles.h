/* Handles: objects that begin with the interface's tables, known to the driver by number.
 *
 * A pointer that a program hands in is looked up before it is read, so that stale, foreign and
 * made-up handles are told from live ones without touching them. */
#ifndef EMUZERO_HANDLES_H
#define EMUZERO_HANDLES_H

#include <stdbool.h>

#include "platform.h"

/* What the library may look at of an event or fence. */
typedef struct {
    struct emuzero_fence_slot *slot; /* NULL: the driver has to be asked */
    bool is_counting;                      /* signalled from the value on that was asked for last */
} emuzero_event;

/* Return the handle of a driver's object, the same one as long as it lives; NULL: no memory. */
void *emuzero_handle_of(uint32_t type, uint64_t number);

/* Store the number of a live handle of a type; false: it is none. */
bool emuzero_number_of(const void *handle, uint32_t type, uint64_t *number);

/* Return how often slots were forgotten. */
uint64_t emuzero_times_forgotten(void);

/* Set what is known of a live event or fence, unless slots were forgotten since `times`: its own may
 * be among them. */
void emuzero_set_event(const void *handle, emuzero_event event, uint64_t times);

/* Look up what is known of a live event or fence; false: nothing. */
bool emuzero_event_of(const void *handle, uint32_t type, emuzero_event *event);

/* Say of a new regular command list, which takes commands, how long a pattern of a fill may be. */
void emuzero_set_list(const void *handle, uint32_t most_pattern);

/* Say whether a live command list takes commands; an immediate one stays as it is. */
void emuzero_open_list(const void *handle, bool is_open);

/* Look up a live command list; false: it is none, or takes no commands, or is immediate. */
bool emuzero_list_of(const void *handle, uint32_t *most_pattern);

/* Say of a new queue or immediate list which row shows what it has to do; 0: none does. */
void emuzero_set_stream(const void *handle, uint32_t row);

/* Look up that row; false: it is no live handle of the type, or has none. */
bool emuzero_stream_of(const void *handle, uint32_t type, uint32_t *row);

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
