/* Arguments on their way to the driver, and outputs on their way back. */
#ifndef EMUZERO_MARSHAL_H
#define EMUZERO_MARSHAL_H

#include "call.h"
#include "channel.h"

/* Write all arguments. Returns SUCCESS, or the error of a handle that is none of ours. */
ze_result_t emuzero_put_arguments(emuzero_slot *slot, const emuzero_function *function,
                                  const uint64_t *arguments);

/* The same without an error description; false: they do not fit, or a handle is none of ours. */
bool emuzero_put_all(emuzero_slot *slot, const emuzero_function *function,
                     const uint64_t *arguments);

/* Store the outputs of a reply where the program wants them. */
ze_result_t emuzero_get_outputs(emuzero_slot *slot, const emuzero_function *function,
                                const uint64_t *arguments);

#endif
