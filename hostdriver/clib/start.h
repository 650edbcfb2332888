/* Starting an emulator when none runs, for programs that nobody started one for. */
#ifndef EMUZERO_START_H
#define EMUZERO_START_H

#include <stdbool.h>

/* Return whether the environment says how one is started, and names no other. */
bool emuzero_may_start(void);

/* Have the shared emulator listen: whoever asks first starts it, all others wait for that one.
 * Returns false with the cause as the error description. */
bool emuzero_start(void);

#endif
