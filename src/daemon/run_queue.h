/* The runs of each group: one works under the office, the others wait in the order in which they
 * came. */
#ifndef ELECT_DAEMON_RUN_QUEUE_H
#define ELECT_DAEMON_RUN_QUEUE_H

#include "work.h"

/* ---- for work.c and status ---- */

/* Lets the next run work, or tells the holder to stop, if it is time. */
void run_queue_turn(struct work *w, unsigned group);
/* Resigns if a run has yielded and nothing of its work can be left. */
void run_queue_resign(struct work *w, unsigned group);
/* The guardian has registered a run, or has no room for it. */
void run_queue_acknowledged(struct work *w, const struct guard_note *note);
/* The guardian is dead: nothing can be registered any more. */
void run_queue_unguarded(struct work *w);
/* Stops waiting for a holder that was told to stop, if its lease is over and it does not ask any
 * more. A run that still asks has not ended its work. */
void run_queue_give_up_late(struct work *w, unsigned group);
unsigned run_queue_waiting(const struct work *w, unsigned group);
/* Returns why the member must not lead this group, or NULL: it stops, its work fails here, no run
 * here is healthy, or there is none and the group needs one. */
const char *run_queue_why_aside(const struct work *w, unsigned group);
/* Returns how long this member backs off after a failed run, in microseconds; 0: it does not. */
elect_time run_queue_backs_off(const struct work *w, unsigned group);

/* ---- for run_*.c ---- */

/* Puts a run at the end of the queue of its group, and tells it to wait. */
void run_queue_join(struct run_connection *c);
/* Returns why a run that asks now would have to wait; NULL: it need not. */
const char *run_queue_why_not_now(const struct run_connection *c);
/* It works no more, or waits no more: the office is free for the next. */
void run_queue_leave(struct run_connection *c);
/* Tells the guardian that the channel of this run does not matter: its work has ended, or never
 * began. */
void run_queue_release_channel(struct run_connection *c);
/* This run, which holds, ends in a way that hands leadership over. The member resigns when nothing
 * of the work can be left; until then no other run starts. */
void run_queue_yield(struct run_connection *c, bool failed, const char *why);
/* Logs a failure that moves no office, with the reason that a local user gives; the user pays. */
void run_queue_fail(struct run_connection *c, const char *what, const char *why);
/* The health check of a run that waits has passed, or failed. A leader whose only runs are
 * unhealthy hands over. */
void run_queue_take_health(struct run_connection *c, bool healthy, const char *why);
/* Logs that a run is late, once, when it has had time to say that its work has ended; with
 * `at_once` now. */
void run_queue_report_late(struct run_connection *c, bool at_once);

/* When the user of this run may start work in a group, or make it resign. Each group has a pace of
 * its own, so that a user's runs in one group do not delay that user's runs in the others. The pace
 * over all groups has room for a burst in each of them, such as after a fail-over, but bounds what
 * a user of many groups can cause in the long run. */
elect_time run_queue_next_turn(const struct run_connection *c, unsigned group, elect_time now);
void run_queue_take_turns(const struct run_connection *c, unsigned group, unsigned turns);

#endif
