/* elect run: a command that runs only while this member leads.
 *
 *     A  the runner, which the user started: talks to the daemon
 *     B  the keeper: parent of the waiter, ends the command when its time is over
 *     C  the waiter: parent of the command, exits with the command's status
 *     W  the command, and every process that it forks
 *
 * A and B are subreapers, read the deadline from a shared page, and notice when the other one dies.
 * The survivor kills and reaps all processes and reports that the work has ended. */
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
    const char *group;         /* empty: the only group */
    const char *socket;        /* member-N.run */
    const char *status_socket; /* the socket that the command is told */
    char *const *command;      /* ends in NULL */
    bool now, respawn, shell, isolate, cgroup, quiet;
    enum on_lose on_lose;
    enum on_exit on_exit;
    int signal;            /* which tells the command to stop */
    int lost;              /* exit status after a lost office */
    int64_t max_wait;      /* DEADLINE_NEVER: no limit */
    int64_t grace, margin; /* DEADLINE_DEFAULT: what fits the lease */
    const char *health;    /* NULL: none */
    int64_t health_every;
    unsigned health_tries;
    int64_t watchdog; /* 0: none */
};

/* Returns the exit status. */
int run_command(const struct run_options *o);

/* ---- between runner and keeper ---- */

enum phase {
    PHASE_BEGUN,   /* nothing runs yet */
    PHASE_WORKING, /* the command was forked */
    PHASE_GIVEN,   /* LOSE_SIGNAL: the command was told, and counts as stopped */
    PHASE_FROZEN,
    PHASE_EMPTY /* no process is left */
};

/* A and B both write to it, so that the survivor knows what the other one knew. */
struct page {
    _Atomic int64_t until;
    _Atomic int64_t grace, margin; /* as the lease allows; a reload may change them */
    _Atomic int phase;
    _Atomic int lost;         /* 1: elect run itself ended the work */
    _Atomic int unhealthy;    /* why, if its health was the reason; 0: it is healthy */
    _Atomic int ending;       /* the last signal to end that elect run passed on; 0: none */
    _Atomic int restarts;     /* the command has failed, and B will start it again */
    _Atomic uint64_t term;    /* of the office under which the command works */
    _Atomic uint32_t lease;   /* the lease of that office */
    _Atomic int status;       /* exit status; RUN_NOTHING: it was too late to start */
    _Atomic int waiter;       /* its process group is that of the command */
    _Atomic int said;         /* B has sent EMPTY for the present HOLD */
    _Atomic int steps;        /* steps of killing or stopping that B has made */
    char complaint[TALK_WHY]; /* of the health check; written before `unhealthy` */
};
enum { RUN_NOTHING = -1 };
enum { UNHEALTHY_CHECK = 1, UNHEALTHY_SILENT };

enum note_kind {
    /* from A to B */
    NOTE_SIGNAL, /* value: the number of the signal */
    NOTE_STOP,   /* begin the grace */
    NOTE_KILL,   /* allow no grace */
    NOTE_THAW,   /* leads again: carries both descriptors of a channel */
    /* from B to A */
    NOTE_STOPPING, /* the office was not renewed in time */
    NOTE_KILLING,  /* value: milliseconds of grace that did not suffice */
    NOTE_FROZEN,
    NOTE_UNHEALTHY, /* value: UNHEALTHY_CHECK, UNHEALTHY_SILENT */
    NOTE_RESTARTS   /* value: seconds until the command is started again */
};
struct note {
    enum note_kind kind;
    int value;
};

/* The input of B. keeper_run() does not return. */
struct keeper_job {
    const struct run_options *options;
    struct page *page;
    struct channel channel;
    struct cgroup *cgroup;
    struct deadline deadline;
    struct talk go;     /* the GO, for the environment of the command */
    int runner;         /* B's end of the pair */
    bool terminal;      /* the command gets the terminal */
    pid_t runner_group; /* the process group that had the terminal */
};
_Noreturn void keeper_run(struct keeper_job *job);

/* Sets the timer, which rings immediately if that time has passed; DEADLINE_NEVER disarms it. */
void deadline_arm(int timer, int64_t when);

#endif
