/* See storm.h. All random numbers come from the storm's own generator, so the same seed always
 * gives the same storm. */
#include "storm.h"

#include <string.h>

#define REMEMBERED 64

struct storm {
    /* Original configuration. Faults may change the lease in `w`. */
    const struct elect_config *config;
    struct play *play;
    struct world *w;
    struct dice dice;
    uint64_t seed;
    struct storm_report *report;
    enum storm_beyond beyond;
    uint32_t kinds;              /* with this seed: set of 1 << storm_fault */
    uint64_t every;              /* average ticks between two faults */
    elect_term token[ELECT_MAX]; /* each leader's token; 0: does not lead */
    struct flight heard[REMEMBERED];
    unsigned heards;
    /* Counted per seed, so that a storm does not depend on earlier seeds. */
    uint64_t moves;
};

const char *const storm_beyond_words[STORM_BEYONDS] = {"none", "clocks", "disks"};

const char *storm_fault_name(enum storm_fault f)
{
    static const char *const names[] = {
#define X(name, word) word,
        STORM_FAULTS(X)
#undef X
    };
    return names[f];
}

const char *storm_promise_name(enum storm_promise p)
{
    static const char *const names[] = {
#define X(name, word, text) word,
        STORM_PROMISES(X)
#undef X
    };
    return names[p];
}

const char *storm_promise_text(enum storm_promise p)
{
    static const char *const texts[] = {
#define X(name, word, text) text,
        STORM_PROMISES(X)
#undef X
    };
    return texts[p];
}

static uint64_t below(struct storm *s, uint64_t bound) { return dice_below(&s->dice, bound); }

static bool has(const struct storm *s, enum storm_fault f) { return (s->kinds >> f & 1) != 0; }

/* ---- the promises ---- */

bool storm_promises(enum storm_promise promise, const struct elect_config *c,
                    enum storm_beyond beyond)
{
    if (promise == STORM_P4)
        return c->stable; /* otherwise a process that cannot win may block the others */
    return beyond == STORM_WITHIN || (beyond == STORM_CLOCKS && promise != STORM_P3);
}

static void broken(struct storm *s, enum storm_promise promise, uint8_t who, uint8_t whom)
{
    struct storm_report *r = s->report;
    if (!storm_promises(promise, &s->w->config, s->beyond)) {
        r->lost[promise]++;
        return;
    }
    if (r->violations < STORM_MAX_VIOLATIONS)
        r->violation[r->violations] =
            (struct storm_violation){promise, s->seed, s->w->now, who, whom};
    r->violations++;
}

/* Every overlap of two leaders' terms starts when one of them takes office, so it is checked only
 * then. */
static void office_begins(struct storm *s, uint8_t rank)
{
    s->report->offices++;
    for (uint8_t other = 0; other < s->w->config.n; other++)
        if (other != rank && world_in_office(s->w, other))
            broken(s, STORM_P3, rank, other);
}

/* Reports the promises broken by claims since the last call. The order of tokens, part of P2, holds
 * only if no clock exceeds its bound. */
static void judge_claims(struct storm *s, uint8_t rank)
{
    unsigned wrong = s->w->broken;
    s->w->broken = 0;
    if (wrong & CLAIMED_TWICE)
        broken(s, STORM_P1, rank, ELECT_NOBODY);
    if (wrong & CLAIMED_OVER)
        broken(s, STORM_P3, rank, ELECT_NOBODY);
    if (wrong & CLAIMED_ORDER)
        broken(s, STORM_P5, rank, ELECT_NOBODY);
    if (wrong & CLAIMED_FALLING || (wrong & CLAIMED_LATE && s->beyond == STORM_WITHIN))
        broken(s, STORM_P2, rank, ELECT_NOBODY);
}

static void watch(struct storm *s, const struct happening *h)
{
    s->report->events++;
    elect_term token = elect_token(&s->w->node[h->rank]);
    if (s->token[h->rank] != token && token != 0)
        office_begins(s, h->rank);
    s->token[h->rank] = token;
    if (s->w->broken != 0)
        judge_claims(s, h->rank);
}

/* ---- faults ---- */

static void fault(struct storm *s, enum storm_fault kind, const struct fault *f)
{
    struct happening h;
    world_fault(s->w, f, &h);
    if (h.what == HAPPENED_NOTHING)
        return;
    s->report->fault[kind]++;
    play_tell(s->play, &h);
    watch(s, &h);
}

static elect_set some(struct storm *s)
{
    return dice_throw(&s->dice) & elect_everyone(&s->w->config);
}

static void cut(struct storm *s)
{
    elect_set all = elect_everyone(&s->w->config), side = some(s);
    struct fault f = {.kind = FAULT_CUT, .parts = 2, .part = {side, all & ~side}};
    if (below(s, 3) == 0) /* one process may reach both sides */
        f.part[below(s, 2)] &= ~((elect_set)1 << below(s, s->w->config.n));
    fault(s, STORM_CUT, &f);
}

/* Two thirds of the clock errors are the largest that the bound allows. */
static int64_t rate(struct storm *s)
{
    int64_t most = s->w->config.drift;
    uint64_t kind = below(s, 3);
    if (kind < 2)
        return kind == 0 ? most : -most;
    return (int64_t)below(s, 2 * (uint64_t)most + 1) - most;
}

/* Half of the stalls are short; the others may outlast a lease. */
static int64_t stall(struct storm *s)
{
    uint64_t lease = s->w->config.lease;
    return (int64_t)(1 + below(s, below(s, 2) == 0 ? lease / 4 : 3 * lease));
}

static void weather(struct storm *s)
{
    struct weather *x = &s->w->weather;
    uint64_t bound = (s->w->config.answer_bound + 1) / 2;
    uint64_t span = below(s, 8) == 0   ? 2 * s->w->config.lease
                    : below(s, 4) == 0 ? 20 * bound
                                       : bound;
    x->delay_max = (uint32_t)(x->delay_min + below(s, span));
    x->loss = (uint32_t)below(s, below(s, 4) == 0 ? DICE_CERTAIN / 2 : DICE_CERTAIN / 20);
    x->duplicate = (uint32_t)below(s, DICE_CERTAIN / 10);
    x->reorder = below(s, 2) == 0;
    x->garble = has(s, STORM_GARBLE) ? (uint32_t)below(s, DICE_CERTAIN / 10) : 0;
    s->report->fault[STORM_GARBLE] += x->garble > 0;
    s->w->stopping = below(s, 2) == 0 ? 0 : below(s, s->w->config.lease);
    s->report->fault[STORM_WEATHER]++;
}

/* Grants under the old lease remain valid. */
static void change_lease(struct storm *s)
{
    fault(s, STORM_LEASE,
          &(struct fault){.kind = FAULT_LEASE,
                          .amount = s->config->lease / 4 * (2 + (int64_t)below(s, 7))});
}

/* Asks the leader to hand over to its heir or to a random process. Sometimes it is told to
 * stand aside first, as after a failed run. */
static void resign(struct storm *s)
{
    uint8_t leader = world_in_charge(s->w), to = (uint8_t)below(s, s->w->config.n);
    struct fault f = {.kind = below(s, 2) == 0 ? FAULT_RESIGN : FAULT_TRANSFER, .rank = leader};
    f.amount = f.kind == FAULT_TRANSFER ? s->w->config.id[to] : 0;
    if (leader == ELECT_NOBODY)
        return;
    if (has(s, STORM_ASIDE) && below(s, 2) == 0)
        fault(s, STORM_ASIDE, &(struct fault){.kind = FAULT_ASIDE, .rank = leader});
    fault(s, STORM_RESIGN, &f);
}

/* Orders a process, usually the leader, to resign from its latest term or one of the two before.
 * Sometimes the order is repeated. */
static void order(struct storm *s, uint8_t rank)
{
    uint8_t leader = world_in_charge(s->w);
    if (leader != ELECT_NOBODY && below(s, 4) > 0)
        rank = leader;
    uint64_t counter = elect_term_counter(s->w->node[rank].saved.used);
    struct fault f = {.kind = FAULT_ORDER, .rank = rank};
    f.amount = (int64_t)(counter - below(s, counter < 2 ? counter + 1 : 3));
    for (uint64_t times = 1 + below(s, 2); times > 0 && f.amount > 0; times--)
        fault(s, STORM_ORDER, &f);
}

/* A crash during the first write after a readmission may lose the state again. */
static bool may_forget(const struct world *w, uint8_t rank)
{
    return w->disk[rank].done > w->now && w->disk[rank].before.incarnation == 0;
}

/* Returns the processes that have no state or would lose it in a crash. */
static elect_set lost(const struct storm *s)
{
    elect_set set = 0;
    for (uint8_t rank = 0; rank < s->w->config.n; rank++)
        set |= world_forgot(s->w, rank) || may_forget(s->w, rank) ? (elect_set)1 << rank : 0;
    return set;
}

/* Leaves at least three voters, so that the cluster can lose one. */
static void change_members(struct storm *s, uint8_t rank)
{
    uint8_t leader = world_in_charge(s->w);
    if (leader == ELECT_NOBODY)
        return;
    const struct elect_membership *m = &s->w->node[leader].saved.membership;
    bool votes = (m->voters >> rank & 1) != 0;
    if (!votes || __builtin_popcountll(m->voters) > 3)
        fault(s, STORM_MEMBERS,
              &(struct fault){.kind = votes ? FAULT_REMOVE : FAULT_ADD, .rank = rank});
}

/* Crashes a process and wipes its disk. A mandate allows only one process at a time to be without
 * state, and that process must be readmitted when it starts. */
static void lose_state(struct storm *s, uint8_t rank)
{
    if (lost(s) != 0)
        return;
    fault(s, STORM_CRASH, &(struct fault){.kind = FAULT_CRASH, .rank = rank});
    fault(s, STORM_READMIT, &(struct fault){.kind = FAULT_WIPE, .rank = rank});
}

static void recover(struct storm *s, uint8_t rank)
{
    bool forgot = world_forgot(s->w, rank) && s->beyond != STORM_DISKS;
    for (unsigned i = 0; i < REMEMBERED && forgot; i++)
        if (s->heard[i].to == rank) /* messages of its old sessions cannot be replayed */
            s->heard[i] = (struct flight){0};
    fault(s, STORM_RECOVERY,
          &(struct fault){.kind = forgot ? FAULT_READMIT : FAULT_RECOVER, .rank = rank});
}

/* The clock runs between half and twice as fast as it should. */
static int64_t skew(struct storm *s) { return (int64_t)below(s, 1500001) - 500000; }

static void replay(struct storm *s)
{
    if (s->heards == 0)
        return;
    const struct flight *f = &s->heard[below(s, s->heards < REMEMBERED ? s->heards : REMEMBERED)];
    if (f->message.type == 0)
        return; /* cleared by recover() */
    world_inject(s->w, f);
    s->report->fault[STORM_REPLAY]++;
}

/* Faults that need only a process and perhaps an amount. */
static const uint8_t plain_faults[STORM_FAULT_COUNT] = {
    [STORM_CRASH] = FAULT_CRASH,   [STORM_TESTAMENT] = FAULT_TESTAMENT, [STORM_HEAL] = FAULT_HEAL,
    [STORM_STALL] = FAULT_STALL,   [STORM_RATE] = FAULT_RATE,           [STORM_DISK] = FAULT_DISK,
    [STORM_FREEZE] = FAULT_FREEZE, [STORM_SKEW] = FAULT_RATE,           [STORM_JUMP] = FAULT_TICK,
    [STORM_BACKUP] = FAULT_BACKUP, [STORM_ROLLBACK] = FAULT_RESTORE,    [STORM_WIPE] = FAULT_WIPE,
    [STORM_CLONE] = FAULT_CLONE,   [STORM_SWAP] = FAULT_SWAP,
};

static int64_t amount(struct storm *s, enum storm_fault kind)
{
    if (kind == STORM_STALL || kind == STORM_FREEZE)
        return stall(s);
    if (kind == STORM_RATE)
        return rate(s);
    if (kind == STORM_SKEW)
        return skew(s);
    if (kind == STORM_DISK)
        return (int64_t)below(s, 1 + s->w->config.lease / 10);
    return kind == STORM_JUMP ? (int64_t)below(s, 2 * s->w->config.lease) : 0;
}

static void strike(struct storm *s)
{
    enum storm_fault kind = (enum storm_fault)below(s, STORM_FAULT_COUNT);
    uint8_t rank = (uint8_t)below(s, s->w->config.n);
    struct fault f = {.rank = rank, .kind = plain_faults[kind]};
    if (!has(s, kind))
        return;
    switch (kind) {
    case STORM_RECOVERY: recover(s, rank); return;
    case STORM_RESIGN: resign(s); return;
    case STORM_ORDER: order(s, rank); return;
    case STORM_PAUSE_ELECTIONS:
        f.kind = below(s, 4) == 0 ? FAULT_PAUSE_ELECTIONS : FAULT_RESUME_ELECTIONS;
        break;
    case STORM_ASIDE: f.kind = below(s, 2) == 0 ? FAULT_ASIDE : FAULT_READY; break;
    case STORM_MEMBERS: change_members(s, rank); return;
    case STORM_READMIT: lose_state(s, rank); return;
    case STORM_CUT: cut(s); return;
    case STORM_ONE_WAY:
        f = (struct fault){.kind = FAULT_ONE_WAY, .parts = 2, .part = {some(s), some(s)}};
        break;
    case STORM_WEATHER: weather(s); return;
    case STORM_LEASE: change_lease(s); return;
    case STORM_REPLAY: replay(s); return;
    case STORM_GARBLE: return; /* weather() sets the rate */
    case STORM_ROLLBACK:
    case STORM_WIPE: /* a disk changes only while its process is down */
        fault(s, STORM_CRASH, &(struct fault){.kind = FAULT_CRASH, .rank = rank});
        break;
    case STORM_CRASH:
    case STORM_TESTAMENT:
    case STORM_HEAL:
    case STORM_STALL:
    case STORM_RATE:
    case STORM_DISK:
    case STORM_FREEZE:
    case STORM_SKEW:
    case STORM_JUMP:
    case STORM_BACKUP:
    case STORM_CLONE:
    case STORM_SWAP: f.amount = amount(s, kind); break;
    case STORM_FAULT_COUNT: return;
    }
    fault(s, kind, &f);
}

/* ---- storm and calm ---- */

static void remember(struct storm *s)
{
    if (s->w->flights > 0)
        s->heard[s->heards++ % REMEMBERED] = s->w->flight[0];
}

/* Runs the world. Returns true at `until`, or false as soon as `done` returns true. */
static bool pass(struct storm *s, uint64_t until, bool (*done)(const struct world *w))
{
    struct happening h;
    while (done == NULL || !done(s->w)) {
        if (has(s, STORM_REPLAY) && ++s->moves % 16 == 0)
            remember(s);
        if (!world_next(s->w, until, &h)) {
            s->w->now = until;
            return true;
        }
        play_tell(s->play, &h);
        watch(s, &h);
    }
    return false;
}

static void storm(struct storm *s, uint64_t until)
{
    while (s->w->now < until) {
        uint64_t next = s->w->now + 1 + below(s, 2 * s->every);
        pass(s, next < until ? next : until, NULL);
        strike(s);
    }
}

/* Returns the current time if no process is stalled. */
static uint64_t last_stall(const struct world *w)
{
    uint64_t last = w->now;
    for (uint8_t rank = 0; rank < w->config.n; rank++)
        last = w->stalled_until[rank] > last ? w->stalled_until[rank] : last;
    return last;
}

static bool majority_of(elect_set some, elect_set voters)
{
    return 2 * __builtin_popcountll(some & voters) > __builtin_popcountll(voters);
}

/* Chooses the processes of the calm phase: usually all, sometimes only a majority. The others are
 * cut off and may be down. */
static elect_set survivors(struct storm *s)
{
    elect_set all = elect_everyone(&s->w->config);
    elect_set chosen = below(s, 3) == 0 ? some(s) : all;
    bool enough = lost(s) == 0;
    for (uint8_t rank = 0; rank < s->w->config.n; rank++) {
        const struct elect_membership *m = &s->w->disk[rank].saved.membership;
        enough = enough && majority_of(chosen, m->voters) && majority_of(chosen, m->before) &&
                 (chosen & m->members) != 0;
    }
    return enough ? chosen : all;
}

/* Resumes elections wherever they are paused. Returns true if they were paused anywhere. */
static bool resume(struct storm *s)
{
    bool paused = false;
    for (uint8_t rank = 0; rank < s->w->config.n; rank++)
        if (world_up(s->w, rank) && elect_paused(&s->w->node[rank])) {
            fault(s, STORM_PAUSE_ELECTIONS,
                  &(struct fault){.kind = FAULT_RESUME_ELECTIONS, .rank = rank});
            paused = true;
        }
    return paused;
}

/* P4 promises a leader only while a member that may lead stands ready. If all chosen members that
 * have their state stand aside, all chosen members must stand ready again. */
static void stand_ready(struct storm *s, elect_set chosen)
{
    elect_set ready = chosen & ~lost(s);
    for (elect_set rest = chosen; rest != 0; rest &= rest - 1) {
        uint8_t rank = (uint8_t)__builtin_ctzll(rest);
        ready &= s->w->disk[rank].saved.membership.members;
        ready &= ~(elect_aside(&s->w->node[rank]) & (elect_set)1 << rank);
    }
    for (elect_set rest = ready == 0 ? chosen : 0; rest != 0; rest &= rest - 1)
        fault(s, STORM_ASIDE,
              &(struct fault){.kind = FAULT_READY, .rank = (uint8_t)__builtin_ctzll(rest)});
}

/* Ends all faults for the chosen processes. Their clocks stay wrong, within the bound. */
static void mend(struct storm *s, elect_set chosen)
{
    fault(s, STORM_HEAL, &(struct fault){.kind = FAULT_HEAL});
    s->w->weather = (struct weather){.delay_min = 1, .delay_max = s->config->answer_bound / 2};
    s->w->stopping = 0;
    if (s->w->config.lease != s->config->lease)
        fault(s, STORM_LEASE, &(struct fault){.kind = FAULT_LEASE, .amount = s->config->lease});
    s->w->config = *s->config; /* a change of the lease may have rounded the renewal interval */
    s->w->cloned = 0;
    for (uint8_t rank = 0; rank < s->w->config.n; rank++) {
        if (s->w->disk[rank].takes > 0)
            fault(s, STORM_DISK, &(struct fault){.kind = FAULT_DISK, .rank = rank});
        if (s->beyond == STORM_CLOCKS)
            fault(s, STORM_RATE,
                  &(struct fault){.kind = FAULT_RATE, .rank = rank, .amount = rate(s)});
        if ((chosen >> rank & 1) != 0 && !world_up(s->w, rank))
            recover(s, rank);
        if ((chosen >> rank & 1) == 0 && below(s, 2) == 0)
            fault(s, STORM_CRASH, &(struct fault){.kind = FAULT_CRASH, .rank = rank});
    }
    resume(s);
    stand_ready(s, chosen);
    elect_set rest = elect_everyone(&s->w->config) & ~chosen;
    if (rest != 0)
        fault(s, STORM_CUT, &(struct fault){.kind = FAULT_CUT, .parts = 2, .part = {chosen, rest}});
}

static void calm(struct storm *s)
{
    mend(s, survivors(s));
    uint64_t began = last_stall(s->w);
    bool late = pass(s, began + storm_bound(&s->w->config), world_settled);
    if (late && resume(s)) { /* a late message paused elections again */
        began = s->w->now;
        late = pass(s, began + storm_bound(&s->w->config), world_settled);
    }
    if (late)
        broken(s, STORM_P4, ELECT_NOBODY, ELECT_NOBODY);
    else if (s->w->now > began && s->w->now - began > s->report->slowest)
        s->report->slowest = s->w->now - began;
}

static elect_term token_in_force(const struct storm *s)
{
    for (uint8_t rank = 0; rank < s->w->config.n; rank++)
        if (world_leads(s->w, rank))
            return elect_token(&s->w->node[rank]);
    return 0;
}

/* Longest way of an election around a ring; 0 for the bully algorithm. */
static uint64_t round_trip(const struct elect_config *c)
{
    return c->algorithm == ELECT_BULLY ? 0 : c->duration[ELECT_RING_TIMER - ELECT_FIRST_TIMER];
}

/* After the storm, a leader must stay in office. */
static void lull(struct storm *s)
{
    const struct elect_config *c = &s->w->config;
    uint64_t lease = c->lease;
    /* A higher process replaces the leader only after all penalties have decayed. */
    uint64_t ranks = c->preempt ? 6 * (uint64_t)c->decay + c->preempt_after : 0;
    pass(s, last_stall(s->w) + 4 * (lease + round_trip(c)) + ranks, NULL);
    elect_term token = token_in_force(s);
    pass(s, s->w->now + below(s, 20 * lease), NULL);
    /* A late message may restore a pause that no disk records any more. */
    if (s->beyond == STORM_DISKS && resume(s))
        return;
    if (token == 0 || token != token_in_force(s))
        broken(s, STORM_P4, ELECT_NOBODY, ELECT_NOBODY);
}

/*
 * The voters' leases and guards must end first; then the nominated process needs two rounds and two
 * disk writes. A refused candidate waits before it tries again, and others may be nominated
 * meanwhile.
 */
uint64_t storm_bound(const struct elect_config *c)
{
    const uint64_t million = 1000000;
    uint64_t suspicion = c->duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
    uint64_t by_their_clocks = 10 * (uint64_t)c->lease + 8 * (suspicion + round_trip(c));
    return by_their_clocks * million / (million - c->drift); /* clocks may be slow */
}

static uint32_t draw_kinds(struct storm *s)
{
    static const uint32_t clocks = 1u << STORM_FREEZE | 1u << STORM_SKEW | 1u << STORM_JUMP;
    static const uint32_t disks = 1u << STORM_BACKUP | 1u << STORM_ROLLBACK | 1u << STORM_WIPE |
                                  1u << STORM_CLONE | 1u << STORM_SWAP;
    uint32_t kinds = (uint32_t)dice_throw(&s->dice) | 1u << STORM_RECOVERY | 1u << STORM_HEAL;
    if (s->beyond != STORM_CLOCKS)
        kinds &= ~clocks;
    if (s->beyond != STORM_DISKS)
        kinds &= ~disks;
    else /* a process that lost a change of the membership may never agree with the others */
        kinds &= ~(1u << STORM_MEMBERS);
    return kinds;
}

void storm_run(const struct elect_config *c, enum storm_beyond beyond, uint64_t seed,
               uint64_t ticks, struct play *play, const volatile int *interrupted,
               struct storm_report *report)
{
    struct storm s = {.config = c,
                      .beyond = beyond,
                      .play = play,
                      .w = &play->world,
                      .seed = seed,
                      .report = report};
    struct weather fine = {.delay_min = 1, .delay_max = c->answer_bound / 2};
    uint64_t lease = c->lease;
    dice_seed(&s.dice, seed, DICE_CRASH);
    s.kinds = draw_kinds(&s);
    world_init(s.w, c, &fine, seed, ELECT_NOBODY);
    for (uint8_t rank = 0; rank < c->n; rank++) {
        elect_time says = (elect_time)below(&s, 1000 * lease);
        world_set_clock(s.w, rank, says, 0);
        elect_shift(&s.w->node[rank], says);
    }
    for (uint8_t rank = 0; rank < c->n && has(&s, STORM_RATE); rank++)
        fault(&s, STORM_RATE,
              &(struct fault){.kind = FAULT_RATE, .rank = rank, .amount = rate(&s)});
    while (s.w->now < ticks && (interrupted == NULL || !*interrupted)) {
        s.every = 1 + below(&s, below(&s, 2) == 0 ? lease / 4 : 4 * lease);
        storm(&s, s.w->now + lease + below(&s, 50 * lease));
        calm(&s);
        lull(&s);
        report->storms++;
        if (report->violations > 0)
            break;
    }
    report->time += s.w->now;
}
