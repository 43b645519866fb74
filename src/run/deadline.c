/* The arithmetic of deadline.h. It reads no clock, so that unit tests can cover every case. */
#include "deadline.h"

#include <stdio.h>
#include <time.h>

#define SECOND     1000000
#define MARGIN     50000
#define MARGIN_MAX 6 /* the default margin is at most 1/6 of the lease */

bool deadline_begin(struct deadline *d, int64_t lease, int64_t renewal, int64_t grace,
                    int64_t margin, char *why, size_t room)
{
    int64_t most = lease - 2 * renewal;
    *d = (struct deadline){.since = DEADLINE_NEVER};
    d->margin = margin != DEADLINE_DEFAULT    ? margin
                : lease / MARGIN_MAX < MARGIN ? lease / MARGIN_MAX
                                              : MARGIN;
    d->grace = grace != DEADLINE_DEFAULT ? grace : most > d->margin ? (most - d->margin) / 2 : 0;
    if (d->grace + d->margin <= most)
        return true;
    snprintf(why, room,
             "grace %.6g ms + kill margin %.6g ms exceed the leader's lease %.6g ms - 2 x "
             "renewal %.6g ms = %.6g ms: reduce -k or --kill-margin, or configure a longer lease",
             (double)d->grace / 1000, (double)d->margin / 1000, (double)lease / 1000,
             (double)renewal / 1000, (double)most / 1000);
    return false;
}

int64_t deadline_extended(int64_t until, int64_t stamp, int64_t left, int64_t lease)
{
    if (left <= 0 || left > lease || stamp + left <= until)
        return until;
    return stamp + left;
}

bool deadline_may_start(const struct deadline *d, int64_t now)
{
    return now < d->until - d->grace - d->margin && d->since == DEADLINE_NEVER;
}

int64_t deadline_term(const struct deadline *d)
{
    return d->since == DEADLINE_NEVER ? d->until - d->grace - d->margin : DEADLINE_NEVER;
}

int64_t deadline_kill(const struct deadline *d)
{
    int64_t last = d->until - d->margin;
    if (d->over)
        return d->since < last ? d->since : last;
    return d->since != DEADLINE_NEVER && d->since + d->grace < last ? d->since + d->grace : last;
}

int64_t deadline_guard(const struct deadline *d)
{
    int64_t late = deadline_kill(d) + d->margin / 2, last = d->until - d->margin / 2;
    return late < last ? late : last;
}

void deadline_stop(struct deadline *d, int64_t now)
{
    if (d->since == DEADLINE_NEVER)
        d->since = now;
}

void deadline_lost(struct deadline *d, int64_t now)
{
    deadline_stop(d, now);
    d->over = true;
}
