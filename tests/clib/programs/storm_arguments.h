/* Arguments at random: null, garbage, stale, live; and what becomes of outputs. */
#ifndef STORM_ARGUMENTS_H
#define STORM_ARGUMENTS_H

#include "storm_pools.h"

static void do_nothing(void *unused)
{
    (void)unused;
}

static void store(uint8_t *at, uint64_t value, size_t size)
{
    memcpy(at, &value, size < sizeof(value) ? size : sizeof(value));
}

static void fill(storm_thread *self, uint16_t number, uint8_t *bytes, uint8_t *links);

/* A chain in the room for links: none, one link, two, or one that leads to itself. */
static uint64_t any_chain(storm_thread *self, uint8_t family, uint8_t *links)
{
    uint16_t number;

    if (links == NULL || in_percent(self, 60))
        return 0;
    do
        number = (uint16_t)below(self, STRUCTURE_COUNT);
    while (structures[number].tag == 0 || structures[number].family != family);
    fill(self, number, links, in_percent(self, 30) ? links + 1024 : NULL);
    if (in_percent(self, 5))
        store(links + 8, (uint64_t)(uintptr_t)links, 8);
    if (in_percent(self, 5))
        store(links, next(self), 4);
    return (uint64_t)(uintptr_t)links;
}

static uint64_t any_member(storm_thread *self, const structure *of, const field *member,
                           uint8_t *links)
{
    switch (member->role) {
    case TAG:
        return in_percent(self, 90) ? of->tag : any_number(self);
    case CHAIN:
        return any_chain(self, of->family, links);
    case HANDLE:
        return any_handle(self, member->about);
    case CALLBACK:
        return in_percent(self, 80) ? (uint64_t)(uintptr_t)do_nothing : 0;
    case POINTER:
        return in_percent(self, 80)
                   ? (uint64_t)(uintptr_t)scratch + below(self, SCRATCH / 4096) * 4096
                   : 0;
    case MODE:
        /* Not synchronous: work that waits for what never comes would keep its thread. */
        return in_percent(self, 90) ? ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS : 3 + below(self, 100);
    case POLICY:
        /* Not blocking, for the same reason. */
        return in_percent(self, 50) ? 0 : 2 + below(self, 4);
    case DESCRIPTOR:
        return in_percent(self, 50) ? UINT32_MAX : NO_DESCRIPTOR + below(self, 100000);
    default:
        return any_number(self);
    }
}

static void fill(storm_thread *self, uint16_t number, uint8_t *bytes, uint8_t *links)
{
    const structure *what = &structures[number];

    memset(bytes, 0, what->size);
    for (int index = 0; index < what->field_count; index++) {
        const field *member = &what->fields[index];

        if (member->role == NUMBER && in_percent(self, 70))
            continue;
        store(bytes + member->offset, any_member(self, what, member, links), member->size);
    }
}

static void fill_bytes(storm_thread *self, uint8_t *bytes, size_t size)
{
    for (size_t index = 0; index < size; index += 8)
        store(bytes + index, in_percent(self, 50) ? any_number(self) : next(self), size - index);
}

static uint64_t count_of(const param *what, const uint64_t *arguments,
                         const function *called)
{
    uint64_t count;

    if (what->counter == NOTHING)
        return 1;
    count = arguments[what->counter];
    if (called->params[what->counter].kind != EMUZERO_KIND_VALUE && count)
        count = *(const uint32_t *)(uintptr_t)count;
    return count;
}

/* Elements of an array: as many as the counter says, which are never more than the room has. */
static void fill_elements(storm_thread *self, const param *what, uint8_t *room, uint64_t count)
{
    for (uint64_t index = 0; index < count && index < MOST_ELEMENTS; index++) {
        uint8_t *at = room + index * what->size;

        switch (what->kind) {
        case EMUZERO_KIND_HANDLES:
            store(at, any_handle(self, what->about), 8);
            break;
        case EMUZERO_KIND_STRUCTURE:
        case EMUZERO_KIND_STRUCTURE_OUT:
        case EMUZERO_KIND_STRUCTURES:
        case EMUZERO_KIND_STRUCTURES_OUT:
            fill(self, what->about, at, room + ROOM);
            break;
        case EMUZERO_KIND_VALUES:
            store(at, in_percent(self, 50) ? any_pointer(self) : any_number(self), what->size);
            break;
        default:
            store(at, any_number(self), what->size);
        }
    }
}

/* Mostly few: one wrong element is enough for a refusal. */
static uint64_t any_count(storm_thread *self)
{
    return in_percent(self, 90) ? below(self, 3) : below(self, MOST_ELEMENTS + 1);
}

static bool is_counter(const function *called, int number)
{
    for (int index = 0; index < called->param_count; index++)
        if (called->params[index].counter == number)
            return true;
    return false;
}

static uint64_t any_blob(storm_thread *self, const param *what, uint8_t *room)
{
    uint64_t found = pick(self, &shared_bytes);

    if (found && what->size == HANDLE_BYTES && in_percent(self, 80)) {
        memcpy(room, (void *)(uintptr_t)found, HANDLE_BYTES);
        if (in_percent(self, 20))
            room[below(self, HANDLE_BYTES)] ^= (uint8_t)(1 << below(self, 8));
    } else {
        fill_bytes(self, room, what->size);
    }
    return (uint64_t)(uintptr_t)room;
}

static uint64_t any_argument(storm_thread *self, const function *called, int number,
                             const uint64_t *arguments)
{
    const param *what = &called->params[number];
    uint8_t *room = self->rooms + (size_t)number * 2 * ROOM;
    uint64_t count;

    switch (what->kind) {
    case EMUZERO_KIND_VALUE:
        return is_counter(called, number) ? any_count(self) : any_number(self);
    case KIND_TIMEOUT:
        return below(self, 2) * below(self, 1000000);
    case EMUZERO_KIND_HANDLE:
        if (what->about == TYPE_ze_event_handle_t && in_percent(self, 20))
            return pick(self, &counting);
        return any_handle(self, what->about);
    case KIND_POINTER:
        return any_pointer(self);
    case KIND_CALLBACK:
        return in_percent(self, 80) ? (uint64_t)(uintptr_t)do_nothing : 0;
    case EMUZERO_KIND_CHAIN:
        return any_chain(self, 0, room);
    case EMUZERO_KIND_BLOB:
        return any_blob(self, what, room);
    default:
        break;
    }
    if (in_percent(self, 5))
        return 0;
    if (is_counter(called, number)) {
        store(room, any_count(self), what->size);
    } else if (what->kind == EMUZERO_KIND_STRING) {
        fill_bytes(self, room, 64);
        room[below(self, 64)] = 0;
        room[64] = 0;
    } else {
        count = count_of(what, arguments, called);
        fill_elements(self, what, room, count);
    }
    return (uint64_t)(uintptr_t)room;
}

static void release(const param *what, uint64_t value)
{
    if (what->kind != EMUZERO_KIND_HANDLE) {
        forget(&pointers[LIVE], value);
        remember_stale(&pointers[STALE], value);
        return;
    }
    if (what->about == TYPE_ze_event_handle_t)
        forget(&counting, value);
    forget(&handles[what->about][LIVE], value);
    remember_stale(&handles[what->about][STALE], value);
}

static void keep_bytes(const void *bytes)
{
    pthread_mutex_lock(&lock);
    if (shared_bytes.count < POOL) {
        uint8_t *place = kept_bytes[shared_bytes.count];

        memcpy(place, bytes, HANDLE_BYTES);
        shared_bytes.items[shared_bytes.count++] = (uint64_t)(uintptr_t)place;
    }
    pthread_mutex_unlock(&lock);
}

/* Memory tells its descriptor in a link, which held none before. */
static void keep_descriptors(const void *chain)
{
    const ze_base_properties_t *link = chain;

    for (int count = 0; link != NULL && count < MOST_LINKS; count++, link = link->pNext) {
        const ze_external_memory_export_fd_t *answer = (const void *)link;

        if (link->stype == ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD && answer->fd >= 0 &&
            answer->fd < NO_DESCRIPTOR)
            remember(&told, (uint64_t)answer->fd);
    }
}

static void keep_output(const param *what, uint64_t place)
{
    const void *from = (const void *)(uintptr_t)place;
    uint64_t found;

    if (what->size == HANDLE_BYTES && (what->kind == EMUZERO_KIND_BLOB_OUT ||
                                       what->kind == EMUZERO_KIND_STRUCTURES_OUT))
        keep_bytes(from);
    if (what->kind == EMUZERO_KIND_STRUCTURE_OUT && structures[what->about].tag)
        keep_descriptors(((const ze_base_properties_t *)from)->pNext);
    if (what->kind != KIND_NEW_HANDLE && what->kind != KIND_POINTER_OUT &&
        what->kind != KIND_COUNTING_EVENT)
        return;
    memcpy(&found, from, sizeof(found));
    if (!found)
        return;
    if (what->kind == KIND_POINTER_OUT)
        remember(&pointers[LIVE], found);
    else
        remember(what->kind == KIND_COUNTING_EVENT ? &counting : &handles[what->about][LIVE],
                 found);
}

static void keep_outputs(const function *called, const uint64_t *arguments)
{
    for (int index = 0; index < called->param_count; index++) {
        if (called->params[index].releases)
            release(&called->params[index], arguments[index]);
        if (arguments[index])
            keep_output(&called->params[index], arguments[index]);
    }
}

#endif
