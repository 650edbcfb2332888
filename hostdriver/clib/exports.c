#define _GNU_SOURCE
#include "exports.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "places.h"

enum { BUCKETS = 4096 };

typedef struct export {
    const void *pointer;
    uint64_t id;
    ze_ipc_mem_handle_t handle;
    uint64_t told;  /* gets that the driver counts */
    uint64_t extra; /* gets beyond those */
    struct export *next_by_pointer;
    struct export *next_by_token;
} export;

/* Threads hold it for some tens of nanoseconds, which is less than going to sleep takes. */
static pthread_mutex_t lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static export *by_pointer[BUCKETS];
static export *by_token[BUCKETS];

static const struct emuzero_ipc_handle *record_of(const ze_ipc_mem_handle_t *handle)
{
    return (const struct emuzero_ipc_handle *)handle;
}

static export **pointer_bucket(const void *pointer)
{
    uint64_t hash = (uint64_t)(uintptr_t)pointer * UINT64_C(0x9E3779B97F4A7C15);

    return &by_pointer[hash >> 32 & (BUCKETS - 1)];
}

/* Tokens are random. */
static export **token_bucket(const ze_ipc_mem_handle_t *handle)
{
    uint64_t hash;

    memcpy(&hash, record_of(handle)->token, sizeof(hash));
    return &by_token[hash & (BUCKETS - 1)];
}

static export *find_pointer(const void *pointer)
{
    export *item = *pointer_bucket(pointer);

    while (item != NULL && item->pointer != pointer)
        item = item->next_by_pointer;
    return item;
}

static bool has_token(const export *item, const ze_ipc_mem_handle_t *handle)
{
    uint64_t one[2];
    uint64_t other[2];

    /* By numbers: it is asked for each put. */
    memcpy(one, record_of(&item->handle)->token, sizeof(one));
    memcpy(other, record_of(handle)->token, sizeof(other));
    return one[0] == other[0] && one[1] == other[1];
}

static bool is_descriptor_alone(const ze_ipc_mem_handle_t *handle)
{
    static const char zeros[sizeof(handle->data) - sizeof(int32_t)];

    return memcmp(handle->data + sizeof(int32_t), zeros, sizeof(zeros)) == 0;
}

/* Memory that was freed took its handle with it, whose descriptor may be another's by now. */
static bool is_gone(const export *item)
{
    struct emuzero_place place;

    switch (emuzero_find_place((uint64_t)(uintptr_t)item->pointer, &place)) {
    case EMUZERO_PLACE_FOUND:
        return place.id != item->id;
    case EMUZERO_PLACE_NONE:
        return true;
    default:
        return false;
    }
}

/* Find what a handle names, as the driver does: by its token, else by its descriptor alone. */
static export *find_handle(const ze_ipc_mem_handle_t *handle)
{
    export *item = *token_bucket(handle);

    while (item != NULL && !has_token(item, handle))
        item = item->next_by_token;
    if (item != NULL || !is_descriptor_alone(handle))
        return item;
    for (size_t bucket = 0; bucket < BUCKETS; bucket++)
        for (item = by_token[bucket]; item != NULL; item = item->next_by_token)
            if (record_of(&item->handle)->descriptor == record_of(handle)->descriptor &&
                !is_gone(item))
                return item;
    return NULL;
}

static void drop(export *item)
{
    export **link = pointer_bucket(item->pointer);

    while (*link != item)
        link = &(*link)->next_by_pointer;
    *link = item->next_by_pointer;
    link = token_bucket(&item->handle);
    while (*link != item)
        link = &(*link)->next_by_token;
    *link = item->next_by_token;
    free(item);
}

static void enter(const void *pointer, uint64_t id, const ze_ipc_mem_handle_t *handle)
{
    export *item = malloc(sizeof(*item));

    /* Without it each get is a call, no more. */
    if (item == NULL)
        return;
    *item = (export){.pointer = pointer,
                     .id = id,
                     .handle = *handle,
                     .told = 1,
                     .next_by_pointer = *pointer_bucket(pointer),
                     .next_by_token = *token_bucket(handle)};
    *pointer_bucket(pointer) = item;
    *token_bucket(handle) = item;
}

bool emuzero_take_export(const void *pointer, uint64_t id, ze_ipc_mem_handle_t *handle)
{
    export *item;

    pthread_mutex_lock(&lock);
    item = find_pointer(pointer);
    if (item != NULL && item->id != id)
        item = NULL;
    if (item != NULL) {
        item->extra++;
        *handle = item->handle;
    }
    pthread_mutex_unlock(&lock);
    return item != NULL;
}

void emuzero_note_export(const void *pointer, uint64_t id, const ze_ipc_mem_handle_t *handle)
{
    export *item;

    pthread_mutex_lock(&lock);
    item = find_pointer(pointer);
    if (item != NULL && item->id == id &&
        memcmp(&item->handle, handle, sizeof(*handle)) == 0) {
        item->told++;
    } else {
        /* Of memory that is gone, or of a handle that was put meanwhile. */
        if (item != NULL)
            drop(item);
        enter(pointer, id, handle);
    }
    pthread_mutex_unlock(&lock);
}

bool emuzero_give_export(const ze_ipc_mem_handle_t *handle)
{
    export *item;
    bool was_extra = false;

    pthread_mutex_lock(&lock);
    item = find_handle(handle);
    if (item != NULL && item->extra) {
        item->extra--;
        was_extra = true;
    } else if (item != NULL && --item->told == 0) {
        drop(item);
    }
    pthread_mutex_unlock(&lock);
    return was_extra;
}

void emuzero_forget_exports(void)
{
    pthread_mutex_lock(&lock);
    for (size_t bucket = 0; bucket < BUCKETS; bucket++)
        while (by_token[bucket] != NULL)
            drop(by_token[bucket]);
    pthread_mutex_unlock(&lock);
}

void emuzero_lock_exports(void)
{
    pthread_mutex_lock(&lock);
}

void emuzero_unlock_exports(void)
{
    pthread_mutex_unlock(&lock);
}
