/*
 * The voter: one promise at a time, each written down before it is spoken of.
 *
 * Invariants:
 *  1. `promised` never falls, and no term below it is granted.
 *  2. While a grant is live nobody but its holder, in the same incarnation, gets another.
 *  3. A grant is never shortened but by the RELEASE of its own term, or a later one of its owner.
 *  4. What was granted before a crash is forgotten; so for the longest lease ever granted nothing
 *     is granted after a start, but to the one term that may be in force: the promised one.
 */
#include "mandate.h"

#include "detector.h"

#include <assert.h>

#define NO_OBJECTION ELECT_REFUSAL_COUNT

/* A term is over. Nobody else's grant is dropped, nor one of a later term. */
static void close_term(struct process *p, term e)
{
    struct elect_mandate *v = &p->node->mandate;
    struct elect_saved *s = &p->node->saved;
    number owner = elect__owner(p, e);
    s->closed[owner] = e > s->closed[owner] ? e : s->closed[owner];
    v->seen = e > v->seen ? e : v->seen;
    if (v->holder == owner && v->granted <= e)
        *at(p, ELECT_EXPIRES) = ELECT_UNSET;
    if (elect__owner(p, s->promised) == owner && s->promised <= e)
        *at(p, ELECT_GUARD) = ELECT_UNSET; /* what it protects is over */
}

/* V1 to V5: why not? */
static enum elect_refusal objection(struct process *p, number c, const message *m)
{
    const struct elect_mandate *v = &p->node->mandate;
    const struct elect_saved *s = &p->node->saved;
    bool live = before(p, ELECT_EXPIRES), same = v->granted_to == m->incarnation;
    assert(elect__owner(p, m->term) == c); /* node.c has seen to that */
    if (elect__counts_wrongly(p, c, m) || m->lease == 0 || m->lease > p->config->max_lease ||
        (live && v->granted == m->term && !same))
        return ELECT_REFUSED_CONFIG;
    number over = m->other != 0 ? elect__owner(p, m->other) : ELECT_NOBODY;
    if (over != ELECT_NOBODY && !elect__of_a_former_life(p, over, m->life)) /* a certificate */
        close_term(p, m->other);
    live = before(p, ELECT_EXPIRES);
    if (before(p, ELECT_GUARD) && m->term != s->promised)
        return ELECT_REFUSED_BOOT;
    if (m->term <= s->closed[c])
        return ELECT_REFUSED_CLOSED;
    if (m->term < s->promised)
        return ELECT_REFUSED_STALE;
    if ((live && (v->holder != c || !same)) || (v->token != 0 && c != me(p)))
        return ELECT_REFUSED_HELD;
    return NO_OBJECTION;
}

static uint32_t remaining(const struct process *p, enum elect_refusal why)
{
    const elect_time *time = p->node->mandate.time;
    elect_time end = why == ELECT_REFUSED_BOOT                               ? time[ELECT_GUARD]
                     : why == ELECT_REFUSED_HELD && before(p, ELECT_EXPIRES) ? time[ELECT_EXPIRES]
                     : why == ELECT_REFUSED_HELD                             ? time[ELECT_UNTIL]
                                                                             : p->now;
    return (uint32_t)(end - p->now);
}

/* What a refusal tells the candidate: the term that is in its way. */
static term in_the_way(const struct process *p, enum elect_refusal why)
{
    const struct elect_mandate *v = &p->node->mandate;
    if (why == ELECT_REFUSED_HELD)
        return v->token != 0 ? v->token : v->granted;
    return why == ELECT_REFUSED_STALE ? p->node->saved.promised : p->node->mandate.seen;
}

static void refuse(struct process *p, number c, const message *m, enum elect_refusal why)
{
    static const enum rule rules[] = {REFUSES_CONFIG, REFUSES_BOOT, REFUSES_CLOSED, REFUSES_STALE,
                                      REFUSES_HELD};
    elect__say(p, only(c),
               (message){.type = ELECT_REFUSE,
                         .what = m->type,
                         .term = m->term,
                         .round = m->round,
                         .incarnation = m->incarnation,
                         .lease = m->lease,
                         .reason = (uint8_t)why,
                         .other = in_the_way(p, why),
                         .membership = p->node->saved.membership,
                         .remaining = remaining(p, why)});
    because(p, rules[why]);
    p->out->rule.b = why == ELECT_REFUSED_HELD ? p->node->mandate.holder : ELECT_NOBODY;
}

/* V6 and V7. */
static void grant(struct process *p, number c, const message *m)
{
    struct elect_mandate *v = &p->node->mandate;
    struct elect_saved *s = &p->node->saved;
    elect_time expires = p->now + m->lease;
    elect__adopt(p, &m->membership);
    /* who was granted something must be known by its life, too: see elect__of_a_former_life */
    if (m->term > s->promised || m->lease > s->longest || m->incarnation != v->granted_to) {
        s->promised = m->term > s->promised ? m->term : s->promised;
        s->longest = m->lease > s->longest ? m->lease : s->longest;
        p->out->persist = true;
    }
    if (before(p, ELECT_EXPIRES) && *at(p, ELECT_EXPIRES) > expires)
        expires = *at(p, ELECT_EXPIRES); /* it is the holder's: see V5 */
    *at(p, ELECT_EXPIRES) = expires;
    v->granted = m->term;
    v->holder = c;
    v->granted_to = m->incarnation;
    v->seen = m->term > v->seen ? m->term : v->seen;
    v->longest_since = m->lease > v->longest_since ? m->lease : v->longest_since;
}

bool elect__own_vote(struct process *p, const message *request, uint32_t *wait)
{
    enum elect_refusal why = objection(p, me(p), request);
    if (why == NO_OBJECTION)
        grant(p, me(p), request);
    *wait = why == NO_OBJECTION ? 0 : remaining(p, why);
    return why == NO_OBJECTION;
}

/* An observer has no say. It follows the latest office that it hears of. */
static void observe(struct process *p, number c, const message *m)
{
    struct elect_mandate *v = &p->node->mandate;
    if (m->term < v->granted && v->follows != ELECT_NOBODY) {
        because(p, EARLIER_REIGN);
        return;
    }
    if (m->leading && v->token == 0) {
        elect__adopt(p, &m->membership);
        if (!before(p, ELECT_EXPIRES)) /* what it granted when it voted */
            v->granted = m->term;
        v->seen = m->term > v->seen ? m->term : v->seen;
        v->heir = m->heir;
        elect__follow_office(p, c, m->term);
    }
    because(p, HEARD_LEADER);
}

static void answer(struct process *p, number c, const message *m)
{
    enum elect_refusal why = objection(p, c, m);
    if (why != NO_OBJECTION) {
        refuse(p, c, m, why);
        return;
    }
    bool renewal = before(p, ELECT_EXPIRES) && p->node->mandate.granted == m->term;
    grant(p, c, m);
    elect__say(p, only(c),
               (message){.type = ELECT_GRANT,
                         .term = m->term,
                         .round = m->round,
                         .incarnation = m->incarnation,
                         .lease = m->lease,
                         .able = elect__claims(p)});
    if (m->leading) {
        p->node->mandate.heir = m->heir;
        elect__follow_office(p, c, m->term);
    } else {
        elect__be_patient(p);
    }
    because(p, renewal ? GRANTS_AGAIN : GRANTS);
}

/* Who asks knows who votes, unless it counts wrongly: then anybody tells it so. */
static bool votes(const struct process *p, number c, const message *m)
{
    return has(m->membership.voters | m->membership.before, me(p)) ||
           elect__counts_wrongly(p, c, m);
}

void elect__upon_request(struct process *p, number c, const message *m)
{
    bool gives_way = elect__gives_way(p, c, m);
    if (votes(p, c, m))
        answer(p, c, m);
    else
        observe(p, c, m);
    if (gives_way)
        because(p, CLOCKS_ARE_WRONG);
}

/* As the request would be answered; nothing is changed. */
void elect__upon_prevote(struct process *p, number c, const message *m)
{
    struct elect_node as_it_is = *p->node;
    if (!votes(p, c, m)) {
        because(p, NOTHING);
        return;
    }
    enum elect_refusal why = objection(p, c, m);
    if (why == NO_OBJECTION) {
        elect__say(p, only(c),
                   (message){.type = ELECT_AYE,
                             .term = m->term,
                             .round = m->round,
                             .incarnation = m->incarnation,
                             .lease = m->lease});
        because(p, SAYS_AYE);
    } else {
        refuse(p, c, m, why);
    }
    *p->node = as_it_is;
}

/* The leader says so itself, or its testament does, which names nobody: then it is the heir's turn,
 * unless nothing is to change by itself. The others give them time. */
void elect__upon_release(struct process *p, number from, const message *m)
{
    struct elect_mandate *v = &p->node->mandate;
    bool leader = v->follows == from && from != me(p);
    bool heir = v->heir == me(p) && m->heir == ELECT_NOBODY && !elect__paused(p);
    bool office = v->followed != 0 && elect__owner(p, v->followed) == from &&
                  v->followed > p->node->saved.closed[from] && v->followed <= m->term;
    close_term(p, m->term);
    if (from != me(p))
        elect__may_be_free(p, office);
    if (!leader || m->term < v->granted) {
        because(p, TERM_IS_OVER);
        return;
    }
    v->follows = p->node->leader = ELECT_NOBODY;
    v->certificate = m->term;
    v->certified_by = m->incarnation;
    if (heir && has(everybody(p), me(p)))
        elect__inherit(p, m);
    else
        elect__suspect(p);
    p->about = from;
    because(p, OFFICE_RELEASED);
}

void elect__upon_hand(struct process *p, number from, const message *m)
{
    struct elect_mandate *v = &p->node->mandate;
    close_term(p, m->term);
    if (v->follows == from)
        v->follows = ELECT_NOBODY;
    if (has(everybody(p), me(p)) && v->token == 0 && m->term >= v->granted)
        elect__inherit(p, m);
    because(p, TERM_IS_OVER);
}

void elect__end_of_guard(struct process *p)
{
    struct elect_saved *s = &p->node->saved;
    const struct elect_mandate *v = &p->node->mandate;
    *at(p, ELECT_GUARD) = ELECT_UNSET;
    if (s->longest > v->longest_since) {
        s->longest = v->longest_since;
        p->out->persist = true;
    }
}
