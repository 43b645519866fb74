/*
 * Sight: who is there, and who is not; so that nobody is disturbed in vain.
 *
 * Who misses a leader says PRESENT to all voters, every R, with the list of those that it has heard
 * lately. Who follows a leader, or is it, answers with that (FOLLOWING), to elections too; anybody
 * else with PRESENT. A member holds elections, and takes part in those of others, only if
 *  1. it has asked for T, and heard of no leader,
 *  2. it sees a majority: has heard it, and was heard by it, within the suspicion time,
 *  3. it sees nobody with fewer penalties who sees a majority, too, and wants an election.
 * So the top process blocks nobody if it is cut off from the majority (2), or sees it and cannot
 * win (3), and who cannot hear a leader that others hear does not depose it (1).
 *
 * That is the rank of a process: the fewest penalties, then (by the algorithm) the highest
 * priority, then the highest number. A penalty comes with every start, with every candidacy that
 * failed though nobody was in its way, and, more of them, with a resignation; half of them are
 * forgotten after every decay time.
 *
 * None of this is about safety.
 */
#include "ring_links.h"
#include "mandate.h"

#define MOST_PENALTIES 15

static elect_time suspicion_time(const struct process *p)
{
    return p->config->duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
}

/* ---- who is there ---- */

set elect__lately(const struct process *p, const elect_time *times)
{
    elect_time since = p->now - suspicion_time(p);
    set some = only(me(p));
    for (number j = 0; j < p->config->n; j++)
        some |= times[j] != ELECT_UNSET && times[j] >= since ? only(j) : 0;
    return some;
}

/* In both directions. */
static set in_sight(const struct process *p)
{
    return elect__lately(p, p->node->mandate.heard) & elect__lately(p, p->node->mandate.heard_me);
}

bool elect__sees_majority(const struct process *p)
{
    return !p->config->stable || elect__majority(p, in_sight(p));
}

/* Does this show that its sender hears me? */
static bool hears_me(const struct process *p, const message *m)
{
    switch (m->type) {
    case ELECT_PRESENT:
    case ELECT_REQUEST: return has(m->set, me(p));
    case ELECT_AYE:
    case ELECT_GRANT:
    case ELECT_REFUSE:
    case ELECT_FOLLOWING: return true;
    default: return false;
    }
}

/* Is the incarnation that of its sender? */
static bool says_who_it_is(const message *m)
{
    return m->type != ELECT_AYE && m->type != ELECT_GRANT && m->type != ELECT_REFUSE &&
           m->type != ELECT_REMEMBERS;
}

/* Who was readmitted may use a term again that it used, and never led, before it lost its state:
 * what it said then of that term is not about this one. */
bool elect__of_a_former_life(const struct process *p, number who, uint32_t life)
{
    const struct elect_saved *s = &p->node->saved;
    return ELECT_ERA(life) < ELECT_ERA(who == me(p) ? s->incarnation : s->met[who]);
}

static void hear_of_pause(struct process *p, uint32_t pause)
{
    if (pause <= p->node->saved.pause)
        return;
    p->node->saved.pause = pause;
    p->out->persist = true;
}

void elect__hear(struct process *p, number from, const message *m)
{
    struct elect_mandate *s = &p->node->mandate;
    p->newcomer = !has(elect__lately(p, s->heard), from);
    s->heard[from] = p->now;
    if (hears_me(p, m))
        s->heard_me[from] = p->now;
    /* who could not win would not hold one; but ELECT is what those say who only join */
    if (m->type == ELECT_ELECTION || m->type == ELECT_NOTICE)
        s->able |= only(m->origin);
    if (m->type < ELECT_PREVOTE)
        return; /* elections know nothing of this */
    s->penalty[from] = m->penalty;
    s->differ = m->digest == p->config->digest ? s->differ & ~only(from) : s->differ | only(from);
    if (m->type == ELECT_PRESENT)
        s->able = m->able ? s->able | only(from) : s->able & ~only(from);
    if (m->type == ELECT_PRESENT || m->type == ELECT_FOLLOWING)
        elect__learn_members(p, &m->membership);
    if (says_who_it_is(m) && m->incarnation > p->node->saved.met[from])
        p->node->saved.met[from] = m->incarnation;
    hear_of_pause(p, m->pause);
}

/* ---- rank ---- */

void elect__penalize(struct process *p, unsigned penalties)
{
    struct elect_mandate *s = &p->node->mandate;
    if (!p->config->stable)
        return;
    penalties += s->penalties;
    s->penalties = (uint8_t)(penalties < MOST_PENALTIES ? penalties : MOST_PENALTIES);
    *at(p, ELECT_DECAY) = p->now + p->config->decay;
}

static void forget_penalties(struct process *p)
{
    struct elect_mandate *s = &p->node->mandate;
    s->penalties /= 2;
    *at(p, ELECT_DECAY) = s->penalties > 0 ? p->now + p->config->decay : ELECT_UNSET;
}

/* Somebody in sight who could lead as well, and has fewer penalties. */
static bool somebody_is_fitter(const struct process *p)
{
    const struct elect_mandate *s = &p->node->mandate;
    for (set rest = in_sight(p) & others(p) & s->able; rest != 0; rest &= rest - 1)
        if (s->penalty[__builtin_ctzll(rest)] < s->penalties)
            return true;
    return false;
}

static unsigned penalties_of(const struct process *p, number j)
{
    return j == me(p) ? p->node->mandate.penalties : p->node->mandate.penalty[j];
}

bool elect__outranks(const struct process *p, number a, number b)
{
    unsigned of_a = penalties_of(p, a), of_b = penalties_of(p, b);
    return of_a != of_b ? of_a < of_b : a > b;
}

bool elect__displaces(const struct process *p, number a, number b)
{
    unsigned of_a = penalties_of(p, a), of_b = penalties_of(p, b);
    return a > b ? of_a <= of_b : of_a < of_b / 2;
}

static bool could_win(const struct process *p)
{
    return has(everybody(p), me(p)) && !p->node->mandate.working && !elect__paused(p) &&
           elect__sees_majority(p);
}

/* Who has said yes to a round of a ring stays until it is over: those behind it count on that. */
static bool stays(const struct process *p, const message *m)
{
    bool in_it = !is(p, NORMAL) || leads(p);
    return p->algorithm->ring && in_it && (m == NULL || m->round <= p->node->saved.round);
}

bool elect__takes_part(const struct process *p, const message *m)
{
    return could_win(p) && (stays(p, m) || !somebody_is_fitter(p));
}

/* ---- saying so ---- */

/* It holds an election, or is about to, and could win. */
static bool is_able(const struct process *p)
{
    return could_win(p) && (p->node->mandate.restless || !is(p, NORMAL) || leads(p));
}

static void say_present(struct process *p, set to)
{
    elect__say(p, to & ~only(me(p)),
               (message){.type = ELECT_PRESENT,
                         .set = elect__lately(p, p->node->mandate.heard),
                         .incarnation = p->node->saved.incarnation,
                         .membership = p->node->saved.membership,
                         .able = is_able(p)});
}

static void look(struct process *p)
{
    say_present(p, voters(p) | everybody(p));
    *at(p, ELECT_LOOK) = p->now + p->config->renewal;
}

/* By itself, not by hearsay. */
static bool knows_leader(const struct process *p)
{
    const struct elect_mandate *s = &p->node->mandate;
    return s->token != 0 || (s->follows != ELECT_NOBODY && s->follows == s->holder && !s->told &&
                             before(p, ELECT_EXPIRES));
}

static void tell(struct process *p, set to)
{
    const struct elect_mandate *s = &p->node->mandate;
    bool leads = s->token != 0;
    elect_time heard = leads ? p->now : s->heard[s->follows];
    elect_time left = heard + suspicion_time(p) - p->now;
    elect__say(p, to & ~only(me(p)),
               (message){.type = ELECT_FOLLOWING,
                         .term = leads ? s->token : s->granted,
                         .heir = s->heir,
                         .incarnation = p->node->saved.incarnation,
                         .membership = p->node->saved.membership,
                         .remaining = (uint32_t)(left > 0 ? left : 0)});
    because(p, TELLS_LEADER);
    p->out->rule.b = leads ? me(p) : s->follows;
}

void elect__upon_present(struct process *p, number from, const message *m)
{
    if (knows_leader(p)) {
        tell(p, only(from));
        return;
    }
    bool answers = !has(m->set, me(p)) || p->newcomer || /* each must know that it is heard */
                   elect__knows_later_members(p, &m->membership);
    if (answers)
        say_present(p, only(from));
    because(p, answers ? SAYS_PRESENT : SEES);
}

/* ---- elections ---- */

static void leave_election(struct process *p)
{
    if (!is(p, NORMAL))
        stop(p, ELECT_DEADLINE_TIMER);
    stop(p, ELECT_ANSWER_TIMER);
    elect__leave_round(p);
    p->node->state = NORMAL;
    p->node->leader = ELECT_NOBODY;
}

void elect__stand_back(struct process *p)
{
    if (!is(p, NORMAL) || leads(p)) { /* else it holds none */
        leave_election(p);
        p->node->mandate.restless = true;
        p->node->mandate.nominated = false;
    }
    because(p, elect__paused(p) ? IS_PAUSED : STANDS_BACK);
}

bool elect__keeps_out(struct process *p, number from, const message *m)
{
    bool asked = m != NULL, holds = !is(p, NORMAL);
    if (!p->config->stable)
        return false;
    if (asked && knows_leader(p))
        tell(p, only(from) | (p->algorithm->ring ? only(m->origin) : 0));
    else if ((asked || holds) && !elect__takes_part(p, m))
        elect__stand_back(p);
    else
        return false;
    return true;
}

void elect__upon_following(struct process *p, number from, const message *m)
{
    struct elect_mandate *s = &p->node->mandate;
    number leader = elect__owner(p, m->term);
    bool hears_one = s->token != 0 || (s->follows != ELECT_NOBODY && !s->told);
    if (!p->config->stable || hears_one || leader == me(p) ||
        m->term <= p->node->saved.closed[leader] || !has(everybody(p), me(p))) {
        because(p, SEES);
        return;
    }
    bool news = s->follows != leader;
    if (s->candidacy != ELECT_NO_CANDIDATE)
        elect__withdraw(p);
    leave_election(p);
    p->node->leader = s->follows = leader;
    s->told = true;
    s->restless = false;
    *at(p, ELECT_RETRY) = *at(p, ELECT_BEGIN) = ELECT_UNSET;
    elect_time left = m->remaining < suspicion_time(p) ? m->remaining : suspicion_time(p);
    *at(p, ELECT_LOOK) = p->now + left + 1;
    because(p, !news ? TOLD_AGAIN : leader == from ? LEADER_TELLS : IS_TOLD);
    p->out->rule.b = leader;
}

void elect__miss(struct process *p)
{
    struct elect_mandate *s = &p->node->mandate;
    bool looks = is_set(p, ELECT_LOOK) && !s->told;
    leave_election(p);
    s->told = false;
    s->restless = s->restless || (looks && !is_set(p, ELECT_BEGIN));
    if (!s->restless && !is_set(p, ELECT_BEGIN)) {
        *at(p, ELECT_LOOK) = ELECT_UNSET; /* at once: see keep_watch */
        *at(p, ELECT_BEGIN) = p->now + p->config->answer_bound;
    }
    because(p, p->about != ELECT_NOBODY ? MISSES : looks ? STILL_LOOKS : LOOKS_AROUND);
}

void elect__be_patient(struct process *p)
{
    struct elect_mandate *s = &p->node->mandate;
    if (s->restless || is_set(p, ELECT_BEGIN))
        *at(p, ELECT_BEGIN) = p->now + p->config->answer_bound;
    s->restless = false;
}

void elect__look_on_time(struct process *p)
{
    struct elect_mandate *s = &p->node->mandate;
    if (due(p, ELECT_DECAY))
        forget_penalties(p);
    if (due(p, ELECT_LOOK)) {
        look(p);
        if (s->told && !is_set(p, ELECT_BEGIN))
            *at(p, ELECT_BEGIN) = p->now + p->config->answer_bound;
    }
    if (due(p, ELECT_BEGIN)) {
        *at(p, ELECT_BEGIN) = ELECT_UNSET;
        s->restless = true;
        if (s->told) { /* nobody tells it any more */
            s->told = false;
            p->node->leader = s->follows = ELECT_NOBODY;
        }
    }
}

/* Who is fitter than its leader: it must see a majority, and for some time, before it says so. */
static bool would_take_place(struct process *p)
{
    const struct elect_mandate *s = &p->node->mandate;
    bool follows = s->token == 0 && s->follows != ELECT_NOBODY && !s->told;
    if (!p->config->preempt || !follows || elect__paused(p) || !has(everybody(p), me(p)) ||
        !elect__displaces(p, me(p), s->follows)) {
        *at(p, ELECT_CLAIM) = ELECT_UNSET;
        return false;
    }
    if (!elect__sees_majority(p))
        *at(p, ELECT_CLAIM) = ELECT_UNSET;
    else if (!is_set(p, ELECT_CLAIM))
        *at(p, ELECT_CLAIM) = p->now + p->config->preempt_after;
    return true;
}

void elect__keep_watch(struct process *p)
{
    struct elect_mandate *s = &p->node->mandate;
    bool member = has(everybody(p), me(p));
    bool leaderless = s->token == 0 && (s->follows == ELECT_NOBODY || s->told);
    bool looks = would_take_place(p) || leaderless;
    if (!leaderless) {
        *at(p, ELECT_BEGIN) = ELECT_UNSET;
        s->restless = false;
    }
    if (!member && (leads(p) || !is(p, NORMAL)))
        leave_election(p); /* it is no member any more */
    if (!looks || !p->config->stable || !member) {
        *at(p, ELECT_LOOK) = ELECT_UNSET;
        return;
    }
    if (!is_set(p, ELECT_LOOK))
        look(p);
    bool waits = s->told || runs(p, ELECT_SUSPICION_TIMER) || is_set(p, ELECT_BEGIN);
    if (leaderless && !waits && is(p, NORMAL) && p->node->leader == ELECT_NOBODY)
        s->restless = true;
    if (s->restless && is(p, NORMAL) && !leads(p) && elect__takes_part(p, NULL)) {
        s->restless = false;
        p->algorithm->begin(p, SEES_MAJORITY);
    }
}

/* ---- pause mode ---- */

bool elect__paused(const struct process *p) { return p->node->saved.pause % 2 != 0; }

void elect__pause(struct process *p, bool on)
{
    if (elect__paused(p) != on)
        hear_of_pause(p, p->node->saved.pause + 1);
    because(p, on ? PAUSES : RESUMES);
}
