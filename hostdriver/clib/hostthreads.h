/* Threads that the driver asks for: they call functions of the program, as its work comes to them. */
#ifndef EMUZERO_HOSTTHREADS_H
#define EMUZERO_HOSTTHREADS_H

#include <stdint.h>

/* Begin a thread whose one call has a number. Returns 0, or why there is none (errno). */
int emuzero_start_thread(uint64_t number);

#endif
