/* Threads that call until they are told to end. */
#ifndef WORK_H
#define WORK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "check.h"

static atomic_int rounds;
static atomic_bool is_over;
static void *kept; /* memory whose handle all of them get and put */

/* Calls, looks that are no calls, and what both leave behind. */
static void *work(void *unused)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};

    (void)unused;
    while (!is_over) {
        ze_ipc_mem_handle_t handle;
        void *pointer = NULL;
        void *base = NULL;

        DO(zeMemAllocHost(the_context, &desc, 4096, 0, &pointer));
        DO(zeMemGetAddressRange(the_context, pointer, &base, NULL));
        REQUIRE(base == pointer);
        DO(zeMemGetIpcHandle(the_context, kept, &handle));
        DO(zeMemPutIpcHandle(the_context, handle));
        DO(zeMemFree(the_context, pointer));
        atomic_fetch_add(&rounds, 1);
    }
    return NULL;
}

/* Return when they have gone on for so many rounds more. */
static void await_rounds(int count)
{
    int before = rounds;

    while (rounds < before + count)
        sched_yield();
}

#endif
