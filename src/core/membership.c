/*
 * Membership: who votes, who may lead, and what becomes of a member that has lost its state.
 *
 * A leader changes it, one voter at a time. From then on everything needs two majorities, of those
 * who vote now and of those who voted before, until a round that tells of the change is granted by
 * both; the next change waits for the longest lease.
 *
 * Invariants:
 *  1. Memberships are ordered by (stamp, version): by term, and by how many there were before. A
 *     voter grants nothing to who counts with an earlier one than it knows of; when it grants it
 *     takes over the later one, and writes it down. So once both majorities know a membership
 *     nobody who does not can win.
 *  2. Only a leader in office makes one, and every leader makes the one that it was elected with
 *     its own, with the stamp of its term. So a change that did not reach both majorities, because
 *     its leader failed, is known to too few to matter: the next leader either knows it, and goes
 *     on with it, or leads without it, and what it leads with is later. Of two changes of one
 *     membership at most one is ever confirmed.
 *  3. Two memberships that are both in use differ by one voter, so that majorities of them
 *     intersect; and what a voter granted holds whatever the membership is by now.
 *
 * A member that has lost its state has forgotten what it promised. What can matter of it, a
 * majority knows: an office that its vote made was granted by a majority, of which every n-q+1
 * others know one. It asks them, waits until nothing that it granted can be in force or become so,
 * asks again, and promises all that they have.
 */
#include "mandate.h"

static unsigned count(set s) { return (unsigned)__builtin_popcountll(s); }

/* ---- change ---- */

static bool earlier(const struct elect_membership *a, const struct elect_membership *b)
{
    return a->stamp != b->stamp ? a->stamp < b->stamp : a->version < b->version;
}

/* The same, whoever led with it last. */
static bool alike(const struct elect_membership *a, const struct elect_membership *b)
{
    return a->version == b->version && a->members == b->members && a->voters == b->voters;
}

bool elect__counts_wrongly(const struct process *p, number c, const message *m)
{
    const struct elect_membership *its = &m->membership, *mine = &p->node->saved.membership;
    if (!has(its->members, c))
        return true;
    if (alike(its, mine))
        return false;
    return earlier(its, mine) || its->stamp == 0; /* nobody made it: another configuration */
}

void elect__adopt(struct process *p, const struct elect_membership *m)
{
    struct elect_membership *mine = &p->node->saved.membership;
    bool known = alike(m, mine) && m->stamp == mine->stamp && m->before == mine->before;
    if (known || earlier(m, mine))
        return;
    *mine = *m;
    p->out->persist = true;
}

/* By this clock, the longest lease of any voter, whose clock may be a slow one. */
static elect_time longest_lease(const struct process *p)
{
    const elect_time million = 1000000;
    const struct elect_mandate *o = &p->node->mandate;
    elect_time longest = p->node->saved.longest, left = o->time[ELECT_UNTIL] - p->now;
    longest = left > longest ? left : longest; /* granted by others, for longer */
    return longest * (million + p->config->drift) / (million - p->config->drift) + 1;
}

void elect__take_over_members(struct process *p)
{
    struct elect_membership *m = &p->node->saved.membership;
    m->stamp = p->node->mandate.token; /* later than all before that were not confirmed */
    p->out->persist = true;
    p->node->mandate.changed_in = p->node->mandate.rounds + 1;
    *at(p, ELECT_NEXT_CHANGE) = p->now + longest_lease(p);
}

/* Who is in office goes by its own: what it does not know of was never confirmed. */
void elect__learn_members(struct process *p, const struct elect_membership *m)
{
    if (p->node->mandate.token == 0 && m->stamp != 0 && earlier(&p->node->saved.membership, m))
        elect__adopt(p, m);
}

bool elect__knows_later_members(const struct process *p, const struct elect_membership *m)
{
    return earlier(m, &p->node->saved.membership);
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
    next.before = p->node->saved.membership.voters;
    return has(m->members, me(p)) && elect__can_be_members(p, &next);
}

void elect__change(struct process *p, const struct elect_membership *wanted)
{
    struct elect_mandate *o = &p->node->mandate;
    struct elect_membership *m = &p->node->saved.membership;
    if (o->token == 0 || o->handing) {
        because(p, o->handing ? RESIGNS_ALREADY : HAS_NO_OFFICE);
    } else if (m->before != m->voters || before(p, ELECT_NEXT_CHANGE) || o->term != o->token) {
        because(p, CHANGE_TOO_SOON);
    } else if (!can_be(p, wanted)) {
        because(p, CHANGE_TOO_LARGE);
    } else {
        m->stamp = o->token;
        m->version++;
        m->before = m->voters;
        m->voters = wanted->voters;
        m->members = wanted->members;
        p->out->persist = true;
        o->changed_in = o->rounds + 1;
        *at(p, ELECT_NEXT_CHANGE) = p->now + longest_lease(p);
        elect__round(p);
        because(p, CHANGES_MEMBERS);
    }
}

void elect__confirm_change(struct process *p, uint32_t round)
{
    struct elect_membership *m = &p->node->saved.membership;
    if (m->before == m->voters || round < p->node->mandate.changed_in)
        return;
    m->before = m->voters;
    p->out->persist = true;
    *at(p, ELECT_NEXT_CHANGE) = p->now + longest_lease(p);
    because(p, MEMBERS_CHANGED);
}

/* ---- readmission ---- */

void elect__upon_forgot(struct process *p, number from, const message *m)
{
    const struct elect_saved *s = &p->node->saved;
    elect__say(p, only(from),
               (message){.type = ELECT_REMEMBERS,
                         .round = m->round,
                         .lease = s->longest,
                         .term = p->node->mandate.seen,
                         .incarnation = s->met[from],
                         .membership = s->membership});
    if (m->incarnation != 0) /* its next life: nobody may call itself that again */
        p->out->persist = true;
    because(p, REMEMBERS_FOR);
}

/* Of every majority that it may have been part of, one other. */
static bool enough_of(set electorate, set some)
{
    return count(some & electorate) + elect__quorum(electorate) > count(electorate);
}

static void ask(struct process *p)
{
    struct elect_mandate *r = &p->node->mandate;
    elect__say(p, all(p) & ~only(me(p)),
               (message){.type = ELECT_FORGOT,
                         .round = r->question,
                         .incarnation = p->node->saved.incarnation});
    *at(p, ELECT_LOOK) = p->now + p->config->renewal;
    because(p, HAS_FORGOTTEN);
}

/* The longest that it may have granted. */
static uint32_t longest(const struct process *p)
{
    uint32_t most = p->config->max_lease, known = p->node->saved.longest;
    return known > most ? known : most;
}

static void ask_again(struct process *p)
{
    struct elect_mandate *r = &p->node->mandate;
    struct elect_saved *s = &p->node->saved;
    *at(p, ELECT_GUARD) = ELECT_UNSET;
    r->lost = ELECT_ASKING_AGAIN;
    r->remembering = 0;
    r->question |= 1;
    s->incarnation = (ELECT_ERA(s->met[me(p)]) + 1) * ELECT_STARTS;
    ask(p);
}

static void know_enough(struct process *p)
{
    struct elect_mandate *r = &p->node->mandate;
    struct elect_saved *s = &p->node->saved;
    if (r->lost == ELECT_ASKING) {
        r->lost = ELECT_WAITING_IT_OUT;
        *at(p, ELECT_GUARD) = p->now + longest(p);
        *at(p, ELECT_LOOK) = ELECT_UNSET;
        because(p, WAITS_IT_OUT);
    } else if (s->met[me(p)] > s->incarnation) {
        ask_again(p); /* somebody has met a later one */
    } else {
        r->lost = ELECT_NOT_LOST;
        s->promised = s->used = r->seen;
        *at(p, ELECT_LOOK) = ELECT_UNSET;
        p->out->persist = true;
        start(p, ELECT_SUSPICION_TIMER);
        elect__penalize(p, 1);
        because(p, READMITTED);
    }
}

static void learn(struct process *p, number from, const message *m)
{
    struct elect_mandate *r = &p->node->mandate;
    struct elect_saved *s = &p->node->saved;
    r->seen = m->term > r->seen ? m->term : r->seen;
    s->met[me(p)] = m->incarnation > s->met[me(p)] ? m->incarnation : s->met[me(p)];
    s->longest = m->lease > s->longest ? m->lease : s->longest;
    s->pause = m->pause > s->pause ? m->pause : s->pause;
    if (earlier(&s->membership, &m->membership))
        s->membership = m->membership;
    if (m->incarnation >= s->incarnation) /* it has written down what this one will call itself */
        r->remembering |= only(from);
    because(p, LEARNS);
    if (enough_of(s->membership.voters, r->remembering) &&
        enough_of(s->membership.before, r->remembering))
        know_enough(p);
}

void elect__remember(struct process *p, const struct elect_input *in)
{
    const struct elect_mandate *r = &p->node->mandate;
    const message *m = &in->message;
    bool mine = m->round == r->question && r->lost != ELECT_WAITING_IT_OUT;
    because(p, NOTHING);
    if (in->event == ELECT_REMEMBERS && mine)
        learn(p, in->from, m);
    else if (in->event == ELECT_ALARM && due(p, ELECT_GUARD))
        ask_again(p);
    else if (in->event == ELECT_ALARM && due(p, ELECT_LOOK))
        ask(p);
}
