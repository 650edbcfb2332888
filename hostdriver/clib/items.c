/* Items of messages, and the calling thread's error description. */
#include "channel.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ITEM = 8, TEXT_SIZE = 1024 };

static _Thread_local char text[TEXT_SIZE];

_Thread_local emuzero_thread emuzero_this_thread;

static size_t padded(size_t size)
{
    return (size + ITEM - 1) & ~(size_t)(ITEM - 1);
}

void emuzero_put_bytes(emuzero_slot *slot, const void *bytes, size_t size)
{
    size_t room = slot->capacity - slot->position;

    if (slot->overflow || size > room || padded(size) > room) {
        slot->overflow = true;
        return;
    }
    if (size)
        memcpy(slot->data + slot->position, bytes, size);
    memset(slot->data + slot->position + size, 0, padded(size) - size);
    slot->position += padded(size);
}

uint64_t emuzero_get(emuzero_slot *slot)
{
    const uint8_t *bytes = emuzero_get_bytes(slot, ITEM);
    uint64_t value = 0;

    if (bytes != NULL)
        memcpy(&value, bytes, sizeof(value));
    return value;
}

const uint8_t *emuzero_get_bytes(emuzero_slot *slot, size_t size)
{
    size_t left = slot->size - slot->position;
    const uint8_t *bytes = slot->data + slot->position;

    if (slot->overflow || size > left || padded(size) > left) {
        slot->overflow = true;
        return NULL;
    }
    slot->position += padded(size);
    return bytes;
}

void emuzero_set_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    emuzero_this_thread.error = text;
}

void emuzero_set_error_text(const char *bytes, size_t size)
{
    if (size >= sizeof(text))
        size = sizeof(text) - 1;
    memcpy(text, bytes, size);
    text[size] = '\0';
    emuzero_this_thread.error = text;
}

const char *emuzero_error(void)
{
    return emuzero_this_thread.error == NULL ? "" : emuzero_this_thread.error;
}
