/* Calls of the interface: checked, written into a slot, answered. */
#ifndef EMUZERO_CALL_H
#define EMUZERO_CALL_H

#include <string.h>

#include "platform.h"

enum { EMUZERO_RELEASES = 1, EMUZERO_OPTIONAL = 2, EMUZERO_NULL_ON_FAILURE = 4,
       EMUZERO_CLOSES = 8, EMUZERO_OPENS = 16,
       EMUZERO_NO_PARAM = 255, EMUZERO_NO_STRUCTURE = 0xFFFF };

/* NOT_READY is an answer. */
#define EMUZERO_IS_ERROR(result) ((result) > ZE_RESULT_NOT_READY)

/* What a parameter is; made by scripts/gen_c_library.py. */
typedef struct {
    uint8_t kind;
    uint8_t flags;
    uint8_t count;  /* the parameter that counts its elements or bytes */
    uint8_t handle; /* its handle type */
    uint16_t structure;
    uint16_t size; /* bytes of a value, or of one element */
} emuzero_param;

typedef struct {
    const char *name;
    const emuzero_param *params;
    uint16_t number;
    uint8_t param_count;
    uint8_t is_served;
} emuzero_function;

typedef struct {
    uint16_t size;
    uint8_t has_tag;  /* begins with a tag and a chain */
    uint8_t is_chain; /* its chain is followed */
    uint8_t family;   /* interface that its tag, and those along its chain, belong to */
} emuzero_structure;

typedef struct {
    uint32_t tag;
    uint16_t structure;
    uint8_t family;
} emuzero_tag;

extern const emuzero_function emuzero_functions[];
extern const emuzero_structure emuzero_structures[];
extern const emuzero_tag emuzero_tags[];
extern const size_t emuzero_tag_count;

/* A number as its bits, in the form in which all arguments travel. */
static inline uint64_t emuzero_bits(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Carry out one call: `arguments` holds each as a number; what is passed by value as its address. */
ze_result_t emuzero_call(const emuzero_function *function, const uint64_t *arguments);

#endif
