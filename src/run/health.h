/* The health of the command. Either a periodic check tests it, or the command itself reports
 * regularly, as to systemd (sd_watchdog_enabled(3)). elect run stops an unhealthy command, and the
 * member hands leadership over. */
#ifndef ELECT_RUN_HEALTH_H
#define ELECT_RUN_HEALTH_H

#include "run.h"

/* result of health_look(), besides UNHEALTHY_CHECK and UNHEALTHY_SILENT */
enum { HEALTH_FINE = 0 };

#define HEALTH_SAID 100

struct health {
    const struct run_options *options;
    bool looking;
    bool passed;
    bool reported; /* reported as unhealthy, and no check has passed since */
    int output;    /* output of the running check; -1 if none */
    char said[HEALTH_SAID];
    size_t length;
    char why[TALK_WHY];
    pid_t check; /* 0 if none is running */
    int64_t next_check;
    unsigned failures; /* failed checks in a row */
    int notify;        /* socket of --watchdog; -1 if none */
    int64_t heard;
};

void health_begin(struct health *s, const struct run_options *o, int64_t first);
/* Opens the socket of --watchdog, and sets NOTIFY_SOCKET and WATCHDOG_USEC for the command. Returns
 * false if that fails. */
bool health_listen(struct health *s, int64_t now);
int64_t health_next(const struct health *s); /* when to call health_look() again */
int health_look(struct health *s, int64_t now);
void health_hear(struct health *s, int64_t now);
void health_read(struct health *s);
void health_ended(struct health *s, pid_t child, int status);
void health_end(struct health *s);
/* Resumes the checks after a freeze or a restart. */
void health_again(struct health *s, int64_t now);

#endif
