/*
 * Messages in flight, in a heap ordered by arrival, then by sending. Whether a message will arrive
 * is decided when it is sent.
 */
#include "world_internal.h"

#include <assert.h>

/* ---- the heap ---- */

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
    w->elections += is_of_election(f->message.type);
    w->flight[w->flights++] = *f;
    sift_up(w, w->flights - 1);
}

static struct flight take(struct world *w, uint32_t i)
{
    assert(i < w->flights);
    struct flight f = w->flight[i];
    w->elections -= is_of_election(f.message.type);
    w->flight[i] = w->flight[--w->flights];
    if (i < w->flights) {
        sift_up(w, i);
        sift_down(w, i);
    }
    return f;
}

/* ---- sending ---- */

/* A message leaves only after a pending disk write. */
static uint64_t leaves(const struct world *w, uint8_t from)
{
    return w->disk[from].done > w->now ? w->disk[from].done : w->now;
}

/* Without `reorder`, a message arrives no earlier than the messages ahead of it on its link. */
static uint64_t arrival(struct world *w, uint8_t from, uint8_t to)
{
    const struct weather *x = &w->weather;
    uint64_t span = x->delay_max - x->delay_min;
    uint64_t due = leaves(w, from) + x->delay_min;
    due = due > w->stalled_until[to] ? due : w->stalled_until[to];
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
    if (w->cut[from] & rank_bit(to))
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

void flights_send(struct world *w, uint8_t from, const struct elect_send *s)
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

void flights_drop_unsent(struct world *w, uint8_t from)
{
    for (uint32_t i = 0; i < w->flights;) {
        if (w->flight[i].from == from && w->flight[i].leaves > w->now) {
            take(w, i);
            i = 0;
        } else {
            i++;
        }
    }
}

void flights_hold(struct world *w, uint8_t rank, uint64_t until)
{
    if (until <= w->stalled_until[rank])
        return;
    w->stalled_until[rank] = until;
    for (uint32_t i = 0; i < w->flights; i++)
        if (w->flight[i].to == rank && w->flight[i].due < until)
            w->flight[i].due = until;
    for (uint32_t i = w->flights / 2; i-- > 0;)
        sift_down(w, i);
}

/* ---- delivery and loss ---- */

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
    } else if (w->cut[f.from] & rank_bit(f.to)) {
        lost(w, &f, FATE_LOST_IN_CUT, h);
    } else if (!world_up(w, f.to)) {
        lost(w, &f, FATE_LOST_AT_THE_DEAD, h);
    } else {
        struct elect_input in = elect_received(f.from, &f.message, world_clock(w, f.to));
        w->books.delivered += is_of_election(f.message.type);
        world_step(w, f.to, &in, h);
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
