/* What programs want to be told when memory is freed: functions of theirs, by pointer. */
#ifndef EMUZERO_CALLBACKS_H
#define EMUZERO_CALLBACKS_H

#include <stdbool.h>

#include "platform.h"

typedef struct emuzero_callback emuzero_callback;

/* Take the callbacks of the memory that begins at an address out of the table; NULL: none. */
emuzero_callback *emuzero_take_callbacks(uint64_t base);

/* Call those that were taken, in the order in which they came; or, when their memory was not freed
 * after all, put them back. Nothing is locked meanwhile: they may call what they like. */
void emuzero_finish_callbacks(emuzero_callback *callbacks, bool was_freed);

/* Forget all of them, for a child after fork, which has nothing of its parent's memory. */
void emuzero_forget_callbacks(void);

void emuzero_lock_callbacks(void);
void emuzero_unlock_callbacks(void);

#endif
