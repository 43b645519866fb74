/*
 * The office: how a nominee becomes leader, stays it, and stops.
 *
 * Invariants:
 *  1. An office is valid until `sent_at` + D_L of a round that a majority has granted, where
 *     sent_at was read before anybody saw the request. Nobody counts without a GRANT of that
 *     round, not even the own voter.
 *  2. A term is used by one incarnation in one office: a new one is above all that this process
 *     ever used, and written down before it is spoken of. What is finished never leads again.
 *  3. RELEASE(e) is sent only by who does not lead, whose work has stopped, and who will use no
 *     term up to e again.
 */
#include "ring_links.h"
#include "mandate.h"

#include <assert.h>
#include <string.h>

/* ---- who is who ---- */

static unsigned count(set s) { return (unsigned)__builtin_popcountll(s); }

unsigned elect__quorum(set electorate) { return count(electorate) / 2 + 1; }

/* Of those who vote, and of those who voted before. */
bool elect__majority(const struct process *p, set some)
{
    const struct elect_membership *m = &p->node->saved.membership;
    return count(some & m->voters) >= elect__quorum(m->voters) &&
           count(some & m->before) >= elect__quorum(m->before);
}

number elect__owner(const struct process *p, term e)
{
    return elect_rank(p->config, elect_term_owner(e));
}

void elect__say(struct process *p, set to, message m)
{
    assert(p->out->sends < ELECT_MAX_SENDS);
    if (nobody(to))
        return;
    m.origin = me(p);
    m.penalty = p->node->mandate.penalties;
    m.pause = p->node->saved.pause;
    m.digest = p->config->digest;
    p->out->send[p->out->sends++] = (struct elect_send){.to = to, .message = m};
}

/* ---- terms and times ---- */

/* Above everything seen, and everything that this process ever used. */
static term next_term(const struct process *p)
{
    const struct elect_saved *s = &p->node->saved;
    term highest = p->node->mandate.seen;
    highest = s->promised > highest ? s->promised : highest;
    highest = s->used > highest ? s->used : highest;
    return elect_term_make(elect_term_counter(highest) + 1, p->config->id[me(p)]);
}

/* Not random, which the core cannot be, but different for every process and every term. */
static elect_time back_off(const struct process *p)
{
    const struct elect_mandate *o = &p->node->mandate;
    uint64_t h = (o->asked + o->attempts) * 0x9e3779b97f4a7c15u;
    elect_time range = p->config->answer_bound;
    for (unsigned i = 0; i < o->attempts && range < p->config->lease; i++)
        range *= 2;
    return 1 + (elect_time)((h >> 32) %
                            (uint64_t)(range < p->config->lease ? range : p->config->lease));
}

/* ---- asking ---- */

static message request(const struct process *p, term e)
{
    const struct elect_mandate *o = &p->node->mandate;
    return (message){.type = ELECT_REQUEST,
                     .term = e,
                     .incarnation = p->node->saved.incarnation,
                     .membership = p->node->saved.membership,
                     .lease = p->config->lease,
                     .leading = o->token != 0,
                     .set = elect__roll(p),
                     .heir = elect__heir(p),
                     .other = o->certificate,
                     .life = o->certificate != 0 ? o->certified_by : 0};
}

/* sent_at is now: before any voter, the own one included, sees the request. */
void elect__round(struct process *p)
{
    struct elect_mandate *o = &p->node->mandate;
    unsigned i = o->rounds++ % ELECT_ROUNDS;
    message m = request(p, o->term);
    m.round = o->rounds;
    *at(p, ELECT_SENT + i) = p->now;
    o->round[i].number = o->rounds;
    o->round[i].term = o->term;
    o->round[i].lease = m.lease;
    o->round[i].voters = 0;
    *at(p, ELECT_RENEW) = p->now + p->config->renewal;
    elect__say(p, all(p), m);
}

/* How long a candidate waits for answers. To say what one would do takes no write: twice T, for
 * clocks differ, and longer at every attempt, for T may be wrong. */
static elect_time patience(const struct process *p, unsigned candidacy)
{
    elect_time longest = p->config->lease / 2, some = 2 * (elect_time)p->config->answer_bound;
    for (unsigned i = 0; i < p->node->mandate.attempts && some < longest; i++)
        some *= 2;
    return candidacy == ELECT_PREVOTING && some < longest ? some : longest;
}

static void stand_for(struct process *p, enum elect_candidacy candidacy)
{
    struct elect_mandate *o = &p->node->mandate;
    o->candidacy = (uint8_t)candidacy;
    o->ayes = o->refused = 0;
    memset(o->wait, 0, sizeof o->wait);
    *at(p, ELECT_STANDS) = p->now;
    *at(p, ELECT_GIVE_UP) = p->now + patience(p, candidacy);
}

/* For how long the candidate has waited. */
static elect_time stood(const struct process *p)
{
    return is_set(p, ELECT_STANDS) ? p->now - p->node->mandate.time[ELECT_STANDS] : 0;
}

static void prevote(struct process *p)
{
    struct elect_mandate *o = &p->node->mandate;
    stand_for(p, ELECT_PREVOTING);
    o->asked = next_term(p);
    message m = request(p, o->asked);
    m.type = ELECT_PREVOTE;
    m.round = o->question = ++o->rounds;
    elect__say(p, voters(p), m);
    because(p, o->token != 0 ? SUCCEEDS_ITSELF : PREVOTES);
}

static void lose(struct process *p, enum rule why);

static void confirm(struct process *p, enum rule why)
{
    struct elect_mandate *o = &p->node->mandate;
    term e = next_term(p);
    message m = request(p, e);
    stand_for(p, ELECT_PREVOTING);
    if (!elect__own_vote(p, &m, &o->wait[me(p)])) { /* nothing has been asked for */
        lose(p, REFUSED);
        return;
    }
    o->candidacy = ELECT_CONFIRMING;
    *at(p, ELECT_GIVE_UP) = p->now + patience(p, ELECT_CONFIRMING);
    o->asked = o->term = p->node->saved.used = e;
    p->out->persist = p->out->deposit = true;
    elect__round(p);
    because(p, why);
}

void elect__nominate(struct process *p)
{
    struct elect_mandate *o = &p->node->mandate;
    o->nominated = true;
    if (o->token != 0 || o->candidacy != ELECT_NO_CANDIDATE || o->working || is_set(p, ELECT_RETRY))
        return;
    /* A certificate of what the own voter granted last says all that a PREVOTE could. */
    if (o->certificate != 0 && o->certificate == o->granted)
        confirm(p, CERTIFIED);
    else if (o->certificate == 0 && !elect__takes_part(p, NULL))
        elect__stand_back(p);
    else
        prevote(p);
}

void elect__inherit(struct process *p, const message *release)
{
    struct elect_mandate *o = &p->node->mandate;
    if (o->candidacy == ELECT_PREVOTING)
        elect__withdraw(p);
    o->certificate = release->term;
    o->certified_by = release->incarnation;
    o->nominated = false; /* anew: see node.c */
    *at(p, ELECT_RETRY) = ELECT_UNSET;
    elect__leave_round(p);
    lead(p);
    because(p, CERTIFIED);
}

/* ---- losing ---- */

set elect__granted_lately(const struct process *p)
{
    const struct elect_mandate *o = &p->node->mandate;
    set some = 0;
    for (unsigned i = 0; i < ELECT_ROUNDS; i++)
        some |= o->round[i].term == o->term ? o->round[i].voters : 0;
    return some;
}

/* Whose answer is known, and which time it names: none if it would grant, or has. */
static set answered(const struct process *p)
{
    const struct elect_mandate *o = &p->node->mandate;
    /* the own voter need not be waited for */
    return o->refused | o->ayes | only(me(p)) | elect__granted_lately(p);
}

/* Until a majority may have nothing against it: the q-th smallest of what remains, or, of fewer
 * than that, the largest. And not before the own voter, which must grant, too. */
static elect_time majority_waits(const struct process *p)
{
    const uint32_t *wait = p->node->mandate.wait;
    uint32_t best = UINT32_MAX, longest = 0;
    for (set known = answered(p), rest = known; rest != 0; rest &= rest - 1) {
        uint32_t one = wait[__builtin_ctzll(rest)];
        set sooner = 0;
        for (set other = known; other != 0; other &= other - 1)
            sooner |= wait[__builtin_ctzll(other)] <= one ? other & -other : 0;
        best = elect__majority(p, sooner) && one < best ? one : best;
        longest = one > longest ? one : longest;
    }
    best = best == UINT32_MAX ? longest : best;
    return best > wait[me(p)] ? best : wait[me(p)];
}

/* Who refused before, and does not now. */
static void forget_refusal(struct process *p, number from)
{
    p->node->mandate.refused &= ~only(from);
    p->node->mandate.wait[from] = 0;
}

/* The candidacy is over: what was asked for will never be used. But nothing is released by who
 * leads meanwhile: that office goes on to its end in silence. */
void elect__withdraw(struct process *p)
{
    struct elect_mandate *o = &p->node->mandate;
    bool asked = o->candidacy == ELECT_CONFIRMING;
    o->candidacy = ELECT_NO_CANDIDATE;
    *at(p, ELECT_GIVE_UP) = ELECT_UNSET;
    if (asked)
        *at(p, ELECT_RENEW) = ELECT_UNSET;
    if (asked && o->token == 0)
        elect__say(p, voters(p),
                   (message){.type = ELECT_RELEASE,
                             .heir = ELECT_NOBODY,
                             .term = o->term,
                             .incarnation = p->node->saved.incarnation});
    if (o->token == 0)
        o->certificate = 0;
}

static void lose(struct process *p, enum rule why)
{
    struct elect_mandate *o = &p->node->mandate;
    elect_time waits = majority_waits(p), rest = waits - stood(p);
    bool failed = o->candidacy == ELECT_CONFIRMING && waits == 0;
    elect__withdraw(p);
    because(p, why);
    if (o->token != 0)
        return;
    if (failed)
        elect__penalize(p, 1);
    *at(p, ELECT_RETRY) = p->now + (waits == 0 ? back_off(p) : rest > 1 ? rest : 1);
    o->attempts = (uint8_t)(o->attempts < 16 ? o->attempts + 1 : 16);
}

/*
 * The RELEASE of an office that this process followed ends the wait for its lease. The RELEASE of
 * a candidacy may also free voters, but its owner is about to ask again: a process that waits for a
 * lease then backs off instead, and a running back-off is never shortened. Otherwise two candidates
 * that release at the same time would collide repeatedly.
 */
void elect__may_be_free(struct process *p, bool office)
{
    const struct elect_mandate *o = &p->node->mandate;
    if (!o->nominated || !is_set(p, ELECT_RETRY) || o->token != 0)
        return;
    elect_time soon = p->now + (office ? 0 : back_off(p));
    if ((office || majority_waits(p) > 0) && soon < *at(p, ELECT_RETRY))
        *at(p, ELECT_RETRY) = soon;
}

void elect__end_office(struct process *p, enum rule why)
{
    struct elect_mandate *o = &p->node->mandate;
    o->token = 0;
    o->candidacy = ELECT_NO_CANDIDATE;
    o->stale = 0;
    o->nominated = false;
    o->working = true;
    o->follows = ELECT_NOBODY;
    *at(p, ELECT_UNTIL) = *at(p, ELECT_RENEW) = *at(p, ELECT_GIVE_UP) = ELECT_UNSET;
    *at(p, ELECT_RETRY) = ELECT_UNSET;
    p->node->leader = ELECT_NOBODY;
    because(p, why);
}

bool elect__at_until(struct process *p)
{
    bool over = p->node->mandate.token != 0 && !before(p, ELECT_UNTIL);
    if (over)
        elect__end_office(p, MANDATE_OVER);
    return over;
}

/* ---- answers ---- */

void elect__upon_aye(struct process *p, number from, const message *m)
{
    struct elect_mandate *o = &p->node->mandate;
    bool waits = o->candidacy == ELECT_PREVOTING && !o->handing;
    if (!waits || m->term != o->asked || m->round != o->question) {
        because(p, ANSWERED_TOO_LATE);
        return;
    }
    o->ayes |= only(from);
    if (elect__majority(p, o->ayes))
        confirm(p, CONFIRMS);
    else
        because(p, COUNTS);
}

/* A majority has granted what a round asked for: the office is valid from then on. */
static void take_office(struct process *p, uint32_t round, elect_time until)
{
    struct elect_mandate *o = &p->node->mandate;
    bool first = o->token != o->term;
    if (!is_set(p, ELECT_UNTIL) || until > *at(p, ELECT_UNTIL))
        *at(p, ELECT_UNTIL) = until;
    if (!first) {
        because(p, RENEWED);
        elect__confirm_change(p, round);
        return;
    }
    o->token = o->term;
    o->candidacy = ELECT_NO_CANDIDATE;
    o->certificate = 0;
    o->stale = 0;
    o->attempts = 0;
    *at(p, ELECT_GIVE_UP) = *at(p, ELECT_RETRY) = ELECT_UNSET;
    elect__take_over_members(p);
    elect__round(p);
    because(p, TAKES_OFFICE);
}

void elect__upon_grant(struct process *p, number from, const message *m)
{
    struct elect_mandate *o = &p->node->mandate;
    bool current = m->term == o->term && (o->token == o->term || o->candidacy == ELECT_CONFIRMING);
    for (unsigned i = 0; i < ELECT_ROUNDS && current; i++) {
        if (o->round[i].number != m->round || o->round[i].term != m->term ||
            o->round[i].lease != m->lease)
            continue;
        o->round[i].voters |= only(from);
        forget_refusal(p, from);
        elect_time until = *at(p, ELECT_SENT + i) + elect_office_length(p->config, m->lease);
        if (elect__majority(p, o->round[i].voters) && p->now < until)
            take_office(p, m->round, until);
        else
            because(p, COUNTS);
        if (m->able)
            elect__give_place(p, from);
        return;
    }
    because(p, ANSWERED_TOO_LATE);
}

/* Somebody has promised a larger term while this one is in force. */
static void upon_stale(struct process *p, number from, term x)
{
    struct elect_mandate *o = &p->node->mandate;
    if (elect__owner(p, x) != me(p))
        o->stale |= only(from);
    if (elect__majority(p, o->stale)) {
        elect__end_office(p, CLOCKS_ARE_WRONG);
    } else if (o->candidacy == ELECT_NO_CANDIDATE && o->term == o->token && !o->handing &&
               !before(p, ELECT_RETRY)) {
        *at(p, ELECT_RETRY) = p->now + p->config->renewal;
        prevote(p);
    } else {
        because(p, COUNTS);
    }
}

/* This voter will never grant the term. But a refusal needs no write and can overtake GRANTs that
 * are in flight: wait as long as those can take. */
static void wait_for_grants(struct process *p)
{
    elect_time end = *at(p, ELECT_STANDS) + elect_shortest_office(p->config);
    if (end < *at(p, ELECT_GIVE_UP))
        *at(p, ELECT_GIVE_UP) = end;
    because(p, COUNTS);
}

/* CLOSED means that a RELEASE of the term exists, so that even a majority of grants is void. A
 * PREVOTE that is STALE is better asked again, for a larger term. */
static void upon_refusal(struct process *p, number from, const message *m)
{
    struct elect_mandate *o = &p->node->mandate;
    bool stale = m->reason == ELECT_REFUSED_STALE, asks = o->candidacy == ELECT_CONFIRMING;
    bool hopeless = m->reason == ELECT_REFUSED_CLOSED || (stale && !asks);
    bool misfit = m->reason == ELECT_REFUSED_CONFIG;
    uint32_t most = 4 * p->config->lease; /* who waits longer than that was told nonsense */
    o->refused |= only(from);
    o->wait[from] = (m->remaining < most ? m->remaining : most) +
                    (m->remaining > 0 ? (uint32_t)stood(p) : 0); /* since it was asked */
    if (misfit)
        elect__learn_members(p, &m->membership); /* it may know of a change */
    if (hopeless || !elect__majority(p, voters(p) & ~o->refused))
        lose(p, REFUSED);
    else if (stale)
        wait_for_grants(p);
    else
        because(p, COUNTS);
    if (misfit && o->candidacy == ELECT_NO_CANDIDATE)
        elect__penalize(p, 1); /* others will do better */
}

void elect__upon_refuse(struct process *p, number from, const message *m)
{
    struct elect_mandate *o = &p->node->mandate;
    bool prevoting = o->candidacy == ELECT_PREVOTING && m->what == ELECT_PREVOTE;
    bool confirming = o->candidacy == ELECT_CONFIRMING && m->what == ELECT_REQUEST;
    if (m->reason == ELECT_REFUSED_STALE || m->reason == ELECT_REFUSED_CLOSED)
        o->seen = m->other > o->seen ? m->other : o->seen;
    if ((prevoting && m->term == o->asked && m->round == o->question) ||
        (confirming && m->term == o->term))
        upon_refusal(p, from, m);
    else if (o->token == 0 || m->term != o->token || m->what != ELECT_REQUEST)
        because(p, ANSWERED_TOO_LATE);
    else if (m->reason == ELECT_REFUSED_CLOSED)
        elect__end_office(p, TESTAMENT_OF_THE_LIVING);
    else if (m->reason == ELECT_REFUSED_STALE)
        upon_stale(p, from, m->other);
    else
        because(p, COUNTS);
}

/* ---- time ---- */

void elect__alarm(struct process *p)
{
    struct elect_mandate *o = &p->node->mandate;
    if (due(p, ELECT_GUARD))
        elect__end_of_guard(p);
    if (due(p, ELECT_GIVE_UP))
        lose(p, NO_MAJORITY);
    if (due(p, ELECT_RETRY)) {
        *at(p, ELECT_RETRY) = ELECT_UNSET;
        if (o->nominated && o->token == 0)
            elect__nominate(p);
    }
    if (due(p, ELECT_RENEW)) {
        elect__round(p);
        because(p, RENEWS);
    }
    elect__look_on_time(p);
}

bool elect__gives_way(struct process *p, number c, const message *m)
{
    term token = p->node->mandate.token, its = m->leading ? m->membership.stamp : 0;
    bool gives_way = c != me(p) && token != 0 && its > token; /* its office, not what it asks for */
    if (gives_way)
        elect__end_office(p, CLOCKS_ARE_WRONG);
    return gives_way;
}

void elect__follow_office(struct process *p, number c, term e)
{
    struct elect_mandate *o = &p->node->mandate;
    assert(c == me(p) || o->token == 0);
    if (c == me(p) && o->token == 0)
        return; /* a late echo of an office that is over */
    o->follows = c;
    o->told = false;
    p->node->state = NORMAL;
    p->node->leader = c;
    stop(p, ELECT_ANSWER_TIMER);
    elect__leave_round(p);
    if (c == me(p))
        return;
    o->followed = e;
    if (o->candidacy != ELECT_NO_CANDIDATE)
        elect__withdraw(p);
    *at(p, ELECT_RETRY) = ELECT_UNSET;
    start(p, ELECT_SUSPICION_TIMER);
}

elect_time elect_alarm(const struct elect_node *node)
{
    static const uint8_t alarms[] = {ELECT_GUARD, ELECT_UNTIL, ELECT_RENEW, ELECT_GIVE_UP,
                                     ELECT_RETRY, ELECT_LOOK,  ELECT_BEGIN, ELECT_DECAY};
    elect_time first = INT64_MAX;
    for (unsigned i = 0; i < sizeof alarms; i++) {
        elect_time t = node->mandate.time[alarms[i]];
        first = t != ELECT_UNSET && t < first ? t : first;
    }
    return first;
}

static void shift(elect_time *t, elect_time by)
{
    if (*t != ELECT_UNSET)
        *t += by;
}

void elect_shift(struct elect_node *node, elect_time by)
{
    struct elect_mandate *m = &node->mandate;
    for (unsigned i = 0; i < ELECT_TIMES; i++)
        shift(&m->time[i], by);
    for (unsigned i = 0; i < ELECT_MAX; i++) {
        shift(&m->heard[i], by);
        shift(&m->heard_me[i], by);
    }
}
