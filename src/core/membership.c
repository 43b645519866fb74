/*
 * Membership: changes which processes vote and may lead, and readmits a member that has lost its
 * state.
 *
 * A leader changes the membership by one voter at a time. From that change on, every decision needs
 * two majorities, one of the current voters and one of the previous voters, until both majorities
 * have granted a round that carries the change. The next change must wait for the longest lease.
 *
 * Invariants:
 *  1. Memberships are ordered by (stamp, version), that is, by the term of the leader, then by the
 *     number of changes. A voter refuses a candidate whose membership is earlier than its own. When
 *     a voter grants, it adopts a later membership and persists it. Once both majorities know a
 *     membership, a candidate that does not know it cannot win.
 *  2. Only a leader in office changes the membership. Every new leader puts its own term as the
 *     stamp on the membership with which it was elected. A change does no harm if its leader fails
 *     before the change has reached both majorities: the next leader either knows the change and
 *     completes it, or leads with another membership, whose stamp is then later. Of two changes to
 *     the same membership, at most one is ever confirmed.
 *  3. Two memberships that are both in use differ by at most one voter, so that their majorities
 *     intersect. A grant remains valid when the membership changes.
 *
 * A member that has lost its state does not know what it has promised, but the others know every
 * promise that can still matter. If the member granted an office, so did the rest of a majority of
 * q voters, and any n-q+1 other voters include one that granted it. The member therefore asks n-q+1
 * voters, waits until none of its grants can be in force, asks again, and then promises everything
 * that those voters have promised.
 */
#include "mandate.h"

static unsigned count(set s) { return (unsigned)__builtin_popcountll(s); }

/* ---- change ---- */

static bool earlier(const struct elect_membership *a, const struct elect_membership *b)
{
    return a->stamp != b->stamp ? a->stamp < b->stamp : a->version < b->version;
}

/* Compares two memberships, ignoring their stamps and whether they are confirmed. */
static bool alike(const struct elect_membership *a, const struct elect_membership *b)
{
    return a->version == b->version && a->members == b->members && a->voters == b->voters;
}

bool elect__counts_wrongly(const struct process *p, number c, const message *m)
{
    const struct elect_membership *its = &m->membership, *mine = &saved(p)->membership;
    if (!has(its->members, c))
        return true;
    if (alike(its, mine))
        return false;
    /* A membership with stamp 0 was never changed by a leader: it comes from the candidate's
     * configuration, so the configurations of the two processes differ. */
    return earlier(its, mine) || its->stamp == 0;
}

void elect__adopt(struct process *p, const struct elect_membership *m)
{
    struct elect_membership *mine = &saved(p)->membership;
    bool known = alike(m, mine) && m->stamp == mine->stamp && m->before == mine->before;
    if (known || earlier(m, mine))
        return;
    *mine = *m;
    p->out->persist = true;
}

/* Returns the longest time that a lease may still be in force at any voter, by this process's
 * clock. Allows for a voter with a slow clock. */
static elect_time longest_lease(const struct process *p)
{
    const elect_time million = 1000000;
    elect_time longest = saved(p)->longest, left = p->node->mandate.time[ELECT_UNTIL] - p->now;
    longest = left > longest ? left : longest; /* other voters may have granted a longer lease */
    return longest * (million + p->config->drift) / (million - p->config->drift) + 1;
}

void elect__take_over_members(struct process *p)
{
    struct elect_membership *m = &saved(p)->membership;
    m->stamp = leader(p)->token; /* this stamp is later than that of any unconfirmed change */
    p->out->persist = true;
    leader(p)->changed_in = leader(p)->rounds + 1;
    *at(p, ELECT_NEXT_CHANGE) = p->now + longest_lease(p);
}

/* A leader need not adopt a membership that it does not know, because no such membership is
 * confirmed. */
void elect__learn_members(struct process *p, const struct elect_membership *m)
{
    if (!in_office(p) && m->stamp != 0 && earlier(&saved(p)->membership, m))
        elect__adopt(p, m);
}

bool elect__knows_later_members(const struct process *p, const struct elect_membership *m)
{
    return earlier(m, &saved(p)->membership);
}

bool elect__can_be_members(const struct process *p, const struct elect_membership *m)
{
    return m->members != 0 && m->before != 0 && (m->voters & ~all(p)) == 0 &&
           (m->before & ~all(p)) == 0 && (m->members & ~m->voters) == 0 &&
           count(m->voters ^ m->before) <= 1;
}

static bool can_be(const struct process *p, const struct elect_membership *m)
{
    struct elect_membership next = *m;
    next.before = saved(p)->membership.voters;
    return has(m->members, me(p)) && elect__can_be_members(p, &next);
}

void elect__change(struct process *p, const struct elect_membership *wanted)
{
    struct elect_membership *m = &saved(p)->membership;
    if (!in_office(p) || leader(p)->handing) {
        because(p, leader(p)->handing ? RESIGNS_ALREADY : HAS_NO_OFFICE);
    } else if (m->before != m->voters || before(p, ELECT_NEXT_CHANGE) ||
               leader(p)->term != leader(p)->token) {
        because(p, CHANGE_TOO_SOON);
    } else if (!can_be(p, wanted)) {
        because(p, CHANGE_TOO_LARGE);
    } else {
        m->stamp = leader(p)->token;
        m->version++;
        m->before = m->voters;
        m->voters = wanted->voters;
        m->members = wanted->members;
        p->out->persist = true;
        leader(p)->changed_in = leader(p)->rounds + 1;
        *at(p, ELECT_NEXT_CHANGE) = p->now + longest_lease(p);
        elect__round(p);
        because(p, CHANGES_MEMBERS);
    }
}

void elect__confirm_change(struct process *p, uint32_t round)
{
    struct elect_membership *m = &saved(p)->membership;
    if (m->before == m->voters || round < leader(p)->changed_in)
        return;
    m->before = m->voters;
    p->out->persist = true;
    *at(p, ELECT_NEXT_CHANGE) = p->now + longest_lease(p);
    because(p, MEMBERS_CHANGED);
}

/* ---- readmission ---- */

void elect__upon_forgot(struct process *p, number from, const message *m)
{
    elect__say(p, only(from),
               (message){.type = ELECT_REMEMBERS,
                         .question = m->question,
                         .lease = saved(p)->longest,
                         .term = p->node->mandate.seen,
                         .last_met = saved(p)->met[from],
                         .membership = saved(p)->membership});
    if (m->incarnation != 0) /* the sender's new incarnation must never be used again */
        p->out->persist = true;
    because(p, REMEMBERS_FOR);
}

/* Returns true if every majority that this member could have joined has a member in `some`. */
static bool enough_of(set electorate, set some)
{
    return count(some & electorate) + elect__quorum(electorate) > count(electorate);
}

static void ask(struct process *p)
{
    elect__say(p, all(p) & ~only(me(p)),
               (message){.type = ELECT_FORGOT,
                         .question = readmission(p)->question,
                         .incarnation = saved(p)->incarnation});
    *at(p, ELECT_LOOK) = p->now + p->config->renewal;
    because(p, HAS_FORGOTTEN);
}

static uint32_t longest(const struct process *p)
{
    uint32_t most = p->config->max_lease, known = saved(p)->longest;
    return known > most ? known : most;
}

static void ask_again(struct process *p)
{
    *at(p, ELECT_GUARD) = ELECT_UNSET;
    readmission(p)->stage = ELECT_ASKING_AGAIN;
    readmission(p)->remembering = 0;
    readmission(p)->question |= 1;
    saved(p)->incarnation = (ELECT_ERA(saved(p)->met[me(p)]) + 1) * ELECT_STARTS;
    ask(p);
}

static void know_enough(struct process *p)
{
    if (readmission(p)->stage == ELECT_ASKING) {
        readmission(p)->stage = ELECT_WAITING_IT_OUT;
        *at(p, ELECT_GUARD) = p->now + longest(p);
        *at(p, ELECT_LOOK) = ELECT_UNSET;
        because(p, WAITS_IT_OUT);
    } else if (saved(p)->met[me(p)] > saved(p)->incarnation) {
        ask_again(p); /* another process knows a later incarnation of this one */
    } else {
        readmission(p)->stage = ELECT_NOT_LOST;
        saved(p)->promised = saved(p)->used = p->node->mandate.seen;
        *at(p, ELECT_LOOK) = ELECT_UNSET;
        p->out->persist = true;
        start(p, ELECT_SUSPICION_TIMER);
        elect__penalize(p, 1);
        because(p, READMITTED);
    }
}

static void learn(struct process *p, number from, const message *m)
{
    raise_term(&p->node->mandate.seen, m->term);
    saved(p)->met[me(p)] = m->last_met > saved(p)->met[me(p)] ? m->last_met : saved(p)->met[me(p)];
    saved(p)->longest = m->lease > saved(p)->longest ? m->lease : saved(p)->longest;
    saved(p)->pause = m->pause > saved(p)->pause ? m->pause : saved(p)->pause;
    if (earlier(&saved(p)->membership, &m->membership))
        saved(p)->membership = m->membership;
    if (m->last_met >= saved(p)->incarnation) /* the sender has saved this process's incarnation */
        readmission(p)->remembering |= only(from);
    because(p, LEARNS);
    if (enough_of(saved(p)->membership.voters, readmission(p)->remembering) &&
        enough_of(saved(p)->membership.before, readmission(p)->remembering))
        know_enough(p);
}

void elect__remember(struct process *p, const struct elect_input *in)
{
    const message *m = &in->message;
    bool mine =
        m->question == readmission(p)->question && readmission(p)->stage != ELECT_WAITING_IT_OUT;
    because(p, NOTHING);
    if (in->event == ELECT_REMEMBERS && mine)
        learn(p, in->from, m);
    else if (in->event == ELECT_ASIDE || in->event == ELECT_READY)
        elect__stand_aside(p, in->event == ELECT_ASIDE);
    else if (in->event == ELECT_ALARM && due(p, ELECT_GUARD))
        ask_again(p);
    else if (in->event == ELECT_ALARM && due(p, ELECT_LOOK))
        ask(p);
}
