#include "regions.h"

/* Nothing of a box lies at or behind this address, where no sum of its numbers goes astray. */
#define END (UINT64_C(1) << 62)

typedef struct {
    uint64_t first;
    uint64_t end; /* first address behind the last byte */
} extent;

static uint64_t depth_of(const ze_copy_region_t *region)
{
    return region->depth ? region->depth : 1;
}

/* Find where a box lies; false: it is empty, its pitches do not fit, or it lies nowhere. */
static bool find(const emuzero_side *side, extent *found)
{
    const ze_copy_region_t *region = side->region;
    uint64_t row = side->pitch ? side->pitch : region->width;
    unsigned __int128 slice = side->slice_pitch ? side->slice_pitch : row * region->height;
    unsigned __int128 reach;
    unsigned __int128 first;

    if (!region->width || !region->height || row < region->width)
        return false;
    reach = (region->height - 1) * row + region->width;
    if (region->depth > 1 && slice < reach)
        return false;
    first = side->pointer + region->originX + region->originY * (unsigned __int128)row +
            region->originZ * slice;
    reach += (depth_of(region) - 1) * slice;
    if (first >= END || reach >= END)
        return false;
    found->first = (uint64_t)first;
    found->end = (uint64_t)(first + reach);
    return true;
}

bool emuzero_are_apart(const emuzero_side *one, const emuzero_side *other)
{
    extent first;
    extent second;

    if (one->region->width != other->region->width ||
        one->region->height != other->region->height ||
        depth_of(one->region) != depth_of(other->region))
        return false;
    return find(one, &first) && find(other, &second) &&
           (first.end <= second.first || second.end <= first.first);
}
