/*
 * A violation that a storm found, made small: the history up to it is written down, step by step,
 * and whatever can be left out of it is. What remains can be done by hand: it is a scenario.
 */
#ifndef ELECT_SIM_SHRINK_H
#define ELECT_SIM_SHRINK_H

#include "storm.h"

#include <stdio.h>

/* One thing that happened: a step of a process, or a fault. */
struct moment {
    uint64_t time;
    bool is_fault;
    uint8_t rank;
    struct elect_input input; /* of a step */
    uint32_t age;             /* of its message: how many of its kind were sent after it */
    struct fault fault;
};

struct history {
    struct elect_config config;
    uint64_t seed;
    size_t count, room;
    struct moment *moment;
    bool too_long;
    enum property broken; /* once it is small: what it shows */
};

/* To be told everything that happens in a storm: a listener of a play. */
void history_note(void *history, const struct world *w, const struct happening *h);
void history_free(struct history *h);

/* Leaves out what it can; false if the history does not show that promise broken. */
bool history_shrink(struct history *h, enum storm_promise promise, struct world *w,
                    const volatile int *interrupted);

/* As a scenario that checks the property. */
void history_write(const struct history *h, enum storm_promise promise, struct world *w, FILE *out);

#endif
