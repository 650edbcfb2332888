/* The call channel: this process's connection to a driver in the emulator.
 *
 * Any thread may call. A child after fork connects anew when it first calls; what it inherited is
 * closed and left alone. When the emulator goes, every wait ends within a fifth of a second. */
#ifndef EMUZERO_CHANNEL_H
#define EMUZERO_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "connection.h"
#include "platform.h"

/* One call under way: its slot, and where the next item is written or read. */
typedef struct {
    uint32_t number;
    struct emuzero_slot_header *header;
    uint8_t *data;
    size_t capacity;
    size_t position; /* of the next item */
    size_t size;     /* of the message that stands in the slot, when reading */
    bool overflow;   /* an item did not fit, or a message was shorter than its items */
    uint64_t times_forgotten; /* that slots of events were, before the call */
} emuzero_slot;

/* What a process has. A child after fork finds zeros here, however it was made, and starts anew. */
typedef struct {
    uint8_t *_Atomic channel; /* NULL: it has not connected */
    _Atomic bool was_lost;
    _Atomic bool asks; /* session or device was lost: nothing is answered here any more */
    uint8_t *segments[EMUZERO_MOST_DEVICES]; /* NULL: there is no such device */
} emuzero_process;

extern emuzero_process *_Atomic emuzero_this_process;

/* What a thread has, in one place, which is found by one call. A faster way would want memory of which a
 * process has little: where other libraries had it all, a loader could not open this one. */
typedef struct {
    const char *error;     /* its error description; NULL: none was set */
    uint32_t answers_left; /* that it may give before it looks again whether the emulator lives */
} emuzero_thread;

extern _Thread_local emuzero_thread emuzero_this_thread;

/* Connect if this process has not yet.
 *
 * Returns SUCCESS; UNINITIALIZED: no emulator, or it refuses; DEVICE_LOST: it was there and is
 * gone. The cause is the thread's error description. */
ze_result_t emuzero_connect(void);

/* Return whether this process has connected. */
bool emuzero_is_connected(void);

/* Look whether the emulator lives, unless that was done a moment ago; true: it does. */
bool emuzero_look_for_life(void);

/* Return the channel if the library may answer by itself: it is connected, the driver lets it, and the
 * emulator lived a moment ago; else NULL. */
static inline uint8_t *emuzero_answering_channel(void)
{
    const emuzero_process *own = atomic_load_explicit(&emuzero_this_process, memory_order_acquire);
    uint8_t *channel = NULL;
    emuzero_thread *own_thread;

    if (own != NULL && !atomic_load_explicit(&own->asks, memory_order_relaxed))
        channel = atomic_load_explicit(&own->channel, memory_order_acquire);
    if (channel == NULL ||
        !__atomic_load_n(&((struct emuzero_channel_header *)channel)->answers, __ATOMIC_RELAXED))
        return NULL;
    own_thread = &emuzero_this_thread;
    if (!own_thread->answers_left)
        return emuzero_look_for_life() ? channel : NULL;
    own_thread->answers_left--;
    return channel;
}

static inline bool emuzero_may_answer(void)
{
    return emuzero_answering_channel() != NULL;
}

/* Return the first byte of the table of places, of a connected process. */
static inline const uint8_t *emuzero_places(void)
{
    return atomic_load_explicit(&emuzero_this_process, memory_order_relaxed)->channel +
           EMUZERO_CHANNEL_PLACES_OFFSET;
}

/* Return the ring of appends; its header comes first. */
struct emuzero_appends_header *emuzero_appends(void);

/* Return the rows of queues and immediate lists, of a connected process. */
static inline const struct emuzero_stream_row *emuzero_stream_rows(void)
{
    return (const void *)(atomic_load_explicit(&emuzero_this_process, memory_order_relaxed)->channel +
                          EMUZERO_CHANNEL_STREAMS_OFFSET);
}

/* Return whether it has connected, and no call has found the emulator gone since. */
bool emuzero_has_session(void);

/* Return how often this process, since it connected first, went on as the child of a fork. */
uint64_t emuzero_times_forked(void);

/* Return where the calls of a function are counted, of a connected process; NULL: nowhere. */
struct emuzero_call_counts *emuzero_counts_of(uint16_t function);

/* Take a slot, waiting for a free one. */
emuzero_slot emuzero_take_slot(void);
void emuzero_give_slot(const emuzero_slot *slot);

/* Send what was written into a slot and wait for the driver's next message, which is ready to be
 * read then. Returns SUCCESS or DEVICE_LOST. */
ze_result_t emuzero_exchange(emuzero_slot *slot, uint32_t kind, uint32_t what);

/* Let the driver wake devices that sleep: queues of them wait for what this process has stored. Returns
 * SUCCESS or DEVICE_LOST. */
ze_result_t emuzero_nudge(void);

/* Return a descriptor that came for a slot, which belongs to the caller now; -1: none came. */
int emuzero_take_descriptor(uint32_t slot_number);

/* Return whether the driver has a device, or a sub-device, of this number for this process. */
bool emuzero_sees_device(uint64_t number);

/* Return the first byte of a device's segment; NULL: there is no such device. */
static inline uint8_t *emuzero_device_segment(uint64_t device)
{
    const emuzero_process *own = atomic_load_explicit(&emuzero_this_process, memory_order_relaxed);

    return own == NULL || device >= EMUZERO_MOST_DEVICES ? NULL : own->segments[device];
}

/* Return SUCCESS while the session lives, else DEVICE_LOST. */
ze_result_t emuzero_check_session(void);

/* Items of messages: eight bytes each, bytes padded to as many. Overflow is noted, not reported. */
static inline void emuzero_put(emuzero_slot *slot, uint64_t value)
{
    if (slot->overflow || slot->capacity - slot->position < sizeof(value)) {
        slot->overflow = true;
        return;
    }
    memcpy(slot->data + slot->position, &value, sizeof(value));
    slot->position += sizeof(value);
}

void emuzero_put_bytes(emuzero_slot *slot, const void *bytes, size_t size);
uint64_t emuzero_get(emuzero_slot *slot);
/* Return where `size` bytes of the message stand; NULL: it is shorter. */
const uint8_t *emuzero_get_bytes(emuzero_slot *slot, size_t size);

/* The calling thread's error description. */

/* Set it to a text that stays as it is. */
static inline void emuzero_set_error_constant(const char *text)
{
    emuzero_this_thread.error = text;
}

void emuzero_set_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void emuzero_set_error_text(const char *text, size_t size);
const char *emuzero_error(void);

#endif
