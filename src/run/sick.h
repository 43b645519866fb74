/* Whether the command does its work: by a check that is run now and then, or by the sign of life
 * that it gives itself, as to systemd (sd_watchdog_enabled(3)). Who is sick resigns. */
#ifndef ELECT_RUN_SICK_H
#define ELECT_RUN_SICK_H

#include "run.h"

enum { SICK_NOT = -1, SICK_HEALTH, SICK_WATCHDOG };

struct sick {
    const struct run_options *options;
    bool looking;
    pid_t check; /* its waiter; 0: none runs */
    int64_t next_check;
    unsigned failures; /* in a row */
    int notify;        /* -1: none */
    int64_t heard;     /* the last sign of life */
};

/* False if there can be no socket; what the command must know is in the environment then. */
bool sick_begin(struct sick *s, const struct run_options *o, int64_t now);
int64_t sick_next(const struct sick *s); /* when it wants to look again */
int sick_look(struct sick *s, int64_t now);
void sick_hear(struct sick *s, int64_t now);
void sick_ended(struct sick *s, pid_t child, int status);
void sick_end(struct sick *s);                /* nobody wants to know any more */
void sick_again(struct sick *s, int64_t now); /* after it stood still */

#endif
