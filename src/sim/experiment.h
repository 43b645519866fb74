/*
 * Settings, the processes that begin an election, and faults. An experiment can be played any
 * number of times, each time with another seed: run r of many uses seed + r, so that each run can
 * be repeated alone.
 */
#ifndef ELECT_SIM_EXPERIMENT_H
#define ELECT_SIM_EXPERIMENT_H

#include "../model/play.h"
#include "../model/setup.h"

#define EXPERIMENT_MAX_FAULTS 64

struct experiment {
    struct setup setup;
    bool begin_all, begin_given;
    bool many; /* many runs: with faults, the failure detector is on by default */
    struct numbers begin;
    /* Probability, out of DICE_CERTAIN, that a process crashes within the first 4 round-trip times
     * and then recovers. */
    uint32_t crash_rate;
    unsigned faults;
    struct {
        enum fault_kind kind;
        const char *text; /* such as "3@5" or "0,1/2,3@5"; for heal, "8" */
    } fault[EXPERIMENT_MAX_FAULTS];
};

void experiment_init(struct experiment *e);

/* Returns false with a complaint if the settings contradict each other. Must pass before the
 * experiment is played. */
bool experiment_check(struct experiment *e, struct text *complaint);
void experiment_play(const struct experiment *e, uint64_t seed, struct play *p);

/* Upper bound for the time from the last fault until all live processes agree on a leader, if no
 * message is lost. */
uint64_t experiment_bound(const struct elect_config *c);

struct tally {
    uint64_t count, sum, min, max;
};
void tally_add(struct tally *t, uint64_t value);

#endif
