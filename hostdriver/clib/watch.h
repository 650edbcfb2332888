/* Telling the driver of calls, for summaries and traces: each is counted, or told in full; and asking
 * it before calls, while rules of injection want that.
 *
 * While nobody wants to know, a call costs two loads more. */
#ifndef EMUZERO_WATCH_H
#define EMUZERO_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "call.h"
#include "channel.h"

/* What the driver wants to know, a word that it changes; not zero before this process has asked. */
extern const _Atomic uint32_t *_Atomic emuzero_watching;

/* Ask anew with the next connection: to be called where this process has none any more. */
void emuzero_watch_anew(void);

/* Do what the driver wants, as a word of a new connection says from now on. */
void emuzero_watch_as_wanted(const uint32_t *watching);

bool emuzero_begin_watch(void);

/* Begin a call of the interface; true: `emuzero_leave` is to be told of its end. False inside of
 * another call, which is the one that counts. */
static inline bool emuzero_enter(void)
{
    return atomic_load_explicit(atomic_load_explicit(&emuzero_watching, memory_order_acquire),
                                memory_order_relaxed) &&
           emuzero_begin_watch();
}

/* Return whether the driver ends the call that is watched before anything is carried out, with the
 * result stored and the error description set. */
bool emuzero_is_refused(const emuzero_function *function, ze_result_t *result);

/* Ask for the call under way if it began before this process had a connection, as
 * `emuzero_is_refused` does else; returns SUCCESS: it may go on. */
ze_result_t emuzero_ask_late(void);

/* End a call; `arguments` as for `emuzero_call`, `returned` is what the program would get, `result`
 * the same, or SUCCESS of a function that returns none. Returns the result that it gets. */
ze_result_t emuzero_leave(const emuzero_function *function, const uint64_t *arguments,
                          uint64_t returned, ze_result_t result);

/* Mark a message that the driver gets of the call under way: it needs no note any more. */
void emuzero_mark(const emuzero_slot *slot);

#endif
