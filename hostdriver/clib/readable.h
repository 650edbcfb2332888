/* Memory that a program names and that may not be there. */
#ifndef EMUZERO_READABLE_H
#define EMUZERO_READABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Return whether the first and the last byte of `size` bytes, at least eight, can be read. */
bool emuzero_is_readable(const void *memory, size_t size);

#endif
