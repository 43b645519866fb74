/* elect run: a command that runs only while this member leads.
 *
 *     A  the runner, which the user started: talks to the daemon
 *     B  the keeper: parent of the waiter, ends the command when its time is over
 *     C  the waiter: parent of the command, exits with the command's status
 *     W  the command, and whatever it forks
 *
 * A and B are subreapers, read the deadline from a shared page, and notice when the other dies. The
 * survivor kills and reaps everything and reports that the work has ended. */
#ifndef ELECT_RUN_RUN_H
#define ELECT_RUN_RUN_H

#include "../base/exit.h"
#include "channel.h"
#include "deadline.h"
#include "tree.h"

#include <signal.h>
#include <stdatomic.h>

enum on_lose { LOSE_STOP, LOSE_SIGNAL, LOSE_FREEZE };
enum on_exit { EXIT_YIELDS_ON_FAILURE, EXIT_YIELDS, EXIT_HOLDS, EXIT_RESTARTS };

struct run_options {
    const char *group;         /* empty: the only one */
    const char *socket;        /* member-N.run */
    const char *status_socket; /* what the command is told */
    char *const *command;      /* ends in NULL */
    bool now, respawn, shell, isolate, cgroup, quiet;
    enum on_lose on_lose;
    enum on_exit on_exit;
    int signal;            /* the first one */
    int lost;              /* exit status */
    int64_t max_wait;      /* DEADLINE_NEVER */
    int64_t grace, margin; /* DEADLINE_DEFAULT */
    const char *health;    /* NULL: none */
    int64_t health_every;
    unsigned health_tries;
    int64_t watchdog; /* 0: none */
};

/* Exit status. */
int run_command(const struct run_options *o);

/* ---- between the two ---- */

enum phase {
    PHASE_BEGUN,   /* nothing runs yet */
    PHASE_WORKING, /* W was forked */
    PHASE_GIVEN,   /* was told that it is over, and counts as stopped: LOSE_SIGNAL */
    PHASE_FROZEN,
    PHASE_EMPTY /* nothing is left */
};

/* Both write, so that the one who is left knows. */
struct page {
    _Atomic int64_t until;
    _Atomic int64_t grace, margin; /* as the lease allows; it may be configured anew */
    _Atomic int phase;
    _Atomic int lost;         /* its end was our doing */
    _Atomic int unhealthy;    /* and this was the reason; 0: it is healthy */
    _Atomic int ending;       /* the last signal to end that elect run passed on; 0: none */
    _Atomic int restarts;     /* the command has failed, and B will start it again */
    _Atomic uint64_t term;    /* of the office under which the command works */
    _Atomic uint32_t lease;   /* and its lease */
    _Atomic int status;       /* exit status; RUN_NOTHING: it was too late to begin */
    _Atomic int waiter;       /* its process group is that of W */
    _Atomic int said;         /* of what is held now, B has said the end */
    _Atomic int steps;        /* of killing, or stopping, that B has taken */
    char complaint[TALK_WHY]; /* what the health check said; written before `unhealthy` */
};
enum { RUN_NOTHING = -1 };
enum { UNHEALTHY_CHECK = 1, UNHEALTHY_SILENT };

enum note_kind {
    /* A to B */
    NOTE_SIGNAL, /* value: which */
    NOTE_STOP,   /* its grace begins */
    NOTE_KILL,   /* there is none */
    NOTE_THAW,   /* leads again: with both descriptors of a channel */
    /* B to A */
    NOTE_STOPPING, /* not renewed in time */
    NOTE_KILLING,  /* value: milliseconds of grace that were not enough */
    NOTE_FROZEN,
    NOTE_UNHEALTHY, /* value: UNHEALTHY_CHECK, UNHEALTHY_SILENT */
    NOTE_RESTARTS   /* value: seconds until the command is started again */
};
struct note {
    enum note_kind kind;
    int value;
};

/* What B needs; it never comes back. */
struct keeper_job {
    const struct run_options *options;
    struct page *page;
    struct channel channel;
    struct cgroup *cgroup;
    struct deadline deadline;
    struct talk go;     /* what the command is told */
    int runner;         /* our end of the pair */
    bool terminal;      /* is to be handed over */
    pid_t runner_group; /* whose it was */
};
_Noreturn void keeper_run(struct keeper_job *job);

/* Rings at once if that time is over; DEADLINE_NEVER: not at all. */
void deadline_arm(int timer, int64_t when);

#endif
