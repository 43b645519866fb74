/* Whether the command works properly: a check that is run periodically says so, or the command
 * itself does, as to systemd (sd_watchdog_enabled(3)). If it does not, the member resigns. */
#ifndef ELECT_RUN_HEALTH_H
#define ELECT_RUN_HEALTH_H

#include "run.h"

enum { HEALTH_FINE = -1, HEALTH_CHECK_FAILED, HEALTH_SILENT };

struct health {
    const struct run_options *options;
    bool looking;
    pid_t check; /* its waiter; 0: none runs */
    int64_t next_check;
    unsigned failures; /* in a row */
    int notify;        /* -1: none */
    int64_t heard;     /* the last sign of life */
};

/* False if there can be no socket; what the command must know is in the environment then. */
bool health_begin(struct health *s, const struct run_options *o, int64_t now);
int64_t health_next(const struct health *s); /* when it wants to look again */
int health_look(struct health *s, int64_t now);
void health_hear(struct health *s, int64_t now);
void health_ended(struct health *s, pid_t child, int status);
void health_end(struct health *s);                /* nobody wants to know any more */
void health_again(struct health *s, int64_t now); /* after it stood still */

#endif
