/* Rooms: memory of handles, which grows and is never given back. To be used under the lock of
 * handles. */
#ifndef EMUZERO_ROOMS_H
#define EMUZERO_ROOMS_H

#include "handles.h"

/* Return zeroed memory for one more handle; NULL: there is none. */
emuzero_handle *emuzero_take_unused(void);

/* Return the handle after one, live or not, or the first one after NULL; NULL: it was the last.
 * `room` is kept from one to the next. */
emuzero_handle *emuzero_handle_after(const emuzero_handle *item, int *room);

#endif
