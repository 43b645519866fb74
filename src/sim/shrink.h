/*
 * Shrinks a violation that a storm found: records everything up to the violation step by step,
 * leaves out the moments that the violation does not need, and writes the rest as a scenario.
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
    uint32_t age;             /* of the message: how many of its kind were sent after it */
    struct fault fault;
};

/* Everything that happened in a storm up to the violation. */
struct shrink_trace {
    struct elect_config config;
    uint64_t seed;
    size_t count, room;
    struct moment *moment;
    bool too_long;
    enum property broken; /* the property that the shrunk trace violates */
};

/* Adds what happened to a trace. This is a listener of a play; its context is the trace. */
void shrink_note(void *context, const struct world *w, const struct happening *h);
void shrink_free(struct shrink_trace *trace);

/* Leaves out as many moments as it can. Returns false if the trace does not show that the promise
 * is broken. */
bool shrink_reduce(struct shrink_trace *trace, enum storm_promise promise, struct world *w,
                   const volatile int *interrupted);

/* Writes the trace as a scenario that checks the property. */
void shrink_write(const struct shrink_trace *trace, enum storm_promise promise,
                  const struct world *world, FILE *out);

#endif
