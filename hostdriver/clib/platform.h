/* What all of the library's sources share. */
#ifndef EMUZERO_PLATFORM_H
#define EMUZERO_PLATFORM_H

#include "generated/emuzero_abi.h"
#include "generated/level_zero.h"
#include "generated/numbers.h"

#define EMUZERO_EXPORT __attribute__((visibility("default")))
#define EMUZERO_API_VERSION ZE_MAKE_VERSION(1, 18)

#endif
