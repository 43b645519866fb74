/*
 * The work on this machine under the offices of its member, and whether all of it has stopped:
 *
 *     a run        works until it reports that its work has ended            run_queue.c
 *     clients      work until the deadline that they were told               run_connection.c
 *     hooks        on-leader begins work, which on-follower ends             hooks.c
 *
 * The member is shown as a leader as soon as the hook pre-leader agrees. When an office ends, or is
 * to be handed over, all work is told to stop. When all of it has stopped, the member is told so,
 * and may release its term before the lease is over. Work that ends without a report may have left
 * processes behind. The member then waits until the last deadline that the work was given.
 *
 * These files know the daemon only through the first fields of struct work; none of them includes
 * daemon.h.
 */
#ifndef ELECT_DAEMON_WORK_H
#define ELECT_DAEMON_WORK_H

#include "../words/words.h"
#include "config.h"
#include "guardian.h"
#include "journal.h"
#include "pace.h"

#include <uv.h>

struct run_connection;

/* The hooks of a group. Only one runs at a time, and it ends before the next one begins. */
struct group_hooks {
    uint32_t serial;     /* the serial of the hook that runs; 0: none */
    pid_t parent;        /* its hook parent, if the member itself runs it; else 0 */
    uint8_t hook, tries; /* enum hook: the latest one, and its failed attempts */
    uint8_t failures;    /* offices in a row in which a hook declined or failed */
    bool served;         /* on-leader was run for this office, or runs */
    bool led;            /* on-leader was run, and on-follower not yet, in this term: */
    elect_term term;
    bool cancelled;      /* the hook that runs was told to end */
    bool changes;        /* on-leader-change is due */
    elect_time again;    /* no retry runs before this */
    elect_time doubtful; /* until then a hook that a dead guardian has left may still run */
};

struct group_work {
    bool agreed;      /* pre-leader agrees, or there is none: the member is shown as leader */
    bool office;      /* the member leads, even if that is not shown yet */
    elect_time until; /* end of its latest office */
    elect_time last;  /* until then work that did not report its end may go on */
    struct run_connection *holder; /* the run that works; NULL: none */
    bool yields; /* the member hands over as soon as no process of the last run can be alive */
    char yields_because[JOURNAL_TEXT];
    elect_time ready; /* the member does not stand ready again before this */
    bool is_void;     /* the group has no testament, because a connection of it has `voids` */
    struct group_hooks hooks;
    struct pace pace;              /* the pace of the users whose runs work here */
    struct pace_failures failures; /* the failures of the runs of this group */
};

/* The functions of the daemon that the work calls. */
struct work_calls {
    void (*log)(void *context, const struct journal_note *note);
    /* Lets the member hand over its offices, and end. */
    void (*stop)(void *context, const char *why);
    /* Reports that the result of work_shown() for this group may have changed. */
    void (*show)(void *context, unsigned group);
    /* Return the cause of the group's state as it is shown; set the cause of its next state. */
    const char *(*reason)(void *context, unsigned group);
    void (*set_reason)(void *context, unsigned group, const char *reason);
};

struct work {
    /* The daemon sets these before work_begin(). */
    uv_loop_t *loop;
    const struct config *config;    /* a reload changes the struct, not the pointer */
    const struct config_member *me; /* its place in the configuration, which a reload keeps */
    const struct words *words;      /* with the configuration of the election */
    struct journal *journal;        /* for the output of hooks that the member itself runs */
    const struct work_calls *calls;
    void *context;
    /* The daemon sets these later. */
    struct elect_member *member; /* NULL: it has not started yet, or has stopped */
    bool over;                   /* the daemon ends: no work is started any more */
    bool leaves;                 /* the member hands over and then ends: it seeks no office */
    const char *resigns_because; /* during a step that may make the member resign; or NULL */

    struct guard guard; /* channel -1: the guardian is dead */
    uv_poll_t guard_poll;
    uv_timer_t wake;
    uint32_t serials;    /* the last serial in a note to the guardian */
    bool deposits_again; /* the guardian did not accept a testament: try again */
    uv_poll_t run_poll;
    int run_socket;                     /* -1: it is not open */
    struct run_connection *connections; /* to the run socket, the newest first */
    struct pace pace;                   /* the pace of their users, over all groups */
    struct group_work group[STORE_GROUPS];
};

/* ---- for the daemon ---- */

void work_begin(struct work *w, const struct guard *guard);
/* Releases the resources of the work. `in_good_order`: the guardian need not send testaments. */
void work_end(struct work *w, bool in_good_order);
/* To be called every second. */
void work_tick(struct work *w);
/* Handles an announcement of the member. */
void work_news(struct work *w, const struct elect_news *news);
/* Returns the state of a group that clients see: as the member announced it, except that the member
 * does not lead before pre-leader agrees. */
struct elect_news work_shown(const struct work *w, unsigned group);
/* Informs hooks and clients that the shown state of a group has changed. */
void work_changed(struct work *w, unsigned group, bool another_leader);
/* Applies settings that a reload may have changed: testament, testament-delay and
 * lead-only-with-runner. */
void work_configure(struct work *w);
void work_deposit(struct work *w, const struct elect_testament *testament);
/* Returns true if the guardian has a testament that it may send when the member dies. */
bool work_has_testament(const struct work *w, unsigned group);

/* ---- for the daemon, hooks and runs ---- */

/* Does all that is due for a group: shows its state, runs hooks, starts and stops runs, and tells
 * the member that all work has stopped. To be called after each change. */
void work_turn(struct work *w, unsigned group);
/* Lets work_turn() be called for all groups at this time, or earlier. */
void work_wake(struct work *w, elect_time when);
/* Makes the member hand over, unless it does so already. `why` is logged as the cause. */
struct elect_rule work_resign(struct work *w, unsigned group, const char *why);
/* The same for any input that may make the member resign. */
struct elect_rule work_tell(struct work *w, unsigned group, const struct elect_input *in,
                            const char *why);
/* Sends a note, with a descriptor unless `fd` is -1. Returns false if the guardian is dead, or
 * cannot receive the note now. */
bool work_tell_guardian(struct work *w, const struct guard_note *note, int fd);
bool work_is_guarded(const struct work *w);

#endif
