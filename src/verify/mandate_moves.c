/* The moves of a world under a mandate: see mandate.c. */
#include "space.h"

struct expander {
    struct space *s;
    const struct row *row;
    space_visit *visit;
    void *context;
};

/* Returns true if process i has just taken office with a smaller token than another process's. */
static bool begins_late(const struct expander *e, const struct row *next, unsigned i)
{
    uint32_t taken = space_seat(e->s, next->seat[i])->taken;
    if (taken == space_seat(e->s, e->row->seat[i])->taken)
        return false;
    for (unsigned j = 0; j < e->s->question.config.n; j++)
        if (j != i && space_seat(e->s, next->seat[j])->taken > taken)
            return true;
    return false;
}

static void send(const struct expander *e, unsigned from, const struct change *o, struct row *next)
{
    for (unsigned k = 0; k < o->sends; k++)
        for (unsigned rest = o->send[k].to; rest != 0; rest &= rest - 1) {
            unsigned to = (unsigned)__builtin_ctz(rest);
            next->seat[to] = space_append(e->s, next->seat[to], from, o->send[k].message);
        }
}

static void apply(const struct expander *e, const struct move *move, const struct change *o,
                  struct row *next)
{
    unsigned i = move->process;
    next->seat[i] = o->becomes;
    send(e, i, o, next);
    next->late |= begins_late(e, next, i);
    e->visit(e->context, move, next);
}

static void move_alone(const struct expander *e, uint8_t i)
{
    const struct deliveries *d = space_deliveries(e->s, e->row->seat[i]);
    const struct change *o = d->first;
    for (unsigned k = 0; k < d->count; k++, o = change_next(o)) {
        struct move move = {.kind = o->kind,
                            .process = i,
                            .from = o->from,
                            .timer = o->argument,
                            .cut = o->voters,
                            .message = o->message};
        struct row next = *e->row;
        apply(e, &move, o, &next);
    }
}

/* With `testament`, also sends the process's death report, which may arrive at any time or
 * never. */
static void restart(const struct expander *e, uint8_t i, bool testament)
{
    struct row next = *e->row;
    if (next.left.crashes == 0 || (e->s->question.mortal >> i & 1) == 0)
        return;
    const struct change *o = space_change(e->s, next.seat[i], HAPPENS_WITH(RESTART, testament));
    next.left.crashes--;
    apply(e, &(struct move){.kind = testament ? MOVE_TESTAMENT : MOVE_RESTART, .process = i}, o,
          &next);
}

static void tick(const struct expander *e)
{
    struct row next = *e->row;
    const struct change *o[SPACE_MAX];
    unsigned n = e->s->question.config.n;
    bool same = true;
    for (unsigned i = 0; i < n; i++) {
        o[i] = space_change(e->s, e->row->seat[i], HAPPENS_WITH(TICK, 0));
        next.seat[i] = o[i]->becomes;
        same = same && next.seat[i] == e->row->seat[i];
    }
    for (unsigned i = 0; i < n; i++)
        send(e, i, o[i], &next);
    if (!same)
        e->visit(e->context, &(struct move){.kind = MOVE_TICK}, &next);
}

void mandate_expand(struct space *s, const struct row *row, space_visit *visit, void *context)
{
    struct expander e = {s, row, visit, context};
    for (uint8_t i = 0; i < s->question.config.n; i++) {
        move_alone(&e, i);
        restart(&e, i, false);
        if (s->question.hand_over)
            restart(&e, i, true);
    }
    if (s->question.clocks != CLOCKS_ANY)
        tick(&e);
}
