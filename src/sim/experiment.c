/* See experiment.h. */
#include "experiment.h"

#include <assert.h>
#include <string.h>

void experiment_init(struct experiment *e)
{
    memset(e, 0, sizeof *e);
    setup_init(&e->setup);
}

static bool check_begin(const struct experiment *e, struct text *complaint)
{
    uint32_t id;
    if (e->begin.count > e->setup.processes.count)
        return text_refuse_number(complaint, e->begin.count,
                                  " processes begin: the cluster has fewer");
    for (struct numbers_place i = NUMBERS_START; numbers_next(&e->begin, &i, &id);) {
        if (!numbers_have(&e->setup.processes, id))
            return text_refuse_number(complaint, id, " cannot begin: it is not in the cluster");
        if (numbers_have(&e->setup.down, id))
            return text_refuse_number(complaint, id, " cannot begin: it is down");
    }
    if (numbers_repeat(&e->begin, &id))
        return text_refuse_number(complaint, id, " begins twice: name it once");
    return true;
}

static bool schedule_named(const struct experiment *e, struct world *w, struct text *complaint)
{
    struct fault fault[EXPERIMENT_MAX_FAULTS];
    unsigned count = 0;
    for (unsigned i = 0; i < e->faults; i++) {
        struct fault f;
        bool timed;
        size_t before = complaint->length;
        text_add(complaint, e->fault[i].text);
        text_add(complaint, ": ");
        const char *separator =
            e->fault[i].kind == FAULT_HEAL ? "" : "@"; /* heal takes only a time */
        if (!setup_fault(&w->config, e->fault[i].kind, e->fault[i].text, separator, &f, &timed,
                         complaint))
            return false;
        if (!timed) {
            text_add(complaint, "needs a time, such as 3@5");
            return false;
        }
        text_cut(complaint, before);
        unsigned at = count++;
        for (; at > 0 && fault[at - 1].time > f.time; at--)
            fault[at] = fault[at - 1];
        fault[at] = f;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!setup_sensible(w, &fault[i], complaint))
            return false;
        world_schedule(w, &fault[i]);
    }
    return true;
}

/* A process that crashes at time 0 cannot begin an election at time 0, because faults come
 * first. */
static bool check_alive(const struct experiment *e, const struct world *w, struct text *complaint)
{
    for (uint32_t i = 0; i < w->fault_count; i++) {
        uint32_t id = w->config.id[w->fault[i].rank];
        if (w->fault[i].kind == FAULT_CRASH && w->fault[i].time == 0 && numbers_have(&e->begin, id))
            return text_refuse_number(complaint, id, " cannot begin: it crashes at time 0");
    }
    return true;
}

bool experiment_check(struct experiment *e, struct text *complaint)
{
    static struct world w; /* too large for the stack */
    struct elect_config config;
    e->setup.random_faults = e->crash_rate > 0 || (e->many && e->faults > 0);
    if (e->setup.reliable && (e->faults > 0 || e->crash_rate > 0)) {
        text_add(complaint, "acks off needs a cluster where nothing fails: leave out all faults");
        return false;
    }
    if (!setup_check(&e->setup, complaint) || !check_begin(e, complaint))
        return false;
    if (e->setup.processes.count > ELECT_MAX)
        return true;
    if (!setup_config(&e->setup, e->setup.seed, &config, complaint))
        return false;
    setup_world(&e->setup, &config, e->setup.seed, &w);
    return schedule_named(e, &w, complaint) && check_alive(e, &w, complaint);
}

static void schedule_random(const struct experiment *e, struct world *w)
{
    uint64_t span = 4 * (uint64_t)w->config.answer_bound;
    struct dice *dice = &w->dice[DICE_CRASH];
    for (uint8_t rank = 0; rank < w->config.n && e->crash_rate > 0; rank++) {
        struct fault fault = {.kind = FAULT_CRASH, .rank = rank};
        bool crashes = dice_chance(dice, e->crash_rate);
        fault.time = dice_below(dice, span);
        if (crashes && world_up(w, rank)) {
            world_schedule(w, &fault);
            fault.kind = FAULT_RECOVER;
            fault.time += 1 + dice_below(dice, span);
            world_schedule(w, &fault);
        }
    }
}

static void begin(struct play *p, uint8_t rank)
{
    if (world_up(&p->world, rank))
        play_suspect(p, rank);
}

static void begin_as_asked(const struct experiment *e, struct play *p)
{
    const struct elect_config *c = &p->world.config;
    uint32_t id;
    if (e->begin_all) {
        for (unsigned place = 0; place < c->n; place++)
            begin(p, c->ring[place]);
    } else if (e->begin_given) {
        for (struct numbers_place i = NUMBERS_START; numbers_next(&e->begin, &i, &id);)
            begin(p, elect_rank(c, id));
    } else if (p->world.up != 0) {
        begin(p, (uint8_t)__builtin_ctzll(p->world.up));
    }
}

void experiment_play(const struct experiment *e, uint64_t seed, struct play *p)
{
    struct elect_config config;
    struct text complaint;
    text_clear(&complaint);
    p->violations = 0;
    bool fine = setup_config(&e->setup, seed, &config, &complaint);
    setup_world(&e->setup, &config, seed, &p->world);
    fine = fine && schedule_named(e, &p->world, &complaint);
    assert(fine); /* experiment_check has accepted it */
    schedule_random(e, &p->world);
    play_run(p, 0); /* faults at time 0 precede the elections of time 0 */
    begin_as_asked(e, p);
    play_run(p, WORLD_FOREVER);
}

/*
 * The worst case: the processes may first have to suspect a crashed leader, some may still wait for
 * the timers of an older election, and a process that took no part in the new election may
 * challenge the new leader once.
 */
uint64_t experiment_bound(const struct elect_config *c)
{
    const uint32_t *d = c->duration;
    uint64_t election = d[(c->algorithm == ELECT_BULLY ? ELECT_DEADLINE_TIMER : ELECT_RING_TIMER) -
                          ELECT_FIRST_TIMER];
    return d[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER] + 4 * election +
           2 * (uint64_t)d[ELECT_HEARTBEAT_TIMER - ELECT_FIRST_TIMER];
}

void tally_add(struct tally *t, uint64_t value)
{
    t->min = t->count == 0 || value < t->min ? value : t->min;
    t->max = value > t->max ? value : t->max;
    t->sum += value;
    t->count++;
}
