/*
 * Manages the work on this machine that needs the member's leadership, and finds out when all of it
 * has stopped:
 *
 *     a run        works until it reports that its work has ended            run_queue.c
 *     clients      work until the deadline that they were told               run_connection.c
 *     hooks        on-leader begins work, and on-follower ends it            hooks.c
 *
 * Clients see the member lead once the pre-leader hook agrees. When leadership ends or must be
 * handed over, all work is told to stop. Once it has, the member is told, and may release its term
 * before the lease ends. Work that ends without a report may have left processes behind; the member
 * then waits for that work's last deadline.
 *
 * These files do not include daemon.h. They reach the daemon only through the first fields of
 * struct work.
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

struct group_hooks {
    uint32_t serial;     /* 0 if no hook is running */
    pid_t parent;        /* 0 unless the member itself runs the hook */
    uint8_t hook, tries; /* latest hook (enum hook), and its number of failures */
    uint8_t failures;    /* hooks in a row that declined leadership or failed */
    bool served;         /* on-leader has been started in this leadership */
    bool led;            /* on-leader was run in `term` and has not been undone */
    elect_term term;
    bool cancelled;
    bool changes;        /* on-leader-change is due */
    elect_time again;    /* no retry before this */
    elect_time doubtful; /* a dead guardian's hook may be running until then */
};

struct group_work {
    bool agreed;      /* pre-leader agreed or is not set, so clients may see that it leads */
    bool office;      /* leads, although clients may not see it yet */
    elect_time until; /* end of the current or latest leadership */
    elect_time last;  /* unreported work may continue until then */
    struct run_connection *holder; /* its command may be running; or NULL */
    bool yields;                   /* will hand over when no process of the last run can be alive */
    char yields_because[JOURNAL_TEXT];
    elect_time ready; /* must not lead again before this */
    bool is_void;     /* no testament: a run's work cannot be killed */
    struct group_hooks hooks;
    struct pace pace;
    struct pace_failures failures;
};

struct work_calls {
    void (*log)(void *context, const struct journal_note *note);
    /* Hands over all groups and exits. */
    void (*stop)(void *context, const char *why);
    /* Called when the result of work_shown() may have changed. */
    void (*show)(void *context, unsigned group);
    /* The cause of the state that clients see, and of the next state. */
    const char *(*reason)(void *context, unsigned group);
    void (*set_reason)(void *context, unsigned group, const char *reason);
};

struct work {
    /* Set before work_begin(). */
    uv_loop_t *loop;
    const struct config *config;    /* a reload changes what it points to */
    const struct config_member *me; /* points into `config`, even after a reload */
    const struct words *words;
    struct journal *journal; /* for hooks that the member itself runs */
    const struct work_calls *calls;
    void *context;
    /* Set later. */
    struct elect_member *member; /* NULL before the start and after the stop */
    bool over;                   /* about to exit: start no more work */
    bool leaves;                 /* handing over before exit: must not be elected */
    const char *resigns_because; /* reason of a resignation in this step; else NULL */

    struct guard guard; /* channel is -1 if the guardian is dead */
    uv_poll_t guard_poll;
    uv_timer_t wake;
    uint32_t serials;
    bool deposits_again;
    uv_poll_t run_poll;
    int run_socket;                     /* -1 if not open */
    struct run_connection *connections; /* newest first */
    struct pace pace;                   /* all groups together */
    struct group_work group[STORE_GROUPS];
};

/* ---- for the daemon ---- */

void work_begin(struct work *w, const struct guard *guard);
/* Releases all resources. With `in_good_order`, tells the guardian that no testament is needed. */
void work_end(struct work *w, bool in_good_order);
/* Reports runs that have not stopped in time, and retries testaments that the guardian could not
 * accept. Called every second. */
void work_tick(struct work *w);
void work_news(struct work *w, const struct elect_news *news);
/* Returns the group's state as clients see it: as announced by the member, but without leadership
 * before pre-leader agrees. */
struct elect_news work_shown(const struct work *w, unsigned group);
void work_changed(struct work *w, unsigned group, bool another_leader);
/* Applies the settings that a reload can change: testament, testament-delay and
 * lead-only-with-runner. */
void work_configure(struct work *w);
void work_deposit(struct work *w, const struct elect_testament *testament);
bool work_has_testament(const struct work *w, unsigned group);

/* ---- for the daemon, hooks and runs ---- */

/* Does all that is due in a group: shows its state to clients, runs hooks, starts and stops runs,
 * and tells the member when all work has stopped. Must be called after every change. */
void work_turn(struct work *w, unsigned group);
/* Schedules work_turn() for all groups, at this time or earlier. */
void work_wake(struct work *w, elect_time when);
/* Makes the member hand over, unless it already is. `why` is logged as the cause. */
struct elect_rule work_resign(struct work *w, unsigned group, const char *why);
/* Gives the member an input that may make it resign. `why` is logged as the cause. */
struct elect_rule work_tell(struct work *w, unsigned group, const struct elect_input *in,
                            const char *why);
/* Sends a note to the guardian, with a descriptor unless `fd` is -1. Returns false if the guardian
 * is dead or cannot receive it now. */
bool work_tell_guardian(struct work *w, const struct guard_note *note, int fd);
bool work_is_guarded(const struct work *w);

#endif
