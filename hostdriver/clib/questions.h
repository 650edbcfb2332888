/* Questions of the driver about this process, carried out by the thread whose call it is. */
#ifndef EMUZERO_QUESTIONS_H
#define EMUZERO_QUESTIONS_H

#include "channel.h"

/* Carry out the question that stands in a slot and write the answer into it, or into another one
 * that is the caller's then: who waits leaves its slot. Returns what the answer says of itself. */
uint32_t emuzero_answer(emuzero_slot *slot);

#endif
