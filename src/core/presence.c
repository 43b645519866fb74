/*
 * Presence: tracks which members are reachable, so that no election disturbs a leader needlessly.
 *
 * A member that no longer hears its leader sends PRESENT to all voters every R, with a list of the
 * members that it has heard from recently. A member that knows a leader answers FOLLOWING, even to
 * messages of elections; any other member answers PRESENT. A member holds an election, or joins
 * one, only if
 *  1. it has spent the time T asking other members and has not heard of a leader,
 *  2. it sees a majority, that is, it and each member of that majority have heard each other within
 *     the suspicion time,
 *  3. it sees no member with fewer penalties that also sees a majority and wants an election.
 * Because of these conditions, the highest process does not block elections if it is cut off from
 * the majority (2), or if it reaches the majority but cannot win (3). A member that cannot hear the
 * leader does not depose that leader while others hear it (1).
 *
 * Members are ranked by penalties (fewest first), then by the algorithm: priority, then number. A
 * member gets one penalty for every start, one for every candidacy that failed although no lease
 * prevented it, and several for a resignation. After every decay time, the penalties are halved.
 *
 * A host tells its member to stand aside if there is no work for it or its health check fails. A
 * member that stands aside votes like any other member, reports in all messages of the mandate that
 * it stands aside, and cannot win. It holds and joins no election, withdraws its candidacy, and
 * neither claims nor inherits an office. A leader that is told to stand aside keeps its office,
 * even in a larger term (SUCCEEDS_ITSELF), until its host lets it resign. Only the host knows when
 * the work can move to another member. Once that office has ended, the member seeks no other.
 *
 * Safety does not depend on anything in this file.
 */
#include "ring_links.h"
#include "mandate.h"

#define MOST_PENALTIES 15

static elect_time suspicion_time(const struct process *p)
{
    return p->config->duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
}

/* ---- reachable members ---- */

set elect__lately(const struct process *p, const elect_time *times)
{
    elect_time since = p->now - suspicion_time(p);
    set some = only(me(p));
    for (number j = 0; j < p->config->n; j++)
        some |= times[j] != ELECT_UNSET && times[j] >= since ? only(j) : 0;
    return some;
}

/* Returns the members that this process hears and that hear it. */
static set reachable(const struct process *p)
{
    return elect__lately(p, presence(p)->heard) & elect__lately(p, presence(p)->heard_me);
}

bool elect__sees_majority(const struct process *p)
{
    return !p->config->stable || elect__majority(p, reachable(p));
}

static bool hears_me(const struct process *p, const message *m)
{
    switch (m->type) {
    case ELECT_PRESENT: return has(m->heard, me(p));
    case ELECT_REQUEST: return has(m->roll, me(p));
    case ELECT_AYE:
    case ELECT_GRANT:
    case ELECT_REFUSE:
    case ELECT_FOLLOWING: return true;
    default: return false;
    }
}

/* Returns true if `incarnation` in this message is the sender's own. */
static bool says_who_it_is(const message *m)
{
    return m->type != ELECT_AYE && m->type != ELECT_GRANT && m->type != ELECT_REFUSE &&
           m->type != ELECT_REMEMBERS;
}

/* A readmitted member may reuse a term that it requested but never won, so messages about that term
 * do not count if they are older than the loss of the state. */
bool elect__of_a_former_life(const struct process *p, number who, uint32_t life)
{
    return ELECT_ERA(life) < ELECT_ERA(who == me(p) ? saved(p)->incarnation : saved(p)->met[who]);
}

static void hear_of_pause(struct process *p, uint32_t pause)
{
    if (pause <= saved(p)->pause)
        return;
    saved(p)->pause = pause;
    p->out->persist = true;
}

void elect__hear(struct process *p, number from, const message *m)
{
    p->newcomer = !has(elect__lately(p, presence(p)->heard), from);
    presence(p)->heard[from] = p->now;
    if (hears_me(p, m))
        presence(p)->heard_me[from] = p->now;
    /* Only a process that could win sends ELECTION or NOTICE with its own number; a process that
     * merely joins an election sends ELECT. */
    if (m->type == ELECT_ELECTION || m->type == ELECT_NOTICE)
        presence(p)->able |= only(m->origin);
    if (m->type < ELECT_PREVOTE)
        return; /* messages of the algorithms do not carry the fields below */
    presence(p)->penalty[from] = m->penalty;
    presence(p)->aside =
        m->aside != 0 ? presence(p)->aside | only(from) : presence(p)->aside & ~only(from);
    presence(p)->differ = m->digest == p->config->digest ? presence(p)->differ & ~only(from)
                                                         : presence(p)->differ | only(from);
    if (m->type == ELECT_PRESENT)
        presence(p)->able =
            m->able ? presence(p)->able | only(from) : presence(p)->able & ~only(from);
    if (m->type == ELECT_PRESENT || m->type == ELECT_FOLLOWING)
        elect__learn_members(p, &m->membership);
    if (says_who_it_is(m) && m->incarnation > saved(p)->met[from])
        saved(p)->met[from] = m->incarnation;
    hear_of_pause(p, m->pause);
}

/* ---- fitness ---- */

void elect__penalize(struct process *p, unsigned penalties)
{
    if (!p->config->stable)
        return;
    penalties += presence(p)->penalties;
    presence(p)->penalties = (uint8_t)(penalties < MOST_PENALTIES ? penalties : MOST_PENALTIES);
    *at(p, ELECT_DECAY) = p->now + p->config->decay;
}

static void forget_penalties(struct process *p)
{
    presence(p)->penalties /= 2;
    *at(p, ELECT_DECAY) = presence(p)->penalties > 0 ? p->now + p->config->decay : ELECT_UNSET;
}

static bool is_outclassed(const struct process *p)
{
    for (set rest = reachable(p) & others(p) & presence(p)->able & ~presence(p)->aside; rest != 0;
         rest &= rest - 1)
        if (presence(p)->penalty[__builtin_ctzll(rest)] < presence(p)->penalties)
            return true;
    return false;
}

static unsigned penalties_of(const struct process *p, number j)
{
    return j == me(p) ? presence(p)->penalties : presence(p)->penalty[j];
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
    return has(members(p), me(p)) && !leader(p)->working && !elect__paused(p) && !stands_aside(p) &&
           elect__sees_majority(p);
}

/* Returns true if this process has joined a ring round. It must then take part until the round
 * ends, because the processes after it on the ring rely on it. */
static bool stays(const struct process *p, const message *m)
{
    bool in_it = !is(p, NORMAL) || leads(p);
    return p->algorithm->ring && in_it && (m == NULL || m->round <= saved(p)->round);
}

bool elect__takes_part(const struct process *p, const message *m)
{
    return could_win(p) && (stays(p, m) || !is_outclassed(p));
}

/* ---- messages ---- */

/* Returns true if this process could win an election that it is holding or about to hold. */
static bool is_able(const struct process *p)
{
    return could_win(p) && (presence(p)->restless || !is(p, NORMAL) || leads(p));
}

static void say_present(struct process *p, set to)
{
    elect__say(p, to & ~only(me(p)),
               (message){.type = ELECT_PRESENT,
                         .heard = elect__lately(p, presence(p)->heard),
                         .incarnation = saved(p)->incarnation,
                         .membership = saved(p)->membership,
                         .able = is_able(p)});
}

static void look(struct process *p)
{
    say_present(p, voters(p) | members(p));
    *at(p, ELECT_LOOK) = p->now + p->config->renewal;
}

/* Returns true if this process leads, or its grant to its leader is still in force. A leader known
 * only from a FOLLOWING does not count. */
static bool knows_leader(const struct process *p)
{
    return in_office(p) ||
           (presence(p)->follows != ELECT_NOBODY && presence(p)->follows == voter(p)->holder &&
            !presence(p)->told && before(p, ELECT_EXPIRES));
}

static void tell(struct process *p, set to)
{
    bool leads = in_office(p);
    elect_time heard = leads ? p->now : presence(p)->heard[presence(p)->follows];
    elect_time left = heard + suspicion_time(p) - p->now;
    elect__say(p, to & ~only(me(p)),
               (message){.type = ELECT_FOLLOWING,
                         .term = leads ? leader(p)->token : voter(p)->granted,
                         .heir = presence(p)->heir,
                         .incarnation = saved(p)->incarnation,
                         .membership = saved(p)->membership,
                         .valid_for = (uint32_t)(left > 0 ? left : 0)});
    because(p, TELLS_LEADER);
    p->out->rule.b = leads ? me(p) : presence(p)->follows;
}

void elect__upon_present(struct process *p, number from, const message *m)
{
    if (knows_leader(p)) {
        tell(p, only(from));
        return;
    }
    /* The sender and this process must both learn that the other one hears them. */
    bool answers =
        !has(m->heard, me(p)) || p->newcomer || elect__knows_later_members(p, &m->membership);
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
    if (!is(p, NORMAL) || leads(p)) {
        leave_election(p);
        presence(p)->restless = true;
        candidate(p)->nominated = false;
    }
    because(p, elect__paused(p) ? IS_PAUSED : stands_aside(p) ? IS_ASIDE : STANDS_BACK);
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
    number its_leader = elect__owner(p, m->term);
    bool hears_one = in_office(p) || (presence(p)->follows != ELECT_NOBODY && !presence(p)->told);
    if (!p->config->stable || hears_one || its_leader == me(p) ||
        m->term <= saved(p)->closed[its_leader] || !has(members(p), me(p))) {
        because(p, SEES);
        return;
    }
    bool news = presence(p)->follows != its_leader;
    if (candidate(p)->stage != ELECT_NO_CANDIDATE)
        elect__withdraw(p);
    leave_election(p);
    p->node->leader = presence(p)->follows = its_leader;
    presence(p)->told = true;
    presence(p)->restless = false;
    *at(p, ELECT_RETRY) = *at(p, ELECT_BEGIN) = ELECT_UNSET;
    elect_time left = m->valid_for < suspicion_time(p) ? m->valid_for : suspicion_time(p);
    *at(p, ELECT_LOOK) = p->now + left + 1;
    because(p, !news ? TOLD_AGAIN : its_leader == from ? LEADER_TELLS : IS_TOLD);
    p->out->rule.b = its_leader;
}

void elect__miss(struct process *p)
{
    bool looks = is_set(p, ELECT_LOOK) && !presence(p)->told;
    leave_election(p);
    presence(p)->told = false;
    presence(p)->restless = presence(p)->restless || (looks && !is_set(p, ELECT_BEGIN));
    if (!presence(p)->restless && !is_set(p, ELECT_BEGIN)) {
        *at(p, ELECT_LOOK) = ELECT_UNSET; /* so that elect__keep_watch() sends PRESENT now */
        *at(p, ELECT_BEGIN) = p->now + p->config->answer_bound;
    }
    because(p, p->about != ELECT_NOBODY ? MISSES : looks ? STILL_LOOKS : LOOKS_AROUND);
}

void elect__be_patient(struct process *p)
{
    if (presence(p)->restless || is_set(p, ELECT_BEGIN))
        *at(p, ELECT_BEGIN) = p->now + p->config->answer_bound;
    presence(p)->restless = false;
}

void elect__look_on_time(struct process *p)
{
    if (due(p, ELECT_DECAY))
        forget_penalties(p);
    if (due(p, ELECT_LOOK)) {
        look(p);
        if (presence(p)->told && !is_set(p, ELECT_BEGIN))
            *at(p, ELECT_BEGIN) = p->now + p->config->answer_bound;
    }
    if (due(p, ELECT_BEGIN)) {
        *at(p, ELECT_BEGIN) = ELECT_UNSET;
        presence(p)->restless = true;
        if (presence(p)->told) { /* no process has repeated the FOLLOWING in time */
            presence(p)->told = false;
            p->node->leader = presence(p)->follows = ELECT_NOBODY;
        }
    }
}

/* Returns true if this follower is fitter than its leader. It may claim the office once it has seen
 * a majority for preempt_after. */
static bool would_take_place(struct process *p)
{
    bool follows = !in_office(p) && presence(p)->follows != ELECT_NOBODY && !presence(p)->told;
    if (!p->config->preempt || !follows || elect__paused(p) || stands_aside(p) ||
        !has(members(p), me(p)) || !elect__displaces(p, me(p), presence(p)->follows)) {
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
    bool member = has(members(p), me(p));
    bool leaderless = !in_office(p) && (presence(p)->follows == ELECT_NOBODY || presence(p)->told);
    bool looks = would_take_place(p) || leaderless;
    if (!leaderless) {
        *at(p, ELECT_BEGIN) = ELECT_UNSET;
        presence(p)->restless = false;
    }
    if (!member && (leads(p) || !is(p, NORMAL)))
        leave_election(p);
    if (!looks || !p->config->stable || !member) {
        *at(p, ELECT_LOOK) = ELECT_UNSET;
        return;
    }
    if (!is_set(p, ELECT_LOOK))
        look(p);
    bool waits = presence(p)->told || runs(p, ELECT_SUSPICION_TIMER) || is_set(p, ELECT_BEGIN);
    if (leaderless && !waits && is(p, NORMAL) && p->node->leader == ELECT_NOBODY)
        presence(p)->restless = true;
    if (presence(p)->restless && is(p, NORMAL) && !leads(p) && elect__takes_part(p, NULL)) {
        presence(p)->restless = false;
        p->algorithm->begin(p, SEES_MAJORITY);
    }
}

/* ---- pauses ---- */

bool elect__paused(const struct process *p) { return p->node->saved.pause % 2 != 0; }

void elect__pause(struct process *p, bool on)
{
    if (elect__paused(p) != on)
        hear_of_pause(p, saved(p)->pause + 1);
    because(p, on ? PAUSES : RESUMES);
}

/* ---- standing aside ---- */

void elect__stand_aside(struct process *p, bool aside)
{
    if (!p->config->stable) {
        because(p, NOTHING);
        return;
    }
    presence(p)->aside =
        aside ? presence(p)->aside | only(me(p)) : presence(p)->aside & ~only(me(p));
    if (aside && !in_office(p)) {
        if (candidate(p)->stage != ELECT_NO_CANDIDATE)
            elect__withdraw(p);
        *at(p, ELECT_RETRY) = ELECT_UNSET;
        elect__stand_back(p);
    }
    because(p, aside ? STANDS_ASIDE : STANDS_READY);
}
