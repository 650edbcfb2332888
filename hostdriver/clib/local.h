/* Calls that the library answers by itself, from what the driver keeps in shared memory.
 *
 * Each returns whether it did, with the result stored. What is unusual (null, stale, chained, what
 * is not in the shared memory) it leaves to the driver, whose checks and errors are the only ones. */
#ifndef EMUZERO_LOCAL_H
#define EMUZERO_LOCAL_H

#include <stdbool.h>

#include "platform.h"

bool emuzero_local_zeMemGetAllocProperties(ze_context_handle_t context, const void *ptr,
                                           ze_memory_allocation_properties_t *properties,
                                           ze_device_handle_t *device, ze_result_t *result);
bool emuzero_local_zeMemGetAddressRange(ze_context_handle_t context, const void *ptr, void **base,
                                        size_t *size, ze_result_t *result);

#endif
