/* The environment variables that the command of elect run and the hooks get. */
#ifndef ELECT_RUN_ENVIRONMENT_H
#define ELECT_RUN_ENVIRONMENT_H

#include "elect.h"

struct environment {
    const char *group, *node; /* names of the group and of the member on this machine */
    const char *leader;       /* the name of the leader; "": no leader is known */
    const char *socket;       /* the daemon's status socket */
    elect_term term;
    uint32_t lease; /* the lease of a leader, in microseconds */
};

/* Calls `add` with the name and the value of each ELECT_ variable. */
void environment_each(const struct environment *e,
                      void (*add)(void *context, const char *name, const char *value),
                      void *context);

#endif
