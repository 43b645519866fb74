/*
 * Infers faults from the flight recorders, which contain the steps of their members but not the
 * faults behind them. A member that starts again was down before, from its guardian's death report
 * or from when the others stopped hearing from it. A running member that lost its mandate or missed
 * its leader for a while was cut off or stalled.
 */
#ifndef ELECT_HISTORY_FAULTS_H
#define ELECT_HISTORY_FAULTS_H

#include "../model/world.h"
#include "collect.h"

#define HISTORY_FAULTS      512
#define HISTORY_MILLISECOND 1000 /* in microseconds, the unit of the recorders */

struct history_fault {
    int64_t at;
    int64_t lasts;      /* duration of a stall; 0 for other faults */
    struct fault fault; /* `rank` is a member's index; `time` is unused */
};

/* Recorded faults. All times are in microseconds on the local clock. */
struct history_faults {
    int64_t began; /* when the first leader took office */
    unsigned first;
    int64_t lease, renewal, delay;
    unsigned count;
    struct history_fault fault[HISTORY_FAULTS]; /* sorted by time */
};

bool history_find_faults(const struct history *h, struct history_faults *f);

#endif
