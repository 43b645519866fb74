/*
 * Shrinks a violation that a storm found. First, every step and fault up to the violation is
 * recorded. Then the moments that are not needed for the violation are left out. The remaining
 * moments are written as a scenario.
 */
#ifndef ELECT_SIM_SHRINK_H
#define ELECT_SIM_SHRINK_H

#include "storm.h"

#include <stdio.h>

/* A step of a process, or a fault, with its time. */
struct moment {
    uint64_t time;
    bool is_fault;
    uint8_t rank;
    struct elect_input input; /* the input, if this is a step */
    uint32_t age; /* for a message: how many messages of the same kind were sent later */
    struct fault fault;
};

/* All steps and faults of a storm up to the violation. */
struct shrink_trace {
    struct elect_config config;
    uint64_t seed;
    size_t count, room;
    struct moment *moment;
    bool too_long;
    enum property broken; /* the property that the shrunk trace violates */
};

/* Adds a step or fault to the trace that `context` points to. A play calls this function as its
 * listener. */
void shrink_note(void *context, const struct world *w, const struct happening *h);
void shrink_free(struct shrink_trace *trace);

/* Removes as many steps and faults as possible from the trace. Returns false if the trace does not
 * show that the promise is broken. */
bool shrink_reduce(struct shrink_trace *trace, enum storm_promise promise, struct world *w,
                   const volatile int *interrupted);

/* Writes the trace as a scenario that checks the property. */
void shrink_write(const struct shrink_trace *trace, enum storm_promise promise,
                  const struct world *world, FILE *out);

#endif
