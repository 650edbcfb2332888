#define _GNU_SOURCE
#include "rooms.h"

#include <sys/mman.h>

#ifndef EMUZERO_FIRST_ROOM
#define EMUZERO_FIRST_ROOM (1 << 20) /* bytes; tests have less */
#endif

emuzero_room emuzero_rooms[EMUZERO_MOST_ROOMS];

static int room_count;
static uint64_t used; /* bytes of the last room, never none */

static uint64_t end_of(int index)
{
    return emuzero_rooms[index].start + (index == room_count - 1 ? used : emuzero_rooms[index].size);
}

emuzero_handle *emuzero_handle_after(const emuzero_handle *item, int *room)
{
    uint64_t next = (uint64_t)(uintptr_t)item + EMUZERO_HANDLE_SIZE;

    if (item == NULL) {
        *room = 0;
        next = emuzero_rooms[0].start;
    }
    if (room_count && next == end_of(*room) && ++*room < room_count)
        next = emuzero_rooms[*room].start;
    return *room < room_count ? (emuzero_handle *)(uintptr_t)next : NULL;
}

/* Add a room of twice the size of the last one; false: no memory. */
static bool add_room(void)
{
    emuzero_room *room = &emuzero_rooms[room_count];
    size_t size = (size_t)EMUZERO_FIRST_ROOM << room_count;
    void *found;

    if (room_count == EMUZERO_MOST_ROOMS)
        return false;
    found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
        return false;
    used = 0;
    room_count++;
    room->start = (uint64_t)(uintptr_t)found;
    atomic_store_explicit(&room->size, size, memory_order_release);
    return true;
}

emuzero_handle *emuzero_take_unused(void)
{
    emuzero_handle *item;

    if ((room_count == 0 || used == emuzero_rooms[room_count - 1].size) && !add_room())
        return NULL;
    item = (emuzero_handle *)(uintptr_t)(emuzero_rooms[room_count - 1].start + used);
    used += EMUZERO_HANDLE_SIZE;
    return item;
}
