/* See play.h. */
#include "play.h"

/* Time limit for a run to rest, in suspicion timeouts. */
#define PATIENCE 200

void play_tell(struct play *p, const struct happening *h)
{
    if (p->tell != NULL)
        p->tell(p->listener, &p->world, h);
}

void play_suspect(struct play *p, uint8_t rank)
{
    struct happening h;
    world_suspect(&p->world, rank, &h);
    play_tell(p, &h);
}

static uint64_t horizon(const struct world *w)
{
    uint64_t last = w->now;
    if (w->fault_count > w->next_fault && w->fault[w->fault_count - 1].time > last)
        last = w->fault[w->fault_count - 1].time;
    return last +
           PATIENCE * (uint64_t)w->config.duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
}

static void judge(struct play *p)
{
    struct violation v;
    if (p->violations < PLAY_MAX_VIOLATIONS && property_broken_at_rest(&p->world, &v))
        p->violation[p->violations++] = v;
}

void play_run(struct play *p, uint64_t until)
{
    struct world *w = &p->world;
    struct happening h;
    bool to_rest = until == WORLD_FOREVER, detector = w->config.detector;
    if (to_rest)
        until = horizon(w);
    while (!(to_rest && detector && world_settled(w)) && world_next(w, until, &h))
        play_tell(p, &h);
    if (to_rest && (detector ? world_settled(w) : world_at_rest(w)))
        judge(p);
    if (!to_rest && w->now < until)
        w->now = until;
}

void play_mark(struct play *p)
{
    p->mark = p->world;
    p->marked = true;
}

static bool back_at_mark(const struct play *p, enum property property, struct violation *v)
{
    if (!world_same(&p->world, &p->mark))
        return false;
    if (property == PROPERTY_EVENTUALLY)
        return property_broken(&p->world, PROPERTY_AGREEMENT, v);
    *v = (struct violation){.time = p->world.now,
                            .text = "the moves after the mark can be repeated forever"};
    return true;
}

/* With a mark, compares the world with it. Otherwise runs the world to rest. */
static bool broken_in_future(struct play *p, enum property property, struct violation *v)
{
    enum property now = property == PROPERTY_EVENTUALLY ? PROPERTY_AGREEMENT : PROPERTY_NO_STUCK;
    void (*tell)(void *, const struct world *, const struct happening *) = p->tell;
    bool broken;
    if (p->marked) {
        broken = back_at_mark(p, property, v);
    } else {
        p->tell = NULL;
        play_run(p, WORLD_FOREVER);
        p->tell = tell;
        broken = property_broken(&p->world, now, v);
    }
    if (broken)
        v->property = property;
    return broken;
}

void play_check(struct play *p, enum property property)
{
    struct violation v;
    bool future = property == PROPERTY_EVENTUALLY || property == PROPERTY_TERMINATION;
    if (p->violations < PLAY_MAX_VIOLATIONS &&
        (future ? broken_in_future(p, property, &v) : property_broken(&p->world, property, &v)))
        p->violation[p->violations++] = v;
}
