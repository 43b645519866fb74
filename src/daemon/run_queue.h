/* Manages the queue of runs in each group. While the member leads, one run may have its command
 * running, and the others wait in the order in which they joined the queue. */
#ifndef ELECT_DAEMON_RUN_QUEUE_H
#define ELECT_DAEMON_RUN_QUEUE_H

#include "work.h"

/* ---- for work.c and status ---- */

/* Starts the next run when its turn has come. When the member no longer leads, tells the holder,
 * which is the run whose command is running, to stop. */
void run_queue_turn(struct work *w, unsigned group);
/* Makes the member resign if a run has asked for a hand-over, and none of its processes can still
 * be alive. */
void run_queue_resign(struct work *w, unsigned group);
/* Handles the guardian's answer to the registration of a run: the guardian has registered it, or
 * has no room for another run. */
void run_queue_acknowledged(struct work *w, const struct guard_note *note);
/* Handles the death of the guardian, after which no run can register any more. */
void run_queue_unguarded(struct work *w);
/* Stops waiting for a run that was told to stop, if its lease has ended and all packets from it
 * have been read. */
void run_queue_give_up_late(struct work *w, unsigned group);
unsigned run_queue_waiting(const struct work *w, unsigned group);
/* Returns why the member must not lead this group: the member is stopping, its work failed, none of
 * its runs is healthy, or it has no run although the group needs one. Returns NULL if the member
 * may lead. */
const char *run_queue_why_aside(const struct work *w, unsigned group);
/* Returns true if a run of this group works, or waits and may work. */
bool run_queue_has_healthy(const struct work *w, unsigned group);
/* Returns how many microseconds this member must still wait, after a run has failed, before it
 * starts another one; 0 if it need not wait. */
elect_time run_queue_backs_off(const struct work *w, unsigned group);

/* ---- for run_*.c ---- */

/* Puts a run at the end of the queue of its group, and tells it to wait. */
void run_queue_join(struct run_connection *c);
/* Returns why a run that joins now would have to wait; NULL if it would not wait. An empty string
 * means that there is no particular reason. */
const char *run_queue_why_not_now(const struct run_connection *c);
/* Removes a run, whether it waits or works, from its group, so that the next run may start. */
void run_queue_leave(struct run_connection *c);
/* Tells the guardian to forget the channel of this run, whose work has ended or never began. */
void run_queue_release_channel(struct run_connection *c);
/* Makes the member hand over because of how this run ended. The member resigns once no process of
 * the run can still be alive; until then, no other run starts. */
void run_queue_yield(struct run_connection *c, bool failed, const char *why);
/* Logs a failure that causes no hand-over, with the reason that the run reported, and takes turns
 * from the user of the run (see pace.h), so that no user can fill the log. */
void run_queue_fail(struct run_connection *c, const char *what, const char *why);
/* Handles the result of a health check of a waiting run. If all runs of the leader are unhealthy,
 * the leader hands over. */
void run_queue_take_health(struct run_connection *c, bool healthy, const char *why);
/* Logs, once, that a run has not stopped in time. First gives the run time to report that its work
 * has ended, unless `at_once` is true. */
void run_queue_report_late(struct run_connection *c, bool at_once);

/* Returns the time at which the user of this run may start work in a group, or cause a resignation.
 * There is a limit for each group, so that a user's runs in one group do not delay the user's runs
 * in other groups. A second limit applies to all groups together. It permits a burst in each group,
 * for example after a fail-over, but a user who has runs in many groups is eventually slowed down.
 */
elect_time run_queue_next_turn(const struct run_connection *c, unsigned group, elect_time now);
void run_queue_take_turns(const struct run_connection *c, unsigned group, unsigned turns);

#endif
