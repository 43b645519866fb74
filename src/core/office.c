/*
 * The office: lets a nominee become leader, remain leader, and step down.
 *
 *              nominated                majority of AYEs           majority of GRANTs
 *   (follower) ---------> PREVOTING ------------------> CONFIRMING ------------------> in office
 *        ^                    |                             |                              |
 *        +--- lose: wait -----+------- lose: RELEASE -------+     a GRANTed round renews --+
 *        +------------------ end_office, then RELEASE once the work has stopped ----------+
 *
 * Invariants:
 *  1. An office is valid until SENT + elect_office_length() of a round that a majority has granted.
 *     SENT is the time at which the round was sent, read before any voter sees the request. A
 *     voter, even the candidate's own voter, counts only if it has sent a GRANT for that round.
 *  2. Only one incarnation of one process uses a term, and only for one office. A new term is
 *     larger than every term that this process has used, and is persisted before any message
 *     mentions it. No process leads again in a finished term.
 *  3. A process sends RELEASE(e) only if it does not lead, its work has stopped, and it will not
 *     use any term up to e again.
 */
#include "ring_links.h"
#include "mandate.h"

#include <assert.h>
#include <string.h>

/* ---- majorities ---- */

static unsigned count(set s) { return (unsigned)__builtin_popcountll(s); }

unsigned elect__quorum(set electorate) { return count(electorate) / 2 + 1; }

bool elect__majority(const struct process *p, set some)
{
    const struct elect_membership *m = &saved(p)->membership;
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
    if (is_empty(to))
        return;
    m.origin = me(p);
    m.penalty = presence(p)->penalties;
    m.aside = stands_aside(p);
    m.pause = saved(p)->pause;
    m.digest = p->config->digest;
    p->out->send[p->out->sends++] = (struct elect_send){.to = to, .message = m};
}

/* ---- terms and times ---- */

/* Returns a term larger than any that this process has seen, promised or used. */
static term next_term(const struct process *p)
{
    term highest = p->node->mandate.seen;
    raise_term(&highest, saved(p)->promised);
    raise_term(&highest, saved(p)->used);
    return elect_term_make(elect_term_counter(highest) + 1, p->config->id[me(p)]);
}

/* Returns how long a candidate waits after it has lost. The core has no random numbers, so the
 * delay comes from a hash of the term, which differs between candidates. The range of the delay
 * doubles with every lost candidacy, up to one lease. */
static elect_time back_off(const struct process *p)
{
    uint64_t h = (candidate(p)->asked + candidate(p)->attempts) * 0x9e3779b97f4a7c15u;
    elect_time range = p->config->answer_bound;
    for (unsigned i = 0; i < candidate(p)->attempts && range < p->config->lease; i++)
        range *= 2;
    return 1 + (elect_time)((h >> 32) %
                            (uint64_t)(range < p->config->lease ? range : p->config->lease));
}

/* ---- asking ---- */

static message request(const struct process *p, term e)
{
    return (message){.type = ELECT_REQUEST,
                     .term = e,
                     .incarnation = saved(p)->incarnation,
                     .membership = saved(p)->membership,
                     .lease = p->config->lease,
                     .leading = in_office(p),
                     .roll = elect__roll(p),
                     .heir = elect__heir(p),
                     .certificate = candidate(p)->certificate,
                     .certified_by =
                         candidate(p)->certificate != 0 ? candidate(p)->certified_by : 0};
}

/* SENT is read before any voter sees the request, even this process's own voter. */
void elect__round(struct process *p)
{
    unsigned i = leader(p)->rounds++ % ELECT_ROUNDS;
    message m = request(p, leader(p)->term);
    m.round = leader(p)->rounds;
    *at(p, ELECT_SENT + i) = p->now;
    leader(p)->round[i].number = leader(p)->rounds;
    leader(p)->round[i].term = leader(p)->term;
    leader(p)->round[i].lease = m.lease;
    leader(p)->round[i].voters = 0;
    *at(p, ELECT_RENEW) = p->now + p->config->renewal;
    elect__say(p, all(p), m);
}

/* Returns how long a candidate waits for answers. An AYE needs no write, so it arrives within T;
 * the limit of 2T allows for different clocks. The wait doubles with every attempt, because T may
 * have been configured too short. */
static elect_time patience(const struct process *p, unsigned candidacy)
{
    elect_time longest = p->config->lease / 2, some = 2 * (elect_time)p->config->answer_bound;
    for (unsigned i = 0; i < candidate(p)->attempts && some < longest; i++)
        some *= 2;
    return candidacy == ELECT_PREVOTING && some < longest ? some : longest;
}

static void stand_for(struct process *p, enum elect_candidacy candidacy)
{
    candidate(p)->stage = (uint8_t)candidacy;
    candidate(p)->ayes = candidate(p)->refused = 0;
    memset(candidate(p)->wait, 0, sizeof candidate(p)->wait);
    *at(p, ELECT_STANDS) = p->now;
    *at(p, ELECT_GIVE_UP) = p->now + patience(p, candidacy);
}

static elect_time stood(const struct process *p)
{
    return is_set(p, ELECT_STANDS) ? p->now - p->node->mandate.time[ELECT_STANDS] : 0;
}

static void prevote(struct process *p)
{
    stand_for(p, ELECT_PREVOTING);
    candidate(p)->asked = next_term(p);
    message m = request(p, candidate(p)->asked);
    m.type = ELECT_PREVOTE;
    m.round = candidate(p)->prevote_round = ++leader(p)->rounds;
    elect__say(p, voters(p), m);
    because(p, in_office(p) ? SUCCEEDS_ITSELF : PREVOTES);
}

static void lose(struct process *p, enum rule why);

static void confirm(struct process *p, enum rule why)
{
    term e = next_term(p);
    message m = request(p, e);
    stand_for(p, ELECT_PREVOTING);
    if (!elect__own_vote(p, &m, &candidate(p)->wait[me(p)])) {
        lose(p, REFUSED); /* no REQUEST was sent, so there is no term to release */
        return;
    }
    candidate(p)->stage = ELECT_CONFIRMING;
    *at(p, ELECT_GIVE_UP) = p->now + patience(p, ELECT_CONFIRMING);
    candidate(p)->asked = leader(p)->term = saved(p)->used = e;
    p->out->persist = p->out->deposit = true;
    elect__round(p);
    because(p, why);
}

/* Asks for a mandate with a certificate: the term that the predecessor has released. */
static void confirm_certified(struct process *p)
{
    p->about = elect__owner(p, candidate(p)->certificate);
    confirm(p, CERTIFIED);
}

void elect__nominate(struct process *p)
{
    candidate(p)->nominated = true;
    if (in_office(p) || candidate(p)->stage != ELECT_NO_CANDIDATE || leader(p)->working ||
        is_set(p, ELECT_RETRY))
        return;
    /* If the certificate ends the latest grant of the candidate's own voter, the candidate can skip
     * the PREVOTE, which would tell it nothing new. */
    if (candidate(p)->certificate != 0 && candidate(p)->certificate == voter(p)->granted)
        confirm_certified(p);
    else if (candidate(p)->certificate == 0 && !elect__takes_part(p, NULL))
        elect__stand_back(p);
    else
        prevote(p);
}

void elect__inherit(struct process *p, const message *release)
{
    if (candidate(p)->stage == ELECT_PREVOTING)
        elect__withdraw(p);
    candidate(p)->certificate = release->term;
    candidate(p)->certified_by = release->incarnation;
    candidate(p)->nominated = false; /* so that node.c nominates this process in this step */
    *at(p, ELECT_RETRY) = ELECT_UNSET;
    elect__leave_round(p);
    lead(p);
    because(p, CERTIFIED);
}

/* ---- losing ---- */

set elect__granted_lately(const struct process *p)
{
    set some = 0;
    for (unsigned i = 0; i < ELECT_ROUNDS; i++)
        some |= leader(p)->round[i].term == leader(p)->term ? leader(p)->round[i].voters : 0;
    return some;
}

/* Returns the voters whose answer is known. `wait` is 0 for a voter that has granted or would
 * grant. */
static set answered(const struct process *p)
{
    return candidate(p)->refused | candidate(p)->ayes | only(me(p)) | elect__granted_lately(p);
}

/* Returns how long it takes until a majority of q voters may grant. The result is the q-th smallest
 * wait that voters have reported, or the largest if fewer than q voters have answered. The majority
 * must include the candidate's own voter. */
static elect_time majority_waits(const struct process *p)
{
    const uint32_t *wait = candidate(p)->wait;
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

static void forget_refusal(struct process *p, number from)
{
    candidate(p)->refused &= ~only(from);
    candidate(p)->wait[from] = 0;
}

/* Sends RELEASE, because the candidacy's term will never be used. A leader that asked for a larger
 * term releases nothing, because its office continues. */
void elect__withdraw(struct process *p)
{
    bool asked = candidate(p)->stage == ELECT_CONFIRMING;
    candidate(p)->stage = ELECT_NO_CANDIDATE;
    *at(p, ELECT_GIVE_UP) = ELECT_UNSET;
    if (asked)
        *at(p, ELECT_RENEW) = ELECT_UNSET;
    if (asked && !in_office(p))
        elect__say(p, voters(p),
                   (message){.type = ELECT_RELEASE,
                             .heir = ELECT_NOBODY,
                             .term = leader(p)->term,
                             .incarnation = saved(p)->incarnation});
    if (!in_office(p))
        candidate(p)->certificate = 0;
}

static void lose(struct process *p, enum rule why)
{
    elect_time waits = majority_waits(p), rest = waits - stood(p);
    bool failed = candidate(p)->stage == ELECT_CONFIRMING && waits == 0;
    elect__withdraw(p);
    because(p, why);
    if (in_office(p))
        return;
    if (failed)
        elect__penalize(p, 1);
    *at(p, ELECT_RETRY) = p->now + (waits == 0 ? back_off(p) : rest > 1 ? rest : 1);
    candidate(p)->attempts =
        (uint8_t)(candidate(p)->attempts < 16 ? candidate(p)->attempts + 1 : 16);
}

/*
 * The RELEASE of the leader that this process followed ends the wait for its lease. A candidate's
 * RELEASE may also free voters, but that candidate is about to ask again. A process that waits for
 * a lease then backs off instead, and one that is already backing off continues to do so. Otherwise
 * two candidates that release at the same time would collide repeatedly.
 */
void elect__may_be_free(struct process *p, bool office)
{
    if (!candidate(p)->nominated || !is_set(p, ELECT_RETRY) || in_office(p))
        return;
    elect_time soon = p->now + (office ? 0 : back_off(p));
    if ((office || majority_waits(p) > 0) && soon < *at(p, ELECT_RETRY))
        *at(p, ELECT_RETRY) = soon;
}

void elect__end_office(struct process *p, enum rule why)
{
    leader(p)->token = 0;
    candidate(p)->stage = ELECT_NO_CANDIDATE;
    leader(p)->stale = 0;
    candidate(p)->nominated = false;
    leader(p)->working = true;
    presence(p)->follows = ELECT_NOBODY;
    *at(p, ELECT_UNTIL) = *at(p, ELECT_RENEW) = *at(p, ELECT_GIVE_UP) = ELECT_UNSET;
    *at(p, ELECT_RETRY) = ELECT_UNSET;
    p->node->leader = ELECT_NOBODY;
    because(p, why);
}

bool elect__at_until(struct process *p)
{
    bool over = in_office(p) && !before(p, ELECT_UNTIL);
    if (over)
        elect__end_office(p, MANDATE_OVER);
    return over;
}

/* ---- answers ---- */

void elect__upon_aye(struct process *p, number from, const message *m)
{
    bool waits = candidate(p)->stage == ELECT_PREVOTING && !leader(p)->handing;
    if (!waits || m->term != candidate(p)->asked || m->round != candidate(p)->prevote_round) {
        because(p, ANSWERED_TOO_LATE);
        return;
    }
    candidate(p)->ayes |= only(from);
    if (elect__majority(p, candidate(p)->ayes))
        confirm(p, CONFIRMS);
    else
        because(p, COUNTS);
}

/* Begins the office, or extends it to `until`, after a majority has granted the round. */
static void take_office(struct process *p, uint32_t round, elect_time until)
{
    bool first = leader(p)->token != leader(p)->term;
    if (!is_set(p, ELECT_UNTIL) || until > *at(p, ELECT_UNTIL))
        *at(p, ELECT_UNTIL) = until;
    if (!first) {
        because(p, RENEWED);
        elect__confirm_change(p, round);
        return;
    }
    leader(p)->token = leader(p)->term;
    candidate(p)->stage = ELECT_NO_CANDIDATE;
    candidate(p)->certificate = 0;
    leader(p)->stale = 0;
    candidate(p)->attempts = 0;
    *at(p, ELECT_GIVE_UP) = *at(p, ELECT_RETRY) = ELECT_UNSET;
    elect__take_over_members(p);
    elect__round(p);
    because(p, TAKES_OFFICE);
}

/* Returns the remembered round that a GRANT answers; ELECT_ROUNDS if there is none. */
static unsigned round_of(const struct process *p, const message *m)
{
    unsigned i = 0;
    while (i < ELECT_ROUNDS &&
           (leader(p)->round[i].number != m->round || leader(p)->round[i].term != m->term ||
            leader(p)->round[i].lease != m->lease))
        i++;
    return i;
}

void elect__upon_grant(struct process *p, number from, const message *m)
{
    bool current = m->term == leader(p)->term &&
                   (leader(p)->token == leader(p)->term || candidate(p)->stage == ELECT_CONFIRMING);
    unsigned i = round_of(p, m);
    if (!current || i == ELECT_ROUNDS) {
        because(p, ANSWERED_TOO_LATE);
        return;
    }
    leader(p)->round[i].voters |= only(from);
    forget_refusal(p, from);
    elect_time until = *at(p, ELECT_SENT + i) + elect_office_length(p->config, m->lease);
    if (elect__majority(p, leader(p)->round[i].voters) && p->now < until)
        take_office(p, m->round, until);
    else
        because(p, COUNTS);
    if (m->claims)
        elect__give_place(p, from);
}

/* Handles a refusal from a voter that has promised a larger term while this process is in office.
 * The leader then asks for an even larger term, and leads on in that term. */
static void upon_stale(struct process *p, number from, term x)
{
    if (elect__owner(p, x) != me(p))
        leader(p)->stale |= only(from);
    if (elect__majority(p, leader(p)->stale)) {
        elect__end_office(p, CLOCKS_ARE_WRONG);
    } else if (candidate(p)->stage == ELECT_NO_CANDIDATE && leader(p)->term == leader(p)->token &&
               !leader(p)->handing && !before(p, ELECT_RETRY)) {
        *at(p, ELECT_RETRY) = p->now + p->config->renewal;
        prevote(p);
    } else {
        because(p, COUNTS);
    }
}

/* Shortens the wait for GRANTs after a voter has promised a larger term. The candidate does not
 * give up immediately, because a refusal needs no write and can therefore overtake GRANTs that are
 * still in flight. */
static void wait_for_grants(struct process *p)
{
    elect_time end = *at(p, ELECT_STANDS) + elect_shortest_office(p->config);
    if (end < *at(p, ELECT_GIVE_UP))
        *at(p, ELECT_GIVE_UP) = end;
    because(p, COUNTS);
}

/* A refusal with CLOSED means that a RELEASE of the term exists, so even a majority of grants would
 * be void. After a refusal with STALE, a PREVOTE cannot win, and the next PREVOTE should ask for a
 * larger term. */
static void upon_refusal(struct process *p, number from, const message *m)
{
    bool stale = m->reason == ELECT_REFUSED_STALE, asks = candidate(p)->stage == ELECT_CONFIRMING;
    bool hopeless = m->reason == ELECT_REFUSED_CLOSED || (stale && !asks);
    bool misfit = m->reason == ELECT_REFUSED_CONFIG;
    uint32_t most = 4 * p->config->lease; /* only a faulty voter reports a longer wait */
    candidate(p)->refused |= only(from);
    /* `remaining` counts from now, `wait` from the candidate's question */
    candidate(p)->wait[from] =
        (m->remaining < most ? m->remaining : most) + (m->remaining > 0 ? (uint32_t)stood(p) : 0);
    if (misfit)
        elect__learn_members(p, &m->membership); /* the voter may know a later membership */
    if (hopeless || !elect__majority(p, voters(p) & ~candidate(p)->refused))
        lose(p, REFUSED);
    else if (stale)
        wait_for_grants(p);
    else
        because(p, COUNTS);
    if (misfit && candidate(p)->stage == ELECT_NO_CANDIDATE)
        elect__penalize(p, 1); /* members with the right membership should win first */
}

void elect__upon_refuse(struct process *p, number from, const message *m)
{
    bool prevoting = candidate(p)->stage == ELECT_PREVOTING && m->what == ELECT_PREVOTE;
    bool confirming = candidate(p)->stage == ELECT_CONFIRMING && m->what == ELECT_REQUEST;
    if (m->reason == ELECT_REFUSED_STALE || m->reason == ELECT_REFUSED_CLOSED)
        raise_term(&p->node->mandate.seen, m->in_the_way);
    if ((prevoting && m->term == candidate(p)->asked && m->round == candidate(p)->prevote_round) ||
        (confirming && m->term == leader(p)->term))
        upon_refusal(p, from, m);
    else if (!in_office(p) || m->term != leader(p)->token || m->what != ELECT_REQUEST)
        because(p, ANSWERED_TOO_LATE);
    else if (m->reason == ELECT_REFUSED_CLOSED)
        elect__end_office(p, TESTAMENT_OF_THE_LIVING);
    else if (m->reason == ELECT_REFUSED_STALE)
        upon_stale(p, from, m->in_the_way);
    else
        because(p, COUNTS);
}

/* ---- time ---- */

void elect__alarm(struct process *p)
{
    if (due(p, ELECT_GUARD))
        elect__end_of_guard(p);
    if (due(p, ELECT_GIVE_UP))
        lose(p, NO_MAJORITY);
    if (due(p, ELECT_RETRY)) {
        *at(p, ELECT_RETRY) = ELECT_UNSET;
        if (candidate(p)->nominated && !in_office(p))
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
    term token = leader(p)->token, its = m->leading ? m->membership.stamp : 0;
    /* a candidacy's term does not count */
    bool gives_way = c != me(p) && token != 0 && its > token;
    if (gives_way)
        elect__end_office(p, CLOCKS_ARE_WRONG);
    return gives_way;
}

void elect__follow_office(struct process *p, number c, term e)
{
    assert(c == me(p) || !in_office(p));
    if (c == me(p) && !in_office(p))
        return; /* this process's own REQUEST arrived after its office had ended */
    presence(p)->follows = c;
    presence(p)->told = false;
    p->node->state = NORMAL;
    p->node->leader = c;
    stop(p, ELECT_ANSWER_TIMER);
    elect__leave_round(p);
    if (c == me(p))
        return;
    presence(p)->followed = e;
    if (candidate(p)->stage != ELECT_NO_CANDIDATE)
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
        shift(&m->presence.heard[i], by);
        shift(&m->presence.heard_me[i], by);
    }
}
