#include "world.h"

#include "../words/words.h"

#include <assert.h>
#include <string.h>

#define MILLION 1000000

static elect_set bit(uint8_t rank) { return (elect_set)1 << rank; }

static bool is_election(unsigned type)
{
    return type != ELECT_ACK && type != ELECT_HEARTBEAT && !words_of_mandate(type);
}

/* ---- clocks ---- */

elect_time world_clock(const struct world *w, uint8_t rank)
{
    const struct clock *c = &w->clock[rank];
    int64_t passed = w->now > c->since ? (int64_t)(w->now - c->since) : 0;
    return c->base + passed + passed / MILLION * c->rate + passed % MILLION * c->rate / MILLION;
}

/* When that clock will say so. */
static uint64_t time_of(const struct world *w, uint8_t rank, elect_time says)
{
    const struct clock *c = &w->clock[rank];
    int64_t left = says - c->base, rate = MILLION + c->rate;
    if (says <= world_clock(w, rank))
        return w->now;
    uint64_t time = c->since + (uint64_t)(left / rate * MILLION + left % rate * MILLION / rate);
    return time > w->now ? time : w->now + 1; /* it does not say so now */
}

void world_set_clock(struct world *w, uint8_t rank, elect_time says, int64_t rate)
{
    w->clock[rank] = (struct clock){says, w->now, rate};
}

/* ---- the heap of messages in flight ---- */

static bool earlier(const struct flight *a, const struct flight *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void swap(struct flight *a, struct flight *b)
{
    struct flight c = *a;
    *a = *b;
    *b = c;
}

static void sift_up(struct world *w, uint32_t i)
{
    while (i > 0 && earlier(&w->flight[i], &w->flight[(i - 1) / 2])) {
        swap(&w->flight[i], &w->flight[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static void sift_down(struct world *w, uint32_t i)
{
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= w->flights)
            return;
        if (child + 1 < w->flights && earlier(&w->flight[child + 1], &w->flight[child]))
            child++;
        if (!earlier(&w->flight[child], &w->flight[i]))
            return;
        swap(&w->flight[child], &w->flight[i]);
        i = child;
    }
}

static void put(struct world *w, const struct flight *f)
{
    if (w->flights == WORLD_MAX_FLIGHTS) {
        w->disturbed = true;
        return;
    }
    w->elections += is_election(f->message.type);
    w->flight[w->flights++] = *f;
    sift_up(w, w->flights - 1);
}

static struct flight take(struct world *w, uint32_t i)
{
    assert(i < w->flights);
    struct flight f = w->flight[i];
    w->elections -= is_election(f.message.type);
    w->flight[i] = w->flight[--w->flights];
    if (i < w->flights) {
        sift_up(w, i);
        sift_down(w, i);
    }
    return f;
}

/* ---- performing what a step puts out ---- */

/* When what is sent now leaves its sender: once the disk has what must be there before. */
static uint64_t leaves(const struct world *w, uint8_t from)
{
    return w->disk[from].done > w->now ? w->disk[from].done : w->now;
}

static uint64_t arrival(struct world *w, uint8_t from, uint8_t to)
{
    const struct weather *x = &w->weather;
    uint64_t span = x->delay_max - x->delay_min;
    uint64_t due = leaves(w, from) + x->delay_min;
    due = due > w->paused[to] ? due : w->paused[to];
    if (span == 0)
        return due;
    due += dice_below(&w->dice[DICE_DELAY], span + 1);
    for (uint32_t i = 0; i < w->flights && !x->reorder; i++) {
        const struct flight *f = &w->flight[i];
        if (f->from == from && f->to == to && f->due > due)
            due = f->due;
    }
    return due;
}

static enum fate fate_of(struct world *w, uint8_t from, uint8_t to)
{
    if (from == to)
        return FATE_ARRIVES;
    if (w->cut[from] & bit(to))
        return FATE_LOST_IN_CUT;
    if (dice_chance(&w->dice[DICE_LOSS], w->weather.garble))
        return FATE_GARBLED;
    return dice_chance(&w->dice[DICE_LOSS], w->weather.loss) ? FATE_LOST_ON_THE_WAY : FATE_ARRIVES;
}

static void send_copy(struct world *w, uint8_t from, uint8_t to, const struct elect_message *m)
{
    struct flight f = {.message = *m, .from = from, .to = to};
    f.fate = (uint8_t)fate_of(w, from, to);
    f.leaves = leaves(w, from);
    f.due = arrival(w, from, to);
    f.order = w->order++;
    put(w, &f);
    if (from != to && dice_chance(&w->dice[DICE_DUPLICATE], w->weather.duplicate)) {
        f.due = arrival(w, from, to);
        f.order = w->order++;
        put(w, &f);
        w->disturbed = true;
    }
}

static void perform_send(struct world *w, uint8_t from, const struct elect_send *s)
{
    uint64_t copies = (uint64_t)__builtin_popcountll(s->to);
    unsigned type = s->message.type;
    if (type == ELECT_ACK)
        w->books.acks += copies;
    else if (type == ELECT_HEARTBEAT)
        w->books.heartbeats += copies;
    else
        w->books.sent[type] += copies;
    for (elect_set rest = s->to; rest != 0; rest &= rest - 1)
        send_copy(w, from, (uint8_t)__builtin_ctzll(rest), &s->message);
}

/* Nothing reaches a process before the time comes. */
static void hold(struct world *w, uint8_t rank, uint64_t until)
{
    if (until <= w->paused[rank])
        return;
    w->paused[rank] = until;
    for (uint32_t i = 0; i < w->flights; i++)
        if (w->flight[i].to == rank && w->flight[i].due < until)
            w->flight[i].due = until;
    for (uint32_t i = w->flights / 2; i-- > 0;)
        sift_down(w, i);
}

/* A process that writes waits for its disk. */
static void write(struct world *w, uint8_t rank)
{
    struct disk *d = &w->disk[rank];
    if (d->done <= w->now)
        d->before = d->saved;
    d->saved = w->node[rank].saved;
    d->done = w->now + d->takes;
    if (d->takes > 0)
        hold(w, rank, d->done);
}

static void perform(struct world *w, uint8_t rank, const struct elect_output *out)
{
    if (out->persist)
        write(w, rank);
    if (out->deposit)
        w->testament[rank] = w->node[rank].saved.used;
    for (unsigned i = 0; i < out->sends; i++)
        perform_send(w, rank, &out->send[i]);
    for (uint32_t rest = out->start; rest != 0; rest &= rest - 1) {
        unsigned t = (unsigned)__builtin_ctz(rest);
        w->timer[rank][t].due = w->now + w->config.duration[t];
        w->timer[rank][t].order = w->order++;
    }
}

static void step(struct world *w, uint8_t rank, const struct elect_input *in, struct happening *h)
{
    struct elect_node *node = &w->node[rank];
    uint8_t state = node->state, leader = node->leader, hop = node->queue[0].type;
    uint32_t round = node->saved.round;
    elect_set active = node->active;
    elect_term token = elect_token(node);

    assert(w->up & bit(rank));
    h->what = HAPPENED_STEP;
    h->rank = rank;
    h->input = *in;
    elect_step(&w->config, node, in, &h->output);
    if (elect_must_stop(node) && w->stops[rank] == WORLD_FOREVER)
        w->stops[rank] = w->now + w->stopping;
    if (h->output.rule.number == ELECT_RULE_HOP_FAILED) {
        w->books.sent[hop]--;
        w->books.failed_hops++;
    }
    perform(w, rank, &h->output);
    w->broken |= claims_note(&w->claims[rank], &w->latest, token, node, &h->output,
                             w->disk[rank].done <= w->now);
    if (state != node->state || leader != node->leader || round != node->saved.round ||
        active != node->active)
        w->changed = w->now;
}

/* ---- moves ---- */

static void restart(struct world *w, uint8_t rank, uint8_t leader)
{
    struct elect_output out;
    elect_init(&w->config, &w->node[rank], rank, leader, &w->disk[rank].saved, world_clock(w, rank),
               &out);
    w->stops[rank] = WORLD_FOREVER;
    perform(w, rank, &out);
}

void world_init(struct world *w, const struct elect_config *config, const struct weather *weather,
                uint64_t seed, uint8_t leader)
{
    memset(w, 0, offsetof(struct world, node));
    w->flights = w->elections = 0;
    w->config = *config;
    w->weather = *weather;
    for (int kind = 0; kind < DICE_KINDS; kind++)
        dice_seed(&w->dice[kind], seed, (enum dice_kind)kind);
    for (uint8_t rank = 0; rank < config->n; rank++) {
        w->up |= bit(rank);
        restart(w, rank, leader);
    }
}

void world_down(struct world *w, uint8_t rank)
{
    w->up &= ~bit(rank);
    w->node[rank].running = 0;
    w->node[rank].mandate = (struct elect_mandate){.presence.follows = ELECT_NOBODY};
    w->stops[rank] = WORLD_FOREVER;
}

void world_suspect(struct world *w, uint8_t rank, struct happening *h)
{
    struct elect_input in = elect_happens(ELECT_SUSPECT, world_clock(w, rank));
    step(w, rank, &in, h);
}

void world_take(struct world *w, uint8_t rank, uint8_t from, const struct elect_message *m,
                struct happening *h)
{
    struct elect_input in = elect_received(from, m, world_clock(w, rank));
    w->disturbed = true;
    step(w, rank, &in, h);
}

static void answer(struct world *w, uint8_t rank, uint8_t from, struct elect_message m,
                   struct happening *h)
{
    m.origin = from;
    m.incarnation = w->node[rank].saved.incarnation;
    world_take(w, rank, from, &m, h);
}

bool world_assent(struct world *w, uint8_t rank, uint8_t from, struct happening *h)
{
    const struct elect_mandate *m = &w->node[rank].mandate;
    const struct elect_membership *who = &w->node[rank].saved.membership;
    if (m->candidate.stage != ELECT_PREVOTING || ((who->voters | who->before) & bit(from)) == 0)
        return false;
    answer(w, rank, from,
           (struct elect_message){
               .type = ELECT_AYE, .term = m->candidate.asked, .round = m->candidate.question},
           h);
    return true;
}

void world_refuse(struct world *w, uint8_t rank, enum elect_refusal why, elect_term counter,
                  struct happening *h)
{
    answer(w, rank, rank,
           (struct elect_message){.type = ELECT_REFUSE,
                                  .what = ELECT_REQUEST,
                                  .reason = (uint8_t)why,
                                  .term = elect_token(&w->node[rank]),
                                  .in_the_way = elect_term_make(counter, w->config.id[rank])},
           h);
}

void world_alarm(struct world *w, uint8_t rank, struct happening *h)
{
    struct elect_input in = elect_happens(ELECT_ALARM, world_clock(w, rank));
    step(w, rank, &in, h);
}

void world_stopped(struct world *w, uint8_t rank, struct happening *h)
{
    struct elect_input in = elect_happens(ELECT_STOPPED, world_clock(w, rank));
    w->stops[rank] = WORLD_FOREVER;
    step(w, rank, &in, h);
}

static void expire(struct world *w, uint8_t rank, enum elect_event timer, struct happening *h)
{
    struct elect_input in = elect_happens(timer, world_clock(w, rank));
    assert(world_timer_runs(w, rank, timer));
    step(w, rank, &in, h);
}

void world_fire(struct world *w, uint8_t rank, enum elect_event timer, struct happening *h)
{
    w->disturbed = true;
    expire(w, rank, timer, h);
}

static void lost(struct world *w, const struct flight *f, enum fate fate, struct happening *h)
{
    h->what = HAPPENED_LOSS;
    h->rank = f->to;
    h->fate = (uint8_t)fate;
    h->input = elect_received(f->from, &f->message, world_clock(w, f->to));
    if (fate != FATE_LOST_AT_THE_DEAD)
        w->disturbed = true;
}

void world_deliver(struct world *w, uint32_t flight, struct happening *h)
{
    struct flight f = take(w, flight);
    if (f.fate != FATE_ARRIVES) {
        lost(w, &f, (enum fate)f.fate, h);
    } else if (w->cut[f.from] & bit(f.to)) {
        lost(w, &f, FATE_LOST_IN_CUT, h);
    } else if (!world_up(w, f.to)) {
        lost(w, &f, FATE_LOST_AT_THE_DEAD, h);
    } else {
        struct elect_input in = elect_received(f.from, &f.message, world_clock(w, f.to));
        w->books.delivered += is_election(f.message.type);
        step(w, f.to, &in, h);
    }
}

void world_lose(struct world *w, uint32_t flight, struct happening *h)
{
    struct flight f = take(w, flight);
    lost(w, &f, FATE_LOST_BY_HAND, h);
}

void world_duplicate(struct world *w, uint32_t flight)
{
    struct flight f = w->flight[flight];
    f.order = w->order++;
    put(w, &f);
    w->disturbed = true;
}

void world_delay(struct world *w, uint32_t flight, uint64_t until)
{
    struct flight f = take(w, flight);
    f.due = until > f.due ? until : f.due;
    put(w, &f);
    w->disturbed = true;
}

void world_inject(struct world *w, const struct flight *f)
{
    send_copy(w, f->from, f->to, &f->message);
    w->disturbed = true;
}

static void cut_one_way(struct world *w, const struct fault *fault)
{
    for (uint8_t rank = 0; rank < w->config.n; rank++)
        if (fault->group[0] & bit(rank))
            w->cut[rank] |= fault->group[1] & ~bit(rank);
}

/* What has not left it dies with it; a write that is not done may or may not be there. */
static void crash(struct world *w, uint8_t rank)
{
    struct disk *d = &w->disk[rank];
    world_down(w, rank);
    for (uint32_t i = 0; i < w->flights;) {
        if (w->flight[i].from == rank && w->flight[i].leaves > w->now) {
            take(w, i);
            i = 0;
        } else {
            i++;
        }
    }
    if (d->done > w->now && dice_below(&w->dice[DICE_CRASH], 2) == 0)
        d->saved = d->before;
    d->done = w->paused[rank] = 0;
}

static void cut(struct world *w, const struct fault *fault)
{
    for (unsigned i = 0; i < fault->groups; i++)
        for (unsigned j = 0; j < fault->groups; j++)
            for (uint8_t rank = 0; rank < w->config.n && i != j; rank++)
                if (fault->group[i] & bit(rank))
                    w->cut[rank] |= fault->group[j] & ~bit(rank);
}

/* A lease that is over says nothing; whatever else has its time is told so. */
static void come_due(struct world *w, const struct fault *fault, struct happening *h)
{
    struct elect_input in = elect_happens(ELECT_ALARM, world_clock(w, fault->rank));
    elect_time *time = &w->node[fault->rank].mandate.time[fault->amount];
    if (!world_up(w, fault->rank) || *time == ELECT_UNSET)
        return;
    *time = in.now;
    if (fault->amount != ELECT_EXPIRES)
        step(w, fault->rank, &in, h);
}

static void hear_of(struct world *w, uint8_t rank, elect_term counter)
{
    elect_term *seen = &w->node[rank].mandate.seen;
    *seen = elect_term_make(counter, 0) > *seen ? elect_term_make(counter, 0) : *seen;
}

/* Nobody but a hand can do that: it has won an election that nobody held. */
static void win(struct world *w, uint8_t rank, struct happening *h)
{
    struct elect_node *node = &w->node[rank];
    node->state = ELECT_NORMAL;
    node->leader = rank;
    if (node->mandate.candidate.stage == ELECT_NO_CANDIDATE) {
        node->mandate.candidate.nominated = false;
        node->mandate.time[ELECT_RETRY] = ELECT_UNSET;
    }
    world_alarm(w, rank, h);
}

/* The guardian has reaped it, and all that ran under its mandate. */
static void send_testament(struct world *w, uint8_t rank, struct happening *h)
{
    const struct elect_saved *saved = &w->node[rank].saved;
    struct elect_message m =
        elect_testament(&w->config, rank, w->testament[rank], saved->incarnation);
    elect_set others = elect_everyone(&w->config) & ~bit(rank);
    h->rank = rank;
    h->output = (struct elect_output){.sends = m.term != 0, .send = {{others, m}}};
    perform(w, rank, &h->output);
    w->testament[rank] = 0;
}

/* The leader is told: it is the one who can. */
static void change_members(struct world *w, const struct fault *f, struct happening *h)
{
    uint8_t leader = world_in_charge(w);
    struct elect_membership m = w->node[leader].saved.membership;
    m.members = f->kind == FAULT_ADD ? m.members | bit(f->rank) : m.members & ~bit(f->rank);
    m.voters = f->kind == FAULT_ADD ? m.voters | bit(f->rank) : m.voters & ~bit(f->rank);
    struct elect_input in = elect_changes(m.members, m.voters, world_clock(w, leader));
    step(w, leader, &in, h);
}

/* What its voter granted before it does not know. */
static void readmit(struct world *w, uint8_t rank, struct happening *h)
{
    struct elect_output out;
    w->up |= bit(rank);
    w->claims[rank].granted = 0;
    w->testament[rank] = 0;
    elect_readmit(&w->config, &w->node[rank], rank, (uint32_t)w->now, world_clock(w, rank), &out);
    w->stops[rank] = WORLD_FOREVER;
    perform(w, rank, &out);
    world_alarm(w, rank, h);
}

static void tell_host(struct world *w, const struct fault *f, struct happening *h)
{
    elect_time now = world_clock(w, f->rank);
    uint8_t to =
        f->kind == FAULT_TRANSFER ? elect_rank(&w->config, (uint32_t)f->amount) : ELECT_NOBODY;
    struct elect_input in = f->kind == FAULT_HALT     ? elect_happens(ELECT_PAUSE, now)
                            : f->kind == FAULT_RESUME ? elect_happens(ELECT_RESUME, now)
                                                      : elect_resigns(to, now);
    step(w, f->rank, &in, h);
}

static void freeze(struct world *w, uint8_t rank, uint64_t ticks)
{
    struct clock *c = &w->clock[rank];
    c->base = world_clock(w, rank);
    c->since = w->now + ticks;
    hold(w, rank, c->since);
}

static void change_lease(struct world *w, uint32_t lease)
{
    struct elect_config c = w->config;
    uint64_t renewal = (uint64_t)c.renewal * lease / c.lease;
    if (elect_config_mandate(&c, lease, (uint32_t)renewal, c.drift, c.grain) == ELECT_FINE)
        w->config = c;
}

static void swap_clone(struct world *w, uint8_t rank)
{
    struct elect_node node = w->node[rank];
    struct disk disk = w->disk[rank];
    w->node[rank] = w->clone[rank].node;
    w->disk[rank] = w->clone[rank].disk;
    w->clone[rank].node = node;
    w->clone[rank].disk = disk;
    w->stops[rank] = elect_must_stop(&w->node[rank]) ? w->now : WORLD_FOREVER;
}

/* Is there anything that it could happen to? */
static bool possible(const struct world *w, const struct fault *f)
{
    bool up = world_up(w, f->rank);
    switch ((enum fault_kind)f->kind) {
    case FAULT_CRASH:
    case FAULT_TESTAMENT:
    case FAULT_WIN:
    case FAULT_RESIGN:
    case FAULT_TRANSFER:
    case FAULT_HALT:
    case FAULT_RESUME:
    case FAULT_CLONE: return up;
    case FAULT_RECOVER:
    case FAULT_READMIT:
    case FAULT_WIPE: return !up;
    case FAULT_ADD:
    case FAULT_REMOVE: return world_in_charge(w) != ELECT_NOBODY;
    case FAULT_RESTORE: return !up && (w->backed_up & bit(f->rank)) != 0;
    case FAULT_SWAP: return up && (w->cloned & bit(f->rank)) != 0;
    case FAULT_CUT:
    case FAULT_HEAL:
    case FAULT_CALM:
    case FAULT_ONE_WAY:
    case FAULT_PAUSE:
    case FAULT_RATE:
    case FAULT_DISK:
    case FAULT_TICK:
    case FAULT_DUE:
    case FAULT_HEARS:
    case FAULT_LEASE:
    case FAULT_FREEZE:
    case FAULT_BACKUP:
    case FAULT_KINDS: break;
    }
    return true;
}

void world_fault(struct world *w, const struct fault *fault, struct happening *h)
{
    struct elect_input start = elect_happens(ELECT_START, world_clock(w, fault->rank));
    h->what = HAPPENED_NOTHING;
    if (!possible(w, fault))
        return;
    w->disturbed = true;
    switch ((enum fault_kind)fault->kind) {
    case FAULT_CRASH: crash(w, fault->rank); break;
    case FAULT_RECOVER:
        w->up |= bit(fault->rank);
        restart(w, fault->rank, ELECT_NOBODY);
        step(w, fault->rank, &start, h);
        break;
    case FAULT_CUT: cut(w, fault); break;
    case FAULT_HEAL: memset(w->cut, 0, sizeof w->cut); break;
    case FAULT_CALM: w->weather.loss = w->weather.duplicate = w->weather.garble = 0; break;
    case FAULT_ONE_WAY: cut_one_way(w, fault); break;
    case FAULT_PAUSE: hold(w, fault->rank, w->now + (uint64_t)fault->amount); break;
    case FAULT_RATE:
        world_set_clock(w, fault->rank, world_clock(w, fault->rank), fault->amount);
        break;
    case FAULT_DISK: w->disk[fault->rank].takes = (uint64_t)fault->amount; break;
    case FAULT_TICK: w->clock[fault->rank].base += fault->amount; break;
    case FAULT_DUE: come_due(w, fault, h); break;
    case FAULT_HEARS: hear_of(w, fault->rank, (elect_term)fault->amount); break;
    case FAULT_WIN: win(w, fault->rank, h); break;
    case FAULT_TESTAMENT:
        crash(w, fault->rank);
        send_testament(w, fault->rank, h);
        break;
    case FAULT_RESIGN:
    case FAULT_TRANSFER:
    case FAULT_HALT:
    case FAULT_RESUME: tell_host(w, fault, h); break;
    case FAULT_ADD:
    case FAULT_REMOVE: change_members(w, fault, h); break;
    case FAULT_READMIT: readmit(w, fault->rank, h); break;
    case FAULT_LEASE: change_lease(w, (uint32_t)fault->amount); break;
    case FAULT_FREEZE: freeze(w, fault->rank, (uint64_t)fault->amount); break;
    case FAULT_BACKUP:
        w->backup[fault->rank] = w->disk[fault->rank].saved;
        w->backed_up |= bit(fault->rank);
        break;
    case FAULT_RESTORE: w->disk[fault->rank].saved = w->backup[fault->rank]; break;
    case FAULT_WIPE: w->disk[fault->rank].saved = (struct elect_saved){0}; break;
    case FAULT_CLONE:
        w->clone[fault->rank].node = w->node[fault->rank];
        w->clone[fault->rank].disk = w->disk[fault->rank];
        w->cloned |= bit(fault->rank);
        break;
    case FAULT_SWAP: swap_clone(w, fault->rank); break;
    case FAULT_KINDS: break;
    }
    h->what = HAPPENED_FAULT;
    if (!world_fault_steps(fault)) /* else the step is somebody's */
        h->rank = fault->rank;
    h->fault = *fault;
}

const char *world_fault_name(enum fault_kind kind)
{
    static const char *const names[] = {
#define X(name, word) word,
        WORLD_FAULTS(X)
#undef X
    };
    return names[kind];
}

bool world_fault_steps(const struct fault *f)
{
    return f->kind == FAULT_RECOVER || f->kind == FAULT_WIN || f->kind == FAULT_RESIGN ||
           f->kind == FAULT_TRANSFER || f->kind == FAULT_HALT || f->kind == FAULT_RESUME ||
           f->kind == FAULT_ADD || f->kind == FAULT_REMOVE || f->kind == FAULT_READMIT ||
           f->kind == FAULT_TESTAMENT || (f->kind == FAULT_DUE && f->amount != ELECT_EXPIRES);
}

void world_schedule(struct world *w, const struct fault *fault)
{
    assert(w->fault_count < WORLD_MAX_FAULTS);
    uint32_t i = w->fault_count++;
    for (; i > w->next_fault && w->fault[i - 1].time > fault->time; i--)
        w->fault[i] = w->fault[i - 1];
    w->fault[i] = *fault;
}

/* ---- time ---- */

/* What a process will be told next without a message. */
struct alarm {
    uint64_t due;
    uint32_t order;
    uint8_t rank;
    enum elect_event event;
};

static void consider(const struct world *w, struct alarm *first, struct alarm other)
{
    if (other.due < w->paused[other.rank])
        other.due = w->paused[other.rank];
    if (other.due < first->due || (other.due == first->due && other.order < first->order))
        *first = other;
}

/* The mandate keeps its own times; it is told when the first of them has come. */
static void consider_mandate(const struct world *w, uint8_t rank, struct alarm *first)
{
    elect_time alarm = elect_alarm(&w->node[rank]);
    if (alarm != INT64_MAX)
        consider(w, first, (struct alarm){time_of(w, rank, alarm), UINT32_MAX, rank, ELECT_ALARM});
    if (w->stops[rank] != WORLD_FOREVER)
        consider(w, first, (struct alarm){w->stops[rank], UINT32_MAX, rank, ELECT_STOPPED});
}

static struct alarm next_alarm(const struct world *w)
{
    struct alarm first = {.due = WORLD_FOREVER};
    for (elect_set up = w->up; up != 0; up &= up - 1) {
        uint8_t rank = (uint8_t)__builtin_ctzll(up);
        for (uint32_t rest = w->node[rank].running; rest != 0; rest &= rest - 1) {
            unsigned t = (unsigned)__builtin_ctz(rest);
            consider(w, &first,
                     (struct alarm){w->timer[rank][t].due, w->timer[rank][t].order, rank,
                                    (enum elect_event)(ELECT_FIRST_TIMER + t)});
        }
        if (w->node[rank].mandated)
            consider_mandate(w, rank, &first);
    }
    return first;
}

static void tell_time(struct world *w, const struct alarm *alarm, struct happening *h)
{
    struct elect_input in = elect_happens(alarm->event, world_clock(w, alarm->rank));
    if (alarm->event == ELECT_STOPPED)
        world_stopped(w, alarm->rank, h);
    else
        step(w, alarm->rank, &in, h);
}

bool world_next(struct world *w, uint64_t until, struct happening *h)
{
    struct alarm alarm = next_alarm(w);
    uint64_t message = w->flights > 0 ? w->flight[0].due : WORLD_FOREVER;
    uint64_t fault = w->next_fault < w->fault_count ? w->fault[w->next_fault].time : WORLD_FOREVER;
    uint64_t time = message < alarm.due ? message : alarm.due;
    time = fault < time ? fault : time;
    if (time == WORLD_FOREVER || time > until)
        return false;
    w->now = time > w->now ? time : w->now;
    if (fault == time)
        world_fault(w, &w->fault[w->next_fault++], h);
    else if (message == time)
        world_deliver(w, 0, h);
    else
        tell_time(w, &alarm, h);
    return true;
}

/* ---- questions ---- */

uint32_t world_find(const struct world *w, uint8_t from, uint8_t to, enum elect_event type)
{
    uint32_t found = WORLD_MAX_FLIGHTS;
    for (uint32_t i = 0; i < w->flights; i++) {
        const struct flight *f = &w->flight[i];
        if (f->from == from && f->to == to && f->message.type == type &&
            (found == WORLD_MAX_FLIGHTS || f->order < w->flight[found].order))
            found = i;
    }
    return found;
}

bool world_up(const struct world *w, uint8_t rank) { return (w->up & bit(rank)) != 0; }

bool world_leads(const struct world *w, uint8_t rank)
{
    return world_up(w, rank) && elect_leads(&w->node[rank], world_clock(w, rank));
}

bool world_in_office(const struct world *w, uint8_t rank)
{
    return world_up(w, rank) && elect_in_office(&w->node[rank], world_clock(w, rank));
}

bool world_timer_runs(const struct world *w, uint8_t rank, enum elect_event timer)
{
    return (w->node[rank].running & ELECT_TIMER_BIT(timer)) != 0;
}

elect_set world_reach(const struct world *w, uint8_t rank) { return w->up & ~w->cut[rank]; }

uint8_t world_follows(const struct world *w, uint8_t rank)
{
    const struct elect_node *node = &w->node[rank];
    if (node->mandated)
        return node->mandate.presence.follows;
    return node->state == ELECT_NORMAL ? node->leader : ELECT_NOBODY;
}

bool world_forgot(const struct world *w, uint8_t rank)
{
    return w->disk[rank].saved.incarnation == 0;
}

uint8_t world_in_charge(const struct world *w)
{
    for (elect_set rest = w->up; rest != 0; rest &= rest - 1)
        if (world_in_office(w, (uint8_t)__builtin_ctzll(rest)))
            return (uint8_t)__builtin_ctzll(rest);
    return ELECT_NOBODY;
}

uint8_t world_leader(const struct world *w)
{
    uint8_t leader = ELECT_NOBODY;
    for (elect_set rest = w->up; rest != 0; rest &= rest - 1) {
        uint8_t follows = world_follows(w, (uint8_t)__builtin_ctzll(rest));
        if (follows == ELECT_NOBODY || (leader != ELECT_NOBODY && follows != leader))
            return ELECT_NOBODY;
        leader = follows;
    }
    return leader != ELECT_NOBODY && world_up(w, leader) ? leader : ELECT_NOBODY;
}

/* Somebody holds a mandate, can renew it, and whoever can hear it follows it. */
static bool office_is_known(const struct world *w)
{
    for (elect_set rest = w->up; rest != 0; rest &= rest - 1) {
        uint8_t leader = (uint8_t)__builtin_ctzll(rest);
        elect_set voters = w->node[leader].saved.membership.voters;
        bool known =
            world_leads(w, leader) && 2 * __builtin_popcountll(world_reach(w, leader) & voters) >
                                          __builtin_popcountll(voters);
        for (elect_set near = world_reach(w, leader); near != 0 && known; near &= near - 1)
            known = w->node[__builtin_ctzll(near)].mandate.presence.follows == leader;
        if (known)
            return true;
    }
    return false;
}

bool world_settled(const struct world *w)
{
    if (w->elections > 0 || w->next_fault < w->fault_count)
        return false;
    if (w->config.mandate == ELECT_MAJORITY)
        return office_is_known(w);
    for (elect_set rest = w->up; rest != 0; rest &= rest - 1) {
        uint8_t rank = (uint8_t)__builtin_ctzll(rest);
        const struct elect_node *node = &w->node[rank];
        elect_set near = world_reach(w, rank);
        if (node->state != ELECT_NORMAL || node->leader == ELECT_NOBODY ||
            (near & bit(node->leader)) == 0)
            return false;
        for (; near != 0; near &= near - 1)
            if (w->node[__builtin_ctzll(near)].leader != node->leader)
                return false;
    }
    return true;
}

/* On a link messages arrive in order: where does this one stand? */
static unsigned place_on_link(const struct world *w, const struct flight *f)
{
    unsigned place = 0;
    for (uint32_t i = 0; i < w->flights; i++)
        place += w->flight[i].from == f->from && w->flight[i].to == f->to &&
                 w->flight[i].order < f->order;
    return place;
}

static bool in_flight_too(const struct world *w, const struct flight *f, unsigned place)
{
    for (uint32_t i = 0; i < w->flights; i++) {
        const struct flight *g = &w->flight[i];
        if (g->from == f->from && g->to == f->to && place_on_link(w, g) == place)
            return memcmp(&g->message, &f->message, sizeof f->message) == 0;
    }
    return false;
}

bool world_same(const struct world *a, const struct world *b)
{
    bool same = a->up == b->up && a->flights == b->flights &&
                memcmp(a->cut, b->cut, sizeof a->cut) == 0 &&
                memcmp(a->disk, b->disk, sizeof a->disk) == 0;
    for (elect_set rest = a->up; rest != 0 && same; rest &= rest - 1) {
        unsigned rank = (unsigned)__builtin_ctzll(rest);
        same = memcmp(&a->node[rank], &b->node[rank], sizeof a->node[rank]) == 0;
    }
    for (uint32_t i = 0; i < a->flights && same; i++)
        same = in_flight_too(b, &a->flight[i], place_on_link(a, &a->flight[i]));
    return same;
}

bool world_at_rest(const struct world *w)
{
    return w->flights == 0 && w->next_fault == w->fault_count && next_alarm(w).due == WORLD_FOREVER;
}

uint64_t world_total(const struct world *w)
{
    uint64_t total = 0;
    for (unsigned type = ELECT_FIRST_MESSAGE; type < ELECT_PREVOTE; type++)
        total += w->books.sent[type];
    return total;
}
