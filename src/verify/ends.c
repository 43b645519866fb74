/*
 * Finds the worlds where every history ends, without further faults or new elections.
 *
 * Each thread searches depth first. The histories of a world end if those of all its successors do.
 * Otherwise some successor has an endless history, or is on the current path and closes a cycle.
 * When the search leaves a world, its result is final. A mark saves other threads the visit; two
 * threads that judge the same world get the same result. The search goes from the last level to the
 * first: most successors are on the next level and are already marked.
 */
#include "explorer.h"

#include <stdlib.h>
#include <string.h>

struct step {
    uint32_t world;
    uint32_t first, next; /* indices in `edge`: the first successor, the next one to visit */
    bool reaches, cycles;
};

struct walk {
    struct worker *worker;
    struct explorer *x;
    unsigned char *way; /* one bit per world: it is on the current path */
    struct step *step;
    uint32_t *edge;
    uint32_t steps, step_room, edges, edge_room;
};

static bool on_the_way(const struct walk *w, uint32_t world)
{
    return (w->way[world / 8] >> world % 8 & 1) != 0;
}

static unsigned mark_of(const struct walk *w, uint32_t world)
{
    return atomic_load_explicit(&w->x->mark[world], memory_order_relaxed);
}

static bool reserve(struct walk *w, void **items, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room)
        return true;
    uint32_t wanted = 2 * *room + 1024;
    if (!store_grow(&w->x->store, items, *room * size, wanted * size)) {
        explorer_give_up(w->x, BOUND_MEMORY);
        return false;
    }
    *room = wanted;
    return true;
}

static void note(void *walk, const struct move *move, const struct row *row)
{
    struct worker *worker = ((struct walk *)walk)->worker;
    (void)move;
    if (explorer_note(worker, row))
        store_fetch(&worker->all->store, worker->arrivals[worker->waiting - 1].hash);
}

static void enter(struct walk *w, uint32_t world)
{
    struct explorer *x = w->x;
    struct row row;
    if (!reserve(w, (void **)&w->step, w->steps, &w->step_room, sizeof *w->step))
        return;
    store_row(&x->store, world, &row);
    w->worker->waiting = 0;
    bool quiet = space_expand(x->space, &row, false, note, w).quiet;
    struct observation seen = explorer_look(x->space, &row);
    w->step[w->steps++] =
        (struct step){.world = world,
                      .first = w->edges,
                      .next = w->edges,
                      .reaches = quiet && (seen.agreed || seen.highest == ELECT_NOBODY)};
    w->way[world / 8] |= (unsigned char)(1u << world % 8);
    for (size_t i = 0; i < w->worker->waiting; i++)
        store_fetch_world(&x->store, w->worker->arrivals[i].hash);
    for (size_t i = 0; i < w->worker->waiting; i++) {
        const struct arrival *a = &w->worker->arrivals[i];
        if (!reserve(w, (void **)&w->edge, w->edges, &w->edge_room, sizeof *w->edge))
            return;
        if (store_look_up(&x->store, a->hash, &a->row, &w->edge[w->edges]))
            w->edges++;
    }
}

static void leave(struct walk *w)
{
    struct explorer *x = w->x;
    struct step s = w->step[--w->steps];
    unsigned mark = s.cycles ? MARK_CYCLES : MARK_ENDS | s.reaches * MARK_REACHES;
    atomic_store_explicit(&x->mark[s.world], (unsigned char)mark, memory_order_relaxed);
    if (s.cycles && !atomic_load_explicit(&x->cyclic, memory_order_relaxed))
        atomic_store(&x->cyclic, true);
    w->way[s.world / 8] &= (unsigned char)~(1u << s.world % 8);
    w->edges = s.first;
}

static void walk_from(struct walk *w, uint32_t world)
{
    enter(w, world);
    while (w->steps > 0 && !atomic_load_explicit(&w->x->halt, memory_order_relaxed)) {
        struct step *s = &w->step[w->steps - 1];
        if (s->next == w->edges || s->cycles) {
            leave(w);
            continue;
        }
        uint32_t to = w->edge[s->next]; /* read again after its target is judged */
        unsigned mark = mark_of(w, to);
        if (mark == 0 && !on_the_way(w, to)) {
            enter(w, to);
            continue;
        }
        s->next++;
        s->cycles = (mark & MARK_ENDS) == 0;
        s->reaches = s->reaches || (mark & MARK_REACHES) != 0;
    }
}

/* Takes the last worlds not yet taken, this thread's own first. Returns false if none is left. */
static bool take_last(struct explorer *x, unsigned me, unsigned *owner, uint32_t *from,
                      uint32_t *to)
{
    for (unsigned t = 0; t < x->threads; t++) {
        atomic_uint *left = &x->worker[ *owner = (me + t) % x->threads].next;
        *to = atomic_load(left);
        do
            *from = *to > EXPLORER_CHUNK ? *to - EXPLORER_CHUNK : 0;
        while (!atomic_compare_exchange_weak(left, to, *from));
        if (*to > 0)
            return true;
    }
    return false;
}

static uint64_t taken(struct explorer *x)
{
    uint64_t count = store_count(&x->store);
    for (unsigned t = 0; t < x->threads; t++)
        count -= atomic_load(&x->worker[t].next);
    return count;
}

static void judge_ends(struct worker *worker)
{
    struct explorer *x = worker->all;
    struct walk w = {.worker = worker, .x = x, .way = worker->way};
    unsigned owner;
    uint32_t from, to;
    while (!atomic_load(&x->halt) && take_last(x, worker->me, &owner, &from, &to)) {
        while (to-- > from) {
            uint32_t world = store_number(&x->store, owner, to);
            if (mark_of(&w, world) == 0)
                walk_from(&w, world);
        }
        if (explorer_interrupted(x))
            explorer_give_up(x, BOUND_INTERRUPTED);
        if (worker->me == 0 && x->asked->progress != NULL)
            x->asked->progress(taken(x), store_count(&x->store), x->depth);
    }
    free(w.step);
    free(w.edge);
}

bool mark_ends(struct explorer *x, size_t worlds)
{
    size_t size = worlds / 8 + 1;
    bool fine = true;
    for (unsigned t = 0; t < x->threads; t++) {
        struct worker *w = &x->worker[t];
        atomic_store(&w->next, x->store.shelves[t].count);
        fine = fine && store_grow(&x->store, (void **)&w->way, 0, size);
        if (fine)
            memset(w->way, 0, size);
    }
    fine = fine && explorer_together(x, judge_ends) && !atomic_load(&x->halt);
    for (unsigned t = 0; t < x->threads; t++) {
        free(x->worker[t].way);
        x->worker[t].way = NULL;
    }
    return fine;
}
