/* The environment of hooks and of the command of elect run. */
#ifndef ELECT_RUN_ENVIRONMENT_H
#define ELECT_RUN_ENVIRONMENT_H

#include "elect.h"

struct environment {
    const char *group, *node; /* `node`: the member on this machine */
    const char *leader;       /* "" if unknown */
    const char *socket;
    elect_term term;
    uint32_t lease; /* microseconds */
};

void environment_each(const struct environment *e,
                      void (*add)(void *context, const char *name, const char *value),
                      void *context);

#endif
