/*
 * elect run executes a command only while this member leads. There are four kinds of processes:
 *
 *     runner   started by the user; talks to the daemon
 *     keeper   child of the runner; ends the command in time
 *     waiter   child of the keeper; exits with the status of the command
 *     command  child of the waiter, with all processes that it forks
 *
 * The runner and the keeper are subreapers and share a page with the deadline. If one of them dies,
 * the other one kills and reaps all processes, and reports that the work has ended.
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
    const char *group; /* empty: the only group */
    const char *socket;
    const char *status_socket;
    char *const *command;
    bool now, respawn, shell, isolate, cgroup, quiet;
    enum on_lose on_lose;
    enum on_exit on_exit;
    int signal;
    int lost;
    int64_t max_wait;      /* longest wait for leadership, or DEADLINE_NEVER */
    int64_t grace, margin; /* or DEADLINE_DEFAULT */
    const char *health;    /* shell command of the health check, or NULL */
    int64_t health_every;
    unsigned health_tries;
    int64_t watchdog; /* longest silence of the command; 0: no limit */
};

/* The command's name for messages, without its arguments, which may contain secrets. */
static inline const char *run_name(const struct run_options *o)
{
    return o->shell ? "sh" : o->command[0];
}

/* Returns the exit status of elect run. */
int run_command(const struct run_options *o);

/* ---- between runner and keeper ---- */

enum phase {
    PHASE_BEGUN,
    PHASE_WORKING, /* forked */
    PHASE_GIVEN,   /* with --on-lose signal: signalled, which counts as stopped */
    PHASE_FROZEN,
    PHASE_EMPTY
};

/* Memory shared by the runner and the keeper. If one of them dies, the other finds the state of the
 * run here. */
struct page {
    _Atomic int64_t until;
    _Atomic int64_t grace, margin; /* a reload may change them */
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
    _Atomic int waiter;       /* process id */
    _Atomic int said;         /* the keeper has sent EMPTY */
    _Atomic int steps;        /* grows as the keeper kills or stops processes */
    char complaint[TALK_WHY]; /* why it is unhealthy; written before `unhealthy` */
};
enum { RUN_NOTHING = -1 };
enum { UNHEALTHY_CHECK = 1, UNHEALTHY_SILENT };

enum note_kind {
    /* from the runner to the keeper */
    NOTE_SIGNAL, /* value: signal number */
    NOTE_STOP,   /* with the full grace period */
    NOTE_KILL,   /* without a grace period */
    NOTE_THAW,   /* the member leads again; comes with a new connection to the daemon */
    /* from the keeper to the runner */
    NOTE_STARTED,  /* value: process id of the command; 0 if unknown */
    NOTE_STOPPING, /* the lease was not renewed in time */
    NOTE_KILLING,  /* value: milliseconds since it was told to stop */
    NOTE_FROZEN,
    NOTE_UNHEALTHY, /* value: UNHEALTHY_CHECK or UNHEALTHY_SILENT */
    NOTE_RESTARTS   /* value: seconds until the command is started again */
};
struct note {
    enum note_kind kind;
    int value;
};

struct keeper_job {
    const struct run_options *options;
    struct page *page;
    struct channel channel;
    struct cgroup *cgroup;
    struct deadline deadline;
    struct talk go;
    int runner;
    bool terminal;
    pid_t runner_group; /* the process group that had the terminal before */
};
_Noreturn void keeper_run(struct keeper_job *job);

/* The timer fires at once if `when` has passed; DEADLINE_NEVER disarms it. */
void deadline_arm(int timer, int64_t when);

#endif
