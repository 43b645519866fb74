/*
 * Election on a ring with an active list: elect(i) messages that carry one number each.
 *
 * A process that notices the leader's failure sends its own number round. When a process sees its
 * first number, it sends its own number, THEN passes on the first one. It adds every further number
 * to its active list and passes that number on, too. When its own number comes back, every number
 * ahead of it has been seen: the list is complete, and each process finds the highest by itself. No
 * announcement is needed.
 *
 *            begin, or the first number
 *   NORMAL ------------------------------> ELECTING     ring timer: begin again
 *      ^------- own number is back ------------|
 *
 * Assumed: links keep messages in order (ring_links.c ensures that).
 *
 * Beyond the notes, each with its scenario in test/scenario/active-ring:
 *  1. A process sends its own number first. In the other order, the
 *     initiator's number returns too early, and it elects itself.         notes-order
 *  2. A number of a round that is over or decided is dropped.             second-election
 *  3. If its number is not back within T_ring, a process begins again.    highest-dies
 */
#include "vocabulary.h"

enum active_ring_event {
    ELECT = ELECT_ELECT,
    RING_TIMER = ELECT_RING_TIMER,
};

static void begin(struct process *p, enum rule why)
{
    new_round(p);
    become_participant(p);
    become_active(p, me(p));
    forward(p, ELECT, me(p));
    because(p, why);
}

static void join(struct process *p, number j)
{
    become_participant(p);
    become_active(p, me(p));
    become_active(p, j);
    forward(p, ELECT, me(p));
    forward(p, ELECT, j);
    because(p, JOINS);
}

static void decide(struct process *p)
{
    if (highest(active(p)) == me(p)) {
        lead(p);
        because(p, DECIDES_ITSELF);
    } else {
        follow(p, highest(active(p)));
        because(p, DECIDES);
    }
}

static void upon_elect(struct process *p, number j)
{
    if (decided(p)) {
        because(p, DECIDED_BEFORE);
    } else if (j == me(p) && participant(p)) {
        decide(p);
    } else if (j == me(p)) {
        begin(p, FORGOTTEN);
    } else if (!participant(p)) {
        join(p, j);
    } else if (has(active(p), j)) {
        because(p, KNOWS);
    } else {
        become_active(p, j);
        forward(p, ELECT, j);
        because(p, ADDS);
    }
}

static void upon(struct process *p, const struct event *e)
{
    switch ((enum active_ring_event)e->type) {
    case ELECT: upon_elect(p, e->origin); break;
    case RING_TIMER: begin(p, RING_TIMEOUT); break;
    }
}

ALGORITHM(active_ring) = {
    .messages = SAYS(ELECT),
    .ring = true,
    .begin = begin,
    .upon = upon,
};
