#include "places.h"

enum { TRIES = 64 };

_Atomic uint32_t emuzero_place_hints[1 << EMUZERO_HINT_BITS];

/* Return how many entries begin at or before an address. */
static uint32_t count_up_to(const struct emuzero_place *entries, uint64_t address, uint32_t count)
{
    _Atomic uint32_t *hint = emuzero_place_hint_of(address);
    uint32_t low = atomic_load_explicit(hint, memory_order_relaxed);
    uint32_t high = count;

    /* Where nothing is of the driver's, the same gap is found again. */
    if (low <= count && (low == 0 || emuzero_begins_before(&entries[low - 1], address)) &&
        (low == count || !emuzero_begins_before(&entries[low], address)))
        return low;
    low = 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (emuzero_begins_before(&entries[middle], address))
            low = middle + 1;
        else
            high = middle;
    }
    atomic_store_explicit(hint, low, memory_order_relaxed);
    return low;
}

static emuzero_place_answer look(const struct emuzero_places_header *header, uint64_t address,
                                 struct emuzero_place *place)
{
    const struct emuzero_place *entries = (const struct emuzero_place *)(header + 1);
    uint32_t count = __atomic_load_n(&header->count, __ATOMIC_RELAXED);
    uint32_t found;

    if (!__atomic_load_n(&header->is_kept, __ATOMIC_RELAXED) || count > EMUZERO_CHANNEL_PLACES)
        return EMUZERO_PLACE_ASK;
    found = count_up_to(entries, address, count);
    if (found == 0)
        return EMUZERO_PLACE_NONE;
    emuzero_load_place(&entries[found - 1], place);
    return address - place->start < place->size ? EMUZERO_PLACE_FOUND : EMUZERO_PLACE_NONE;
}

emuzero_place_answer emuzero_search_place(uint64_t address, struct emuzero_place *place)
{
    const struct emuzero_places_header *header = (const void *)emuzero_places();

    for (int count = 0; count < TRIES; count++) {
        uint64_t turn = __atomic_load_n(&header->turn, __ATOMIC_ACQUIRE);
        emuzero_place_answer answer;

        if (turn & 1) {
            __builtin_ia32_pause();
            continue;
        }
        answer = look(header, address, place);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&header->turn, __ATOMIC_RELAXED) == turn)
            return answer;
    }
    return EMUZERO_PLACE_ASK;
}
