/*
 * Election on a ring with a list. A. S. Tanenbaum, "Modern Operating Systems", after G. Le Lann
 * 1977.
 *
 * A process that notices the leader's failure sends a list with its own number to its successor.
 * Each process adds itself and passes the list on. When the list is back, every live process is on
 * it. The highest leads, and the list goes round once more to announce this (or, with multicast, is
 * sent to all processes on it). There may be two lists, because both name the same highest process.
 *
 *            begin, or a list passes
 *   NORMAL --------------------------> ELECTING     ring timer: begin again
 *      ^---------- announcement ----------|
 *
 * Beyond the book, each with its scenario in test/scenario/ring:
 *  1. A list whose head has died is announced by the next process on it.       orphan
 *  2. No process passes a list or an announcement on twice in a round.         announcer-dies
 *  3. Without an announcement within T_ring, a new round begins.               list-lost
 *  4. A process that was left out and is higher than the leader begins again.  left-out
 *  5. Of two announcements in a round, the higher one counts.                  joins-late
 */
#include "vocabulary.h"

enum ring_event {
    ELECTION = ELECT_ELECTION,
    COORDINATOR = ELECT_COORDINATOR, /* form A: goes round the ring */
    LEADER = ELECT_LEADER,           /* form B: is sent to all processes on the list */
    RING_TIMER = ELECT_RING_TIMER,
};

static void begin(struct process *p, enum rule why)
{
    new_round(p);
    become_participant(p);
    forward_list(p, ELECTION, me(p), only(me(p)));
    because(p, why);
}

static enum rule accept(struct process *p, set list)
{
    if (outranked(p, highest(list)))
        return OUTRANKED;
    close_ring(p, list);
    if (highest(list) == me(p)) {
        lead(p);
        return IS_HIGHEST;
    }
    follow(p, highest(list));
    return ACCEPTS;
}

static void announce(struct process *p, set list, enum rule why)
{
    if (passed_on(p, COORDINATOR, me(p))) {
        because(p, ANNOUNCED_BEFORE);
    } else {
        accept(p, list);
        if (circulates(p))
            forward_list(p, COORDINATOR, me(p), list);
        else
            multicast_list(p, LEADER, list);
        because(p, why);
    }
}

static void upon_election(struct process *p, number head, set list)
{
    if (head == me(p)) {
        announce(p, list, LIST_BACK);
    } else if (has(list, me(p))) {
        announce(p, list, ORPHAN);
    } else if (passed_on(p, ELECTION, head)) {
        because(p, PASSED_ON_BEFORE);
    } else {
        become_participant(p);
        forward_list(p, ELECTION, head, with(list, me(p)));
        because(p, APPENDS);
    }
}

static void upon_coordinator(struct process *p, number announcer, set list)
{
    if (announcer == me(p)) {
        because(p, ANNOUNCEMENT_BACK);
    } else if (passed_on(p, COORDINATOR, announcer)) {
        because(p, PASSED_ON_BEFORE);
    } else if (highest(list) < me(p)) {
        begin(p, LOWER_ANNOUNCED);
    } else {
        enum rule why = accept(p, list);
        forward_list(p, COORDINATOR, announcer, list);
        because(p, why);
    }
}

static void upon(struct process *p, const struct event *e)
{
    switch ((enum ring_event)e->type) {
    case ELECTION: upon_election(p, e->origin, e->list); break;
    case COORDINATOR: upon_coordinator(p, e->origin, e->list); break;
    case LEADER: because(p, accept(p, e->list)); break;
    case RING_TIMER: begin(p, RING_TIMEOUT); break;
    }
}

ALGORITHM(ring) = {
    .messages = SAYS(ELECTION) | SAYS(COORDINATOR) | SAYS(LEADER),
    .ring = true,
    .begin = begin,
    .upon = upon,
};
