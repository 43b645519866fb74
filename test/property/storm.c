/*
 * Plays 20,000 random schedules for each algorithm. A schedule is a storm of loss, duplication,
 * reordering, crashes, recoveries and partitions, followed by a calm. Some processes are down from
 * the beginning, and some stay down. In the calm, all live processes must agree on the highest of
 * them within a time limit.
 *
 *     test_storm ALGORITHM [SCHEDULES [FIRST]]
 *
 * The seed determines the whole schedule; FIRST is the first seed. If a schedule fails, the test
 * prints the command that replays it.
 */
#include "../../src/sim/experiment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct storm {
    struct experiment experiment;
    struct text command;
    char fault[4][32];
};

static void say(struct storm *s, const char *option, const char *value)
{
    text_add(&s->command, " --");
    text_add(&s->command, option);
    text_add(&s->command, *value ? " " : "");
    text_add(&s->command, value);
}

static void set(struct storm *s, enum setting setting, const char *value, unsigned number,
                const char *suffix)
{
    struct text t, complaint;
    text_clear(&t);
    text_clear(&complaint);
    text_add(&t, value);
    if (number != UINT32_MAX)
        text_add_number(&t, number);
    text_add(&t, suffix);
    bool is_switch = setting == SETTING_REORDER || setting == SETTING_SHUFFLE;
    if (!setup_set(&s->experiment.setup, setting, is_switch ? "on" : t.bytes, &complaint))
        abort();
    say(s, setup_key(setting), t.bytes);
}

static void add_fault(struct storm *s, enum fault_kind kind, const char *option)
{
    struct experiment *e = &s->experiment;
    const char *text = s->fault[e->faults];
    e->fault[e->faults].kind = kind;
    e->fault[e->faults++].text = text;
    say(s, option, text);
}

/* Adds up to two faults: a crash without recovery, and a partition that heals. */
static void draw_faults(struct storm *s, struct dice *d, unsigned n, unsigned storm)
{
    struct experiment *e = &s->experiment;
    unsigned victim = (unsigned)dice_below(d, n);
    if (dice_below(d, 2) == 0 && !numbers_have(&e->setup.down, victim)) {
        snprintf(s->fault[e->faults], sizeof s->fault[0], "%u@%u", victim,
                 (unsigned)dice_below(d, storm));
        add_fault(s, FAULT_CRASH, "crash");
    }
    if (dice_below(d, 3) == 0 && n > 1) {
        unsigned first = 1 + (unsigned)dice_below(d, n - 1), from = (unsigned)dice_below(d, storm);
        snprintf(s->fault[e->faults], sizeof s->fault[0], "0..%u/%u..%u@%u", first - 1, first,
                 n - 1, from);
        add_fault(s, FAULT_CUT, "cut");
        snprintf(s->fault[e->faults], sizeof s->fault[0], "%u",
                 from + (unsigned)dice_below(d, storm - from + 1));
        add_fault(s, FAULT_HEAL, "heal");
    }
}

static void draw(struct storm *s, const char *algorithm, uint64_t seed)
{
    struct experiment *e = &s->experiment;
    struct text rate;
    struct dice d;
    dice_seed(&d, seed, DICE_SHUFFLE);
    unsigned n = 2 + (unsigned)dice_below(&d, seed % 16 == 0 ? 40 : 7),
             delay = 1 + (unsigned)dice_below(&d, 5);
    /* the storm ends after 8T; by then every crashed process has recovered */
    unsigned storm = 8 * 2 * delay + 8;
    experiment_init(e);
    text_clear(&s->command);
    text_add(&s->command, "elect sim");
    set(s, SETTING_ALGORITHM, algorithm, UINT32_MAX, "");
    set(s, SETTING_PROCESSES, "", n, "");
    set(s, SETTING_DELAY, "1..", delay, "");
    set(s, SETTING_LOSS, "0.", 10 + (unsigned)dice_below(&d, 30), "");
    set(s, SETTING_DUPLICATE, "0.", 10 + (unsigned)dice_below(&d, 20), "");
    set(s, SETTING_CALM, "", storm, "");
    set(s, SETTING_DETECTOR, "on", UINT32_MAX, "");
    if (dice_below(&d, 2) == 0)
        set(s, SETTING_REORDER, "", UINT32_MAX, "");
    if (dice_below(&d, 2) == 0)
        set(s, SETTING_SHUFFLE, "", UINT32_MAX, "");
    if (strcmp(algorithm, "ring") == 0 && dice_below(&d, 2) == 0)
        set(s, SETTING_FORM, "multicast", UINT32_MAX, "");
    if (dice_below(&d, 3) == 0)
        set(s, SETTING_DOWN, "", (unsigned)dice_below(&d, n), "");
    draw_faults(s, &d, n, storm);
    e->begin_given = e->begin_all = dice_below(&d, 2) == 0;
    if (e->begin_all)
        say(s, "begin", "all");
    unsigned percent = 10 + (unsigned)dice_below(&d, 50);
    e->crash_rate = percent * (DICE_CERTAIN / 100);
    text_clear(&rate);
    text_add(&rate, "0.");
    text_add_number(&rate, percent);
    say(s, "crash-rate", rate.bytes);
    text_clear(&rate);
    text_add_number(&rate, seed);
    say(s, "seed", rate.bytes);
}

int main(int argc, char **argv)
{
    const char *algorithm = argc > 1 ? argv[1] : "bully";
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000;
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1, slowest = 0, failed = 0;
    static struct play p;
    static struct storm s;
    for (uint64_t seed = first; seed < first + count && failed < 10; seed++) {
        draw(&s, algorithm, seed);
        experiment_play(&s.experiment, seed, &p);
        const struct world *w = &p.world;
        uint64_t calm = s.experiment.setup.calm, bound = experiment_bound(&w->config);
        uint64_t late = w->changed > calm ? w->changed - calm : 0;
        uint8_t top = w->up != 0 ? (uint8_t)(63 - __builtin_clzll(w->up)) : ELECT_NOBODY;
        slowest = late * 100 / bound > slowest ? late * 100 / bound : slowest;
        if (world_leader(w) == top && p.violations == 0 && late <= bound)
            continue;
        failed++;
        fprintf(stderr, "%s, %llu ticks after the calm (bound %llu), replay:\n  %s\n",
                world_leader(w) == ELECT_NOBODY ? "no agreement" : "agreement",
                (unsigned long long)late, (unsigned long long)bound, s.command.bytes);
    }
    printf("%s: %llu schedules, %llu failed, the slowest took %llu %% of the bound\n", algorithm,
           (unsigned long long)count, (unsigned long long)failed, (unsigned long long)slowest);
    return failed > 0;
}
