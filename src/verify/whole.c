/*
 * What can only be said of all worlds together: can agreement be reached from every one of them,
 * and does every election end?
 *
 * The worlds, without further faults and beginnings, are taken apart into their strongly connected
 * components (Tarjan 1972, with one number for each world: Pearce 2016). What a component leads to
 * is complete before the component is, so one walk says of every world whether it reaches agreement
 * (some successor does) and whether it comes to an end (all of them do).
 *
 * What does not come to an end can go on for ever. But a history in which a timer runs all the time
 * and never runs out is none: timers do. Nor is one in which a cut could heal time and again and
 * never does, or a leader is never heard or missed by somebody although it could be, again and
 * again. So a component with a cycle is a violation if every timer that runs in all of its worlds
 * runs out inside, and every healing, hearing or missing that is possible in one of them happens
 * inside. If such a move only leads out, the worlds where it is possible are avoided, and what is
 * left of the component is taken apart again.
 */
#include "explorer.h"

#include <stdlib.h>
#include <string.h>

enum { REACHES = 1, ENDS = 2, AVOIDED = 4 };

struct frame {
    uint32_t world, index;
    uint32_t first, next; /* its successors in `edge`, and the one that is looked at */
    bool root, reaches, ends;
};

struct whole {
    struct explorer *x;
    unsigned char *mark;
    uint32_t
        *number; /* 0: not seen; up to `index`: on the way; from `component` + 1 on: complete */
    uint32_t index, component;
    uint32_t *stack; /* those whose component is not complete */
    uint32_t depth;
    uint32_t *edge; /* successors of the worlds on the way to the one that is looked at */
    uint32_t edges, room;
    struct frame *frame;
    uint32_t frames, frame_room;
    size_t worlds;
    uint64_t seen;
    uint32_t bad; /* the first world in a component that goes on for ever */
    bool found, again, out_of_memory;
};

static void expand(struct whole *g, uint32_t world, space_visit *visit, void *context,
                   struct row *row, bool *quiet)
{
    struct explorer *x = g->x;
    store_row(&x->store, world, row);
    *quiet = space_expand(x->space, &x->worker[0].memory, row, false, visit, context).quiet;
}

static bool gone(const struct whole *g, uint32_t world)
{
    return (g->mark[world] & (ENDS | AVOIDED)) != 0;
}

/* ---- a component that is complete: does it go on for ever? ---- */

/* Of the moves that must happen if they are possible time and again: a set of them. */
struct due {
    uint16_t hear[SPACE_MAX], suspect, heal;
};

struct inside {
    struct whole *g;
    uint8_t always[SPACE_MAX], fired[SPACE_MAX]; /* timers, by process */
    struct due could, did;
    bool cycle;
};

static void note(struct due *d, const struct move *move)
{
    if (move->kind == MOVE_HEAR)
        d->hear[move->process] |= (uint16_t)(1u << move->from);
    if (move->kind == MOVE_SUSPECT)
        d->suspect |= (uint16_t)(1u << move->process);
    if (move->kind == MOVE_HEAL)
        d->heal = 1;
}

/* What is in a and not in b; false if nothing is. */
static bool beyond(const struct due *a, const struct due *b, struct due *rest)
{
    unsigned any = 0;
    for (unsigned i = 0; i < SPACE_MAX; i++)
        any |= rest->hear[i] = a->hear[i] & (uint16_t)~b->hear[i];
    any |= rest->suspect = a->suspect & (uint16_t)~b->suspect;
    any |= rest->heal = a->heal & (uint16_t)~b->heal;
    return any != 0;
}

static bool meet(const struct due *a, const struct due *b)
{
    bool common = (a->suspect & b->suspect) != 0 || (a->heal & b->heal) != 0;
    for (unsigned i = 0; i < SPACE_MAX; i++)
        common = common || (a->hear[i] & b->hear[i]) != 0;
    return common;
}

static void inspect(void *inside, const struct move *move, const struct row *row)
{
    struct inside *in = inside;
    const struct whole *g = in->g;
    uint32_t to;
    bool stays = store_find(&g->x->store, row, &to) && g->number[to] == g->component;
    in->cycle = in->cycle || stays;
    note(&in->could, move);
    if (stays)
        note(&in->did, move);
    if (stays && move->kind == MOVE_TIMEOUT)
        in->fired[move->process] |= (uint8_t)ELECT_TIMER_BIT(move->timer);
}

struct escape {
    const struct due *due;
    bool possible;
};

static void look_for(void *escape, const struct move *move, const struct row *row)
{
    struct escape *e = escape;
    struct due here = {0};
    (void)row;
    note(&here, move);
    e->possible = e->possible || meet(&here, e->due);
}

/* Without the worlds where one of these moves is possible. */
static void avoid(struct whole *g, const uint32_t *member, uint32_t count, const struct due *due)
{
    for (uint32_t i = 0; i < count; i++) {
        struct escape e = {.due = due};
        struct row row;
        bool quiet;
        expand(g, member[i], look_for, &e, &row, &quiet);
        g->mark[member[i]] |= e.possible ? AVOIDED : 0;
    }
    g->again = true;
}

static bool goes_on(struct whole *g, const uint32_t *member, uint32_t count)
{
    struct inside in = {.g = g};
    unsigned n = g->x->asked->question.config.n;
    struct due escapes;
    memset(in.always, 0xff, sizeof in.always);
    for (uint32_t i = 0; i < count; i++) {
        struct row row;
        bool quiet;
        expand(g, member[i], inspect, &in, &row, &quiet);
        for (unsigned k = 0; k < n; k++)
            in.always[k] &= space_seat(g->x->space, row.seat[k])->running;
    }
    if (!in.cycle)
        return false;
    for (unsigned k = 0; k < n; k++)
        if ((in.always[k] & ~in.fired[k]) != 0)
            return false;
    if (!beyond(&in.could, &in.did, &escapes))
        return true;
    avoid(g, member, count, &escapes);
    return false;
}

/* ---- the walk ---- */

static bool reserve(struct whole *g, void **items, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room)
        return true;
    uint32_t wanted = 2 * *room + 1024;
    g->out_of_memory =
        g->out_of_memory || !store_grow(&g->x->store, items, *room * size, wanted * size);
    if (!g->out_of_memory)
        *room = wanted;
    return !g->out_of_memory;
}

static void add_edge(void *whole, const struct move *move, const struct row *row)
{
    struct whole *g = whole;
    uint32_t world;
    (void)move;
    if (store_find(&g->x->store, row, &world) &&
        reserve(g, (void **)&g->edge, g->edges, &g->room, sizeof *g->edge))
        g->edge[g->edges++] = world;
}

static void enter(struct whole *g, uint32_t world)
{
    struct row row;
    bool quiet;
    if (!reserve(g, (void **)&g->frame, g->frames, &g->frame_room, sizeof *g->frame))
        return;
    struct frame *f = &g->frame[g->frames++];
    *f = (struct frame){.world = world,
                        .index = ++g->index,
                        .first = g->edges,
                        .next = g->edges,
                        .root = true,
                        .ends = true};
    g->number[world] = g->index;
    expand(g, world, add_edge, g, &row, &quiet);
    struct sight seen = explorer_look(g->x->space, &row);
    f->reaches = quiet && (seen.agreed || seen.highest == ELECT_NOBODY);
}

/* All on the stack that were found after its root belong to the component. */
static void complete(struct whole *g, const struct frame *f)
{
    uint32_t first = g->depth;
    g->stack[g->depth++] = f->world;
    while (first > 0 && g->number[g->stack[first - 1]] >= f->index)
        first--;
    for (uint32_t i = first; i < g->depth; i++) {
        g->number[g->stack[i]] = g->component;
        g->mark[g->stack[i]] |= (unsigned char)(f->reaches * REACHES | f->ends * ENDS);
    }
    if (!f->ends && goes_on(g, g->stack + first, g->depth - first))
        for (uint32_t i = first; i < g->depth; i++)
            if (!g->found || g->stack[i] < g->bad) {
                g->found = true;
                g->bad = g->stack[i];
            }
    g->index -= g->depth - first;
    g->depth = first;
    g->component--;
}

static void leave(struct whole *g)
{
    struct frame f = g->frame[--g->frames];
    struct frame *above = g->frames > 0 ? &g->frame[g->frames - 1] : NULL;
    g->edges = f.first;
    if (f.root)
        complete(g, &f);
    else
        g->stack[g->depth++] = f.world;
    if (above == NULL)
        return;
    above->reaches = above->reaches || f.reaches;
    above->ends = above->ends && f.root && f.ends;
    if (!f.root && g->number[f.world] < g->number[above->world]) {
        g->number[above->world] = g->number[f.world];
        above->root = false;
    }
}

/* Where an edge leads that needs no visit. */
static void follow(const struct whole *g, struct frame *f, uint32_t to)
{
    bool complete = g->number[to] > g->component || gone(g, to);
    f->reaches = f->reaches || (complete && (g->mark[to] & REACHES) != 0);
    f->ends = f->ends && complete && (g->mark[to] & ENDS) != 0;
    if (!complete && g->number[to] < g->number[f->world]) {
        g->number[f->world] = g->number[to];
        f->root = false;
    }
}

static void walk_from(struct whole *g, uint32_t world)
{
    const struct exploration *asked = g->x->asked;
    enter(g, world);
    while (g->frames > 0 && !g->out_of_memory && !explorer_interrupted(g->x)) {
        struct frame *f = &g->frame[g->frames - 1];
        if (f->next == g->edges) {
            leave(g);
            if (asked->progress != NULL && ++g->seen % 4096 == 0)
                asked->progress(g->seen, g->worlds, g->x->depth);
            continue;
        }
        uint32_t to = g->edge[f->next++];
        if (g->number[to] == 0 && !gone(g, to))
            enter(g, to);
        else
            follow(g, f, to);
    }
}

/* False if there was no memory, or no time. */
static bool take_apart(struct whole *g)
{
    const struct store *s = &g->x->store;
    memset(g->number, 0, g->worlds * sizeof *g->number);
    g->component = UINT32_MAX - 1;
    g->index = 0;
    g->seen = 0;
    g->again = false;
    for (unsigned t = 0; t < s->keepers; t++)
        for (uint32_t i = 0; i < s->shelves[t].count; i++) {
            uint32_t world = store_number(s, t, i);
            if (!gone(g, world) && g->number[world] == 0)
                walk_from(g, world);
            if (g->out_of_memory || explorer_interrupted(g->x))
                return false;
        }
    return true;
}

/* ---- judging the whole ---- */

static void nearest_unmarked(struct whole *g)
{
    struct explorer *x = g->x;
    for (unsigned level = 0; level < x->levels; level++)
        for (unsigned t = 0; t < x->threads; t++)
            for (uint32_t i = x->worker[t].level[level]; i < explorer_level_end(x, level, t); i++) {
                uint32_t world = store_number(&x->store, t, i);
                struct row row;
                store_row(&x->store, world, &row);
                if ((g->mark[world] & REACHES) != 0 || row.begun == 0)
                    continue;
                x->bad[PROPERTY_EVENTUALLY] = world;
                x->out->finding[PROPERTY_EVENTUALLY] = (struct finding){true, level};
                return;
            }
}

static bool judge(struct whole *g)
{
    struct explorer *x = g->x;
    struct store *s = &x->store;
    if (!store_grow(s, (void **)&g->mark, 0, g->worlds) ||
        !store_grow(s, (void **)&g->number, 0, g->worlds * sizeof *g->number) ||
        !store_grow(s, (void **)&g->stack, 0, g->worlds * sizeof *g->stack))
        return false;
    memset(g->mark, 0, g->worlds);
    do {
        if (!take_apart(g))
            return false;
    } while (g->again && !g->found);
    if ((x->asked->properties >> PROPERTY_EVENTUALLY & 1) != 0)
        nearest_unmarked(g);
    if (!g->found || (x->asked->properties >> PROPERTY_TERMINATION & 1) == 0)
        return true;
    x->bad[PROPERTY_TERMINATION] = g->bad;
    x->out->finding[PROPERTY_TERMINATION] = (struct finding){true, explorer_depth(x, g->bad)};
    return find_lasso(x, g->number, g->worlds, g->bad);
}

bool judge_whole(struct explorer *x)
{
    struct whole g = {.x = x};
    if ((x->asked->properties & (1u << PROPERTY_EVENTUALLY | 1u << PROPERTY_TERMINATION)) == 0)
        return true;
    for (unsigned t = 0; t < x->threads; t++)
        if (x->store.shelves[t].count > g.worlds)
            g.worlds = x->store.shelves[t].count;
    g.worlds *= x->threads;
    bool fine = judge(&g);
    if (!fine)
        atomic_store(&x->bound, explorer_interrupted(x) ? BOUND_INTERRUPTED : BOUND_MEMORY);
    free(g.mark);
    free(g.number);
    free(g.stack);
    free(g.edge);
    free(g.frame);
    return fine;
}
