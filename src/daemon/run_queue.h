/* The queue of runs in each group. While the member leads, one run may have its command running,
 * and the others wait in the order they joined. */
#ifndef ELECT_DAEMON_RUN_QUEUE_H
#define ELECT_DAEMON_RUN_QUEUE_H

#include "work.h"

/* ---- for work.c and status ---- */

/* Starts the next run when it is its turn. Tells the holder (the run whose command is running) to
 * stop when the member no longer leads. */
void run_queue_turn(struct work *w, unsigned group);
/* Makes the member resign if a run has asked for a hand-over and all of its processes must have
 * ended. */
void run_queue_resign(struct work *w, unsigned group);
/* Handles the guardian's answer to a registration: done, or no room for another run. */
void run_queue_acknowledged(struct work *w, const struct guard_note *note);
void run_queue_unguarded(struct work *w);
/* Gives up on a run that was told to stop, once its lease has ended and all of its packets have
 * been read. */
void run_queue_give_up_late(struct work *w, unsigned group);
unsigned run_queue_waiting(const struct work *w, unsigned group);
/* Returns why the member must not lead this group: it is stopping, its work failed, none of its
 * runs is healthy, or the group needs a run and there is none. Returns NULL if it may lead. */
const char *run_queue_why_aside(const struct work *w, unsigned group);
bool run_queue_has_healthy(const struct work *w, unsigned group);
/* In microseconds; 0 if this member need not wait after a failed run. */
elect_time run_queue_backs_off(const struct work *w, unsigned group);

/* ---- for run_*.c ---- */

void run_queue_join(struct run_connection *c);
/* Returns NULL if a run that joins now would not wait; "" for no particular reason. */
const char *run_queue_why_not_now(const struct run_connection *c);
void run_queue_leave(struct run_connection *c);
void run_queue_release_channel(struct run_connection *c);
/* Makes the member hand over because of how this run ended. It resigns when no process of the run
 * can be alive any more; no other run starts until then. */
void run_queue_yield(struct run_connection *c, bool failed, const char *why);
/* Logs a failure without a hand-over, with the reason that the run reported. Costs the run's user
 * some turns (see pace.h), so that no user can fill the log. */
void run_queue_fail(struct run_connection *c, const char *what, const char *why);
/* Handles a waiting run's health check. If all runs of the leader are unhealthy, it hands over. */
void run_queue_take_health(struct run_connection *c, bool healthy, const char *why);
/* Logs once that a run has not stopped in time. Unless `at_once`, the run first gets time to report
 * the end of its work. */
void run_queue_report_late(struct run_connection *c, bool at_once);

/* Returns when the run's user may start work in a group, or cause a resignation. Each group has a
 * limit of its own, so that a user's runs in one group do not delay those in others. A second limit
 * for all groups together allows a burst in each group, as after a fail-over, but in the end slows
 * down a user with runs in many groups. */
elect_time run_queue_next_turn(const struct run_connection *c, unsigned group, elect_time now);
void run_queue_take_turns(const struct run_connection *c, unsigned group, unsigned turns);

#endif
