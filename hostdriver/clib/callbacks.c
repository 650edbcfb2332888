#include "callbacks.h"

#include <pthread.h>
#include <stdlib.h>

#include "channel.h"
#include "generated/own.h"
#include "handles.h"

struct emuzero_callback {
    uint64_t base;
    zex_mem_free_callback_fn_t function;
    void *user_data;
    struct emuzero_callback *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Few programs register any, and those few: a list, the oldest first. */
static emuzero_callback *registered;
static bool _Atomic are_there;

static void append(emuzero_callback *callbacks)
{
    emuzero_callback **end = &registered;

    while (*end != NULL)
        end = &(*end)->next;
    *end = callbacks;
    are_there = registered != NULL;
}

emuzero_callback *emuzero_take_callbacks(uint64_t base)
{
    emuzero_callback *taken = NULL;
    emuzero_callback **last = &taken;

    if (!are_there)
        return NULL;
    pthread_mutex_lock(&lock);
    for (emuzero_callback **link = &registered; *link != NULL;) {
        emuzero_callback *item = *link;

        if (item->base != base) {
            link = &item->next;
            continue;
        }
        *link = item->next;
        item->next = NULL;
        *last = item;
        last = &item->next;
    }
    are_there = registered != NULL;
    pthread_mutex_unlock(&lock);
    return taken;
}

void emuzero_finish_callbacks(emuzero_callback *callbacks, bool was_freed)
{
    if (callbacks == NULL)
        return;
    if (!was_freed) {
        pthread_mutex_lock(&lock);
        append(callbacks);
        pthread_mutex_unlock(&lock);
        return;
    }
    while (callbacks != NULL) {
        emuzero_callback *item = callbacks;

        callbacks = item->next;
        item->function(item->user_data);
        free(item);
    }
}

void emuzero_forget_callbacks(void)
{
    while (registered != NULL) {
        emuzero_callback *item = registered;

        registered = item->next;
        free(item);
    }
    are_there = false;
}

void emuzero_lock_callbacks(void)
{
    pthread_mutex_lock(&lock);
}

void emuzero_unlock_callbacks(void)
{
    pthread_mutex_unlock(&lock);
}

ze_result_t emuzero_own_zexMemFreeRegisterCallbackExt(
    ze_context_handle_t hContext, zex_memory_free_callback_ext_desc_t *hFreeCallbackDesc, void *ptr)
{
    emuzero_callback *item;
    void *base = NULL;
    ze_result_t result;

    if (hContext != NULL &&
        (hFreeCallbackDesc == NULL || ptr == NULL || hFreeCallbackDesc->pfnCallback == NULL)) {
        emuzero_set_error("a callback for freed memory needs a descriptor, a function and memory");
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    result = zeMemGetAddressRange(hContext, ptr, &base, NULL);
    if (result != ZE_RESULT_SUCCESS)
        return result == ZE_RESULT_ERROR_ADDRESS_NOT_FOUND ? ZE_RESULT_ERROR_INVALID_ARGUMENT
                                                           : result;
    item = malloc(sizeof(*item));
    if (item == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    *item = (emuzero_callback){.base = (uint64_t)(uintptr_t)base,
                               .function = hFreeCallbackDesc->pfnCallback,
                               .user_data = hFreeCallbackDesc->pUserData};
    pthread_mutex_lock(&lock);
    append(item);
    pthread_mutex_unlock(&lock);
    return ZE_RESULT_SUCCESS;
}
