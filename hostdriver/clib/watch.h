/* Telling the driver of calls, for summaries and traces: each is counted, or told in full.
 *
 * While nobody wants to know, a call costs one load more. */
#ifndef EMUZERO_WATCH_H
#define EMUZERO_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "call.h"
#include "channel.h"

/* What the driver wants to know; not zero before this process has asked. */
extern _Atomic uint32_t emuzero_watching;

/* Ask anew with the next connection: to be called where this process has none any more. */
void emuzero_watch_anew(void);

/* Do what the driver wants, as a new connection says. */
void emuzero_watch_as_wanted(uint32_t watching);

bool emuzero_begin_watch(void);

/* Begin a call of the interface; true: `emuzero_leave` is to be told of its end. False inside of
 * another call, which is the one that counts. */
static inline bool emuzero_enter(void)
{
    return atomic_load_explicit(&emuzero_watching, memory_order_relaxed) && emuzero_begin_watch();
}

/* End a call; `arguments` as for `emuzero_call`, `result` is what the program gets. */
void emuzero_leave(const emuzero_function *function, const uint64_t *arguments, uint64_t result,
                   bool is_error);

/* Mark a message that the driver gets of the call under way: it needs no note any more. */
void emuzero_mark(const emuzero_slot *slot);

#endif
