/* Waiting for words of a device's segment: fences and completions. */
#ifndef EMUZERO_WORDS_H
#define EMUZERO_WORDS_H

#include "channel.h"

/* A u64 that counts up, with a u32 status and a u32 count of sleepers beside it. */
typedef struct {
    uint64_t *value;
    uint32_t *status;
    uint32_t *sleepers;
} emuzero_word;

typedef struct {
    uint64_t value;
    uint32_t status;
} emuzero_waited;

/* Look, for a moment if that paid lately, until the word is at least `target` or has a status; return
 * whether it is. */
bool emuzero_spin(const emuzero_word *word, uint64_t target);

/* Wake all who sleep on the word, here and in other processes; after a fence behind the store. */
void emuzero_wake(const emuzero_word *word);

/* Wait until the word is at least `target`, gets a status, the session ends or time is up; all ones
 * wait without end. The status is loaded before the value. */
emuzero_waited emuzero_wait(const emuzero_word *word, uint64_t target, uint64_t nanoseconds);

#endif
