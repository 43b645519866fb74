/*
 * Manages the work on this machine under the offices of its member, and finds out when all of it
 * has stopped:
 *
 *     a run        works until it reports that its work has ended            run_queue.c
 *     clients      work until the deadline that they were told               run_connection.c
 *     hooks        on-leader begins work, which on-follower ends             hooks.c
 *
 * Clients see the member as a leader as soon as the hook pre-leader agrees. When an office ends, or
 * when it must be handed over, these files tell all work to stop. When all work has stopped, they
 * report this to the member, which may then release its term before the lease is over. Work that
 * ends without a report may have left processes behind. The member then waits until the last
 * deadline that the work was given.
 *
 * These files use the daemon only through the first fields of struct work, and do not include
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

/* The hooks of a group. Only one hook runs at a time, and it ends before the next hook begins. */
struct group_hooks {
    uint32_t serial;     /* the serial of the running hook; 0: none */
    pid_t parent;        /* the hook parent, if the member itself runs the hook; else 0 */
    uint8_t hook, tries; /* enum hook: the latest hook; its failed attempts */
    uint8_t failures;    /* offices in a row in which a hook declined or failed */
    bool served;         /* on-leader was run for this office, or runs */
    bool led;            /* on-leader was run in `term`, and on-follower not yet */
    elect_term term;
    bool cancelled;      /* the running hook was told to end */
    bool changes;        /* on-leader-change is due */
    elect_time again;    /* no retry runs before this time */
    elect_time doubtful; /* until then, a hook of the dead guardian may still run */
};

struct group_work {
    bool agreed;      /* pre-leader agrees, or there is none: clients see the member as leader */
    bool office;      /* the member leads, even if clients do not see that yet */
    elect_time until; /* the end of the member's latest office */
    elect_time last;  /* until then, work that did not report its end may continue */
    struct run_connection *holder; /* the run that works; NULL: none */
    bool yields; /* the member hands over as soon as no process of the last run can be alive */
    char yields_because[JOURNAL_TEXT];
    elect_time ready; /* the member does not stand ready again before this time */
    bool is_void;     /* the group has no testament, because one of its connections has `voids` */
    struct group_hooks hooks;
    struct pace pace;              /* limits how often each user may cause a change of leader */
    struct pace_failures failures; /* the failures of the runs of this group */
};

/* The functions of the daemon that the work calls. */
struct work_calls {
    void (*log)(void *context, const struct journal_note *note);
    /* Makes the member hand over its offices and end. */
    void (*stop)(void *context, const char *why);
    /* Reports that the result of work_shown() for this group may have changed. */
    void (*show)(void *context, unsigned group);
    /* Return the cause of the group's shown state; set the cause of its next state. */
    const char *(*reason)(void *context, unsigned group);
    void (*set_reason)(void *context, unsigned group, const char *reason);
};

struct work {
    /* The daemon sets these fields before work_begin(). */
    uv_loop_t *loop;
    const struct config *config;    /* a reload changes the struct, not the pointer */
    const struct config_member *me; /* points to this member in `config`, even after a reload */
    const struct words *words;      /* with the configuration of the election */
    struct journal *journal;        /* for the output of hooks that the member itself runs */
    const struct work_calls *calls;
    void *context;
    /* The daemon sets these fields later. */
    struct elect_member *member; /* NULL: the member has not started yet, or has stopped */
    bool over;                   /* the daemon ends, so no work is started any more */
    bool leaves;                 /* the member hands over and then ends, so it seeks no office */
    const char *resigns_because; /* during a step that may make the member resign; or NULL */

    struct guard guard; /* channel -1: the guardian is dead */
    uv_poll_t guard_poll;
    uv_timer_t wake;
    uint32_t serials;    /* the last serial in a note to the guardian */
    bool deposits_again; /* the guardian did not accept a testament, so try again */
    uv_poll_t run_poll;
    int run_socket;                     /* -1: it is not open */
    struct run_connection *connections; /* to the run socket, the newest first */
    struct pace pace;                   /* the pace of the connected users, over all groups */
    struct group_work group[STORE_GROUPS];
};

/* ---- for the daemon ---- */

void work_begin(struct work *w, const struct guard *guard);
/* Releases the resources of the work. `in_good_order`: the guardian need not send testaments. */
void work_end(struct work *w, bool in_good_order);
/* Reports late runs and repeats testaments that the guardian did not accept. The daemon calls this
 * function every second. */
void work_tick(struct work *w);
/* Handles an announcement of the member. */
void work_news(struct work *w, const struct elect_news *news);
/* Returns the state of a group that clients see. This state is the one that the member announced,
 * except that the member does not appear as leader before pre-leader agrees. */
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

/* Does everything that is due for a group: updates its shown state, runs hooks, starts and stops
 * runs, and reports to the member that all work has stopped. Must be called after each change. */
void work_turn(struct work *w, unsigned group);
/* Makes the loop call work_turn() for all groups at this time, or earlier. */
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
