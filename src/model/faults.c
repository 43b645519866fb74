/*
 * Injects faults, and delivers the requests of hosts to their processes. world_fault() acts at
 * once; world_schedule() stores the fault until world_next() reaches its time.
 */
#include "world_internal.h"

#include <assert.h>
#include <string.h>

/* ---- the network ---- */

static void cut(struct world *w, const struct fault *fault)
{
    for (unsigned i = 0; i < fault->parts; i++)
        for (unsigned j = 0; j < fault->parts; j++)
            for (uint8_t rank = 0; rank < w->config.n && i != j; rank++)
                if (fault->part[i] & rank_bit(rank))
                    w->cut[rank] |= fault->part[j] & ~rank_bit(rank);
}

static void cut_one_way(struct world *w, const struct fault *fault)
{
    for (uint8_t rank = 0; rank < w->config.n; rank++)
        if (fault->part[0] & rank_bit(rank))
            w->cut[rank] |= fault->part[1] & ~rank_bit(rank);
}

/* ---- processes and their disks ---- */

/* Messages that have not left the process are lost. The dice decide whether a pending write has
 * reached the disk. */
static void crash(struct world *w, uint8_t rank)
{
    struct disk *d = &w->disk[rank];
    world_down(w, rank);
    flights_drop_unsent(w, rank);
    if (d->done > w->now && dice_below(&w->dice[DICE_CRASH], 2) == 0)
        d->saved = d->before;
    d->done = w->stalled_until[rank] = 0;
}

/* Sends the death report, which releases the process's term. A real guardian does so once the
 * process and all work under its mandate have ended. */
static void send_testament(struct world *w, uint8_t rank, struct happening *h)
{
    const struct elect_saved *saved = &w->node[rank].saved;
    struct elect_message m =
        elect_testament(&w->config, rank, w->testament[rank], saved->incarnation);
    elect_set others = elect_everyone(&w->config) & ~rank_bit(rank);
    h->rank = rank;
    h->output = (struct elect_output){.sends = m.term != 0, .send = {{others, m}}};
    world_perform(w, rank, &h->output);
    w->testament[rank] = 0;
}

/* Starts a process without its state. It has forgotten its grants, so their record is cleared. */
static void readmit(struct world *w, uint8_t rank, struct happening *h)
{
    struct elect_output out;
    w->up |= rank_bit(rank);
    w->claims[rank].granted = 0;
    w->testament[rank] = 0;
    elect_readmit(&w->config, &w->node[rank], rank, (uint32_t)w->now, world_clock(w, rank), &out);
    w->stops[rank] = WORLD_FOREVER;
    world_perform(w, rank, &out);
    world_alarm(w, rank, h);
}

static void freeze(struct world *w, uint8_t rank, uint64_t ticks)
{
    struct clock *c = &w->clock[rank];
    c->base = world_clock(w, rank);
    c->since = w->now + ticks;
    flights_hold(w, rank, c->since);
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

/* ---- input from the host, and state that is set by hand ---- */

/* Sets one of the process's times to now and reports ALARM. The end of a granted lease has no
 * ALARM: a voter checks it only when a request arrives. */
static void come_due(struct world *w, const struct fault *fault, struct happening *h)
{
    struct elect_input in = elect_happens(ELECT_ALARM, world_clock(w, fault->rank));
    elect_time *time = &w->node[fault->rank].mandate.time[fault->amount];
    if (!world_up(w, fault->rank) || *time == ELECT_UNSET)
        return;
    *time = in.now;
    if (fault->amount != ELECT_EXPIRES)
        world_step(w, fault->rank, &in, h);
}

static void hear_of(struct world *w, uint8_t rank, elect_term counter)
{
    elect_term *seen = &w->node[rank].mandate.seen;
    *seen = elect_term_make(counter, 0) > *seen ? elect_term_make(counter, 0) : *seen;
}

/* Nominates the process as if it had won an election. Only for scenarios and tests. */
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

/* Asks the leader, the only process that may change the membership. */
static void change_members(struct world *w, const struct fault *f, struct happening *h)
{
    uint8_t leader = world_in_charge(w);
    struct elect_membership m = w->node[leader].saved.membership;
    m.members =
        f->kind == FAULT_ADD ? m.members | rank_bit(f->rank) : m.members & ~rank_bit(f->rank);
    m.voters = f->kind == FAULT_ADD ? m.voters | rank_bit(f->rank) : m.voters & ~rank_bit(f->rank);
    struct elect_input in = elect_changes(m.members, m.voters, world_clock(w, leader));
    world_step(w, leader, &in, h);
}

static void tell_host(struct world *w, const struct fault *f, struct happening *h)
{
    elect_time now = world_clock(w, f->rank);
    uint8_t to =
        f->kind == FAULT_TRANSFER ? elect_rank(&w->config, (uint32_t)f->amount) : ELECT_NOBODY;
    struct elect_input in = f->kind == FAULT_PAUSE_ELECTIONS    ? elect_happens(ELECT_PAUSE, now)
                            : f->kind == FAULT_RESUME_ELECTIONS ? elect_happens(ELECT_RESUME, now)
                            : f->kind == FAULT_ASIDE            ? elect_happens(ELECT_ASIDE, now)
                            : f->kind == FAULT_READY            ? elect_happens(ELECT_READY, now)
                                                                : elect_resigns(to, now);
    world_step(w, f->rank, &in, h);
}

/* The order may be late, repeated, or sent to a process that does not lead. */
static void give_order(struct world *w, const struct fault *f, struct happening *h)
{
    elect_term named = elect_term_make((uint64_t)f->amount, w->config.id[f->rank]);
    elect_term token = elect_token(&w->node[f->rank]);
    struct elect_input in = elect_ordered(ELECT_NOBODY, named, world_clock(w, f->rank));
    world_step(w, f->rank, &in, h);
    w->broken |= claims_note_order(&w->claims[f->rank], token, named, &h->output);
}

static void change_lease(struct world *w, uint32_t lease)
{
    struct elect_config c = w->config;
    uint64_t renewal = (uint64_t)c.renewal * lease / c.lease;
    if (elect_config_mandate(&c, lease, (uint32_t)renewal, c.drift, c.grain) == ELECT_FINE)
        w->config = c;
}

/* ---- the moves ---- */

static bool possible(const struct world *w, const struct fault *f)
{
    bool up = world_up(w, f->rank);
    switch ((enum fault_kind)f->kind) {
    case FAULT_CRASH:
    case FAULT_TESTAMENT:
    case FAULT_WIN:
    case FAULT_RESIGN:
    case FAULT_TRANSFER:
    case FAULT_ORDER:
    case FAULT_PAUSE_ELECTIONS:
    case FAULT_RESUME_ELECTIONS:
    case FAULT_ASIDE:
    case FAULT_READY:
    case FAULT_CLONE: return up;
    case FAULT_RECOVER:
    case FAULT_READMIT:
    case FAULT_WIPE: return !up;
    case FAULT_ADD:
    case FAULT_REMOVE: return world_in_charge(w) != ELECT_NOBODY;
    case FAULT_RESTORE: return !up && (w->backed_up & rank_bit(f->rank)) != 0;
    case FAULT_SWAP: return up && (w->cloned & rank_bit(f->rank)) != 0;
    case FAULT_CUT:
    case FAULT_HEAL:
    case FAULT_CALM:
    case FAULT_ONE_WAY:
    case FAULT_STALL:
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
        w->up |= rank_bit(fault->rank);
        world_restart(w, fault->rank, ELECT_NOBODY);
        world_step(w, fault->rank, &start, h);
        break;
    case FAULT_CUT: cut(w, fault); break;
    case FAULT_HEAL: memset(w->cut, 0, sizeof w->cut); break;
    case FAULT_CALM: w->weather.loss = w->weather.duplicate = w->weather.garble = 0; break;
    case FAULT_ONE_WAY: cut_one_way(w, fault); break;
    case FAULT_STALL: flights_hold(w, fault->rank, w->now + (uint64_t)fault->amount); break;
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
    case FAULT_PAUSE_ELECTIONS:
    case FAULT_RESUME_ELECTIONS:
    case FAULT_ASIDE:
    case FAULT_READY: tell_host(w, fault, h); break;
    case FAULT_ORDER: give_order(w, fault, h); break;
    case FAULT_ADD:
    case FAULT_REMOVE: change_members(w, fault, h); break;
    case FAULT_READMIT: readmit(w, fault->rank, h); break;
    case FAULT_LEASE: change_lease(w, (uint32_t)fault->amount); break;
    case FAULT_FREEZE: freeze(w, fault->rank, (uint64_t)fault->amount); break;
    case FAULT_BACKUP:
        w->backup[fault->rank] = w->disk[fault->rank].saved;
        w->backed_up |= rank_bit(fault->rank);
        break;
    case FAULT_RESTORE: w->disk[fault->rank].saved = w->backup[fault->rank]; break;
    case FAULT_WIPE: w->disk[fault->rank].saved = (struct elect_saved){0}; break;
    case FAULT_CLONE:
        w->clone[fault->rank].node = w->node[fault->rank];
        w->clone[fault->rank].disk = w->disk[fault->rank];
        w->cloned |= rank_bit(fault->rank);
        break;
    case FAULT_SWAP: swap_clone(w, fault->rank); break;
    case FAULT_KINDS: break;
    }
    h->what = HAPPENED_FAULT;
    if (!world_fault_steps(fault)) /* otherwise the step has set h->rank */
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
           f->kind == FAULT_TRANSFER || f->kind == FAULT_ORDER ||
           f->kind == FAULT_PAUSE_ELECTIONS || f->kind == FAULT_RESUME_ELECTIONS ||
           f->kind == FAULT_ASIDE || f->kind == FAULT_READY || f->kind == FAULT_ADD ||
           f->kind == FAULT_REMOVE || f->kind == FAULT_READMIT || f->kind == FAULT_TESTAMENT ||
           (f->kind == FAULT_DUE && f->amount != ELECT_EXPIRES);
}

void world_schedule(struct world *w, const struct fault *fault)
{
    assert(w->fault_count < WORLD_MAX_FAULTS);
    uint32_t i = w->fault_count++;
    for (; i > w->next_fault && w->fault[i - 1].time > fault->time; i--)
        w->fault[i] = w->fault[i - 1];
    w->fault[i] = *fault;
}
