/*
 * Manages the work on this machine that may be done only while its member leads, and finds out when
 * all of it has stopped:
 *
 *     a run        works until it reports that its work has ended            run_queue.c
 *     clients      work until the deadline that they were told               run_connection.c
 *     hooks        on-leader begins work, which on-follower ends             hooks.c
 *
 * Clients see the member as a leader as soon as the hook pre-leader agrees. When leadership ends,
 * or must be handed over, these files tell all work to stop. When all work has stopped, they report
 * this to the member, which may then release its term before the lease ends. Work that ends without
 * a report may have left processes behind. The member then waits until the last deadline of that
 * work has passed.
 *
 * These files do not include daemon.h. They have access to the daemon only through the first fields
 * of struct work.
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

/* The state of the hooks of a group. Only one hook runs at a time, and it ends before the next hook
 * begins. */
struct group_hooks {
    uint32_t serial;     /* the serial number of the running hook; 0 if none is running */
    pid_t parent;        /* the parent of the hook if the member itself runs it; otherwise 0 */
    uint8_t hook, tries; /* the latest hook (enum hook), and how many times it has failed */
    uint8_t failures;    /* how many times in a row a hook has declined leadership, or failed */
    bool served;         /* the hook on-leader has been started since the member began to lead */
    bool led;            /* on-leader was run in `term`, and on-follower has not undone it yet */
    elect_term term;
    bool cancelled;      /* the running hook was told to end */
    bool changes;        /* the hook on-leader-change must be run */
    elect_time again;    /* a hook that failed is not run again before this time */
    elect_time doubtful; /* until then, a hook of the dead guardian may still be running */
};

struct group_work {
    bool agreed;      /* clients may see that the member leads: pre-leader agreed, or is not set */
    bool office;      /* the member leads, although clients may not see that yet */
    elect_time until; /* when the member's latest term of leadership ends or ended */
    elect_time last;  /* until then, work whose end was not reported may continue */
    struct run_connection *holder; /* the run whose command may be running; NULL if there is none */
    bool yields; /* the member will hand over once no process of the last run can be alive */
    char yields_because[JOURNAL_TEXT];
    elect_time ready; /* the member may not lead again before this time */
    bool is_void;     /* the group has no testament, because a run's work cannot be killed */
    struct group_hooks hooks;
    struct pace pace;              /* limits how often each user may cause a change of leader */
    struct pace_failures failures; /* counts the failures of runs of this group */
};

/* The functions of the daemon that work.c and the files beside it call. */
struct work_calls {
    void (*log)(void *context, const struct journal_note *note);
    /* Makes the member hand over leadership in all groups, and exit. */
    void (*stop)(void *context, const char *why);
    /* Is called when the result of work_shown() for this group may have changed. */
    void (*show)(void *context, unsigned group);
    /* `reason` returns why the group is in the state that clients see; `set_reason` sets the reason
     * for its next state. */
    const char *(*reason)(void *context, unsigned group);
    void (*set_reason)(void *context, unsigned group, const char *reason);
};

struct work {
    /* The daemon sets the following fields before it calls work_begin(). */
    uv_loop_t *loop;
    const struct config *config;    /* a reload changes the struct, but not this pointer */
    const struct config_member *me; /* points to this member in `config`, even after a reload */
    const struct words *words;      /* contains the configuration of the election */
    struct journal *journal;        /* for the output of hooks that the member itself runs */
    const struct work_calls *calls;
    void *context;
    /* The daemon sets the following fields later. */
    struct elect_member *member; /* NULL before the member has started, and after it has stopped */
    bool over;                   /* the daemon is about to exit, so no work is started any more */
    bool leaves;                 /* the member hands over and exits, so it must not be elected */
    const char *resigns_because; /* why the member resigns, if it does so in this step; else NULL */

    struct guard guard; /* its channel is -1 if the guardian is dead */
    uv_poll_t guard_poll;
    uv_timer_t wake;
    uint32_t serials;    /* the last serial number that was used in a note to the guardian */
    bool deposits_again; /* the guardian could not accept a testament, so try again */
    uv_poll_t run_poll;
    int run_socket;                     /* -1 if it is not open */
    struct run_connection *connections; /* all connections to the run socket, the newest first */
    struct pace pace;                   /* limits each user in all groups together */
    struct group_work group[STORE_GROUPS];
};

/* ---- for the daemon ---- */

void work_begin(struct work *w, const struct guard *guard);
/* Releases all resources. If `in_good_order` is true, tells the guardian that it need not send
 * testaments. */
void work_end(struct work *w, bool in_good_order);
/* Reports runs that have not stopped in time, and sends testaments again that the guardian could
 * not accept. The daemon calls this function every second. */
void work_tick(struct work *w);
/* Handles news from the member about the leader of a group. */
void work_news(struct work *w, const struct elect_news *news);
/* Returns the state of a group as clients see it. This is the state that the member announced,
 * except that the member does not appear as leader before the hook pre-leader agrees. */
struct elect_news work_shown(const struct work *w, unsigned group);
/* Informs hooks and clients that the state of a group, as clients see it, has changed. */
void work_changed(struct work *w, unsigned group, bool another_leader);
/* Applies settings that a reload may have changed: testament, testament-delay and
 * lead-only-with-runner. */
void work_configure(struct work *w);
void work_deposit(struct work *w, const struct elect_testament *testament);
/* Returns true if the guardian has a testament that it may send when the member dies. */
bool work_has_testament(const struct work *w, unsigned group);

/* ---- for the daemon, hooks and runs ---- */

/* Does everything that is due for a group: shows its state to clients, runs hooks, starts and stops
 * runs, and tells the member if all work has stopped. Must be called after every change. */
void work_turn(struct work *w, unsigned group);
/* Makes the event loop call work_turn() for all groups at this time or earlier. */
void work_wake(struct work *w, elect_time when);
/* Makes the member hand over, unless it is already doing so. `why` is logged as the cause. */
struct elect_rule work_resign(struct work *w, unsigned group, const char *why);
/* Gives the member any input that may make it resign. `why` is logged as the cause. */
struct elect_rule work_tell(struct work *w, unsigned group, const struct elect_input *in,
                            const char *why);
/* Sends a note to the guardian and, unless `fd` is -1, a descriptor with it. Returns false if the
 * guardian is dead, or cannot receive the note now. */
bool work_tell_guardian(struct work *w, const struct guard_note *note, int fd);
bool work_is_guarded(const struct work *w);

#endif
