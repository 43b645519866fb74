/*
 * Chang & Roberts. E. Chang, R. Roberts, "An Improved Algorithm for Decentralized Extrema-Finding
 * in Circular Configurations of Processes", Communications of the ACM 22(5), 1979.
 *
 * Every participant's number starts round the ring; a higher process swallows it (and sends its
 * own, if it has not yet). Only the highest number survives a whole circuit: whoever gets its own
 * number back leads, and says so in a second circuit.
 *
 *            begin, or a number passes
 *   NORMAL -----------------------------> ELECTING (participant)     ring timer: begin again
 *      ^------ own number back, or ELECTED -----|
 *
 * Beyond the paper, each with its scenario in test/scenario/chang-roberts:
 *  1. Rounds: a number of a round that is over, or decided, is dropped.        second-election
 *  2. Nobody passes a number on twice in a round: a dead one's would circle.   highest-dies
 *  3. No ELECTED within T_ring: a new round, for the highest may have died.    highest-dies
 *  4. Who is left out and higher than the elected one begins anew.             left-out
 *  5. Of two that are elected in a round the higher one counts.                joins-late
 *  6. Who hears of its own election and has forgotten it begins anew.          lost-disk
 */
#include "vocabulary.h"

enum chang_roberts_event {
    ELECTION = ELECT_ELECTION,
    ELECTED = ELECT_ELECTED,
    RING_TIMER = ELECT_RING_TIMER,
};

static void begin(struct process *p, enum rule why)
{
    new_round(p);
    take_part(p);
    forward(p, ELECTION, me(p), why);
}

static void upon_higher(struct process *p, number x)
{
    if (passed_on(p, ELECTION, x)) {
        nothing(p, PASSED_ON_BEFORE);
    } else {
        take_part(p);
        forward(p, ELECTION, x, PASSES_HIGHER);
    }
}

static void upon_lower(struct process *p)
{
    if (takes_part(p)) {
        nothing(p, SWALLOWS_LOWER);
    } else {
        take_part(p);
        forward(p, ELECTION, me(p), REPLACES_LOWER);
    }
}

static void upon_election(struct process *p, number x)
{
    if (decided(p)) {
        nothing(p, DECIDED_BEFORE);
    } else if (x > me(p)) {
        upon_higher(p, x);
    } else if (x < me(p)) {
        upon_lower(p);
    } else {
        lead(p, OWN_NUMBER_BACK);
        forward(p, ELECTED, me(p), OWN_NUMBER_BACK);
    }
}

static void upon_elected(struct process *p, number x)
{
    if (x == me(p) && leads(p)) {
        nothing(p, ELECTED_BACK);
    } else if (outranked(p, x) || passed_on(p, ELECTED, x)) {
        nothing(p, DECIDED_BEFORE);
    } else if (x > me(p)) {
        follow(p, x, ELECTED_FOLLOWS);
        forward(p, ELECTED, x, ELECTED_FOLLOWS);
    } else {
        begin(p, x < me(p) ? LOWER_ANNOUNCED : FORGOTTEN);
    }
}

static void upon(struct process *p, unsigned event, number from, const message *m)
{
    (void)from;
    switch ((enum chang_roberts_event)event) {
    case ELECTION: upon_election(p, m->origin); break;
    case ELECTED: upon_elected(p, m->origin); break;
    case RING_TIMER: begin(p, RING_TIMEOUT); break;
    }
}

ALGORITHM(chang_roberts) = {
    .messages = SAYS(ELECTION) | SAYS(ELECTED),
    .ring = true,
    .begin = begin,
    .upon = upon,
};
