/* Whether the command works properly: a check that is run periodically says so, or the command
 * itself does, as to systemd (sd_watchdog_enabled(3)). If it does not, the
 * command is stopped and the member hands leadership over. */
#ifndef ELECT_RUN_HEALTH_H
#define ELECT_RUN_HEALTH_H

#include "run.h"

/* UNHEALTHY_CHECK and UNHEALTHY_SILENT are the others. */
enum { HEALTH_FINE = 0 };

#define HEALTH_SAID 100

struct health {
    const struct run_options *options;
    bool looking;
    bool passed;            /* the last check that ended has passed */
    bool reported;          /* it was found unhealthy, and no check has passed since */
    int output;             /* of the check; -1: none runs */
    char said[HEALTH_SAID]; /* the beginning of what it wrote */
    size_t length;
    char why[TALK_WHY]; /* why the last one failed */
    pid_t check;        /* its waiter; 0: none runs */
    int64_t next_check;
    unsigned failures; /* in a row */
    int notify;        /* -1: none */
    int64_t heard;     /* the last sign of life */
};

/* Begins to check, every period from `first` on. */
void health_begin(struct health *s, const struct run_options *o, int64_t first);
/* Listens for signs of life, as of --watchdog. False if there can be no socket; else what the
 * command must know is in the environment. */
bool health_listen(struct health *s, int64_t now);
int64_t health_next(const struct health *s); /* when it wants to look again */
int health_look(struct health *s, int64_t now);
void health_hear(struct health *s, int64_t now);
void health_read(struct health *s); /* what the check writes, so that it never waits for us */
void health_ended(struct health *s, pid_t child, int status);
void health_end(struct health *s);                /* the check that runs is killed */
void health_again(struct health *s, int64_t now); /* after it stood still */

#endif
