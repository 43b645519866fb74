/*
 * A history without end, as one that comes back to where it was: a closed walk inside a component
 * that goes on for ever, in which nothing is put off for ever. Every timer runs out on the way or
 * is not running somewhere; every healing, hearing or missing that is possible happens.
 */
#include "explorer.h"

#include <stdlib.h>
#include <string.h>

struct walk {
    struct explorer *x;
    const uint32_t *number; /* by world: its component */
    uint32_t component;
    /* What has not been put off: timers by process, hearing by process and leader. */
    uint8_t timer[SPACE_MAX];
    uint16_t hear[SPACE_MAX], suspect, heal;
    /* The search for the next thing to do: whence each world was reached, and who is next. */
    uint32_t *from, *queue, first, last;
    uint32_t here, goal, home;
    bool found, any; /* anything new would do; else the way home */
};

#define UNSEEN UINT32_MAX

static bool is_new(const struct walk *w, const struct move *move, const struct row *to)
{
    for (unsigned k = 0; k < w->x->asked->question.config.n; k++)
        if ((~space_seat(w->x->space, to->seat[k])->running & ~w->timer[k] & 0xff) != 0)
            return true;
    switch ((enum move_kind)move->kind) {
    case MOVE_TIMEOUT:
        return (ELECT_TIMER_BIT(move->timer) & ~(unsigned)w->timer[move->process]) != 0;
    case MOVE_HEAR: return (w->hear[move->process] >> move->from & 1) == 0;
    case MOVE_SUSPECT: return (w->suspect >> move->process & 1) == 0;
    case MOVE_HEAL: return w->heal == 0;
    case MOVE_BEGIN:
    case MOVE_DELIVER:
    case MOVE_LOSE:
    case MOVE_DUPLICATE:
    case MOVE_CRASH:
    case MOVE_RECOVER:
    case MOVE_CUT: break;
    }
    return false;
}

static void done(struct walk *w, const struct move *move, const struct row *to)
{
    for (unsigned k = 0; k < w->x->asked->question.config.n; k++)
        w->timer[k] |= (uint8_t)~space_seat(w->x->space, to->seat[k])->running;
    if (move->kind == MOVE_TIMEOUT)
        w->timer[move->process] |= (uint8_t)ELECT_TIMER_BIT(move->timer);
    if (move->kind == MOVE_HEAR)
        w->hear[move->process] |= (uint16_t)(1u << move->from);
    if (move->kind == MOVE_SUSPECT)
        w->suspect |= (uint16_t)(1u << move->process);
    w->heal |= move->kind == MOVE_HEAL;
}

static void try(void *walk, const struct move *move, const struct row *row)
{
    struct walk *w = walk;
    uint32_t to;
    if (w->found || !store_find(&w->x->store, row, &to) || w->number[to] != w->component)
        return;
    if (w->any ? is_new(w, move, row) : to == w->home) {
        w->found = true;
        w->goal = to;
        done(w, move, row);
    } else if (w->from[to] == UNSEEN) {
        w->from[to] = w->here;
        w->queue[w->last++] = to;
    }
}

/* The worlds on the way from `w->here` to the next goal go behind the walk; false: no goal. */
static bool go(struct walk *w, size_t worlds)
{
    struct explorer *x = w->x;
    uint32_t start = w->here, length = 1;
    memset(w->from, 0xff, worlds * sizeof *w->from);
    w->found = false;
    w->first = 0;
    w->last = 1;
    w->queue[0] = w->from[start] = start;
    while (!w->found && w->first < w->last && !explorer_interrupted(x)) {
        struct row row;
        w->here = w->queue[w->first++];
        store_row(&x->store, w->here, &row);
        space_expand(x->space, &x->worker[0].memory, &row, false, try, w);
    }
    if (!w->found) {
        w->here = start;
        return false;
    }
    for (uint32_t world = w->here; world != start; world = w->from[world])
        length++;
    uint32_t *loop = realloc(x->loop, (x->loop_length + length) * sizeof *loop);
    if (loop == NULL)
        return false;
    x->loop = loop;
    x->loop_length += length;
    loop[x->loop_length - 1] = w->goal;
    for (uint32_t world = w->here, i = 2; i <= length; i++, world = w->from[world])
        loop[x->loop_length - i] = world;
    w->here = w->goal;
    return true;
}

bool find_lasso(struct explorer *x, const uint32_t *number, size_t worlds, uint32_t world)
{
    struct walk w = {.x = x,
                     .number = number,
                     .component = number[world],
                     .here = world,
                     .home = world,
                     .any = true};
    w.from = malloc(worlds * sizeof *w.from);
    w.queue = malloc(worlds * sizeof *w.queue);
    bool fine = w.from != NULL && w.queue != NULL;
    while (fine && go(&w, worlds))
        continue;
    w.any = false;
    if (w.here != world || x->loop_length == 0)
        fine = fine && go(&w, worlds);
    free(w.from);
    free(w.queue);
    return fine;
}
