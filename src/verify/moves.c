/* The moves of a world without a mandate. */
#include "space.h"

#include <string.h>

struct expander {
    struct space *s;
    const struct row *row;
    const struct seat *seat[SPACE_MAX];
    uint16_t up;
    space_visit *visit;
    void *context;
};

static bool cut_between(const struct row *row, unsigned a, unsigned b)
{
    return row->cut != 0 && ((row->cut >> a & 1) != (row->cut >> b & 1));
}

static bool leads(const struct expander *e, unsigned i)
{
    const struct seat *s = e->seat[i];
    return s->up && s->state == ELECT_NORMAL && s->leader == i;
}

/* Replaces the seat of process i and delivers its messages to the mailboxes of all receivers that
 * are up and on its side of the cut. */
static void apply(struct space *s, unsigned up, struct row *next, unsigned i,
                  const struct change *o)
{
    next->seat[i] = o->becomes;
    for (unsigned k = 0; k < o->sends; k++)
        for (unsigned rest = o->send[k].to & (up | 1u << i); rest != 0; rest &= rest - 1) {
            unsigned to = (unsigned)__builtin_ctz(rest);
            if (!cut_between(next, i, to))
                next->seat[to] = space_append(s, next->seat[to], i, o->send[k].message);
        }
}

static void perform(const struct expander *e, struct move move, struct row *next, unsigned i,
                    uint32_t what)
{
    const struct change *o = space_change(e->s, next->seat[i], what);
    apply(e->s, e->up, next, i, o);
    move.started = o->started;
    e->visit(e->context, &move, next);
}

/* ---- what processes do ---- */

static void begin(const struct expander *e, unsigned i)
{
    const struct seat *s = e->seat[i];
    if (e->s->question.begin != BEGIN_ANY || !s->up || (e->row->begun >> i & 1) != 0 ||
        s->state != ELECT_NORMAL || s->leader == i)
        return;
    struct row next = *e->row;
    next.begun |= (uint16_t)(1u << i);
    perform(e, (struct move){.kind = MOVE_BEGIN, .process = (uint8_t)i}, &next, i,
            HAPPENS_WITH(EVENT, ELECT_SUSPECT));
}

static void deliver(const struct expander *e, unsigned i)
{
    const struct deliveries *d = space_deliveries(e->s, e->row->seat[i]);
    const struct change *o = d->first;
    for (unsigned k = 0; k < d->count; k++, o = change_next(o)) {
        struct move move = {
            .kind = MOVE_DELIVER, .process = (uint8_t)i, .from = o->from, .message = o->message};
        struct row next = *e->row;
        apply(e->s, e->up, &next, i, o);
        e->visit(e->context, &move, &next);
    }
}

static void timeouts(const struct expander *e, unsigned allowed)
{
    for (unsigned i = 0; i < e->s->question.config.n; i++) {
        for (unsigned rest = e->seat[i]->running & allowed; rest != 0; rest &= rest - 1) {
            unsigned timer = ELECT_FIRST_TIMER + (unsigned)__builtin_ctz(rest);
            struct row next = *e->row;
            perform(
                e,
                (struct move){.kind = MOVE_TIMEOUT, .process = (uint8_t)i, .timer = (uint8_t)timer},
                &next, i, HAPPENS_WITH(EVENT, timer));
        }
    }
}

static bool unheard(const struct expander *e, unsigned i)
{
    uint8_t leader = e->seat[i]->leader;
    return leader != i &&
           (leader == ELECT_NOBODY || !e->seat[leader]->up || cut_between(e->row, i, leader));
}

/* Process i receives a heartbeat from process j. Returns false if j does not lead, is across a cut,
 * or the heartbeat has no effect. */
static bool hear(const struct expander *e, unsigned i, unsigned j)
{
    if (j == i || !leads(e, j) || cut_between(e->row, i, j))
        return false;
    uint32_t beat = space_heartbeat(e->s, e->row->seat[j], j);
    const struct change *o = space_change(e->s, e->row->seat[i], HAPPENS_MESSAGE(beat, j));
    if (o->becomes == e->row->seat[i] && o->sends == 0)
        return false;
    struct row next = *e->row;
    perform(e, (struct move){.kind = MOVE_HEAR, .process = (uint8_t)i, .from = (uint8_t)j}, &next,
            i, HAPPENS_MESSAGE(beat, j));
    return true;
}

/* Failure detector: a process suspects a leader that it cannot hear, and receives the heartbeats of
 * one that it can. Returns true if any such move was possible. */
static bool watch(const struct expander *e)
{
    unsigned n = e->s->question.config.n;
    bool moved = false;
    for (unsigned i = 0; i < n; i++) {
        if (!e->seat[i]->up)
            continue;
        if (e->seat[i]->state == ELECT_NORMAL && unheard(e, i)) {
            struct row next = *e->row;
            moved = true;
            perform(e, (struct move){.kind = MOVE_SUSPECT, .process = (uint8_t)i}, &next, i,
                    HAPPENS_WITH(EVENT, ELECT_SUSPECT));
        }
        for (unsigned j = 0; j < n; j++)
            moved = hear(e, i, j) || moved;
    }
    return moved;
}

/* ---- faults ---- */

static void crash(const struct expander *e, unsigned i)
{
    struct row next = *e->row;
    next.left.crashes--;
    perform(e, (struct move){.kind = MOVE_CRASH, .process = (uint8_t)i}, &next, i,
            HAPPENS_WITH(CRASH, 0));
}

static void recover(const struct expander *e, unsigned i)
{
    struct row next = *e->row;
    bool joins = (e->s->question.down >> i & 1) != 0 && (next.joined >> i & 1) == 0;
    uint8_t *left = joins ? &next.left.joins : &next.left.recoveries;
    if (*left == 0)
        return;
    --*left;
    next.joined |= (uint16_t)(joins ? 1u << i : 0);
    perform(e, (struct move){.kind = MOVE_RECOVER, .process = (uint8_t)i}, &next, i,
            HAPPENS_WITH(EVENT, ELECT_START));
}

static void mishap(const struct expander *e, unsigned i, struct move move, uint32_t what)
{
    const struct change *o = space_change(e->s, e->row->seat[i], what);
    struct row next = *e->row;
    next.seat[i] = o->becomes;
    --*(move.kind == MOVE_LOSE ? &next.left.losses : &next.left.duplicates);
    move.from = o->from;
    move.message = o->message;
    if (o->from != i) /* a message to itself is never lost */
        e->visit(e->context, &move, &next);
}

static void lose_and_duplicate(const struct expander *e, unsigned i)
{
    unsigned count = space_deliveries(e->s, e->row->seat[i])->count;
    for (unsigned k = 0; k < count; k++) {
        if (e->row->left.losses > 0)
            mishap(e, i, (struct move){.kind = MOVE_LOSE, .process = (uint8_t)i},
                   HAPPENS_WITH(LOSS, k));
        if (e->row->left.duplicates > 0)
            mishap(e, i, (struct move){.kind = MOVE_DUPLICATE, .process = (uint8_t)i},
                   HAPPENS_WITH(COPY, k));
    }
}

static void cut(const struct expander *e)
{
    unsigned n = e->s->question.config.n;
    /* `side` is the one without the highest process, so each cut is tried only once. */
    for (unsigned side = 1; side < 1u << (n - 1); side++) {
        struct row next = *e->row;
        next.cut = (uint16_t)side;
        next.left.cuts--;
        for (unsigned i = 0; i < n; i++)
            next.seat[i] = space_change(e->s, next.seat[i], HAPPENS_WITH(CUT, side))->becomes;
        e->visit(e->context, &(struct move){.kind = MOVE_CUT, .cut = next.cut}, &next);
    }
}

static void faults(const struct expander *e)
{
    const struct budget *left = &e->row->left;
    for (unsigned i = 0; i < e->s->question.config.n; i++) {
        if (e->seat[i]->up && left->crashes > 0 && (e->s->question.mortal >> i & 1) != 0)
            crash(e, i);
        if (!e->seat[i]->up)
            recover(e, i);
        if (left->losses + left->duplicates > 0)
            lose_and_duplicate(e, i);
    }
    if (left->cuts > 0 && e->row->cut == 0)
        cut(e);
}

/* ---- all moves ---- */

/* Unless timeouts may come at any moment, only the shortest running timers may expire, and only
 * with no message in flight. */
static unsigned allowed_timers(const struct question *q, unsigned running, bool in_flight)
{
    if (q->any_timeouts)
        return ~0u;
    return in_flight ? 0 : running & -running;
}

/*
 * Moves only one process that has mail. On a ring without failures this is enough: the order in
 * which processes read their mail has no effect, because mail comes from one neighbour in a fixed
 * order, and a process may begin an election regardless of the others. The lowest process gives the
 * fewest worlds.
 */
static void follow_one(const struct expander *e, unsigned full)
{
    unsigned one = (unsigned)__builtin_ctz(full);
    deliver(e, one);
    begin(e, one);
}

struct expansion space_expand(struct space *s, const struct row *row, bool faulty,
                              space_visit *visit, void *context)
{
    const struct question *q = &s->question;
    if (q->config.mandate == ELECT_MAJORITY) {
        mandate_expand(s, row, visit, context);
        return (struct expansion){.quiet = false};
    }
    struct expander e = {.s = s, .row = row, .visit = visit, .context = context};
    unsigned full = 0, running = 0;
    for (unsigned i = 0; i < q->config.n; i++) {
        e.seat[i] = space_seat(s, row->seat[i]);
        e.up |= (uint16_t)((unsigned)e.seat[i]->up << i);
        running |= e.seat[i]->running;
        full |= (unsigned)(e.seat[i]->mailbox != SPACE_NO_MAIL) << i;
    }
    if (q->reduce && full != 0) {
        follow_one(&e, full);
        return (struct expansion){.quiet = false};
    }
    for (unsigned i = 0; i < q->config.n; i++) {
        if (full >> i & 1)
            deliver(&e, i);
        if (faulty)
            begin(&e, i);
    }
    timeouts(&e, allowed_timers(q, running, full != 0));
    bool rests = full == 0 && running == 0, watching = s->watched && (q->any_timeouts || rests);
    bool moved = watching && watch(&e);
    if (row->cut != 0) {
        struct row next = *row;
        next.cut = 0;
        visit(context, &(struct move){.kind = MOVE_HEAL}, &next);
    }
    if (faulty)
        faults(&e);
    return (struct expansion){.quiet = rests && !moved && row->cut == 0};
}

void space_begin(struct space *s, struct row *row, unsigned i)
{
    const struct change *o = space_change(s, row->seat[i], HAPPENS_WITH(EVENT, ELECT_SUSPECT));
    unsigned up = 0;
    for (unsigned j = 0; j < s->question.config.n; j++)
        up |= (unsigned)space_seat(s, row->seat[j])->up << j;
    row->begun |= (uint16_t)(1u << i);
    apply(s, up, row, i, o);
}
