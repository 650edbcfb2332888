/* Tables of functions that callers fetch, and those that handles begin with. */
#ifndef EMUZERO_TABLES_H
#define EMUZERO_TABLES_H

#include "platform.h"

/* Fill a caller's table with our functions, never past what the caller's version has.
 *
 * version: what the caller speaks; another major version is refused.
 * since: for each slot, the version that added it. */
ze_result_t emuzero_fill_table(ze_api_version_t version, void *table, const void *ours,
                               const uint32_t *since, size_t slot_count);

/* A function that programs can ask for by name. */
typedef struct {
    const char *name;
    void (*function)(void);
} emuzero_named;

extern const emuzero_named emuzero_names[];
extern const size_t emuzero_name_count;

/* Return the address of a function that is served; NULL: there is none of that name. */
void *emuzero_find_function(const char *name);

#endif
