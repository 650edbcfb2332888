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

bool emuzero_local_zeMemGetIpcHandle(ze_context_handle_t context, const void *ptr,
                                     ze_ipc_mem_handle_t *handle, ze_result_t *result);
bool emuzero_local_zeMemPutIpcHandle(ze_context_handle_t context, ze_ipc_mem_handle_t handle,
                                     ze_result_t *result);
bool emuzero_local_zeEventHostReset(ze_event_handle_t event, ze_result_t *result);
bool emuzero_local_zeEventHostSignal(ze_event_handle_t event, ze_result_t *result);
bool emuzero_local_zeEventQueryStatus(ze_event_handle_t event, ze_result_t *result);
bool emuzero_local_zeEventHostSynchronize(ze_event_handle_t event, uint64_t timeout,
                                          ze_result_t *result);
bool emuzero_local_zeFenceQueryStatus(ze_fence_handle_t fence, ze_result_t *result);
bool emuzero_local_zeFenceHostSynchronize(ze_fence_handle_t fence, uint64_t timeout,
                                          ze_result_t *result);
bool emuzero_local_zeCommandQueueSynchronize(ze_command_queue_handle_t queue, uint64_t timeout,
                                             ze_result_t *result);
bool emuzero_local_zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout,
                                                ze_result_t *result);
bool emuzero_local_zeFenceReset(ze_fence_handle_t fence, ze_result_t *result);

#endif
