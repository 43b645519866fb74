/*
 * The bully algorithm. H. Garcia-Molina, "Elections in a Distributed Computing System", IEEE
 * Transactions on Computers C-31(1), 1982, in the form that textbooks teach.
 *
 * A process that notices the leader's failure asks every higher process. If none answers, it leads;
 * if a higher process answers, that process takes over and asks in turn. So the highest live
 * process wins and tells the others. A process that recovers also holds an election, and takes over
 * if it is the highest: hence the name.
 *
 *            begin                    OK
 *   NORMAL --------> ELECTING ------------------> WAITING
 *     ^                 | answer timer: win          | deadline: begin again
 *     +-----------------+------- COORDINATOR --------+
 *
 * Assumed: a question is answered within T, and links lose nothing. If this assumption fails, two
 * processes can lead at the same time, until heartbeats tell them of each other.
 *
 * Beyond the paper, each with its scenario in test/scenario/bully:
 *  1. An ELECTION starts another one only if none was held in the last 2T.    late-elections
 *  2. After an OK, wait only until begin + 2T: the sender of the OK may die.  took-over-dies
 *  3. A leader answers an ELECTION with COORDINATOR, to its sender alone.     no-leader
 *  4. Any recovered process holds an election, not just the highest.          lecture-restart-lower
 *  5. A lower announcer is challenged; a leader repeats its COORDINATOR.      lower-announces
 *  6. As the notes allow, a NOTICE can keep lower processes from beginning.   tell-lower
 */
#include "vocabulary.h"

enum bully_event {
    ELECTION = ELECT_ELECTION,
    OK = ELECT_OK,
    COORDINATOR = ELECT_COORDINATOR,
    NOTICE = ELECT_NOTICE,
    ANSWER_TIMER = ELECT_ANSWER_TIMER,
    DEADLINE_TIMER = ELECT_DEADLINE_TIMER,
};

static void win(struct process *p, enum rule why)
{
    send(p, COORDINATOR, tells_all(p) ? others(p) : lower(p));
    lead(p);
    because(p, why);
}

static void begin(struct process *p, enum rule why)
{
    if (is_empty(higher(p))) {
        win(p, NOBODY_HIGHER);
    } else if (tells_lower(p) && is(p, NORMAL) && runs(p, DEADLINE_TIMER)) {
        stand(p, WAITING);
        because(p, AWAITS_OUTCOME);
    } else {
        send(p, ELECTION, higher(p));
        if (tells_lower(p) && why != CHALLENGED)
            send(p, NOTICE, lower(p));
        start(p, ANSWER_TIMER);
        start(p, DEADLINE_TIMER);
        stand(p, ELECTING);
        because(p, why);
    }
}

static void upon_election(struct process *p, number j)
{
    send(p, OK, only(j));
    if (leads(p)) {
        send(p, COORDINATOR, only(j));
        because(p, LEADER_ANSWERS);
    } else if (is(p, NORMAL) && !runs(p, DEADLINE_TIMER)) {
        begin(p, CHALLENGED);
    } else {
        because(p, is(p, NORMAL) ? HELD_ONE : ANSWERS);
    }
}

static void upon_ok(struct process *p)
{
    if (is(p, ELECTING)) {
        stop(p, ANSWER_TIMER);
        stand(p, WAITING);
        because(p, STEPS_BACK);
    } else {
        because(p, is(p, WAITING) ? WAITS_ALREADY : OK_TOO_LATE);
    }
}

static void upon_notice(struct process *p)
{
    if (is(p, NORMAL)) {
        start(p, DEADLINE_TIMER);
        because(p, IS_NOTIFIED);
    } else {
        upon_ok(p);
    }
}

static void upon_coordinator(struct process *p, number j)
{
    if (j > me(p)) {
        follow(p, j);
        because(p, FOLLOWS);
    } else if (leads(p)) {
        send(p, COORDINATOR, only(j));
        because(p, TELLS_LOWER);
    } else if (is(p, NORMAL)) {
        begin(p, LOWER_LEADS);
    } else {
        because(p, ELECTION_IS_ON);
    }
}

static void upon_deadline(struct process *p)
{
    if (is(p, NORMAL))
        because(p, NOTHING);
    else
        begin(p, NO_COORDINATOR);
}

static void upon(struct process *p, const struct event *e)
{
    switch ((enum bully_event)e->type) {
    case ELECTION: upon_election(p, e->from); break;
    case OK: upon_ok(p); break;
    case COORDINATOR: upon_coordinator(p, e->from); break;
    case NOTICE: upon_notice(p); break;
    case ANSWER_TIMER: win(p, NOBODY_ANSWERED); break;
    case DEADLINE_TIMER: upon_deadline(p); break;
    }
}

ALGORITHM(bully) = {
    .messages = SAYS(ELECTION) | SAYS(OK) | SAYS(COORDINATOR) | SAYS(NOTICE),
    .begin = begin,
    .upon = upon,
};
