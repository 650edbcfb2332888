/* Calls of a Level Zero program that have to succeed. */
#ifndef NEED_H
#define NEED_H

#include <stdio.h>
#include <stdlib.h>

#include "level_zero.h"

/* End the program with what the driver says of a call that failed. */
static inline void need(ze_result_t found)
{
    if (found) {
        const char *why = "";
        zerGetLastErrorDescription(&why);
        fprintf(stderr, "%#x: %s\n", (unsigned)found, why);
        exit(1);
    }
}

#endif
