/*
 * The model of a mandate in the search.
 *
 * The network is a set of messages: any REQUEST, GRANT or RELEASE that was ever sent may arrive at
 * any time, any number of times, or never. Other messages are not modelled. Instead, at any time, a
 * process may win an election, may learn from the answers to its PREVOTE that a majority would
 * grant, or may receive a REFUSE, because a voter has promised a larger term or because its own
 * term has ended. A restart loses everything that is not on disk.
 *
 * The current time is always 0, and all other times are relative to it. If clocks may be
 * arbitrarily wrong, no lease or guard prevents a step, and a term may end at any moment. If clocks
 * stay within their bound, time passes for all processes in ticks. The times of leases, guards,
 * offices and sent rounds, which matter for safety, follow the clock. The times to renew, give up
 * or retry, which matter only for progress, may come at any moment.
 *
 * To reduce the number of worlds, the search removes differences without effect:
 *  1. State that can only forbid a step is left out. For example, closed terms are not recorded,
 *     and an office or a guard ends immediately, before its process acts again.
 *  2. The network keeps all messages, so a process need not remember them. Either all GRANTs of a
 *     round are counted, each of them twice, or none is. GRANTs of a term that is neither the
 *     latest nor in force are dropped. Of the RELEASEs of a process, only the latest is kept,
 *     because it includes the effects of the earlier ones.
 *  3. A certificate is a RELEASE inside a request, so certificates are not modelled separately. A
 *     HAND is treated like a RELEASE.
 *
 * The search therefore does not check how a voter answers a PREVOTE, how a candidate handles a
 * refusal, which leader a process follows, leases of different lengths, or times between two ticks.
 * Unit tests and storms cover these.
 */
#include "local.h"

#include <assert.h>
#include <string.h>

#define NOW       0
#define SOME_TIME 1 /* any moment */

/*
 * Number of the first round of a term; the prevote is 1. If a leader begins its next term without
 * leaving office, the numbers continue, so that it can keep the rounds of both terms.
 */
#define FIRST_ROUND 2

static uint32_t first_round(const struct elect_mandate *m)
{
    uint32_t first = UINT32_MAX;
    for (unsigned i = 0; i < ELECT_ROUNDS; i++)
        if (m->leader.term != 0 && m->leader.round[i].term == m->leader.term &&
            m->leader.round[i].number < first)
            first = m->leader.round[i].number;
    return first;
}

/* Rounds beyond the bound are treated as lost. */
static bool is_lost(const struct question *q, const struct elect_mandate *m, uint32_t round)
{
    uint32_t first = first_round(m);
    return first != UINT32_MAX && round >= first + q->max_rounds;
}

/* ---- one value for all states with the same future ---- */

static bool at_any_moment(const struct question *q, enum elect_time_name name)
{
    return q->clocks == CLOCKS_ANY || name == ELECT_RENEW || name == ELECT_GIVE_UP ||
           name == ELECT_RETRY;
}

/* Times that affect only progress or the choice of a leader are ignored. */
static bool is_forgotten(enum elect_time_name name)
{
    return name >= ELECT_LOOK && name <= ELECT_STANDS;
}

static void settle_times(const struct question *q, struct elect_mandate *m)
{
    for (unsigned i = 0; i < ELECT_SENT; i++) {
        elect_time *t = &m->time[i];
        if (is_forgotten((enum elect_time_name)i))
            *t = ELECT_UNSET;
        if (*t == ELECT_UNSET)
            continue;
        bool forbids = i == ELECT_EXPIRES || i == ELECT_GUARD;
        if (forbids && (*t <= NOW || q->clocks == CLOCKS_ANY))
            *t = ELECT_UNSET; /* it has ended and has no effect */
        else if (at_any_moment(q, (enum elect_time_name)i))
            *t = SOME_TIME;
        else if (*t < NOW)
            *t = NOW;
    }
    /* All times more than a lease ago have the same effect. */
    for (unsigned i = ELECT_SENT; i < ELECT_TIMES; i++) {
        elect_time lease = q->config.lease;
        if (m->time[i] != ELECT_UNSET && m->time[i] < -lease)
            m->time[i] = -lease;
    }
}

/* Clears state that is never used again or is also in the network's messages. */
static void settle_candidacy(struct elect_mandate *m)
{
    m->candidate.ayes = m->candidate.refused = m->leader.stale = 0;
    m->candidate.asked = m->seen = 0; /* hear_of() sets `seen` when needed */
    m->candidate.attempts = 0;
    m->candidate.prevote_round = 0;
    memset(m->candidate.wait, 0, sizeof m->candidate.wait);
    /* A prevote needs no state: it may be repeated and answered at any time. */
    if (m->candidate.stage == ELECT_PREVOTING) {
        m->candidate.stage = ELECT_NO_CANDIDATE;
        m->time[ELECT_GIVE_UP] = ELECT_UNSET;
    }
    if (!m->leader.handing)
        m->leader.successor = ELECT_NOBODY;
    /* The next term's rounds carry another term, so their numbers can restart. */
    if (m->candidate.stage == ELECT_NO_CANDIDATE && m->leader.token == 0)
        m->leader.rounds = 0;
    if (m->time[ELECT_EXPIRES] == ELECT_UNSET) {
        m->voter.holder = ELECT_NOBODY;
        m->voter.holder_incarnation = 0;
        m->voter.granted = 0;
    }
}

/* The election needs no state: any process may win at any time. */
static void settle_election(struct elect_node *node)
{
    node->state = ELECT_NORMAL;
    node->leader = ELECT_NOBODY;
    node->running = 0;
    node->mandate.candidate.nominated = false;
    node->mandate.presence.follows = ELECT_NOBODY;
    node->mandate.presence.followed = 0;
    node->mandate.candidate.certificate = 0;
    node->mandate.candidate.certified_by = 0;
    node->mandate.time[ELECT_RETRY] = ELECT_UNSET;
    node->mandate.presence.heir = ELECT_NOBODY;
}

static void settle_presence(struct elect_node *node)
{
    struct elect_mandate *m = &node->mandate;
    for (unsigned i = 0; i < ELECT_MAX; i++)
        m->presence.heard[i] = m->presence.heard_me[i] = ELECT_UNSET;
    memset(m->presence.penalty, 0, sizeof m->presence.penalty);
    memset(node->saved.met, 0, sizeof node->saved.met);
    m->presence.able = m->presence.differ = 0;
    if (m->leader.token == 0)
        m->leader.changed_in = 0;
}

/* Removes rounds beyond the bound and rounds of earlier terms. */
static void settle_rounds(const struct question *q, struct elect_mandate *m)
{
    for (unsigned i = 0; i < ELECT_ROUNDS; i++) {
        bool lost =
            m->leader.round[i].term == m->leader.term && is_lost(q, m, m->leader.round[i].number);
        bool old =
            m->leader.round[i].term != m->leader.term && m->leader.round[i].term != m->leader.token;
        if (lost || old) {
            memset(&m->leader.round[i], 0, sizeof m->leader.round[i]);
            m->time[ELECT_SENT + i] = ELECT_UNSET;
        }
    }
    if (is_lost(q, m, m->leader.rounds))
        m->leader.rounds = first_round(m) + q->max_rounds - 1;
}

void mandate_settle(const struct question *q, struct local *l)
{
    settle_election(&l->node);
    settle_presence(&l->node);
    settle_times(q, &l->node.mandate);
    settle_candidacy(&l->node.mandate);
    /* Without restarts left, the disk is never read again. */
    if (l->node.saved.incarnation > q->budget.crashes)
        memset(&l->disk, 0, sizeof l->disk);
    settle_rounds(q, &l->node.mandate);
    memset(l->node.saved.closed, 0, sizeof l->node.saved.closed);
    memset(l->disk.closed, 0, sizeof l->disk.closed);
    memset(l->disk.met, 0, sizeof l->disk.met);
}

/* ---- what happens ---- */

/* If the membership may change, drops the first round of each term, which could be lost on a real
 * network. A later round, which can carry a change of the membership, is then still within the
 * bound. */
static void lose_first_news(struct elect_mandate *m, struct elect_output *out)
{
    unsigned last = --m->leader.rounds % ELECT_ROUNDS;
    memset(&m->leader.round[last], 0, sizeof m->leader.round[last]);
    m->time[ELECT_SENT + last] = ELECT_UNSET;
    m->leader.changed_in--;
    out->sends = 0;
}

/* Adds the output to `all`, so that several steps count as one. */
static void take(const struct question *q, struct local *l, const struct elect_input *in,
                 struct elect_output *all)
{
    elect_term token = l->node.mandate.leader.token, latest = 0;
    struct elect_output out;
    elect_step(&q->config, &l->node, in, &out);
    if (out.persist)
        l->disk = l->node.saved;
    if (q->max_changes > 0 && out.rule.number == ELECT_RULE_TAKES_OFFICE)
        lose_first_news(&l->node.mandate, &out);
    l->broken |= claims_note(&l->claims, &latest, token, &l->node, &out, true);
    for (unsigned i = 0; i < out.sends; i++) {
        struct elect_message *m = &out.send[i].message;
        if (m->type != ELECT_REQUEST && m->type != ELECT_GRANT && m->type != ELECT_RELEASE &&
            m->type != ELECT_HAND)
            continue;
        assert(all->sends < ELECT_MAX_SENDS);
        /* Voters use `leading` only if the membership may change. */
        m->leading = m->leading && q->max_changes > 0;
        m->certificate = 0;
        m->roll = 0;
        m->heir = ELECT_NOBODY;
        m->claims = 0;
        if (m->type == ELECT_REQUEST && is_lost(q, &l->node.mandate, m->round))
            continue;
        all->send[all->sends++] = out.send[i];
    }
}

static void happen(const struct question *q, struct local *l, enum elect_event event,
                   struct elect_output *out)
{
    struct elect_input in = elect_happens(event, NOW);
    take(q, l, &in, out);
}

static void restart(const struct question *q, struct local *l, bool testament,
                    struct elect_output *out)
{
    struct elect_saved saved = l->disk;
    if (testament && saved.used != 0)
        out->send[out->sends++] = (struct elect_send){
            .to = elect_everyone(&q->config),
            .message = elect_testament(&q->config, l->node.me, saved.used, saved.incarnation)};
    struct elect_output ignored;
    elect_init(&q->config, &l->node, l->node.me, ELECT_NOBODY, &saved, NOW, &ignored);
    l->disk = l->node.saved;
    happen(q, l, ELECT_START, out);
}

static void answer(const struct question *q, struct local *l, uint8_t from, struct elect_message m,
                   struct elect_output *out)
{
    m.origin = from;
    m.incarnation = l->node.saved.incarnation;
    struct elect_input in = elect_received(from, &m, NOW);
    take(q, l, &in, out);
}

/* Every voter answers the prevote with an AYE (a yes). */
static void assent(const struct question *q, struct local *l, struct elect_output *out)
{
    for (uint8_t from = 0; from < q->config.n; from++)
        if (l->node.mandate.candidate.stage == ELECT_PREVOTING &&
            (q->config.voters >> from & 1) != 0)
            answer(q, l, from,
                   (struct elect_message){.type = ELECT_AYE,
                                          .term = l->node.mandate.candidate.asked,
                                          .round = l->node.mandate.candidate.prevote_round},
                   out);
}

static void hear_of(struct local *l, unsigned counter)
{
    elect_term e = elect_term_make(counter, 0);
    if (e > l->node.mandate.seen)
        l->node.mandate.seen = e;
}

/* No higher process answers, and all voters agree to grant a term above `counter`. */
static void win_election(const struct question *q, struct local *l, unsigned counter,
                         struct elect_output *out)
{
    const struct elect_mandate *m = &l->node.mandate;
    bool member = q->config.members >> l->node.me & 1;
    if (!member || m->leader.token != 0 || m->candidate.stage == ELECT_CONFIRMING)
        return;
    hear_of(l, counter);
    happen(q, l, ELECT_SUSPECT, out);
    if (l->node.state == ELECT_ELECTING)
        happen(q, l, ELECT_ANSWER_TIMER, out);
    assent(q, l, out);
}

/* Refuses a leader's request: a voter has promised a larger term, or the leader's term has
 * ended. */
static void refuse(const struct question *q, struct local *l, enum elect_refusal why,
                   unsigned counter, struct elect_output *out)
{
    elect_term token = l->node.mandate.leader.token;
    if (token == 0)
        return;
    if (why == ELECT_REFUSED_STALE &&
        (l->node.mandate.leader.term != token || l->node.mandate.leader.handing))
        return; /* too late: the leader has begun a new term or a hand-over */
    if (why == ELECT_REFUSED_STALE)
        l->node.mandate.leader.rounds =
            first_round(&l->node.mandate) == FIRST_ROUND ? FIRST_ROUND + q->max_rounds - 1 : 0;
    answer(q, l, l->node.me,
           (struct elect_message){.type = ELECT_REFUSE,
                                  .what = ELECT_REQUEST,
                                  .reason = (uint8_t)why,
                                  .term = token,
                                  .in_the_way = elect_term_make(counter, q->config.id[l->node.me])},
           out);
    assent(q, l, out);
}

static void resign(const struct question *q, struct local *l, unsigned to, struct elect_output *out)
{
    struct elect_input in = elect_resigns((uint8_t)to, NOW);
    if (l->node.mandate.leader.token != 0 && !l->node.mandate.leader.handing)
        take(q, l, &in, out);
}

static void change(const struct question *q, struct local *l, unsigned who,
                   struct elect_output *out)
{
    const struct elect_membership *m = &l->node.saved.membership;
    elect_set bit = (elect_set)1 << who;
    elect_set members = m->voters & bit ? m->members & ~bit : m->members | bit;
    struct elect_input in = elect_changes(members, m->voters ^ bit, NOW);
    if (l->node.mandate.leader.token != 0)
        take(q, l, &in, out);
}

static void come_due(const struct question *q, struct local *l, enum elect_time_name name,
                     struct elect_output *out)
{
    elect_time *t = &l->node.mandate.time[name];
    if (*t == ELECT_UNSET || !at_any_moment(q, name))
        return;
    *t = NOW;
    if (name != ELECT_EXPIRES)
        happen(q, l, ELECT_ALARM, out);
}

/* Delivers each voter's GRANT twice, because the network may duplicate it. */
static void count_grants(const struct question *q, struct local *l, const struct elect_message *m,
                         unsigned voters, struct elect_output *out)
{
    for (unsigned i = 0; i < 2u * q->config.n; i++) {
        struct elect_message grant = *m;
        grant.origin = (uint8_t)(i / 2);
        struct elect_input in = elect_received(grant.origin, &grant, NOW);
        if (voters >> grant.origin & 1)
            take(q, l, &in, out);
    }
    /* The same GRANTs may arrive again, so forget them. */
    for (unsigned i = 0; i < ELECT_ROUNDS; i++)
        if (l->node.mandate.leader.round[i].number == m->round &&
            l->node.mandate.leader.round[i].term == m->term)
            l->node.mandate.leader.round[i].voters &= ~(elect_set)voters;
}

/* A leader's times follow a slow clock and a voter's a fast one, even in the same process: the
 * worst case of clocks within their bound. */
static void tick(const struct question *q, struct elect_mandate *m)
{
    for (unsigned i = 0; i < ELECT_TIMES; i++)
        if (m->time[i] != ELECT_UNSET && !at_any_moment(q, (enum elect_time_name)i))
            m->time[i] -= i == ELECT_EXPIRES || i == ELECT_GUARD ? q->fast : q->slow;
}

static bool within_bounds(const struct question *q, const struct local *l)
{
    return elect_term_counter(l->node.mandate.leader.term) <= q->max_term &&
           l->node.saved.membership.version <= q->max_changes;
}

bool mandate_step(const struct question *q, uint32_t what, const struct elect_message *m,
                  struct local *l, struct elect_output *out)
{
    unsigned argument = what & 0xfffffff;
    struct elect_input in;
    memset(out, 0, sizeof *out);
    switch ((enum happening_kind)(what >> 28)) {
    case HAPPENS_LETTER:
        in = elect_received(argument & 15, m, NOW);
        take(q, l, &in, out);
        break;
    case HAPPENS_GRANTS: count_grants(q, l, m, argument & 0xff, out); break;
    case HAPPENS_EVENT: happen(q, l, (enum elect_event)argument, out); break;
    case HAPPENS_WIN: win_election(q, l, argument, out); break;
    case HAPPENS_STALE: refuse(q, l, ELECT_REFUSED_STALE, argument, out); break;
    case HAPPENS_CLOSED: refuse(q, l, ELECT_REFUSED_CLOSED, 0, out); break;
    case HAPPENS_DUE: come_due(q, l, (enum elect_time_name)argument, out); break;
    case HAPPENS_RESTART: restart(q, l, argument != 0, out); break;
    case HAPPENS_RESIGN: resign(q, l, argument, out); break;
    case HAPPENS_CHANGE: change(q, l, argument, out); break;
    case HAPPENS_TICK: tick(q, &l->node.mandate); break;
    case HAPPENS_CRASH:
    case HAPPENS_LOSS:
    case HAPPENS_COPY:
    case HAPPENS_CUT: break;
    }
    if (l->node.mandate.leader.token != 0 && !elect_in_office(&l->node, NOW))
        happen(q, l, ELECT_ALARM, out);
    if (q->clocks != CLOCKS_ANY && l->node.mandate.time[ELECT_GUARD] != ELECT_UNSET &&
        l->node.mandate.time[ELECT_GUARD] <= NOW)
        happen(q, l, ELECT_ALARM, out);
    mandate_settle(q, l);
    return within_bounds(q, l);
}

static bool releases(const struct elect_message *m)
{
    return m->type == ELECT_RELEASE || m->type == ELECT_HAND;
}

bool mandate_is_dead(const struct local *l, const struct elect_message *m,
                     const struct elect_message *other)
{
    if (m->type == ELECT_GRANT)
        return m->term < l->node.saved.used && m->term != l->node.mandate.leader.token;
    return releases(m) && releases(other) && m->origin == other->origin && m->term < other->term;
}
