/*
 * The voter makes one promise at a time. Each promise is on disk before a message mentions it.
 *
 * Invariants:
 *  1. `promised` never falls, and the voter never grants a term below it.
 *  2. While a grant is live, only its holder, in the same incarnation, gets another grant.
 *  3. A grant is shortened only by a RELEASE of its term, or of a later term of the same owner.
 *  4. A crash loses the grant itself, but the promised term may still be in force. After a start,
 *     the voter therefore grants only that term until the guard ends. The guard lasts for the
 *     longest lease that this voter has ever granted.
 */
#include "mandate.h"

#include "detector.h"

#include <assert.h>

#define NO_OBJECTION ELECT_REFUSAL_COUNT

static bool grant_is_live(const struct process *p) { return before(p, ELECT_EXPIRES); }

static bool holds_grant(const struct process *p, number c, const message *m)
{
    return voter(p)->holder == c && voter(p)->holder_incarnation == m->incarnation;
}

/* Records the end of a term. Grants to other processes, or of later terms, stay in force. */
static void close_term(struct process *p, term e)
{
    number owner = elect__owner(p, e);
    raise_term(&saved(p)->closed[owner], e);
    raise_term(&p->node->mandate.seen, e);
    if (voter(p)->holder == owner && voter(p)->granted <= e)
        *at(p, ELECT_EXPIRES) = ELECT_UNSET;
    if (elect__owner(p, saved(p)->promised) == owner && saved(p)->promised <= e)
        *at(p, ELECT_GUARD) = ELECT_UNSET; /* the guard protects a promise that is now void */
}

/* Treats the certificate in a request as the predecessor's RELEASE. */
static void use_certificate(struct process *p, const message *m)
{
    number owner = m->certificate != 0 ? elect__owner(p, m->certificate) : ELECT_NOBODY;
    if (owner != ELECT_NOBODY && !elect__of_a_former_life(p, owner, m->certified_by))
        close_term(p, m->certificate);
}

/* Returns true if another incarnation of the candidate holds a grant of the same term: the
 * candidate is a second copy, or has restarted. */
static bool is_clone(const struct process *p, const message *m)
{
    return grant_is_live(p) && voter(p)->granted == m->term &&
           voter(p)->holder_incarnation != m->incarnation;
}

static bool is_held(const struct process *p, number c, const message *m)
{
    return (grant_is_live(p) && !holds_grant(p, c, m)) || (in_office(p) && c != me(p));
}

static enum elect_refusal objection(struct process *p, number c, const message *m)
{
    assert(elect__owner(p, m->term) == c); /* checked by node.c */
    if (elect__counts_wrongly(p, c, m) || m->lease == 0 || m->lease > p->config->max_lease ||
        is_clone(p, m))
        return ELECT_REFUSED_CONFIG;
    use_certificate(p, m);
    if (before(p, ELECT_GUARD) && m->term != saved(p)->promised)
        return ELECT_REFUSED_BOOT;
    if (m->term <= saved(p)->closed[c])
        return ELECT_REFUSED_CLOSED;
    if (m->term < saved(p)->promised)
        return ELECT_REFUSED_STALE;
    if (is_held(p, c, m))
        return ELECT_REFUSED_HELD;
    return NO_OBJECTION;
}

static uint32_t remaining(const struct process *p, enum elect_refusal why)
{
    const elect_time *time = p->node->mandate.time;
    elect_time end = why == ELECT_REFUSED_BOOT                       ? time[ELECT_GUARD]
                     : why == ELECT_REFUSED_HELD && grant_is_live(p) ? time[ELECT_EXPIRES]
                     : why == ELECT_REFUSED_HELD                     ? time[ELECT_UNTIL]
                                                                     : p->now;
    return (uint32_t)(end - p->now);
}

static term in_the_way(const struct process *p, enum elect_refusal why)
{
    if (why == ELECT_REFUSED_HELD)
        return in_office(p) ? leader(p)->token : voter(p)->granted;
    return why == ELECT_REFUSED_STALE ? saved(p)->promised : p->node->mandate.seen;
}

/* An answer repeats the fields that identify the request. */
static message answer_to(const message *m, unsigned type)
{
    return (message){.type = (uint8_t)type,
                     .term = m->term,
                     .round = m->round,
                     .incarnation = m->incarnation,
                     .lease = m->lease};
}

static void refuse(struct process *p, number c, const message *m, enum elect_refusal why)
{
    static const enum rule rules[] = {REFUSES_CONFIG, REFUSES_BOOT, REFUSES_CLOSED, REFUSES_STALE,
                                      REFUSES_HELD};
    message answer = answer_to(m, ELECT_REFUSE);
    answer.what = m->type;
    answer.reason = (uint8_t)why;
    answer.in_the_way = in_the_way(p, why);
    answer.membership = saved(p)->membership;
    answer.remaining = remaining(p, why);
    elect__say(p, only(c), answer);
    because(p, rules[why]);
    p->out->rule.b = why == ELECT_REFUSED_HELD ? voter(p)->holder : ELECT_NOBODY;
}

/* Grants the term. Persists a larger promise, a longer lease and a new incarnation of the holder;
 * elect__of_a_former_life() needs the incarnation to recognize old messages of the holder. */
static void grant(struct process *p, number c, const message *m)
{
    elect_time expires = p->now + m->lease;
    elect__adopt(p, &m->membership);
    if (m->term > saved(p)->promised || m->lease > saved(p)->longest ||
        m->incarnation != voter(p)->holder_incarnation) {
        raise_term(&saved(p)->promised, m->term);
        saved(p)->longest = m->lease > saved(p)->longest ? m->lease : saved(p)->longest;
        p->out->persist = true;
    }
    if (grant_is_live(p) && *at(p, ELECT_EXPIRES) > expires)
        expires = *at(p, ELECT_EXPIRES); /* a shorter lease must not end the grant earlier */
    *at(p, ELECT_EXPIRES) = expires;
    voter(p)->granted = m->term;
    voter(p)->holder = c;
    voter(p)->holder_incarnation = m->incarnation;
    voter(p)->longest = m->lease > voter(p)->longest ? m->lease : voter(p)->longest;
    raise_term(&p->node->mandate.seen, m->term);
}

bool elect__own_vote(struct process *p, const message *request, uint32_t *wait)
{
    enum elect_refusal why = objection(p, me(p), request);
    if (why == NO_OBJECTION)
        grant(p, me(p), request);
    *wait = why == NO_OBJECTION ? 0 : remaining(p, why);
    return why == NO_OBJECTION;
}

/* An observer follows the latest leader that it has heard of. */
static void observe(struct process *p, number c, const message *m)
{
    if (m->term < voter(p)->granted && presence(p)->follows != ELECT_NOBODY) {
        because(p, EARLIER_REIGN);
        return;
    }
    if (m->leading && !in_office(p)) {
        elect__adopt(p, &m->membership);
        if (!grant_is_live(p)) /* a grant that this process gave as a voter remains in force */
            voter(p)->granted = m->term;
        raise_term(&p->node->mandate.seen, m->term);
        presence(p)->heir = m->heir;
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
    bool renewal = grant_is_live(p) && voter(p)->granted == m->term;
    grant(p, c, m);
    message yes = answer_to(m, ELECT_GRANT);
    yes.claims = elect__claims(p);
    elect__say(p, only(c), yes);
    if (m->leading) {
        presence(p)->heir = m->heir;
        elect__follow_office(p, c, m->term);
    } else {
        elect__be_patient(p);
    }
    because(p, renewal ? GRANTS_AGAIN : GRANTS);
}

/* A process answers if it is a voter in the candidate's membership, or if that membership is wrong,
 * because any process may report a wrong membership. */
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

/* Answers a PREVOTE like a REQUEST, but changes no state. */
void elect__upon_prevote(struct process *p, number c, const message *m)
{
    struct elect_node as_it_is = *p->node;
    if (!votes(p, c, m)) {
        because(p, NOTHING);
        return;
    }
    enum elect_refusal why = objection(p, c, m);
    if (why == NO_OBJECTION) {
        elect__say(p, only(c), answer_to(m, ELECT_AYE));
        because(p, SAYS_AYE);
    } else {
        refuse(p, c, m, why);
    }
    *p->node = as_it_is;
}

/* Returns true if this RELEASE ends the office of a leader that this process followed, not just a
 * candidacy. */
static bool ends_followed_office(const struct process *p, number from, const message *m)
{
    term e = presence(p)->followed;
    return e != 0 && elect__owner(p, e) == from && e > saved(p)->closed[from] && e <= m->term;
}

/* A leader's own RELEASE names its heir; its death report names none. After a death report, the
 * heir that the leader named last asks for a mandate, unless elections are paused or the heir
 * stands aside. The other members look for a leader first, so that the heir has time to win. */
void elect__upon_release(struct process *p, number from, const message *m)
{
    bool followed = presence(p)->follows == from && from != me(p);
    bool heir = presence(p)->heir == me(p) && m->heir == ELECT_NOBODY && !elect__paused(p) &&
                !stands_aside(p);
    bool office = ends_followed_office(p, from, m);
    close_term(p, m->term);
    if (from != me(p))
        elect__may_be_free(p, office);
    if (!followed || m->term < voter(p)->granted) {
        because(p, TERM_IS_OVER);
        return;
    }
    presence(p)->follows = p->node->leader = ELECT_NOBODY;
    candidate(p)->certificate = m->term;
    candidate(p)->certified_by = m->incarnation;
    if (heir && has(members(p), me(p)))
        elect__inherit(p, m);
    else
        elect__suspect(p);
    p->about = from;
    because(p, OFFICE_RELEASED);
}

void elect__upon_hand(struct process *p, number from, const message *m)
{
    close_term(p, m->term);
    bool followed = presence(p)->follows == from;
    if (followed)
        presence(p)->follows = ELECT_NOBODY;
    if (stands_aside(p) && followed)
        elect__suspect(p); /* as after a RELEASE */
    else if (!stands_aside(p) && has(members(p), me(p)) && !in_office(p) &&
             m->term >= voter(p)->granted)
        elect__inherit(p, m);
    p->about = from;
    because(p, stands_aside(p) ? DECLINES : TERM_IS_OVER);
}

void elect__end_of_guard(struct process *p)
{
    *at(p, ELECT_GUARD) = ELECT_UNSET;
    if (saved(p)->longest > voter(p)->longest) {
        saved(p)->longest = voter(p)->longest;
        p->out->persist = true;
    }
}
