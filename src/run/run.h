/*
 * elect run executes a command only while this member leads. Four kinds of processes take part:
 *
 *     runner   the process that the user started; it talks to the daemon
 *     keeper   the child of the runner; it ends the command when its time has run out
 *     waiter   the child of the keeper; it exits with the status of the command
 *     command  the child of the waiter, and every process that the command forks
 *
 * The runner and the keeper are subreapers, and read the deadline from a shared page. If one of
 * them dies, the other one notices this, kills and reaps all processes, and reports that the work
 * has ended.
 */
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
    const char *group;         /* the name of the group; empty: the only group */
    const char *socket;        /* the path of the daemon's socket member-N.run */
    const char *status_socket; /* the daemon's status socket, for the command's environment */
    char *const *command;      /* the command and its arguments; ends in NULL */
    bool now, respawn, shell, isolate, cgroup, quiet;
    enum on_lose on_lose;
    enum on_exit on_exit;
    int signal;            /* the signal that tells the command to stop */
    int lost;              /* exit status of elect run after leadership was lost */
    int64_t max_wait;      /* how long to wait for leadership; DEADLINE_NEVER: no limit */
    int64_t grace, margin; /* DEADLINE_DEFAULT: values that fit the lease */
    const char *health;    /* the command line of the health check; NULL: none */
    int64_t health_every;
    unsigned health_tries;
    int64_t watchdog; /* the longest silence of the command; 0: no limit */
};

/* Returns the name of the command for messages. Its arguments may contain secrets. */
static inline const char *run_name(const struct run_options *o)
{
    return o->shell ? "sh" : o->command[0];
}

/* Returns the exit status of elect run. */
int run_command(const struct run_options *o);

/* ---- between runner and keeper ---- */

enum phase {
    PHASE_BEGUN,   /* the command has not been started yet */
    PHASE_WORKING, /* the command was forked */
    PHASE_GIVEN,   /* with --on-lose signal: the command was signalled, and counts as stopped */
    PHASE_FROZEN,
    PHASE_EMPTY /* all processes have ended */
};

/* The runner and the keeper share this page of memory, and both write to it. If one of them dies,
 * the other one finds the state of the run there. */
struct page {
    _Atomic int64_t until;
    _Atomic int64_t grace, margin; /* values that fit the lease; a reload may change them */
    _Atomic int phase;
    _Atomic int lost;       /* 1: elect run itself has begun to stop the command */
    _Atomic int unhealthy;  /* UNHEALTHY_CHECK or UNHEALTHY_SILENT; 0: the command is healthy */
    _Atomic int ending;     /* the last terminating signal, passed on or from a key; 0: none */
    _Atomic int restarts;   /* the command has failed, and the keeper will start it again */
    _Atomic uint64_t term;  /* the term in which the command works */
    _Atomic uint32_t lease; /* the lease in that term */
    /* The exit status of the command; RUN_NOTHING if it was too late to start the command. Before
     * PHASE_EMPTY, this is the status with which the command ended before its restart. */
    _Atomic int status;
    _Atomic int waiter; /* process id of the waiter, which joins the command's process group */
    _Atomic int said;   /* the keeper has reported the end of the work to the daemon */
    _Atomic int steps;  /* grows with each process that the keeper kills or stops */
    char complaint[TALK_WHY]; /* why the command is unhealthy; written before `unhealthy` */
};
enum { RUN_NOTHING = -1 };
enum { UNHEALTHY_CHECK = 1, UNHEALTHY_SILENT };

enum note_kind {
    /* Notes from the runner to the keeper. */
    NOTE_SIGNAL, /* value: the number of the signal */
    NOTE_STOP,   /* stop the command, with the full grace period */
    NOTE_KILL,   /* stop the command, without any grace period */
    NOTE_THAW,   /* the member leads again; comes with a new connection to the daemon */
    /* Notes from the keeper to the runner. */
    NOTE_STARTED,  /* value: the process id of the command; 0: unknown */
    NOTE_STOPPING, /* the keeper stops the command: the lease was not renewed in time */
    NOTE_KILLING,  /* value: how many milliseconds the command had to stop by itself */
    NOTE_FROZEN,
    NOTE_UNHEALTHY, /* value: UNHEALTHY_CHECK or UNHEALTHY_SILENT */
    NOTE_RESTARTS   /* value: seconds until the command is started again */
};
struct note {
    enum note_kind kind;
    int value;
};

/* The parameters of keeper_run(), which does not return. */
struct keeper_job {
    const struct run_options *options;
    struct page *page;
    struct channel channel;
    struct cgroup *cgroup;
    struct deadline deadline;
    struct talk go;     /* the packet GO, whose values go into the command's environment */
    int runner;         /* the keeper's end of the socket pair to the runner */
    bool terminal;      /* the command gets the terminal */
    pid_t runner_group; /* the process group that had the terminal before */
};
_Noreturn void keeper_run(struct keeper_job *job);

/* Sets the timer, which fires immediately if `when` has passed; DEADLINE_NEVER disarms the
 * timer. */
void deadline_arm(int timer, int64_t when);

#endif
