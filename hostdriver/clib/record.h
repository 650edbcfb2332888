/* Appends to command lists that are recorded instead of called: the driver carries them out before
 * whatever this process asks of it next.
 *
 * Only such are recorded with which nothing can be wrong: what has to be checked, the library
 * checks in what it knows by itself. All others are calls, and fail as calls do. */
#ifndef EMUZERO_RECORD_H
#define EMUZERO_RECORD_H

#include <stdbool.h>

#include "call.h"

/* What has to hold of a parameter; `hostdriver/clib/annotations.toml` says of which. */
enum {
    EMUZERO_KNOWN,       /* it points to memory of the driver */
    EMUZERO_NULL,        /* it is null */
    EMUZERO_NO_NULLS,    /* no element of the array is 0 */
    EMUZERO_PATTERN,     /* it is the size of a pattern that the list takes */
    EMUZERO_MULTIPLE_OF, /* of another parameter, or of a number */
    EMUZERO_ONE_OF,      /* it is less than a number */
    EMUZERO_APART_FROM   /* it is a region of the same shape as another one, and shares no byte with it */
};

typedef struct {
    uint8_t kind;
    uint8_t param;
    uint8_t other; /* parameter, or EMUZERO_NO_PARAM */
    uint8_t value;
} emuzero_condition;

typedef struct {
    const emuzero_function *function;
    const emuzero_condition *conditions;
    uint8_t condition_count;
} emuzero_recording;

extern const emuzero_recording emuzero_recordings[];

/* Record an append, whose first argument is the list; false: it has to be a call. */
bool emuzero_record(const emuzero_recording *recording, const uint64_t *arguments);

/* Take over what the environment says: with EMUZERO_RECORD=0 every append is a call. */
void emuzero_prepare_records(void);

void emuzero_lock_records(void);
void emuzero_unlock_records(void);

#endif
