/* What pointers name: the table of places that the driver keeps in the channel. */
#ifndef EMUZERO_PLACES_H
#define EMUZERO_PLACES_H

#include <stdbool.h>

#include "platform.h"

typedef enum { EMUZERO_PLACE_FOUND, EMUZERO_PLACE_NONE, EMUZERO_PLACE_ASK } emuzero_place_answer;

/* Look up the memory of which `address` is a byte; ASK: the table does not say, the driver will. */
emuzero_place_answer emuzero_find_place(uint64_t address, struct emuzero_place *place);

#endif
