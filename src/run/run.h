/* elect run executes a command only while this member leads. Four kinds of processes take part:
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
    const char *status_socket; /* the socket that the command finds in its environment */
    char *const *command;      /* ends in NULL */
    bool now, respawn, shell, isolate, cgroup, quiet;
    enum on_lose on_lose;
    enum on_exit on_exit;
    int signal;            /* the signal that tells the command to stop */
    int lost;              /* exit status after a lost office */
    int64_t max_wait;      /* DEADLINE_NEVER: no limit */
    int64_t grace, margin; /* DEADLINE_DEFAULT: values that fit the lease */
    const char *health;    /* NULL: none */
    int64_t health_every;
    unsigned health_tries;
    int64_t watchdog; /* 0: none */
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
    PHASE_BEGUN,   /* no process of the command runs yet */
    PHASE_WORKING, /* the command was forked */
    PHASE_GIVEN,   /* LOSE_SIGNAL: the command was signalled, and counts as stopped */
    PHASE_FROZEN,
    PHASE_EMPTY /* all processes have ended */
};

/* A and B both write to this page. If one of them dies, the other one finds the state of the run
 * there. */
struct page {
    _Atomic int64_t until;
    _Atomic int64_t grace, margin; /* values that fit the lease; a reload may change them */
    _Atomic int phase;
    _Atomic int lost;         /* 1: elect run itself ended the work */
    _Atomic int unhealthy;    /* UNHEALTHY_CHECK or UNHEALTHY_SILENT; 0: the command is healthy */
    _Atomic int ending;       /* the last terminating signal that elect run passed on; 0: none */
    _Atomic int restarts;     /* the command has failed, and B will start it again */
    _Atomic uint64_t term;    /* the term under which the command works */
    _Atomic uint32_t lease;   /* the lease in that term */
    _Atomic int status;       /* the exit status; RUN_NOTHING: it was too late to start. Before
                               * PHASE_EMPTY: the status of the attempt before a restart */
    _Atomic int waiter;       /* the waiter, which is in the process group of the command */
    _Atomic int said;         /* B has sent EMPTY for the present HOLD */
    _Atomic int steps;        /* steps of killing or stopping that B has made */
    char complaint[TALK_WHY]; /* why the command is unhealthy; written before `unhealthy` */
};
enum { RUN_NOTHING = -1 };
enum { UNHEALTHY_CHECK = 1, UNHEALTHY_SILENT };

enum note_kind {
    /* from A to B */
    NOTE_SIGNAL, /* value: the number of the signal */
    NOTE_STOP,   /* begin the grace */
    NOTE_KILL,   /* allow no grace */
    NOTE_THAW,   /* the member leads again; carries both descriptors of a channel */
    /* from B to A */
    NOTE_STARTED,  /* value: the process id of the command; 0: unknown */
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
    struct talk go;     /* the packet GO, for the environment of the command */
    int runner;         /* B's end of the socket pair */
    bool terminal;      /* the command gets the terminal */
    pid_t runner_group; /* the process group that had the terminal */
};
_Noreturn void keeper_run(struct keeper_job *job);

/* Sets the timer, which fires immediately if `when` has passed; DEADLINE_NEVER disarms the
 * timer. */
void deadline_arm(int timer, int64_t when);

#endif
