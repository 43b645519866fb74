/*
 * Hand-over: replaces a live leader in an orderly way.
 *
 * A leader that resigns ceases to lead immediately, but it keeps renewing its office until its work
 * has stopped. Then the leader ends its office: it sends HAND to its successor, and RELEASE to all
 * others. The successor asks for a mandate with the released term as its certificate. The successor
 * thus cannot begin before the work has stopped, and need not wait for a lease.
 *
 * Preemption is an orderly form of the bully's rule. A follower that outranks its leader and sees a
 * majority claims the office in its GRANTs. If the configuration allows preemption, the leader
 * resigns in favour of that follower.
 *
 * A member that stands aside (presence.c) is neither heir nor successor. If it receives a HAND that
 * was sent before it stood aside, it declines, and the members elect another leader as they do
 * after a RELEASE.
 *
 * An operator's order to resign names a term, because the order may arrive late, more than once, or
 * from another machine. A term is handed over once and never used again, so the leader carries out
 * the order at most once.
 *
 * Invariants: see invariant 3 of office.c. A leader that resigns is never its own successor.
 */
#include "mandate.h"

/* penalties for a resignation: many, because an operator or a failed health check has judged this
 * member unfit to lead */
#define RESIGNATION 8

set elect__roll(const struct process *p)
{
    return elect__lately(p, presence(p)->heard) & ~only(me(p));
}

/* Returns the members that could take over, or only those that have granted one of this leader's
 * recent rounds, if there are any. A member that has just started also sends messages, but it could
 * not lead immediately, because its own voter grants nothing until its guard ends. */
static set successors(const struct process *p)
{
    set some = elect__roll(p) & members(p) & ~presence(p)->aside,
        ready = some & elect__granted_lately(p);
    return ready != 0 ? ready : some;
}

static number fittest(const struct process *p, set some)
{
    number first = ELECT_NOBODY;
    for (; some != 0; some &= some - 1) {
        number j = (number)__builtin_ctzll(some);
        first = first == ELECT_NOBODY || elect__outranks(p, j, first) ? j : first;
    }
    return first;
}

number elect__heir(const struct process *p) { return fittest(p, successors(p)); }

uint8_t elect_successor(const struct elect_config *config, const struct elect_node *node,
                        elect_time now)
{
    struct elect_node copy = *node;
    const struct process p = {.config = config, .node = &copy, .now = now};
    return node->mandated && elect_in_office(node, now) ? elect__heir(&p) : ELECT_NOBODY;
}

static void begin_to_resign(struct process *p, number successor, enum elect_handing how)
{
    leader(p)->handing = (uint8_t)how;
    leader(p)->working = true;
    leader(p)->successor = successor;
    because(p, how == ELECT_RESIGNING ? RESIGNS : GIVES_PLACE);
}

void elect__resign(struct process *p, number successor, term ordered)
{
    if (!in_office(p))
        because(p, HAS_NO_OFFICE);
    else if (ordered != 0 && ordered != leader(p)->token)
        because(p, OTHER_TERM);
    else if (leader(p)->handing)
        because(p, RESIGNS_ALREADY);
    else if (successor != ELECT_NOBODY && (successor >= p->config->n || !has(others(p), successor)))
        because(p, CANNOT_LEAD);
    else if (successor != ELECT_NOBODY && has(presence(p)->aside, successor))
        because(p, SUCCESSOR_ASIDE);
    else
        begin_to_resign(p, successor, ELECT_RESIGNING);
}

/* ---- preemption ---- */

bool elect__claims(const struct process *p)
{
    return presence(p)->follows != me(p) && due(p, ELECT_CLAIM);
}

/* Returns the fittest member that may displace the leader; it would at once displace any other
 * successor. */
static number first_claimant(const struct process *p)
{
    set rest = 0;
    for (set some = successors(p); some != 0; some &= some - 1) {
        number j = (number)__builtin_ctzll(some);
        rest |= elect__displaces(p, j, me(p)) ? only(j) : 0;
    }
    return fittest(p, rest);
}

void elect__give_place(struct process *p, number to)
{
    if (p->config->preempt && !elect__paused(p) && in_office(p) && !leader(p)->handing &&
        to == first_claimant(p))
        begin_to_resign(p, to, ELECT_GIVING_PLACE);
}

/* ---- the end ---- */

static message release(const struct process *p, unsigned type, number heir)
{
    return (message){.type = (uint8_t)type,
                     .heir = heir,
                     .term = saved(p)->used,
                     .incarnation = saved(p)->incarnation};
}

static void hand_over(struct process *p)
{
    number named = leader(p)->successor;
    bool takes = named != ELECT_NOBODY && !has(presence(p)->aside, named);
    number next = takes ? named : elect__heir(p);
    set others = next != ELECT_NOBODY ? all(p) & ~only(next) : all(p);
    elect__say(p, others, release(p, ELECT_RELEASE, next));
    if (next != ELECT_NOBODY)
        elect__say(p, only(next), release(p, ELECT_HAND, next));
    because(p, next != ELECT_NOBODY ? HANDS_OVER : RELEASES);
    p->out->rule.b = next;
}

struct elect_message elect_testament(const struct elect_config *config, uint8_t rank, term e,
                                     uint32_t incarnation)
{
    return (message){.type = ELECT_RELEASE,
                     .origin = rank,
                     .heir = ELECT_NOBODY,
                     .term = e,
                     .incarnation = incarnation,
                     .digest = config->digest};
}

void elect__stopped(struct process *p)
{
    enum elect_handing hands = (enum elect_handing)leader(p)->handing;
    if (!leader(p)->working) {
        because(p, NOTHING);
        return;
    }
    if (in_office(p))
        elect__end_office(p, HANDS_OVER);
    leader(p)->working = false;
    leader(p)->handing = ELECT_NOT_HANDING;
    if (hands == ELECT_RESIGNING)
        elect__penalize(p, RESIGNATION);
    if (hands != ELECT_NOT_HANDING) {
        hand_over(p);
    } else {
        elect__say(p, all(p), release(p, ELECT_RELEASE, ELECT_NOBODY));
        because(p, RELEASES);
    }
    if (candidate(p)->nominated) /* the process was nominated while its work was stopping */
        *at(p, ELECT_RETRY) = p->now;
}
