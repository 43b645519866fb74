/*
 * What follows a bad world, for whoever wants to see what is wrong with it.
 *
 * An election that never ends: a closed walk inside the component that goes on for ever, in which
 * nothing is put off that must happen. Every timer runs out on the way, is started again or is not
 * running somewhere, if it is ever its turn; every sender's letters are taken, or there are none
 * somewhere; every healing, hearing or missing that is possible happens.
 *
 * No agreement in any future: one of them, to rest or back to where it was.
 */
#include "explorer.h"

#include <stdlib.h>
#include <string.h>

struct walk {
    struct explorer *x;
    const uint32_t *number; /* by world: its component */
    uint32_t component;
    struct due done; /* what has not been put off */
    /* The search for the next thing to do: whence each world was reached, and who is next. */
    uint32_t *from, *queue, first, last;
    uint32_t here, goal, home;
    bool found, any; /* anything new would do; else the way home */
};

#define UNSEEN UINT32_MAX

/* What a move does, and what is not to be done in the world that it leads to. */
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
    if ((x->afters & (x->afters + 1)) == 0) { /* it is full at 1, 3, 7 ... */
        uint32_t *after = realloc(x->after, (2 * x->afters + 2) * sizeof *after);
        if (after == NULL)
            return false;
        x->after = after;
    }
    x->after[x->afters++] = world;
    return true;
}

/* The worlds between, which were reached one from the other, then the last one. */
static bool append_way(struct walk *w, uint32_t start)
{
    uint32_t length = 0;
    for (uint32_t world = w->here; world != start; world = w->from[world])
        w->queue[length++] = world; /* the search is over: there is room */
    while (length > 0)
        if (!append(w->x, w->queue[--length]))
            return false;
    return append(w->x, w->goal);
}

/* To the next goal; false: there is none, or no time to find it. */
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
            return true; /* at rest */
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
