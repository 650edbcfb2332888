/* Copies of boxes of memory, as far as they are certainly right. */
#ifndef EMUZERO_REGIONS_H
#define EMUZERO_REGIONS_H

#include <stdbool.h>

#include "platform.h"

/* One side of such a copy, as the program gives it. */
typedef struct {
    uint64_t pointer;
    const ze_copy_region_t *region;
    uint32_t pitch;       /* bytes from row to row; 0: rows follow each other */
    uint32_t slice_pitch; /* bytes from slice to slice; 0: slices follow each other */
} emuzero_side;

/* Return whether two boxes are of one shape, with pitches that fit, and one lies behind the other.
 * Boxes that are not may be right as well: that is the driver's to tell. */
bool emuzero_are_apart(const emuzero_side *one, const emuzero_side *other);

#endif
