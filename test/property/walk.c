/*
 * Plays random walks that no clock controls. Messages are reordered, lost and duplicated, timers
 * fire early and late, and processes crash and recover. After the last fault, time passes
 * normally, and all live processes must agree on the highest of them.
 *
 *     test_walk ALGORITHM [WALKS [FIRST]]
 */
#include "../../src/model/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOVES 60

static uint8_t pick(struct dice *d, elect_set from)
{
    for (uint64_t skip = dice_below(d, (uint64_t)__builtin_popcountll(from)); skip > 0; skip--)
        from &= from - 1;
    return (uint8_t)__builtin_ctzll(from);
}

static void fire(struct world *w, struct dice *d, struct happening *h)
{
    uint8_t rank = pick(d, w->up);
    uint32_t timers = w->node[rank].running;
    if (timers != 0)
        world_fire(w, rank, (enum elect_event)(ELECT_FIRST_TIMER + pick(d, timers)), h);
}

static void crash_or_recover(struct world *w, struct dice *d, struct happening *h)
{
    uint8_t rank = (uint8_t)dice_below(d, w->config.n);
    struct fault fault = {.kind = world_up(w, rank) ? FAULT_CRASH : FAULT_RECOVER, .rank = rank};
    /* at least one process stays up */
    if (fault.kind == FAULT_RECOVER || (w->up & (w->up - 1)) != 0)
        world_fault(w, &fault, h);
}

static void move(struct world *w, struct dice *d)
{
    struct happening h;
    uint64_t what = dice_below(d, 20);
    if (w->flights > 0 && what < 12)
        world_deliver(w, (uint32_t)dice_below(d, w->flights), &h);
    else if (w->flights > 0 && what < 13)
        world_lose(w, (uint32_t)dice_below(d, w->flights), &h);
    else if (w->flights > 0 && what < 14)
        world_duplicate(w, (uint32_t)dice_below(d, w->flights));
    else if (what < 17)
        fire(w, d, &h);
    else if (what < 19)
        world_suspect(w, pick(d, w->up), &h);
    else
        crash_or_recover(w, d, &h);
}

static bool walk(struct play *p, enum elect_algorithm algorithm, uint64_t seed)
{
    struct elect_config c;
    struct weather weather = {.delay_min = 1, .delay_max = 1};
    struct world *w = &p->world;
    struct dice d;
    uint16_t ids[] = {1, 2, 3, 4, 5};
    dice_seed(&d, seed, DICE_SHUFFLE);
    size_t n = 2 + (size_t)dice_below(&d, 4);
    if (elect_config_init(&c, algorithm, ids, n, 1, 0) != ELECT_FINE)
        abort();
    c.detector = true;
    c.form = (uint8_t)dice_below(&d, 2);
    c.announce = (uint8_t)dice_below(&d, 2);
    c.tell_lower = dice_below(&d, 4) == 0;
    world_init(w, &c, &weather, seed, ELECT_NOBODY);
    for (int i = 0; i < MOVES; i++)
        move(w, &d);
    play_run(p, WORLD_FOREVER);
    return world_leader(w) == 63 - __builtin_clzll(w->up);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "bully";
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000;
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1, failed = 0;
    static struct play p;
    int algorithm = 0;
    while (strcmp(name, elect_algorithm_name((enum elect_algorithm)algorithm)) != 0)
        if (++algorithm == ELECT_ALGORITHM_COUNT)
            return 64;
    for (uint64_t seed = first; seed < first + count && failed < 10; seed++) {
        if (walk(&p, (enum elect_algorithm)algorithm, seed))
            continue;
        failed++;
        fprintf(stderr, "no agreement, replay: test_walk %s 1 %llu\n", name,
                (unsigned long long)seed);
    }
    printf("%s: %llu walks, %llu failed\n", name, (unsigned long long)count,
           (unsigned long long)failed);
    return failed > 0;
}
