/* What the storm of calls is made of: random numbers, pools of handles and pointers, arguments. */
#ifndef STORM_H
#define STORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "level_zero.h"
#include "numbers.h"

/* Kinds of parameter that the tables tell apart besides the library's. */
enum {
    KIND_CALLBACK = 100,
    KIND_TIMEOUT,
    KIND_POINTER, /* counts as a number, or names memory that devices use */
    KIND_POINTER_OUT,
    KIND_NEW_HANDLE,
    KIND_COUNTING_EVENT,
    KIND_OTHER_HANDLE, /* of an object that is there already */
};
enum { NOTHING = 0xFFFF };

typedef enum { NUMBER, POINTER, HANDLE, CALLBACK, TAG, CHAIN, MODE, POLICY, DESCRIPTOR } role;

typedef struct {
    uint16_t offset;
    uint16_t size;
    role role;
    uint16_t about; /* handle type */
} field;

typedef struct {
    uint16_t size;
    uint32_t tag;
    const field *fields;
    uint16_t field_count;
    uint8_t family;
} structure;

typedef struct {
    uint8_t kind;
    uint16_t size;
    uint16_t about; /* handle type or structure */
    uint16_t counter;
    uint8_t releases;
} param;

typedef struct {
    const char *name;
    uint64_t (*call)(const uint64_t *arguments);
    const param *params;
    uint8_t param_count;
    uint8_t returns_result;
} function;

#endif
