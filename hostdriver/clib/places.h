/* What pointers name: the table of places that the driver keeps in the channel. */
#ifndef EMUZERO_PLACES_H
#define EMUZERO_PLACES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "channel.h"

typedef enum { EMUZERO_PLACE_FOUND, EMUZERO_PLACE_NONE, EMUZERO_PLACE_ASK } emuzero_place_answer;

enum { EMUZERO_HINT_BITS = 12, EMUZERO_PAGE_BITS = 12 };

/* How many entries began at or before addresses of pages that were looked up: a place to look first.
 * What stands there may be of any age, and of another page. */
extern _Atomic uint32_t emuzero_place_hints[1 << EMUZERO_HINT_BITS];

static inline _Atomic uint32_t *emuzero_place_hint_of(uint64_t address)
{
    uint64_t hash = (address >> EMUZERO_PAGE_BITS) * UINT64_C(0x9E3779B97F4A7C15);

    return &emuzero_place_hints[hash >> (64 - EMUZERO_HINT_BITS)];
}

static inline bool emuzero_begins_before(const struct emuzero_place *entry, uint64_t address)
{
    return __atomic_load_n(&entry->start, __ATOMIC_RELAXED) <= address;
}

/* Load an entry while the driver may be changing it: torn ones are thrown away afterwards. */
static inline void emuzero_load_place(const struct emuzero_place *from, struct emuzero_place *to)
{
    to->start = __atomic_load_n(&from->start, __ATOMIC_RELAXED);
    to->size = __atomic_load_n(&from->size, __ATOMIC_RELAXED);
    to->id = __atomic_load_n(&from->id, __ATOMIC_RELAXED);
    to->page_size = __atomic_load_n(&from->page_size, __ATOMIC_RELAXED);
    to->kind = __atomic_load_n(&from->kind, __ATOMIC_RELAXED);
    to->type = __atomic_load_n(&from->type, __ATOMIC_RELAXED);
    to->device = __atomic_load_n(&from->device, __ATOMIC_RELAXED);
}

/* Look up the memory by searching the table. */
emuzero_place_answer emuzero_search_place(uint64_t address, struct emuzero_place *place);

/* Look up the memory of which `address` is a byte; ASK: the table does not say, the driver will. To be
 * asked by a process that has connected. */
static inline emuzero_place_answer emuzero_find_place(uint64_t address, struct emuzero_place *place)
{
    const struct emuzero_places_header *header = (const void *)emuzero_places();
    const struct emuzero_place *entry = (const struct emuzero_place *)(header + 1);
    uint64_t turn = __atomic_load_n(&header->turn, __ATOMIC_ACQUIRE);
    uint32_t count = __atomic_load_n(&header->count, __ATOMIC_RELAXED);
    uint32_t hint = atomic_load_explicit(emuzero_place_hint_of(address), memory_order_relaxed);

    entry += hint - 1;
    if (turn & 1 || !__atomic_load_n(&header->is_kept, __ATOMIC_RELAXED) || hint == 0 ||
        hint > count || count > EMUZERO_CHANNEL_PLACES || !emuzero_begins_before(entry, address))
        return emuzero_search_place(address, place);
    emuzero_load_place(entry, place);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (address - place->start >= place->size ||
        __atomic_load_n(&header->turn, __ATOMIC_RELAXED) != turn)
        return emuzero_search_place(address, place);
    return EMUZERO_PLACE_FOUND;
}

#endif
