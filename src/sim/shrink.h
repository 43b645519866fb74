/*
 * Shrinks a violation that a storm found: records every step and fault up to the violation, leaves
 * out those that are not needed, and writes the rest as a scenario.
 */
#ifndef ELECT_SIM_SHRINK_H
#define ELECT_SIM_SHRINK_H

#include "storm.h"

#include <stdio.h>

struct moment {
    uint64_t time;
    bool is_fault;
    uint8_t rank;
    struct elect_input input;
    uint32_t age; /* for a message: how many of the same kind were sent later */
    struct fault fault;
};

struct shrink_trace {
    struct elect_config config;
    uint64_t seed;
    size_t count, room;
    struct moment *moment;
    bool too_long;
    enum property broken;
};

/* Listener of a play: adds a step or fault to the trace `context`. */
void shrink_note(void *context, const struct world *w, const struct happening *h);
void shrink_free(struct shrink_trace *trace);

/* Removes as many steps and faults as possible. Returns false if the trace does not break the
 * promise. */
bool shrink_reduce(struct shrink_trace *trace, enum storm_promise promise, struct world *w,
                   const volatile int *interrupted);

void shrink_write(const struct shrink_trace *trace, enum storm_promise promise,
                  const struct world *world, FILE *out);

#endif
