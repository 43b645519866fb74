/* See dice.h. */
#include "dice.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void dice_seed(struct dice *d, uint64_t seed, enum dice_kind kind)
{
    uint64_t stream = kind, state;
    state = seed ^ splitmix(&stream);
    for (int i = 0; i < 4; i++)
        d->state[i] = splitmix(&state);
}

static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

uint64_t dice_throw(struct dice *d)
{
    uint64_t *s = d->state, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t dice_below(struct dice *d, uint64_t bound)
{
    /* Repeats throws below 2^64 mod bound, which would favour small results. */
    uint64_t unfair = -bound % bound, x;
    do
        x = dice_throw(d);
    while (x < unfair);
    return x % bound;
}

bool dice_chance(struct dice *d, uint32_t parts)
{
    return parts > 0 && dice_below(d, DICE_CERTAIN) < parts;
}

void dice_shuffle(struct dice *d, uint32_t *values, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)dice_below(d, i);
        uint32_t v = values[i - 1];
        values[i - 1] = values[j];
        values[j] = v;
    }
}
