/* Determines whether the command works properly. Either a periodic check tests the command, or the
 * command itself reports regularly, in the same way as to systemd (sd_watchdog_enabled(3)). If the
 * command does not work properly, elect run stops it, and the member hands leadership over. */
#ifndef ELECT_RUN_HEALTH_H
#define ELECT_RUN_HEALTH_H

#include "run.h"

/* health_look() returns HEALTH_FINE, UNHEALTHY_CHECK or UNHEALTHY_SILENT. */
enum { HEALTH_FINE = 0 };

#define HEALTH_SAID 100

struct health {
    const struct run_options *options;
    bool looking;
    bool passed;            /* the latest complete check was successful */
    bool reported;          /* the command was found unhealthy, and no check has passed since */
    int output;             /* the output of the running check; -1: none */
    char said[HEALTH_SAID]; /* the beginning of the check's output */
    size_t length;
    char why[TALK_WHY]; /* why the last check failed */
    pid_t check;        /* the parent process of the running check; 0: no check is running */
    int64_t next_check;
    unsigned failures; /* failed checks in a row */
    int notify;        /* the socket of --watchdog; -1: none */
    int64_t heard;     /* when the last watchdog message arrived */
};

/* Starts the first check at the time `first`, and then one check in every period. */
void health_begin(struct health *s, const struct run_options *o, int64_t first);
/* Listens for the messages of --watchdog, and sets the environment variables with which the command
 * finds the socket. Returns false if the socket cannot be opened. */
bool health_listen(struct health *s, int64_t now);
int64_t health_next(const struct health *s); /* when to call health_look() again */
int health_look(struct health *s, int64_t now);
void health_hear(struct health *s, int64_t now);
void health_read(struct health *s); /* reads the check's output, so that the check never blocks */
void health_ended(struct health *s, pid_t child, int status);
void health_end(struct health *s); /* kills the running check, and starts no others */
/* Resumes the checks after a freeze or a restart. */
void health_again(struct health *s, int64_t now);

#endif
