/*
 * Tests the mandate against an adversary. A message may arrive at any time, repeatedly or never,
 * and any process may believe at any time that it is elected. Processes crash and restart, with or
 * without their saved state, and leave death reports. Leaders resign and change the voters. There
 * is no simulated network, no election, and no time except the ticks of the clocks.
 *
 *     test_adversary any|bounded|thefts|groups [HISTORIES [FIRST]]
 *
 * any: the clocks tick at any rate. No token is used twice, and no voter grants a smaller term
 * than one it granted before (P1 and P2 in docs/guarantees.md).
 *
 * bounded: no clock is ever more than a tick ahead of another. No two processes lead at the same
 * time, and every later token is larger (P3).
 *
 * thefts: like bounded or groups, but death reports of living members are stolen and sent. Such a
 * member may lead in that term until it hears from its successor, so two members may lead at once.
 * Otherwise no two members do, and all later offices obey the rules.
 *
 * groups: all clocks show the same time. Each move picks a random set of processes and delivers
 * all messages between them at once: a process becomes a candidate and gets all answers, or a
 * leader renews, changes the voters, or resigns. One part of a cluster thus gets far ahead of
 * another.
 */
#include "../../src/model/claims.h"
#include "../../src/model/dice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX   5
#define STEPS 600
#define POOL  4096
#define LEASE 8
/* clocks may differ by a tick when a lease begins, and by another when it ends */
#define GRAIN 2

struct letter {
    uint8_t from, to;
    struct elect_message message;
};

struct history {
    struct dice dice;
    struct elect_config config;
    struct elect_node node[MAX];
    struct elect_saved disk[MAX];
    bool up[MAX], bounded, groups, started, changing;
    bool steady; /* the lease never changes */
    unsigned ticks[MAX];
    struct claims claims[MAX];
    elect_term latest; /* largest token used so far */
    struct letter pool[POOL];
    unsigned letters, offices, changes, readmissions;
    elect_term testament[MAX];
    bool thefts;
    /* largest term whose death report was sent while its leader was alive */
    elect_term stolen[MAX];
    /* for each process, the first term of its office, which later terms may continue */
    elect_term first[MAX];
    /* how often two processes led at once after a stolen death report */
    unsigned overlaps;
    const char *broken;
};

static unsigned below(struct history *h, unsigned bound)
{
    return (unsigned)dice_below(&h->dice, bound);
}

static void perform(struct history *h, uint8_t i, const struct elect_output *out)
{
    if (out->persist)
        h->disk[i] = h->node[i].saved;
    if (out->deposit)
        h->testament[i] = h->node[i].saved.used;
    h->changes += out->rule.number == ELECT_RULE_MEMBERS_CHANGED;
    for (unsigned k = 0; k < out->sends; k++) {
        const struct elect_message *m = &out->send[k].message;
        for (elect_set to = out->send[k].to; to != 0; to &= to - 1)
            if (h->letters < POOL)
                h->pool[h->letters++] = (struct letter){i, (uint8_t)__builtin_ctzll(to), *m};
    }
}

/* Returns true if a stolen death report has ended grants that process i still relies on. An office
 * usually relies only on the grants of its latest term, but after the lease has been shortened, the
 * longer grants of the stolen term may still count. */
static bool is_stolen(const struct history *h, uint8_t i)
{
    return h->node[i].mandate.leader.token <= h->stolen[i] ||
           (!h->steady && h->first[i] <= h->stolen[i]);
}

static void judge_overlap(struct history *h, uint8_t i, uint8_t j)
{
    bool stolen = is_stolen(h, i) || is_stolen(h, j);
    h->overlaps += stolen;
    if (!stolen)
        h->broken = "P3: two processes lead at the same time";
}

static void judge(struct history *h, uint8_t i, elect_term before, const struct elect_output *out)
{
    const struct elect_node *node = &h->node[i];
    if (before == 0)
        h->first[i] = node->mandate.leader.token;
    unsigned wrong = claims_note(&h->claims[i], &h->latest, before, node, out, true);
    if (wrong & CLAIMED_FALLING)
        h->broken = "P2: a voter grants a smaller term";
    if (wrong & CLAIMED_TWICE)
        h->broken = "P2: a token is used twice";
    if (wrong & CLAIMED_OVER)
        h->broken = "P3: a process releases a term while it leads or works";
    if (h->bounded && wrong & CLAIMED_LATE && !is_stolen(h, i))
        h->broken = "P3: a later office has a smaller token";
    if (node->mandate.leader.token == 0 || node->mandate.leader.token == before)
        return;
    h->offices++;
    for (uint8_t j = 0; j < h->config.n && h->bounded; j++)
        if (j != i && h->up[j] && elect_in_office(&h->node[j], 0))
            judge_overlap(h, i, j);
}

static void step(struct history *h, uint8_t i, struct elect_input in)
{
    struct elect_output out;
    elect_term before = h->node[i].mandate.leader.token;
    elect_step(&h->config, &h->node[i], &in, &out);
    perform(h, i, &out);
    judge(h, i, before, &out);
}

/* Nominates a process as if it had won an election. These histories contain no real elections. */
static void nominate(struct history *h, uint8_t i)
{
    struct elect_node *node = &h->node[i];
    node->state = ELECT_NORMAL;
    node->leader = i;
    node->mandate.candidate.nominated = true;
    node->mandate.time[ELECT_RETRY] = 0;
    step(h, i, elect_happens(ELECT_ALARM, 0));
}

static void deliver(struct history *h)
{
    if (h->letters == 0)
        return;
    unsigned recent = h->letters < 12 ? h->letters : 12;
    unsigned back = below(h, 4) > 0 ? below(h, recent) : below(h, h->letters);
    const struct letter *l = &h->pool[h->letters - 1 - back];
    if (h->up[l->to])
        step(h, l->to, elect_received(l->from, &l->message, 0));
}

static void tick(struct history *h, uint8_t i)
{
    for (uint8_t j = 0; j < h->config.n; j++)
        if (h->bounded && h->ticks[i] > h->ticks[j])
            return;
    h->ticks[i]++;
    elect_shift(&h->node[i], -1);
}

static bool forgot(const struct history *h, uint8_t i) { return h->disk[i].incarnation == 0; }

/* Starts a process that has lost its state and does not know what it has granted. */
static void readmit(struct history *h, uint8_t i)
{
    struct elect_output out;
    h->claims[i].granted = 0;
    h->testament[i] = h->stolen[i] = 0;
    h->up[i] = true;
    elect_readmit(&h->config, &h->node[i], i, ++h->readmissions, 0, &out);
}

/* Deletes the state of a process, unless another one has lost its state, too: too few processes
 * would then remember the grants. */
static void lose_state(struct history *h, uint8_t i)
{
    for (uint8_t j = 0; j < h->config.n; j++)
        if (forgot(h, j))
            return;
    h->up[i] = false;
    h->disk[i] = (struct elect_saved){0};
}

static void send_testament(struct history *h, uint8_t i)
{
    struct elect_message m =
        elect_testament(&h->config, i, h->testament[i], h->node[i].saved.incarnation);
    for (uint8_t to = 0; to < h->config.n && m.term != 0; to++)
        if (h->letters < POOL)
            h->pool[h->letters++] = (struct letter){i, to, m};
}

static void leave_testament(struct history *h, uint8_t i)
{
    h->up[i] = false;
    send_testament(h, i);
}

/* Sends the death reports of all leaders, and of some members that may be about to lead. */
static void steal_testaments(struct history *h)
{
    for (uint8_t i = 0; i < h->config.n; i++)
        if (h->up[i] && h->testament[i] != 0 &&
            (elect_in_office(&h->node[i], 0) || below(h, 8) == 0)) {
            h->stolen[i] = h->testament[i] > h->stolen[i] ? h->testament[i] : h->stolen[i];
            send_testament(h, i);
        }
}

static void change(struct history *h, uint8_t i)
{
    const struct elect_membership *m = &h->node[i].saved.membership;
    elect_set bit = (elect_set)1 << below(h, h->config.n);
    elect_set members = m->voters & bit ? m->members & ~bit : m->members | bit;
    /* the lease is never shortened, so the next change may follow at once */
    if (h->steady)
        h->node[i].mandate.time[ELECT_NEXT_CHANGE] = ELECT_UNSET;
    step(h, i, elect_changes(members, m->voters ^ bit, 0));
}

static void restart(struct history *h, uint8_t i)
{
    struct elect_output out;
    if (forgot(h, i) && h->started) {
        readmit(h, i);
        return;
    }
    elect_init(&h->config, &h->node[i], i, ELECT_NOBODY, &h->disk[i], 0, &out);
    h->up[i] = true;
    perform(h, i, &out);
}

static void change_somewhere(struct history *h)
{
    for (uint8_t i = 0; i < h->config.n; i++)
        if (h->up[i] && elect_in_office(&h->node[i], 0))
            change(h, i);
}

static void move(struct history *h)
{
    uint8_t i = (uint8_t)below(h, h->config.n);
    if (h->thefts && below(h, 30) == 0)
        steal_testaments(h);
    if (h->changing && below(h, 30) == 0)
        change_somewhere(h);
    unsigned kind = below(h, 100);
    if (kind < 55)
        deliver(h);
    else if (kind < 85)
        tick(h, i);
    else if (!h->up[i])
        restart(h, i);
    else if (kind < 86)
        h->up[i] = false;
    else if (kind < 87)
        leave_testament(h, i);
    else if (kind < 90)
        nominate(h, i);
    else if (kind < 91)
        step(h, i, elect_resigns(below(h, 2) ? ELECT_NOBODY : (uint8_t)below(h, h->config.n), 0));
    else if (kind < 93)
        change(h, i);
    else if (kind == 93 && below(h, 8) == 0)
        lose_state(h, i);
    else
        step(h, i, elect_happens(kind < 97 ? ELECT_ALARM : ELECT_STOPPED, 0));
}

/* ---- groups ---- */

/* Delivers all messages within the group, including replies. */
static void settle(struct history *h, elect_set group, unsigned from)
{
    for (unsigned k = from; k < h->letters && h->broken == NULL; k++) {
        struct letter l = h->pool[k];
        if ((group >> l.from & 1) != 0 && (group >> l.to & 1) != 0 && h->up[l.to])
            step(h, l.to, elect_received(l.from, &l.message, 0));
    }
}

static void pass_time(struct history *h, unsigned ticks)
{
    for (uint8_t i = 0; i < h->config.n; i++)
        elect_shift(&h->node[i], -(elect_time)ticks);
}

/* Makes the process act as if its timers were due. It still waits for grants. */
static void hurry(struct history *h, uint8_t i)
{
    elect_time *time = h->node[i].mandate.time;
    time[ELECT_RENEW] = time[ELECT_RENEW] != ELECT_UNSET ? 0 : ELECT_UNSET;
    time[ELECT_LOOK] = time[ELECT_LOOK] != ELECT_UNSET ? 0 : ELECT_UNSET;
    step(h, i, elect_happens(ELECT_ALARM, 0));
}

/* Makes a leader request a larger term, because its own voter has promised one. */
static void succeed_itself(struct history *h, uint8_t i)
{
    struct elect_mandate *m = &h->node[i].mandate;
    struct elect_message stale = {.type = ELECT_REFUSE,
                                  .origin = i,
                                  .what = ELECT_REQUEST,
                                  .reason = ELECT_REFUSED_STALE,
                                  .term = m->leader.token,
                                  .incarnation = h->node[i].saved.incarnation,
                                  .in_the_way = ((m->seen >> 16) + below(h, 3)) << 16 | i};
    if (m->leader.token != 0)
        step(h, i, elect_received(i, &stale, 0));
}

static void tell_members(struct history *h, uint8_t from, uint8_t to)
{
    struct elect_message m = {.type = ELECT_PRESENT,
                              .origin = from,
                              .incarnation = h->node[from].saved.incarnation,
                              .membership = h->node[from].saved.membership};
    if (from != to && h->up[from] && h->up[to] && h->node[from].mandate.readmission.stage == 0)
        step(h, to, elect_received(from, &m, 0));
}

/* Renews the process's office with grants from this group until it may change the membership
 * again. */
static void lead_on(struct history *h, uint8_t i, elect_set group)
{
    const elect_time *time = h->node[i].mandate.time;
    while (elect_in_office(&h->node[i], 0) && h->broken == NULL && time[ELECT_NEXT_CHANGE] > 0) {
        unsigned from = h->letters < POOL / 2 ? h->letters : (h->letters = 0);
        pass_time(h, 2);
        hurry(h, i);
        settle(h, group, from);
    }
}

static void move_group(struct history *h)
{
    elect_set everyone = elect_everyone(&h->config);
    elect_set group = below(h, 4) == 0 ? everyone : dice_throw(&h->dice) & everyone;
    uint8_t i = (uint8_t)below(h, h->config.n), j = (uint8_t)below(h, h->config.n);
    unsigned kind = below(h, 24), from = h->letters;
    bool leads = h->up[i] && elect_in_office(&h->node[i], 0);
    group |= (elect_set)1 << i;
    if (h->letters > POOL / 2)
        from = h->letters = 0; /* all earlier messages are lost */
    if (h->thefts && below(h, 15) == 0)
        steal_testaments(h);
    if (kind < 2)
        pass_time(h, 1 + below(h, LEASE / 2));
    else if (kind == 2)
        pass_time(h, 2 * LEASE);
    else if (!h->up[i])
        restart(h, i);
    else if (kind < 9 && !leads)
        nominate(h, i);
    else if (kind < 11)
        hurry(h, i);
    else if (kind == 11)
        succeed_itself(h, i);
    else if (kind < 17) {
        if (below(h, 2) == 0)
            lead_on(h, i, group);
        from = h->letters;
        change(h, i);
    } else if (kind == 17)
        h->up[i] = false;
    else if (kind == 18)
        leave_testament(h, i);
    else if (kind == 19)
        step(h, i, elect_resigns(j, 0));
    else if (kind == 20)
        tell_members(h, i, j);
    else if (kind == 21)
        deliver(h);
    else if (kind == 22 && below(h, 4) == 0)
        lose_state(h, i);
    else
        step(h, i, elect_happens(ELECT_STOPPED, 0));
    settle(h, group, from);
}

static void play(struct history *h, uint64_t seed)
{
    static const uint16_t ids[MAX] = {0, 1, 2, 3, 4};
    bool bounded = h->bounded, thefts = h->thefts, groups = thefts ? seed % 8 < 4 : h->groups;
    memset(h, 0, sizeof *h);
    h->bounded = bounded;
    h->thefts = thefts;
    h->groups = groups;
    dice_seed(&h->dice, seed, DICE_CRASH);
    unsigned n = seed % 4 == 0 ? 2 + below(h, 4) : 3 + (unsigned)(seed % 2) + groups;
    elect_config_init(&h->config, ELECT_BULLY, ids, n, 1, 0);
    h->config.max_lease = 4 * LEASE;
    h->changing = seed % 5 < 2;
    h->steady = seed % 2 == 0;
    /* `stable`: PRESENT messages also spread changes of the membership */
    h->config.stable = seed % 3 == 0 && !groups;
    if (elect_config_mandate(&h->config, LEASE, 2, 0, GRAIN) != ELECT_FINE)
        abort();
    for (uint8_t i = 0; i < n; i++)
        restart(h, i);
    h->started = true;
    for (unsigned s = 0; s < STEPS && h->broken == NULL; s++) {
        if (below(h, 40) == 0 && !h->steady) /* changes the lease of all processes */
            elect_config_mandate(&h->config, LEASE * (1 + below(h, 4)), 2, 0, GRAIN);
        if (groups)
            move_group(h);
        else
            move(h);
    }
}

int main(int argc, char **argv)
{
    static struct history h;
    uint64_t histories = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000;
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1, offices = 0, changes = 0;
    uint64_t overlaps = 0;
    h.groups = argc > 1 && strcmp(argv[1], "groups") == 0;
    h.thefts = argc > 1 && strcmp(argv[1], "thefts") == 0;
    h.bounded = h.groups || h.thefts || (argc > 1 && strcmp(argv[1], "bounded") == 0);
    for (uint64_t seed = first; seed < first + histories; seed++) {
        play(&h, seed);
        offices += h.offices;
        changes += h.changes;
        overlaps += h.overlaps;
        if (h.broken != NULL) {
            fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, h.broken);
            return 1;
        }
    }
    printf(
        "%llu histories, %llu offices, %llu changes of membership, %llu overlaps after a theft\n",
        (unsigned long long)histories, (unsigned long long)offices, (unsigned long long)changes,
        (unsigned long long)overlaps);
    /* fail if too few of these events occurred to test anything */
    return offices < histories / 10 || changes < histories / 100 ||
           (h.thefts && overlaps < histories / 100);
}
