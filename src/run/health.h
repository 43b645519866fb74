/* Determines whether the command works properly: either a periodic check finds out, or the command
 * itself reports it, as it would to systemd (sd_watchdog_enabled(3)). If the command does not work
 * properly, it is stopped, and the member hands leadership over. */
#ifndef ELECT_RUN_HEALTH_H
#define ELECT_RUN_HEALTH_H

#include "run.h"

/* The other results are UNHEALTHY_CHECK and UNHEALTHY_SILENT. */
enum { HEALTH_FINE = 0 };

#define HEALTH_SAID 100

struct health {
    const struct run_options *options;
    bool looking;
    bool passed;            /* the last check that ended was successful */
    bool reported;          /* the command was found unhealthy, and no check has passed since */
    int output;             /* the output of the running check; -1: none */
    char said[HEALTH_SAID]; /* the beginning of its output */
    size_t length;
    char why[TALK_WHY]; /* why the last check failed */
    pid_t check;        /* the waiter of the running check; 0: none */
    int64_t next_check;
    unsigned failures; /* failed checks in a row */
    int notify;        /* -1: none */
    int64_t heard;     /* when the last sign of life came */
};

/* Begins to check: at `first`, and then every period. */
void health_begin(struct health *s, const struct run_options *o, int64_t first);
/* Listens for the signs of life of --watchdog, and puts what the command must know into the
 * environment. Returns false if the socket cannot be opened. */
bool health_listen(struct health *s, int64_t now);
int64_t health_next(const struct health *s); /* when to call health_look() again */
int health_look(struct health *s, int64_t now);
void health_hear(struct health *s, int64_t now);
void health_read(struct health *s); /* reads the check's output, so that the check never blocks */
void health_ended(struct health *s, pid_t child, int status);
void health_end(struct health *s);                /* kills the running check */
void health_again(struct health *s, int64_t now); /* after a freeze or a restart */

#endif
