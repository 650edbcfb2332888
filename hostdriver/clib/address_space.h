/* The program's addresses: the arena, and what the driver asks to be reserved, mapped, protected. */
#ifndef EMUZERO_ADDRESS_SPACE_H
#define EMUZERO_ADDRESS_SPACE_H

#include "channel.h"

/* Reserve the arena once: as large as the system permits; size 0: there is none. */
void emuzero_reserve_arena(uint64_t *start, uint64_t *size);

/* Let processes of this user reach memory and descriptors of this one, where Yama would forbid it:
 * the emulator for memory of the program's own, other programs for handles. */
void emuzero_permit_reach(void);

/* Forget what a parent reserved; its mappings stay as they are. */
void emuzero_forget_addresses(void);

/* Put the variables that the driver looks at: NAME=VALUE texts, then an empty one. */
void emuzero_put_environment(emuzero_slot *slot);

/* Reserve inaccessible addresses: at `hint` and nowhere else, or aligned if it is 0; 0: no room. */
uint64_t emuzero_reserve(uint64_t size, uint64_t hint, uint64_t alignment);
void emuzero_release(uint64_t address, uint64_t size);

/* Unmap what another thread may just be looking at: when 64 more are to be unmapped. */
void emuzero_unmap_later(uint64_t address, uint64_t size);

/* Each returns 0 or errno. */
int emuzero_map(int descriptor, uint64_t offset, uint64_t address, uint64_t size);
int emuzero_protect_none(uint64_t address, uint64_t size);

#endif
