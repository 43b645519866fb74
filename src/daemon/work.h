/*
 * What works on this machine under the offices of its member, and whether all of it has stopped:
 *
 *     a run        until it reports that its work has ended                  run_queue.c
 *     clients      that were told how long the member leads, until then      run_connection.c
 *     hooks        what on-leader began, until on-follower has ended it      hooks.c
 *
 * The member is shown as a leader as soon as the hook pre-leader agrees. When an office ends, or is
 * to be handed over, all of them are told to stop; when all have stopped the member is told so, and
 * may release its term before the lease is over. Work that ends without reporting it may have left
 * processes behind: for those the member waits until the end of the lease that they were told of.
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

/* The hooks of a group. One runs at a time: it ends before the next begins. */
struct group_hooks {
    uint32_t serial; /* of the one that runs; 0: none */
    pid_t parent;    /* its hook parent, if the member itself runs it; else 0 */
    uint8_t hook, tries;
    uint8_t failures; /* offices in a row that a hook declined or failed in */
    bool served;      /* on-leader was run for this office, or runs */
    bool led;         /* on-leader was run and on-follower was not yet, in this term: */
    elect_term term;
    bool cancelled;      /* the one that runs was told to end */
    bool changes;        /* on-leader-change is to be run */
    elect_time again;    /* not before this */
    elect_time doubtful; /* until then a hook is waited for that a dead guardian has left */
};

struct group_work {
    bool agreed;      /* pre-leader agrees, or there is none: the member is shown as leader */
    bool office;      /* the member leads, whether that is shown or not */
    elect_time until; /* end of its latest office */
    elect_time last;  /* until then work may go on that did not report its end */
    struct run_connection *holder; /* the run that works; NULL: none */
    bool yields; /* the run that worked last hands over, as soon as nothing of it can be left */
    elect_time ready; /* the member does not stand ready again before this */
    bool is_void;     /* the group has no testament, because a connection of it has `voids` */
    struct group_hooks hooks;
    struct pace pace;              /* of the users whose runs work here */
    struct pace_failures failures; /* of the runs of this group */
};

/* What the work calls in the daemon. */
struct work_calls {
    void (*log)(void *context, const struct journal_note *note);
    /* The member hands over what it leads, and ends. */
    void (*stop)(void *context, const char *why);
    /* What work_shown() returns for this group may have changed. */
    void (*show)(void *context, unsigned group);
    /* Why the group is shown as it is; and the reason for what is shown next. */
    const char *(*reason)(void *context, unsigned group);
    void (*set_reason)(void *context, unsigned group, const char *reason);
};

struct work {
    /* What the work needs from the daemon, which sets it before work_begin(). */
    uv_loop_t *loop;
    const struct config *config;    /* a reload changes the struct, not the pointer */
    const struct config_member *me; /* its place in the configuration, which a reload keeps */
    const struct words *words;      /* with the configuration of the election */
    struct journal *journal;        /* for what hooks print that the member runs */
    const struct work_calls *calls;
    void *context;
    /* And what it sets later. */
    struct elect_member *member; /* NULL: it has not started yet, or has stopped */
    bool over;                   /* the daemon ends: nothing is started any more */
    bool leaves;                 /* it hands over, and ends then: it seeks no office */

    struct guard guard; /* channel -1: the guardian is dead */
    uv_poll_t guard_poll;
    uv_timer_t wake;
    uint32_t serials;    /* of what the guardian was asked */
    bool deposits_again; /* the guardian did not take a testament: try again */
    uv_poll_t run_poll;
    int run_socket;                     /* -1: it is not open */
    struct run_connection *connections; /* on it, the newest first */
    struct pace pace;                   /* of their users, over all groups */
    struct group_work group[STORE_GROUPS];
};

/* ---- for the daemon ---- */

void work_begin(struct work *w, const struct guard *guard);
/* `in_good_order`: the guardian need not send testaments. */
void work_end(struct work *w, bool in_good_order);
/* Every second. */
void work_tick(struct work *w);
/* Takes in what the member announced. */
void work_news(struct work *w, const struct elect_news *news);
/* Returns what is shown of a group: what the member announced, but not before pre-leader agrees. */
struct elect_news work_shown(const struct work *w, unsigned group);
/* The daemon has shown and logged a change of this group: hooks and clients hear of it. */
void work_changed(struct work *w, unsigned group, bool another_leader);
/* Passes on the configured testaments, or that there are none, and their delay; stands aside, or
 * ready, as configured. */
void work_configure(struct work *w);
void work_deposit(struct work *w, const struct elect_testament *testament);
/* Returns true if the guardian has a testament that it may send when the member dies. */
bool work_has_testament(const struct work *w, unsigned group);

/* ---- for the daemon, hooks and runs ---- */

/* Does whatever is due for a group: shows it, runs hooks, starts and stops runs, or tells the
 * member that all has stopped. To be called after each change. */
void work_turn(struct work *w, unsigned group);
/* Calls work_turn() of all groups at this time, or earlier. */
void work_wake(struct work *w, elect_time when);
/* Asks the member to hand over. */
struct elect_rule work_resign(struct work *w, unsigned group);
/* False if the guardian does not take it, for now or because it is dead. */
bool work_tell_guardian(struct work *w, const struct guard_note *note, int fd);
bool work_is_guarded(const struct work *w);

#endif
