/*
 * Random numbers: xoshiro256** (Blackman, Vigna), seeded by splitmix64. Only integers are used, so
 * that the results are the same with every compiler. Each kind of choice has its own generator, so
 * that drawing more delays, say, does not change the crashes.
 */
#ifndef ELECT_MODEL_DICE_H
#define ELECT_MODEL_DICE_H

#include "elect.h"

#define DICE_CERTAIN 1000000000u /* probability 1 */

enum dice_kind { DICE_DELAY, DICE_LOSS, DICE_DUPLICATE, DICE_CRASH, DICE_SHUFFLE, DICE_KINDS };

struct dice {
    uint64_t state[4];
};

void dice_seed(struct dice *d, uint64_t seed, enum dice_kind kind);
uint64_t dice_throw(struct dice *d);
uint64_t dice_below(struct dice *d, uint64_t bound); /* uniform in 0 ... bound-1 */
bool dice_chance(struct dice *d, uint32_t parts);    /* probability: parts / DICE_CERTAIN */
void dice_shuffle(struct dice *d, uint32_t *values, size_t count);

#endif
