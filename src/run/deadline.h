/* Computes how long work may continue, when it is told to stop, and when it is killed. All times
 * are in microseconds on CLOCK_BOOTTIME.
 *
 *     stamp                             U-k-m         U-m    U-m/2   U
 *       |--------- left ------------------|------ k ----|------- m ----|
 *                                        TERM          KILL  the runner kills
 *
 * U is the known end of the mandate, k the grace between TERM and KILL, and m the margin, the time
 * allowed for killing. The keeper kills the command at U-m; if it has not by U-m/2, the runner
 * kills it. */
#ifndef ELECT_RUN_DEADLINE_H
#define ELECT_RUN_DEADLINE_H

#include "../base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEADLINE_NEVER   INT64_MAX
#define DEADLINE_DEFAULT (-1) /* choose a grace or margin that fits the lease */

struct deadline {
    int64_t until;
    int64_t grace, margin;
    int64_t since; /* when the work was told to stop; DEADLINE_NEVER if it was not */
    bool over;     /* another member may already lead */
};

/* Sets the grace and the margin. Returns false, with the calculation in `why`, if they leave less
 * than two renewal intervals of the lease, because a single lost answer could then end the work.
 * The default grace is half of what remains after two renewal intervals and the margin; the other
 * half allows for late renewals. */
bool deadline_begin(struct deadline *d, int64_t lease, int64_t renewal, int64_t grace,
                    int64_t margin, char *why, size_t room);

/* Returns the later of the known and the reported deadline. Ignores a report of more than a
 * lease. */
int64_t deadline_extended(int64_t until, int64_t stamp, int64_t left, int64_t lease);

bool deadline_may_start(const struct deadline *d, int64_t now);
/* when to send TERM; DEADLINE_NEVER if it was sent */
int64_t deadline_term(const struct deadline *d);
/* when to kill the processes, even within the grace period */
int64_t deadline_kill(const struct deadline *d);
int64_t deadline_guard(const struct deadline *d); /* when the runner kills them */

void deadline_stop(struct deadline *d, int64_t now);
void deadline_lost(struct deadline *d, int64_t now); /* ends the grace period at once */

#endif
