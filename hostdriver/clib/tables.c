#include "tables.h"

#include <stdlib.h>
#include <string.h>

ze_result_t emuzero_fill_table(ze_api_version_t version, void *table, const void *ours,
                               const uint32_t *since, size_t slot_count)
{
    void **theirs = table;
    void *const *functions = ours;

    if (table == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if ((uint32_t)version >> 16 != EMUZERO_API_VERSION >> 16)
        return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    for (size_t slot = 0; slot < slot_count; slot++)
        if (since[slot] <= (uint32_t)version)
            theirs[slot] = functions[slot];
    return ZE_RESULT_SUCCESS;
}

static int compare_names(const void *name, const void *item)
{
    return strcmp(name, ((const emuzero_named *)item)->name);
}

void *emuzero_find_function(const char *name)
{
    const emuzero_named *found =
        bsearch(name, emuzero_names, emuzero_name_count, sizeof(*found), compare_names);

    return found == NULL ? NULL : (void *)(uintptr_t)found->function;
}
