/* Handles of memory that this process got: counted here, so that one more get, and the put of it, is
 * no call. The driver knows of the first get and of the last put. */
#ifndef EMUZERO_EXPORTS_H
#define EMUZERO_EXPORTS_H

#include <stdbool.h>

#include "platform.h"

/* Get a known handle of an allocation once more; false: it is not known, the driver has to be asked.
 * `id` is the allocation's number: memory that came to the same place later has another. */
bool emuzero_take_export(const void *pointer, uint64_t id, ze_ipc_mem_handle_t *handle);

/* Note a handle that the driver gave for an allocation, and counted. */
void emuzero_note_export(const void *pointer, uint64_t id, const ze_ipc_mem_handle_t *handle);

/* Put a handle that was got more often here than at the driver; false: the driver has to be told. */
bool emuzero_give_export(const ze_ipc_mem_handle_t *handle);

/* Forget all of them, for a child after fork. */
void emuzero_forget_exports(void);

void emuzero_lock_exports(void);
void emuzero_unlock_exports(void);

#endif
