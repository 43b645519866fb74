/* Until when work may go on, when it is told to stop, and when it is killed. Pure arithmetic, in
 * microseconds of CLOCK_BOOTTIME.
 *
 *     stamp                             U-k-m         U-m    U-m/2   U
 *       |--------- left ------------------|------ k ----|------- m ----|
 *                                        TERM          KILL   the other one kills
 *
 * U: until when the mandate is known to last. k: the grace between TERM and KILL. m: the margin
 * that killing may take. */
#ifndef ELECT_RUN_DEADLINE_H
#define ELECT_RUN_DEADLINE_H

#include "../base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEADLINE_NEVER   INT64_MAX
#define DEADLINE_DEFAULT (-1) /* as grace, margin: what fits the lease */

struct deadline {
    int64_t until;
    int64_t grace, margin;
    int64_t since; /* when it was told to stop; DEADLINE_NEVER: it works */
    bool over;     /* another member may already lead */
};

/* Nothing is granted yet. False, with the arithmetic, if grace and margin leave less than two
 * renewals of the lease: then a single lost answer would cost the office. By default grace is half
 * of what that leaves: the other half is for renewals that come late, as they do. */
bool deadline_begin(struct deadline *d, int64_t lease, int64_t renewal, int64_t grace,
                    int64_t margin, char *why, size_t room);

/* The later of what was known and what is told. An answer that says more than a lease is no
 * answer. */
int64_t deadline_extended(int64_t until, int64_t stamp, int64_t left, int64_t lease);

bool deadline_may_start(const struct deadline *d, int64_t now);
int64_t deadline_term(const struct deadline *d);  /* when it is to be told; NEVER: it was */
int64_t deadline_kill(const struct deadline *d);  /* when nothing may be left to grace */
int64_t deadline_guard(const struct deadline *d); /* when the process that had to kill is late */

void deadline_stop(struct deadline *d, int64_t now); /* its grace begins; once */
void deadline_lost(struct deadline *d, int64_t now); /* there is none */

#endif
