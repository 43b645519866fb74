/* See trouble.h. */
#include "trouble.h"

struct troubled {
    struct world *w;
    struct dice dice;
    enum trouble trouble;
    uint8_t leader;
    struct trouble_report *report;
};

const char *trouble_name(enum trouble t)
{
    static const char *const names[] = {
#define X(name, word, text) word,
        TROUBLE_LIST(X)
#undef X
    };
    return names[t];
}

const char *trouble_text(enum trouble t)
{
    static const char *const texts[] = {
#define X(name, word, text) text,
        TROUBLE_LIST(X)
#undef X
    };
    return texts[t];
}

static uint64_t between(struct troubled *t, uint64_t least, uint64_t most)
{
    return least + dice_below(&t->dice, most - least + 1);
}

/* Counts the changes of leader and the time without a leader. */
static void pass(struct troubled *t, uint64_t until)
{
    struct world *w = t->w;
    struct happening h;
    uint8_t leader = world_in_charge(w);
    for (bool more = true; more;) {
        uint64_t before = w->now;
        more = world_next(w, until, &h);
        if (!more)
            w->now = until;
        t->report->leaderless += leader == ELECT_NOBODY ? w->now - before : 0;
        leader = world_in_charge(w);
        t->report->changes += leader != ELECT_NOBODY && leader != t->leader;
        t->leader = leader != ELECT_NOBODY ? leader : t->leader;
    }
}

static void happen(struct troubled *t, struct fault f)
{
    struct happening h;
    world_fault(t->w, &f, &h);
}

static void crash_and_recover(struct troubled *t, uint8_t rank, uint64_t down)
{
    happen(t, (struct fault){.kind = FAULT_CRASH, .rank = rank});
    pass(t, t->w->now + down);
    happen(t, (struct fault){.kind = FAULT_RECOVER, .rank = rank});
}

static void trouble(struct troubled *t)
{
    uint64_t lease = t->w->config.lease;
    uint8_t n = t->w->config.n, top = (uint8_t)(n - 1), one = (uint8_t)between(t, 0, top);
    elect_set all = elect_ranks_below(n), highest = (elect_set)1 << top;
    switch (t->trouble) {
    case TROUBLE_FLAPPING:
        pass(t, t->w->now + between(t, lease, 4 * lease));
        crash_and_recover(t, top, between(t, lease / 2, 2 * lease));
        break;
    case TROUBLE_RESTARTS:
        pass(t, t->w->now + lease);
        crash_and_recover(t, top, lease / 20);
        break;
    case TROUBLE_CUT_OFF:
        happen(t, (struct fault){.kind = FAULT_CUT,
                                 .parts = 2,
                                 .part = {highest, all & ~(highest | highest >> 1)}});
        pass(t, t->w->now + between(t, 10 * lease, 60 * lease));
        break;
    case TROUBLE_CHAIN:
        happen(t, (struct fault){.kind = FAULT_CUT, .parts = 2, .part = {highest, 1}});
        pass(t, t->w->now + 60 * lease);
        break;
    case TROUBLE_ONE_WAY:
        happen(t, (struct fault){.kind = FAULT_ONE_WAY,
                                 .parts = 2,
                                 .part = {(elect_set)1 << one, dice_throw(&t->dice) & all}});
        pass(t, t->w->now + between(t, 2 * lease, 20 * lease));
        happen(t, (struct fault){.kind = FAULT_HEAL});
        break;
    case TROUBLE_SLOW_DISK:
        happen(t, (struct fault){.kind = FAULT_DISK,
                                 .rank = top,
                                 .amount = (int64_t)(lease / 2 + lease / 10)});
        pass(t, t->w->now + 60 * lease);
        break;
    case TROUBLE_HUGE_TERM:
        happen(t, (struct fault){.kind = FAULT_CUT,
                                 .parts = 2,
                                 .part = {(elect_set)1 << one, all & ~((elect_set)1 << one)}});
        pass(t, t->w->now + between(t, 2 * lease, 20 * lease));
        happen(t, (struct fault){.kind = FAULT_HEARS,
                                 .rank = one,
                                 .amount = (int64_t)elect_term_counter(t->w->latest) + 1000});
        happen(t, (struct fault){.kind = FAULT_HEAL});
        pass(t, t->w->now + between(t, 2 * lease, 20 * lease));
        break;
    case TROUBLE_COUNT: break;
    }
}

void trouble_run(const struct elect_config *c, enum trouble trouble_kind, uint64_t seed,
                 uint64_t ticks, struct world *w, struct trouble_report *report)
{
    struct weather weather = {
        .delay_min = 1, .delay_max = c->answer_bound / 2, .loss = DICE_CERTAIN / 100};
    struct troubled t = {.w = w, .trouble = trouble_kind, .leader = ELECT_NOBODY, .report = report};
    uint64_t next = 0;
    dice_seed(&t.dice, seed, DICE_CRASH);
    world_init(w, c, &weather, seed, ELECT_NOBODY);
    while (w->now < ticks) {
        trouble(&t);
        if (w->now < next)
            continue;
        if (world_in_charge(w) != ELECT_NOBODY)
            crash_and_recover(&t, world_in_charge(w), 2 * c->lease);
        next = w->now + between(&t, 60 * c->lease, 180 * c->lease);
    }
    report->time += w->now;
}
