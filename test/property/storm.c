/*
 * Storm, then calm: 20,000 random schedules for each algorithm, with loss, duplication, reordering,
 * crashes and recoveries. When it is calm everybody alive agrees on the highest, within a bound.
 *
 *     test_storm ALGORITHM [SCHEDULES [FIRST]]
 *
 * A schedule is a seed; what fails is printed as the command that replays it.
 */
#include "../../src/sim/experiment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct storm {
    unsigned processes, delay, loss, duplicate, crash_rate; /* the last three in per cent */
    bool multicast;
};

/* The first schedules are the mild ones. */
static struct storm draw(uint64_t seed)
{
    struct dice d;
    dice_seed(&d, seed, DICE_SHUFFLE);
    return (struct storm){
        .processes = 2 + (unsigned)dice_below(&d, 7),
        .delay = 1 + (unsigned)dice_below(&d, 5),
        .loss = (unsigned)dice_below(&d, 40),
        .duplicate = (unsigned)dice_below(&d, 30),
        .crash_rate = (unsigned)dice_below(&d, 60),
        .multicast = dice_below(&d, 2) == 0,
    };
}

/* As on the command line, and so the command line is known. */
static void describe(struct experiment *e, const char *algorithm, const struct storm *s,
                     uint64_t seed, char *command, size_t room)
{
    unsigned calm = 8 * 2 * s->delay + 8; /* every recovery is over by 8T */
    bool list = strcmp(algorithm, "ring") == 0 && s->multicast;
    struct text complaint;
    char value[32];
    experiment_init(e);
    text_clear(&complaint);
#define SET(setting, ...)                                                                          \
    do {                                                                                           \
        snprintf(value, sizeof value, __VA_ARGS__);                                                \
        if (!setup_set(&e->setup, setting, value, &complaint))                                     \
            abort();                                                                               \
    } while (0)
    SET(SETTING_ALGORITHM, "%s", algorithm);
    SET(SETTING_PROCESSES, "%u", s->processes);
    SET(SETTING_DELAY, "1..%u", s->delay);
    SET(SETTING_LOSS, "0.%02u", s->loss);
    SET(SETTING_DUPLICATE, "0.%02u", s->duplicate);
    SET(SETTING_CALM, "%u", calm);
    SET(SETTING_REORDER, "on");
    SET(SETTING_DETECTOR, "on");
    if (list)
        SET(SETTING_FORM, "multicast");
    e->crash_rate = s->crash_rate * (DICE_CERTAIN / 100);
    e->begin_given = e->begin_all = true;
    snprintf(
        command, room,
        "elect sim --algorithm %s --processes %u --delay 1..%u --loss 0.%02u --duplicate "
        "0.%02u --calm %u --reorder --detector on --crash-rate 0.%02u --begin all%s --seed %llu",
        algorithm, s->processes, s->delay, s->loss, s->duplicate, calm, s->crash_rate,
        list ? " --form multicast" : "", (unsigned long long)seed);
}

int main(int argc, char **argv)
{
    const char *algorithm = argc > 1 ? argv[1] : "bully";
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000;
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1, slowest = 0, failed = 0;
    static struct play p;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct storm s = draw(seed);
        struct experiment e;
        char command[512];
        describe(&e, algorithm, &s, seed, command, sizeof command);
        experiment_play(&e, seed, &p);
        const struct world *w = &p.world;
        uint64_t calm = e.setup.calm, bound = experiment_bound(&w->config);
        uint64_t late = w->changed > calm ? w->changed - calm : 0;
        uint64_t share = late * 100 / bound;
        slowest = share > slowest ? share : slowest;
        if (world_leader(w) != w->config.n - 1 || p.violations > 0 || late > bound) {
            failed++;
            fprintf(stderr, "%s, %llu ticks after the calm (bound %llu), replay:\n  %s\n",
                    world_leader(w) == ELECT_NOBODY ? "no agreement" : "agreement",
                    (unsigned long long)late, (unsigned long long)bound, command);
            if (failed == 10)
                break;
        }
    }
    printf("%s: %llu schedules, %llu failed, the slowest took %llu %% of the bound\n", algorithm,
           (unsigned long long)count, (unsigned long long)failed, (unsigned long long)slowest);
    return failed > 0;
}
