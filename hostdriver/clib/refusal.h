/* What an emulator that refuses a process has said, in words. */
#ifndef EMUZERO_REFUSAL_H
#define EMUZERO_REFUSAL_H

#include "platform.h"

/* Make a refusal by the emulator at `path` the error description of this thread: what, where, and
 * what helps. */
void emuzero_set_refusal(const char *path, const struct emuzero_welcome *welcome);

#endif
