/*
 * Checks the two properties that concern all worlds: agreement can be reached from every world, and
 * every election ends. Assumes no further faults or new elections.
 *
 * In most worlds every history ends, and ends.c marks these worlds. This file divides the others
 * into strongly connected components, with the algorithm of Tarjan (1972) and one number per world
 * as in Pearce (2016). When it completes a component, all components reachable from it are already
 * complete, so a single walk answers both questions: a world can reach agreement if one of its
 * successors can, and its histories are finite if those of all its successors are.
 *
 * An endless history is a violation only if it is fair: see struct due. A component with a cycle is
 * a violation if moves inside the component meet three conditions:
 *  - If messages from one sender to a process wait in all its worlds, one of them is received.
 *  - If a timer runs in all its worlds and may expire in one, it expires or is started again.
 *  - If a cut can heal in one of its worlds, or a leader can be heard or suspected, that happens.
 * If such a move only leads out of the component, the search leaves out the worlds where the move
 * is possible and divides the rest of the component again.
 */
#include "explorer.h"

#include <stdlib.h>
#include <string.h>

struct frame {
    uint32_t world, index;
    uint32_t first, next; /* indices in `edge`: the first successor, the next one to visit */
    bool root, reaches, ends;
    bool again; /* has an edge to itself */
};

struct whole {
    struct explorer *x;
    /* For each world: 0 if not visited, at most `index` on the path, more than `component` when its
     * component is complete. */
    uint32_t *number;
    uint32_t index, component;
    uint32_t *stack; /* worlds of incomplete components */
    uint32_t depth;
    uint32_t *edge; /* successors of the worlds on the path */
    uint32_t edges, room;
    struct frame *frame;
    uint32_t frames, frame_room;
    size_t worlds;
    uint64_t seen;
    uint32_t bad; /* first world of a component with an endless history */
    bool found, again, out_of_memory;
};

static void expand(struct whole *g, uint32_t world, space_visit *visit, void *context,
                   struct row *row, bool *quiet)
{
    struct explorer *x = g->x;
    store_row(&x->store, world, row);
    *quiet = space_expand(x->space, row, false, visit, context).quiet;
}

static bool gone(const struct whole *g, uint32_t world)
{
    return (g->x->mark[world] & (MARK_ENDS | MARK_AVOIDED)) != 0;
}

/* ---- can a history stay in a complete component forever? ---- */

struct inside {
    struct whole *g;
    struct due could, did;
    uint8_t runs[SPACE_MAX]; /* timers of each process that run in all worlds of the component */
    /* For each process: the senders with mail for it in all worlds of the component. */
    uint16_t mail[SPACE_MAX];
};

void due_note(struct due *d, const struct move *move)
{
    uint16_t from = (uint16_t)(1u << move->from);
    if (move->kind == MOVE_TIMEOUT)
        d->timer[move->process] |= (uint8_t)ELECT_TIMER_BIT(move->timer);
    if (move->kind == MOVE_DELIVER)
        d->mail[move->process] |= from;
    if (move->kind == MOVE_HEAR)
        d->hear[move->process] |= from;
    if (move->kind == MOVE_SUSPECT)
        d->suspect |= (uint16_t)(1u << move->process);
    if (move->kind == MOVE_HEAL)
        d->heal = 1;
}

/* Finds the moves that a fair history must make but that always leave the component. Returns false
 * if there are none. */
static bool put_off(const struct inside *in, struct due *rest)
{
    const struct due *a = &in->could, *b = &in->did;
    unsigned any = 0;
    memset(rest, 0, sizeof *rest);
    for (unsigned i = 0; i < SPACE_MAX; i++) {
        any |= rest->timer[i] = in->runs[i] & a->timer[i] & (uint8_t)~b->timer[i];
        any |= rest->hear[i] = a->hear[i] & (uint16_t)~b->hear[i];
    }
    any |= rest->suspect = a->suspect & (uint16_t)~b->suspect;
    any |= rest->heal = a->heal & (uint16_t)~b->heal;
    return any != 0;
}

static bool meet(const struct due *a, const struct due *b)
{
    bool common = (a->suspect & b->suspect) != 0 || (a->heal & b->heal) != 0;
    for (unsigned i = 0; i < SPACE_MAX; i++)
        common = common || (a->hear[i] & b->hear[i]) != 0 || (a->timer[i] & b->timer[i]) != 0;
    return common;
}

static void inspect(void *inside, const struct move *move, const struct row *row)
{
    struct inside *in = inside;
    const struct whole *g = in->g;
    uint32_t to;
    bool stays = store_find(&g->x->store, row, &to) && g->number[to] == g->component;
    due_note(&in->could, move);
    if (stays) {
        due_note(&in->did, move);
        in->did.timer[move->process] |= move->started;
    }
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
    due_note(&here, move);
    e->possible = e->possible || meet(&here, e->due);
}

/* The next division leaves these worlds out. */
static void avoid(struct whole *g, const uint32_t *member, uint32_t count, const struct due *due)
{
    for (uint32_t i = 0; i < count; i++) {
        struct escape e = {.due = due};
        struct row row;
        bool quiet;
        expand(g, member[i], look_for, &e, &row, &quiet);
        g->x->mark[member[i]] |= e.possible ? MARK_AVOIDED : 0;
    }
    g->again = true;
}

/* Returns true if mail from some sender waits in all worlds of the component and is never received
 * there. */
static bool mail_waits(const struct inside *in)
{
    for (unsigned k = 0; k < in->g->x->asked->question.config.n; k++)
        if ((in->mail[k] & ~in->did.mail[k]) != 0)
            return true;
    return false;
}

static bool goes_on(struct whole *g, const uint32_t *member, uint32_t count)
{
    struct inside in = {.g = g};
    struct due escapes;
    memset(in.runs, 0xff, sizeof in.runs);
    memset(in.mail, 0xff, sizeof in.mail);
    for (uint32_t i = 0; i < count; i++) {
        struct row row;
        bool quiet;
        expand(g, member[i], inspect, &in, &row, &quiet);
        for (unsigned k = 0; k < g->x->asked->question.config.n; k++) {
            in.runs[k] &= space_seat(g->x->space, row.seat[k])->running;
            in.mail[k] &= space_seat(g->x->space, row.seat[k])->senders;
        }
    }
    if (mail_waits(&in))
        return false;
    if (!put_off(&in, &escapes))
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
    struct observation seen = explorer_look(g->x->space, &row);
    f->reaches = quiet && (seen.agreed || seen.highest == ELECT_NOBODY);
}

/* The component consists of the root `f` and the worlds above it on the stack. */
static void complete(struct whole *g, const struct frame *f)
{
    uint32_t first = g->depth;
    g->stack[g->depth++] = f->world;
    while (first > 0 && g->number[g->stack[first - 1]] >= f->index)
        first--;
    for (uint32_t i = first; i < g->depth; i++) {
        g->number[g->stack[i]] = g->component;
        g->x->mark[g->stack[i]] |= (unsigned char)(f->reaches * MARK_REACHES | f->ends * MARK_ENDS);
    }
    bool cycle = g->depth - first > 1 || f->again;
    if (cycle && goes_on(g, g->stack + first, g->depth - first))
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

/* Follows an edge to a world that needs no visit. */
static void follow(const struct whole *g, struct frame *f, uint32_t to)
{
    bool complete = g->number[to] > g->component || gone(g, to);
    f->reaches = f->reaches || (complete && (g->x->mark[to] & MARK_REACHES) != 0);
    f->ends = f->ends && complete && (g->x->mark[to] & MARK_ENDS) != 0;
    f->again = f->again || to == f->world;
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

/* Returns false if memory ran out or the search was interrupted. */
static bool take_apart(struct whole *g)
{
    const struct store *s = &g->x->store;
    memset(g->number, 0, g->worlds * sizeof *g->number);
    g->component = UINT32_MAX - 1;
    g->index = 0;
    g->seen = 0;
    g->again = false;
    for (unsigned t = 0; t < s->owners; t++)
        for (uint32_t i = 0; i < s->shelves[t].count; i++) {
            uint32_t world = store_number(s, t, i);
            if (!gone(g, world) && g->number[world] == 0)
                walk_from(g, world);
            if (g->out_of_memory || explorer_interrupted(g->x))
                return false;
        }
    return true;
}

static bool judge_cycles(struct whole *g)
{
    struct store *s = &g->x->store;
    if (!store_grow(s, (void **)&g->number, 0, g->worlds * sizeof *g->number) ||
        !store_grow(s, (void **)&g->stack, 0, g->worlds * sizeof *g->stack))
        return false;
    do {
        if (!take_apart(g))
            return false;
    } while (g->again);
    return true;
}

/* ---- judging all worlds ---- */

static void nearest_unmarked(struct whole *g)
{
    struct explorer *x = g->x;
    for (unsigned level = 0; level < x->levels; level++)
        for (unsigned t = 0; t < x->threads; t++)
            for (uint32_t i = x->worker[t].level[level]; i < explorer_level_end(x, level, t); i++) {
                uint32_t world = store_number(&x->store, t, i);
                struct row row;
                store_row(&x->store, world, &row);
                if ((g->x->mark[world] & MARK_REACHES) != 0 || explorer_untouched(x->space, &row))
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
    if (!store_grow(s, (void **)&x->mark, 0, g->worlds * sizeof *x->mark))
        return false;
    memset(x->mark, 0, g->worlds * sizeof *x->mark);
    if (!mark_ends(x, g->worlds) || (atomic_load(&x->cyclic) && !judge_cycles(g)))
        return false;
    if ((x->asked->properties >> PROPERTY_EVENTUALLY & 1) != 0)
        nearest_unmarked(g);
    if (x->out->finding[PROPERTY_EVENTUALLY].violated)
        return find_dead_end(x, x->bad[PROPERTY_EVENTUALLY]);
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
    free(x->mark);
    x->mark = NULL;
    free(g.number);
    free(g.stack);
    free(g.edge);
    free(g.frame);
    return fine;
}
