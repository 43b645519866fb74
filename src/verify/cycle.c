/*
 * Continues the history after a bad world until the violation is visible.
 *
 * If an election never ends, the continuation is a closed, fair walk inside a component:
 *  - Each timer that may expire does so, is started again, or does not run in one of its worlds.
 *  - From each sender, a message is received, or none is waiting in some world of the walk.
 *  - If a cut can heal, or a leader can be heard or suspected, that happens.
 *
 * If agreement cannot be reached, any continuation will do. It stops where no move is possible or
 * at a world that it has already visited.
 */
#include "explorer.h"

#include <stdlib.h>
#include <string.h>

struct walk {
    struct explorer *x;
    const uint32_t *number; /* component of each world */
    uint32_t component;
    struct due done; /* moves on the walk, and those that fairness does not require */
    /* Search for the next required move. `from` is the previous world of each visited one. */
    uint32_t *from, *queue, first, last;
    uint32_t here, goal, home;
    /* With `any`, the goal is any move not in `done`; otherwise it is the world `home`. */
    bool found, any;
};

#define UNSEEN UINT32_MAX

/* Adds a move to the world `to`, and all that fairness cannot require there: timers that do not
 * run, and senders without mail. */
static void add(const struct walk *w, const struct move *move, const struct row *to, struct due *d)
{
    due_note(d, move);
    d->timer[move->process] |= move->started;
    for (unsigned k = 0; k < w->x->asked->question.config.n; k++) {
        const struct seat *seat = space_seat(w->x->space, to->seat[k]);
        d->timer[k] |= (uint8_t)~seat->running;
        d->mail[k] |= (uint16_t)~seat->senders;
    }
}

static void try(void *walk, const struct move *move, const struct row *row)
{
    struct walk *w = walk;
    struct due done = w->done;
    uint32_t to;
    if (w->found || !store_find(&w->x->store, row, &to) || w->number[to] != w->component)
        return;
    add(w, move, row, &done);
    if (w->any ? memcmp(&done, &w->done, sizeof done) != 0 : to == w->home) {
        w->found = true;
        w->goal = to;
        w->done = done;
    } else if (w->from[to] == UNSEEN) {
        w->from[to] = w->here;
        w->queue[w->last++] = to;
    }
}

static bool append(struct explorer *x, uint32_t world)
{
    if ((x->afters & (x->afters + 1)) == 0) { /* full at 0, 1, 3, 7 ... items */
        uint32_t *after = realloc(x->after, (2 * x->afters + 2) * sizeof *after);
        if (after == NULL)
            return false;
        x->after = after;
    }
    x->after[x->afters++] = world;
    return true;
}

static bool append_way(struct walk *w, uint32_t start)
{
    uint32_t length = 0;
    for (uint32_t world = w->here; world != start; world = w->from[world])
        w->queue[length++] = world; /* the search is over, so the queue is free */
    while (length > 0)
        if (!append(w->x, w->queue[--length]))
            return false;
    return append(w->x, w->goal);
}

/* Returns false if no goal can be reached or the search was interrupted. */
static bool go(struct walk *w, size_t worlds)
{
    struct explorer *x = w->x;
    uint32_t start = w->here;
    memset(w->from, 0xff, worlds * sizeof *w->from);
    w->found = false;
    w->first = 0;
    w->last = 1;
    w->queue[0] = w->from[start] = start;
    while (!w->found && w->first < w->last && !explorer_interrupted(x)) {
        struct row row;
        w->here = w->queue[w->first++];
        store_row(&x->store, w->here, &row);
        space_expand(x->space, &row, false, try, w);
    }
    bool fine = w->found && append_way(w, start);
    w->here = fine ? w->goal : start;
    return fine;
}

bool find_lasso(struct explorer *x, const uint32_t *number, size_t worlds, uint32_t world)
{
    struct walk w = {.x = x,
                     .number = number,
                     .component = number[world],
                     .here = world,
                     .home = world,
                     .any = true};
    bool fine = store_grow(&x->store, (void **)&w.from, 0, worlds * sizeof *w.from) &&
                store_grow(&x->store, (void **)&w.queue, 0, worlds * sizeof *w.queue);
    while (fine && go(&w, worlds))
        continue;
    w.any = false;
    if (w.here != world || x->afters == 0)
        fine = fine && go(&w, worlds);
    x->loop = fine ? x->afters : 0;
    free(w.from);
    free(w.queue);
    return fine && !explorer_interrupted(x);
}

/* ---- no agreement ---- */

struct step {
    const struct explorer *x;
    uint32_t to;
    bool found;
};

static void take_first(void *step, const struct move *move, const struct row *row)
{
    struct step *s = step;
    (void)move;
    s->found = s->found || store_find(&s->x->store, row, &s->to);
}

bool find_dead_end(struct explorer *x, uint32_t world)
{
    for (struct step s = {.x = x, .to = world};;) {
        struct row row;
        store_row(&x->store, s.to, &row);
        s.found = false;
        space_expand(x->space, &row, false, take_first, &s);
        if (!s.found)
            return true;
        if (!append(x, s.to))
            return false;
        for (uint32_t i = 0; i + 1 < x->afters; i++)
            if (x->after[i] == s.to) {
                x->loop = x->afters - 1 - i;
                return true;
            }
        if (s.to == world) {
            x->loop = x->afters;
            return true;
        }
    }
}
