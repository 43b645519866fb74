/* The runs of each group. One run works under the office, and the others wait in the order in which
 * they joined. */
#ifndef ELECT_DAEMON_RUN_QUEUE_H
#define ELECT_DAEMON_RUN_QUEUE_H

#include "work.h"

/* ---- for work.c and status ---- */

/* Starts the next run when its turn has come, or tells the holder to stop when the member no longer
 * leads. */
void run_queue_turn(struct work *w, unsigned group);
/* Resigns if a run has yielded and none of its processes can still be alive. */
void run_queue_resign(struct work *w, unsigned group);
/* Handles the guardian's answer to a registration: the guardian has registered the run, or has no
 * room for another run. */
void run_queue_acknowledged(struct work *w, const struct guard_note *note);
/* Handles the death of the guardian, after which no run can register any more. */
void run_queue_unguarded(struct work *w);
/* Stops waiting for a holder that was told to stop, if the holder's lease is over and all packets
 * from the holder have been read. */
void run_queue_give_up_late(struct work *w, unsigned group);
unsigned run_queue_waiting(const struct work *w, unsigned group);
/* Returns why the member must not lead this group: the member is stopping, its work failed, none of
 * its runs is healthy, or it has no run although the group needs one. Returns NULL if the member
 * may lead. */
const char *run_queue_why_aside(const struct work *w, unsigned group);
/* Returns true if a run of this group works, or waits and may work. */
bool run_queue_has_healthy(const struct work *w, unsigned group);
/* Returns how long this member still backs off after a failed run, in microseconds; 0 if it does
 * not. */
elect_time run_queue_backs_off(const struct work *w, unsigned group);

/* ---- for run_*.c ---- */

/* Puts a run at the end of the queue of its group, and tells it to wait. */
void run_queue_join(struct run_connection *c);
/* Returns why a run that joins now would have to wait; NULL if it would not wait. An empty string
 * means that there is no particular reason. */
const char *run_queue_why_not_now(const struct run_connection *c);
/* Removes a run that works or waits from its group, so that the next run may work. */
void run_queue_leave(struct run_connection *c);
/* Tells the guardian to forget the channel of this run, whose work has ended or never began. */
void run_queue_release_channel(struct run_connection *c);
/* Hands leadership over because of how this run ended. The member resigns when no process of the
 * work can be alive; until then, no other run starts. */
void run_queue_yield(struct run_connection *c, bool failed, const char *why);
/* Logs a failure that causes no hand-over, with the reason that the run reported, and charges the
 * run's user for the entry. */
void run_queue_fail(struct run_connection *c, const char *what, const char *why);
/* Handles the result of a health check of a run that waits. A leader whose runs are all unhealthy
 * hands over. */
void run_queue_take_health(struct run_connection *c, bool healthy, const char *why);
/* Logs once that a run is late, after it has had time to report that its work has ended; with
 * `at_once`, immediately. */
void run_queue_report_late(struct run_connection *c, bool at_once);

/* Returns when the user of this run may start work in a group, or cause a resignation. Each group
 * has its own pace, so that a user's runs in one group do not delay that user's runs in others. A
 * second pace, over all groups, has room for a burst in each group, for example after a fail-over,
 * but limits a user of many groups in the long run. */
elect_time run_queue_next_turn(const struct run_connection *c, unsigned group, elect_time now);
void run_queue_take_turns(const struct run_connection *c, unsigned group, unsigned turns);

#endif
