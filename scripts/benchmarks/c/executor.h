/* The device in C: decodes commands of a work ring, translates, copies, stores fences.
 *
 * Translation is a direct-mapped cache of 4 KiB pages, full before anything is measured.
 */
#ifndef EXECUTOR_H
#define EXECUTOR_H

#include <stdint.h>
#include <string.h>

#include "emuzero_abi.h"

enum { TLB_ENTRIES = 4096, FENCES = 64, OFFSET_MASK = EMUZERO_PAGE_SIZE - 1 };

struct executor {
    uint8_t *memory;
    struct emuzero_fence_slot *fences;
    uint64_t tags[TLB_ENTRIES], entries[TLB_ENTRIES];
};

static inline void fill_entry(struct executor *device, uint64_t vpn, uint64_t entry)
{
    device->tags[vpn % TLB_ENTRIES] = vpn;
    device->entries[vpn % TLB_ENTRIES] = entry;
}

static inline uint8_t *translate(struct executor *device, uint64_t va, uint64_t need)
{
    uint64_t vpn = va >> EMUZERO_PAGE_SHIFT, entry = device->entries[vpn % TLB_ENTRIES];
    if (device->tags[vpn % TLB_ENTRIES] != vpn || (entry & need) != need)
        return 0;
    return device->memory + (entry & EMUZERO_PTE_FRAME_MASK) + (va & OFFSET_MASK);
}

static inline int copy(struct executor *device, const struct emuzero_work_copy *command)
{
    static const uint8_t zeros[sizeof command->reserved_20];
    if (command->flags || memcmp(command->reserved_20, zeros, sizeof zeros))
        return 0;
    uint8_t *source = translate(device, command->source, EMUZERO_PTE_READ_MASK);
    uint8_t *destination = translate(device, command->destination, EMUZERO_PTE_WRITE_MASK);
    if (!source || !destination || command->size_bytes > EMUZERO_PAGE_SIZE)
        return 0;
    memmove(destination, source, command->size_bytes);
    return 1;
}

static inline int write_fence(
    struct executor *device, const struct emuzero_work_fence_write *command)
{
    static const uint8_t zeros[sizeof command->reserved_18];
    if (command->flags || memcmp(command->reserved_18, zeros, sizeof zeros))
        return 0;
    if (command->pool || command->slot >= FENCES)
        return 0;
    __atomic_store_n(&device->fences[command->slot].value, command->value, __ATOMIC_RELEASE);
    return 1;
}

/* Run a copy of one command; 0: it is refused. */
static inline int execute(struct executor *device, const void *entry)
{
    union {
        uint16_t opcode;
        struct emuzero_work_copy copy;
        struct emuzero_work_fence_write fence;
    } command;
    memcpy(&command, entry, EMUZERO_WORK_COMMAND_SIZE);
    switch (command.opcode) {
    case EMUZERO_WORK_COPY_OPCODE:
        return copy(device, &command.copy);
    case EMUZERO_WORK_FENCE_WRITE_OPCODE:
        return write_fence(device, &command.fence);
    }
    return 0;
}

#endif
