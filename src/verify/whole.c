/*
 * What can only be said of all worlds together: can agreement be reached from every one of them,
 * and does every election end?
 */
#include "explorer.h"

#include <stdlib.h>
#include <string.h>

/* Two things are said of a world by what is said of its successors: that agreement can be reached
 * (from some of them), and that it comes to an end (all of them do). */
enum { REACHES = 1, ENDS = 2 };

struct sweep {
    struct explorer *x;
    const unsigned char *mark;
    unsigned char some, all;
};

static void ask(void *sweep, const struct move *move, const struct row *row)
{
    struct sweep *s = sweep;
    uint32_t world;
    (void)move;
    unsigned char mark = explorer_locate(s->x, row, &world) ? s->mark[world] : 0;
    s->some |= mark;
    s->all &= mark;
}

static unsigned char mark_of(struct explorer *x, const unsigned char *mark, uint32_t world)
{
    struct sweep s = {.x = x, .mark = mark, .all = ENDS};
    struct row row;
    explorer_row(x, world, &row);
    struct expansion e = space_expand(x->space, &x->worker[0].memory, &row, false, ask, &s);
    struct sight seen = explorer_look(x->space, &row);
    bool agreed = e.quiet && (seen.agreed || seen.highest == ELECT_NOBODY);
    return (unsigned char)((s.some & REACHES) | (agreed ? REACHES : 0) | (s.all & ENDS));
}

/* Level by level from the last one back: most moves lead to the next level, so that few passes do.
 * */
static bool mark_all(struct explorer *x, unsigned char *mark)
{
    bool changed = false;
    for (unsigned level = x->levels; level-- > 0;) {
        for (unsigned t = 0; t < x->threads && !explorer_interrupted(x); t++) {
            const struct worker *w = &x->worker[t];
            uint32_t end = level + 1 < x->levels ? w->level[level + 1] : w->store.count;
            for (uint32_t i = w->level[level]; i < end; i++) {
                uint32_t world = explorer_number(x, t, i);
                unsigned char old = mark[world];
                if (old != (REACHES | ENDS))
                    mark[world] |= mark_of(x, mark, world);
                changed = changed || mark[world] != old;
            }
        }
    }
    return changed;
}

/* ---- histories without end ---- */

/*
 * What is left unmarked when everything that must end is marked can go on for ever. But a history
 * in which a timer runs all the time and never runs out is none: timers do. Nor is one in which a
 * cut never heals, or a leader is never heard or missed although it could be, time and again: it
 * is. So the unmarked worlds are taken apart into their strongly connected components (Tarjan
 * 1972), and one of them is a violation only if every timer that runs in all of its worlds runs out
 * inside, and none of those moves leads out of it.
 */
struct frame {
    uint32_t world, first, next; /* its successors in `edge`, and the one that is looked at */
};

struct components {
    struct explorer *x;
    const unsigned char *mark;
    uint32_t *order, *low; /* 0: not seen; low UINT32_MAX: its component is complete */
    uint32_t *stack, depth, counter;
    uint32_t *edge; /* successors of the worlds on the way to the one that is looked at */
    uint32_t edges, room;
    struct frame *frame;
    uint32_t frames, frame_room;
    uint32_t bad; /* a world in a component that goes on for ever */
    bool found, out_of_memory;
};

static bool reserve(struct components *c, void **items, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room)
        return true;
    uint32_t wanted = 2 * *room + 1024;
    void *memory = realloc(*items, wanted * size);
    c->out_of_memory = c->out_of_memory || memory == NULL;
    if (memory != NULL) {
        *items = memory;
        *room = wanted;
    }
    return memory != NULL;
}

static void add_edge(void *components, const struct move *move, const struct row *row)
{
    struct components *c = components;
    uint32_t world;
    (void)move;
    if (!explorer_locate(c->x, row, &world) || (c->mark[world] & ENDS) != 0 ||
        !reserve(c, (void **)&c->edge, c->edges, &c->room, sizeof *c->edge))
        return;
    c->edge[c->edges++] = world;
}

static void enter(struct components *c, uint32_t world)
{
    struct row row;
    if (!reserve(c, (void **)&c->frame, c->frames, &c->frame_room, sizeof *c->frame))
        return;
    c->order[world] = c->low[world] = ++c->counter;
    c->stack[c->depth++] = world;
    c->frame[c->frames++] = (struct frame){world, c->edges, c->edges};
    explorer_row(c->x, world, &row);
    space_expand(c->x->space, &c->x->worker[0].memory, &row, false, add_edge, c);
}

/* A component: the worlds on the stack from `order` on. */
struct inside {
    struct components *c;
    uint32_t order;
    uint8_t always[SPACE_MAX], fired[SPACE_MAX]; /* timers, by process */
    bool cycle, escapes;
};

static void inspect(void *inside, const struct move *move, const struct row *row)
{
    struct inside *in = inside;
    const struct components *c = in->c;
    uint32_t to;
    bool stays = explorer_locate(c->x, row, &to) && (c->mark[to] & ENDS) == 0 &&
                 c->low[to] != UINT32_MAX && c->order[to] >= in->order;
    in->cycle = in->cycle || stays;
    if (stays && move->kind == MOVE_TIMEOUT)
        in->fired[move->process] |= (uint8_t)ELECT_TIMER_BIT(move->timer);
    if (!stays &&
        (move->kind == MOVE_HEAR || move->kind == MOVE_SUSPECT || move->kind == MOVE_HEAL))
        in->escapes = true;
}

static bool goes_on(struct components *c, uint32_t first)
{
    struct inside in = {.c = c, .order = c->order[c->stack[first]]};
    unsigned n = c->x->shape.n;
    memset(in.always, 0xff, sizeof in.always);
    for (uint32_t i = first; i < c->depth; i++) {
        struct row row;
        explorer_row(c->x, c->stack[i], &row);
        for (unsigned k = 0; k < n; k++) {
            struct brief b = space_brief(c->x->space, row.local[k]);
            in.always[k] &= b.up ? b.running : 0;
        }
        space_expand(c->x->space, &c->x->worker[0].memory, &row, false, inspect, &in);
    }
    for (unsigned k = 0; k < n; k++)
        in.escapes = in.escapes || (in.always[k] & ~in.fired[k]) != 0;
    return in.cycle && !in.escapes;
}

static void leave(struct components *c)
{
    struct frame f = c->frame[--c->frames];
    c->edges = f.first;
    if (c->low[f.world] == c->order[f.world]) {
        uint32_t first = c->depth;
        while (c->stack[--first] != f.world)
            continue;
        if (!c->found && goes_on(c, first)) {
            c->found = true;
            c->bad = f.world;
        }
        while (c->depth > first)
            c->low[c->stack[--c->depth]] = UINT32_MAX;
    }
    if (c->frames > 0 && c->low[f.world] != UINT32_MAX) {
        uint32_t above = c->frame[c->frames - 1].world;
        c->low[above] = c->low[f.world] < c->low[above] ? c->low[f.world] : c->low[above];
    }
}

static void visit_from(struct components *c, uint32_t world)
{
    enter(c, world);
    while (c->frames > 0 && !c->out_of_memory && !explorer_interrupted(c->x)) {
        struct frame *f = &c->frame[c->frames - 1];
        uint32_t end = c->edges;
        if (f->next == end) {
            leave(c);
            continue;
        }
        uint32_t to = c->edge[f->next++];
        if (c->order[to] == 0)
            enter(c, to);
        else if (c->low[to] != UINT32_MAX && c->order[to] < c->low[f->world])
            c->low[f->world] = c->order[to];
    }
}

/* False if there was no memory, or no time, to find out. */
static bool find_endless(struct explorer *x, const unsigned char *mark, size_t worlds,
                         uint32_t *bad, bool *endless)
{
    struct components c = {.x = x, .mark = mark};
    c.order = calloc(worlds, sizeof *c.order);
    c.low = calloc(worlds, sizeof *c.low);
    c.stack = calloc(worlds, sizeof *c.stack);
    c.out_of_memory = c.order == NULL || c.low == NULL || c.stack == NULL;
    for (unsigned t = 0; t < x->threads && !c.out_of_memory; t++)
        for (uint32_t i = 0; i < x->worker[t].store.count && !c.found && !c.out_of_memory; i++)
            if ((mark[explorer_number(x, t, i)] & ENDS) == 0 &&
                c.order[explorer_number(x, t, i)] == 0)
                visit_from(&c, explorer_number(x, t, i));
    free(c.order);
    free(c.low);
    free(c.stack);
    free(c.edge);
    free(c.frame);
    *bad = c.bad;
    *endless = c.found;
    return !c.out_of_memory && !explorer_interrupted(x);
}

/* ---- judging the whole ---- */

static void nearest_unmarked(struct explorer *x, const unsigned char *mark, enum property p)
{
    for (unsigned level = 0; level < x->levels; level++) {
        for (unsigned t = 0; t < x->threads; t++) {
            const struct worker *w = &x->worker[t];
            uint32_t end = level + 1 < x->levels ? w->level[level + 1] : w->store.count;
            for (uint32_t i = w->level[level]; i < end; i++) {
                uint32_t world = explorer_number(x, t, i);
                struct row row;
                explorer_row(x, world, &row);
                if ((mark[world] & REACHES) != 0 || row.begun == 0)
                    continue;
                x->bad[p] = world;
                x->out->finding[p] = (struct finding){true, level};
                return;
            }
        }
    }
}

bool judge_whole(struct explorer *x)
{
    uint32_t asked = x->asked->properties;
    size_t worlds = 0;
    if ((asked & (1u << PROPERTY_EVENTUALLY | 1u << PROPERTY_TERMINATION)) == 0)
        return true;
    for (unsigned t = 0; t < x->threads; t++)
        if (x->worker[t].store.count > worlds)
            worlds = x->worker[t].store.count;
    worlds *= x->threads;
    unsigned char *mark = calloc(worlds, 1);
    bool fine = mark != NULL;
    while (fine && mark_all(x, mark))
        fine = !explorer_interrupted(x);
    if (fine && (asked >> PROPERTY_EVENTUALLY & 1) != 0)
        nearest_unmarked(x, mark, PROPERTY_EVENTUALLY);
    uint32_t *bad = &x->bad[PROPERTY_TERMINATION];
    bool endless = false;
    if (fine && (asked >> PROPERTY_TERMINATION & 1) != 0)
        fine = find_endless(x, mark, worlds, bad, &endless);
    if (endless)
        x->out->finding[PROPERTY_TERMINATION] = (struct finding){true, explorer_depth(x, *bad)};
    free(mark);
    if (!fine)
        atomic_store(&x->bound, explorer_interrupted(x) ? BOUND_INTERRUPTED : BOUND_MEMORY);
    return fine;
}
