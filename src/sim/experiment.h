/*
 * An experiment: settings, the processes that begin an election, and faults. It can be played any
 * number of times, each time with the dice of another seed. When there are many runs, run r uses
 * seed + r, so that each run can be repeated alone.
 */
#ifndef ELECT_SIM_EXPERIMENT_H
#define ELECT_SIM_EXPERIMENT_H

#include "../model/play.h"
#include "../model/setup.h"

#define EXPERIMENT_MAX_FAULTS 64

struct experiment {
    struct setup setup;
    bool begin_all, begin_given;
    bool many; /* played many times; if there are faults, the detector is then on by default */
    struct numbers begin;
    uint32_t crash_rate; /* as a fraction of DICE_CERTAIN: crash in the first 4T, recover later */
    unsigned faults;
    struct {
        enum fault_kind kind;
        const char *text; /* "3@5", "0,1/2,3@5", heal: "8" */
    } fault[EXPERIMENT_MAX_FAULTS];
};

void experiment_init(struct experiment *e);

/* Returns false with a complaint if the experiment is not possible. The other functions require a
 * possible one. */
bool experiment_check(struct experiment *e, struct text *complaint);
void experiment_play(const struct experiment *e, uint64_t seed, struct play *p);

/* Returns the time after the last fault within which all live processes agree on a leader, if
 * nothing is lost. */
uint64_t experiment_bound(const struct elect_config *c);

/* Minimum, maximum and sum of a number over many runs. */
struct tally {
    uint64_t count, sum, min, max;
};
void tally_add(struct tally *t, uint64_t value);

#endif
