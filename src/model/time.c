/* The clocks of the processes, each with its own rate, and the next move in order of time. See
 * world.h for the order at equal times. */
#include "world_internal.h"

#define MILLION 1000000

/* ---- clocks ---- */

elect_time world_clock(const struct world *w, uint8_t rank)
{
    const struct clock *c = &w->clock[rank];
    int64_t passed = w->now > c->since ? (int64_t)(w->now - c->since) : 0;
    return c->base + passed + passed / MILLION * c->rate + passed % MILLION * c->rate / MILLION;
}

/* Returns the world time when the process's clock shows `says`, or now if that has passed. */
static uint64_t time_of(const struct world *w, uint8_t rank, elect_time says)
{
    const struct clock *c = &w->clock[rank];
    int64_t left = says - c->base, rate = MILLION + c->rate;
    if (says <= world_clock(w, rank))
        return w->now;
    uint64_t time = c->since + (uint64_t)(left / rate * MILLION + left % rate * MILLION / rate);
    return time > w->now ? time : w->now + 1; /* rounding may put `time` too early */
}

void world_set_clock(struct world *w, uint8_t rank, elect_time says, int64_t rate)
{
    w->clock[rank] = (struct clock){says, w->now, rate};
}

/* ---- the next move ---- */

/* A timer, ALARM or end of work. */
struct alarm {
    uint64_t due;
    uint32_t order;
    uint8_t rank;
    enum elect_event event;
};

/* A stalled process handles its timers and alarms after the stall. */
static void consider(const struct world *w, struct alarm *first, struct alarm other)
{
    if (other.due < w->stalled_until[other.rank])
        other.due = w->stalled_until[other.rank];
    if (other.due < first->due || (other.due == first->due && other.order < first->order))
        *first = other;
}

/* Under a mandate, the node keeps its own times and gets ALARM at the earliest of them. */
static void consider_mandate(const struct world *w, uint8_t rank, struct alarm *first)
{
    elect_time alarm = elect_alarm(&w->node[rank]);
    if (alarm != INT64_MAX)
        consider(w, first, (struct alarm){time_of(w, rank, alarm), UINT32_MAX, rank, ELECT_ALARM});
    if (w->stops[rank] != WORLD_FOREVER)
        consider(w, first, (struct alarm){w->stops[rank], UINT32_MAX, rank, ELECT_STOPPED});
}

static struct alarm next_alarm(const struct world *w)
{
    struct alarm first = {.due = WORLD_FOREVER};
    for (elect_set up = w->up; up != 0; up &= up - 1) {
        uint8_t rank = (uint8_t)__builtin_ctzll(up);
        for (uint32_t rest = w->node[rank].running; rest != 0; rest &= rest - 1) {
            unsigned t = (unsigned)__builtin_ctz(rest);
            consider(w, &first,
                     (struct alarm){w->timer[rank][t].due, w->timer[rank][t].order, rank,
                                    (enum elect_event)(ELECT_FIRST_TIMER + t)});
        }
        if (w->node[rank].mandated)
            consider_mandate(w, rank, &first);
    }
    return first;
}

static void tell_time(struct world *w, const struct alarm *alarm, struct happening *h)
{
    struct elect_input in = elect_happens(alarm->event, world_clock(w, alarm->rank));
    if (alarm->event == ELECT_STOPPED)
        world_stopped(w, alarm->rank, h);
    else
        world_step(w, alarm->rank, &in, h);
}

bool world_next(struct world *w, uint64_t until, struct happening *h)
{
    struct alarm alarm = next_alarm(w);
    uint64_t message = w->flights > 0 ? w->flight[0].due : WORLD_FOREVER;
    uint64_t fault = w->next_fault < w->fault_count ? w->fault[w->next_fault].time : WORLD_FOREVER;
    uint64_t time = message < alarm.due ? message : alarm.due;
    time = fault < time ? fault : time;
    if (time == WORLD_FOREVER || time > until)
        return false;
    w->now = time > w->now ? time : w->now;
    if (fault == time)
        world_fault(w, &w->fault[w->next_fault++], h);
    else if (message == time)
        world_deliver(w, 0, h);
    else
        tell_time(w, &alarm, h);
    return true;
}

bool world_at_rest(const struct world *w)
{
    return w->flights == 0 && w->next_fault == w->fault_count && next_alarm(w).due == WORLD_FOREVER;
}
