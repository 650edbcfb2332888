/* What the test programs share: calls that must have a certain result. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "level_zero.h"
#include "require.h"

#define EXPECT(wanted, call)                                                                       \
    do {                                                                                           \
        ze_result_t found_ = (call);                                                               \
        if (found_ != (wanted)) {                                                                  \
            const char *why_ = "";                                                                 \
            zerGetLastErrorDescription(&why_);                                                     \
            fprintf(stderr, "%s:%d: %s is %#x, expected %s: %s\n", __FILE__, __LINE__, #call,      \
                    (unsigned)found_, #wanted, why_);                                              \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define DO(call) EXPECT(ZE_RESULT_SUCCESS, call)

static ze_driver_handle_t the_driver;
static ze_device_handle_t the_device;
static ze_context_handle_t the_context;

static inline void begin(void)
{
    uint32_t count = 1;
    ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, NULL, 0};

    DO(zeInit(0));
    DO(zeDriverGet(&count, &the_driver));
    count = 1;
    DO(zeDeviceGet(the_driver, &count, &the_device));
    DO(zeContextCreate(the_driver, &desc, &the_context));
}

#endif
