/*
 * Chang & Roberts. E. Chang, R. Roberts, "An Improved Algorithm for Decentralized Extrema-Finding
 * in Circular Configurations of Processes", Communications of the ACM 22(5), 1979.
 *
 * Every participant sends its number round the ring. A higher process swallows it, and sends its
 * own number if it has not done so yet. Only the highest number survives a whole circuit: the
 * process that gets its own number back leads, and announces this in a second circuit.
 *
 *            begin, or a number passes
 *   NORMAL -----------------------------> ELECTING (participant)     ring timer: begin again
 *      ^------ own number back, or ELECTED -----|
 *
 * Beyond the paper, each with its scenario in test/scenario/chang-roberts:
 *  1. A number of a round that is over or decided is dropped.                  second-election
 *  2. No number is passed on twice, or that of a dead process would circle.    highest-dies
 *  3. Without ELECTED within T_ring a new round begins: the highest may die.   highest-dies
 *  4. A process that was left out and is higher than the leader begins again.  left-out
 *  5. If two processes are elected in a round, the higher one counts.          joins-late
 *  6. A process that hears of its own forgotten election begins again.         lost-disk
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
    become_participant(p);
    forward(p, ELECTION, me(p));
    because(p, why);
}

static void upon_election(struct process *p, number x)
{
    if (decided(p)) {
        because(p, DECIDED_BEFORE);
    } else if (x > me(p) && passed_on(p, ELECTION, x)) {
        because(p, PASSED_ON_BEFORE);
    } else if (x > me(p)) {
        become_participant(p);
        forward(p, ELECTION, x);
        because(p, PASSES_HIGHER);
    } else if (x < me(p) && !participant(p)) {
        become_participant(p);
        forward(p, ELECTION, me(p));
        because(p, REPLACES_LOWER);
    } else if (x < me(p)) {
        because(p, SWALLOWS_LOWER);
    } else {
        lead(p);
        forward(p, ELECTED, me(p));
        because(p, OWN_NUMBER_BACK);
    }
}

static void upon_elected(struct process *p, number x)
{
    if (x == me(p) && leads(p)) {
        because(p, ELECTED_BACK);
    } else if (outranked(p, x) || passed_on(p, ELECTED, x)) {
        because(p, DECIDED_BEFORE);
    } else if (x > me(p)) {
        follow(p, x);
        forward(p, ELECTED, x);
        because(p, ELECTED_FOLLOWS);
    } else {
        begin(p, x < me(p) ? LOWER_ANNOUNCED : FORGOTTEN);
    }
}

static void upon(struct process *p, const struct event *e)
{
    switch ((enum chang_roberts_event)e->type) {
    case ELECTION: upon_election(p, e->origin); break;
    case ELECTED: upon_elected(p, e->origin); break;
    case RING_TIMER: begin(p, RING_TIMEOUT); break;
    }
}

ALGORITHM(chang_roberts) = {
    .messages = SAYS(ELECTION) | SAYS(ELECTED),
    .ring = true,
    .begin = begin,
    .upon = upon,
};
