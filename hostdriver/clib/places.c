#include "places.h"

#include "channel.h"

enum { TRIES = 64 };

static const struct emuzero_places_header *header(void)
{
    return (const struct emuzero_places_header *)emuzero_places();
}

static const struct emuzero_place *entries(void)
{
    return (const struct emuzero_place *)(emuzero_places() + sizeof(struct emuzero_places_header));
}

/* Load an entry while the driver may be changing it: torn ones are thrown away afterwards. */
static void load(uint32_t index, struct emuzero_place *place)
{
    const uint64_t *from = (const uint64_t *)&entries()[index];
    uint64_t *to = (uint64_t *)place;

    for (size_t word = 0; word < sizeof(*place) / sizeof(uint64_t); word++)
        to[word] = __atomic_load_n(&from[word], __ATOMIC_RELAXED);
}

/* Return how many entries begin at or before an address. */
static uint32_t count_up_to(uint64_t address, uint32_t count)
{
    uint32_t low = 0;
    uint32_t high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (__atomic_load_n(&entries()[middle].start, __ATOMIC_RELAXED) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static emuzero_place_answer look(uint64_t address, struct emuzero_place *place)
{
    uint32_t count = __atomic_load_n(&header()->count, __ATOMIC_RELAXED);
    uint32_t found;

    if (!__atomic_load_n(&header()->is_kept, __ATOMIC_RELAXED) || count > EMUZERO_CHANNEL_PLACES)
        return EMUZERO_PLACE_ASK;
    found = count_up_to(address, count);
    if (found == 0)
        return EMUZERO_PLACE_NONE;
    load(found - 1, place);
    return address - place->start < place->size ? EMUZERO_PLACE_FOUND : EMUZERO_PLACE_NONE;
}

emuzero_place_answer emuzero_find_place(uint64_t address, struct emuzero_place *place)
{
    for (int count = 0; count < TRIES; count++) {
        uint64_t turn = __atomic_load_n(&header()->turn, __ATOMIC_ACQUIRE);
        emuzero_place_answer answer;

        if (turn & 1) {
            __builtin_ia32_pause();
            continue;
        }
        answer = look(address, place);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&header()->turn, __ATOMIC_RELAXED) == turn)
            return answer;
    }
    return EMUZERO_PLACE_ASK;
}
