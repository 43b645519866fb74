/*
 * An experiment: a set-up, who begins, and which faults happen; played as often as one likes, each
 * time with the dice of another seed. Run r of many uses seed + r, so that any run can be had
 * alone.
 */
#ifndef ELECT_SIM_EXPERIMENT_H
#define ELECT_SIM_EXPERIMENT_H

#include "../model/play.h"
#include "../model/setup.h"

#define EXPERIMENT_MAX_FAULTS 64

struct experiment {
    struct setup setup;
    bool begin_all, begin_given;
    bool many; /* to be played many times: faults are then there to be noticed */
    struct numbers begin;
    uint32_t crash_rate; /* in parts of DICE_CERTAIN: a crash in the first 4T, a recovery later */
    unsigned faults;
    struct {
        enum fault_kind kind;
        const char *text; /* "3@5", "0,1/2,3@5", heal: "8" */
    } fault[EXPERIMENT_MAX_FAULTS];
};

void experiment_init(struct experiment *e);

/* False with a complaint if the experiment makes no sense; the others may then assume that it does.
 */
bool experiment_check(struct experiment *e, struct text *complaint);
void experiment_play(const struct experiment *e, uint64_t seed, struct play *p);

/* When all is calm: within this time after the last fault everybody alive has agreed. */
uint64_t experiment_bound(const struct elect_config *c);

/* A number over many runs. */
struct tally {
    uint64_t count, sum, min, max;
};
void tally_add(struct tally *t, uint64_t value);

#endif
