/* elect sim --troubles: measures how much presence.c reduces leader changes. */
#include "sim.h"

#include "../sim/trouble.h"

#include <jansson.h>

#define SECOND 1000
#define SEED   (UINT64_C(3600) * SECOND)

struct pair {
    struct trouble_report without, with;
};

static void run(const struct elect_config *config, enum trouble t, uint64_t seed, uint64_t ticks,
                bool stable, struct world *w, struct trouble_report *report)
{
    struct elect_config c = *config;
    c.stable = stable;
    c.preempt = t == TROUBLE_FLAPPING || c.preempt;
    for (; report->time < ticks; seed++)
        trouble_run(&c, t, seed, ticks - report->time < SEED ? ticks - report->time : SEED, w,
                    report);
}

static double per_hour(const struct trouble_report *r)
{
    return (double)r->changes * SEED / (double)r->time;
}

static double share(const struct trouble_report *r)
{
    return 100 * (double)r->leaderless / (double)r->time;
}

static void print(const struct pair *pairs)
{
    puts("                             changes of leader per hour     time without leader");
    puts("trouble                       without      with   ratio     without      with");
    for (int t = 0; t < TROUBLE_COUNT; t++) {
        double without = per_hour(&pairs[t].without), with = per_hour(&pairs[t].with);
        printf("%-26s %10.1f %9.1f %7.2f %9.2f %% %7.2f %%\n", trouble_name((enum trouble)t),
               without, with, with > 0 ? without / with : 0, share(&pairs[t].without),
               share(&pairs[t].with));
    }
}

static json_t *one(const struct trouble_report *r)
{
    return json_pack("{s:I, s:f, s:f}", "changes", (json_int_t)r->changes, "changes_per_hour",
                     per_hour(r), "leaderless_percent", share(r));
}

static void print_json(const struct pair *pairs)
{
    json_t *all = json_object();
    for (int t = 0; t < TROUBLE_COUNT; t++)
        json_object_set_new(all, trouble_name((enum trouble)t),
                            json_pack("{s:s, s:o, s:o}", "text", trouble_text((enum trouble)t),
                                      "without", one(&pairs[t].without), "with",
                                      one(&pairs[t].with)));
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(all);
}

int sim_troubles(const struct request *r, struct play *p)
{
    struct pair pairs[TROUBLE_COUNT] = {0};
    struct elect_config c;
    struct text complaint;
    uint64_t seed = r->experiment.setup.seed, ticks = r->storm_days * 86400 * SECOND;
    text_clear(&complaint);
    setup_config(&r->experiment.setup, seed, &c, &complaint);
    for (int t = 0; t < TROUBLE_COUNT; t++) {
        progress_show((uint64_t)t, TROUBLE_COUNT, "troubles");
        run(&c, (enum trouble)t, seed, ticks, false, &p->world, &pairs[t].without);
        run(&c, (enum trouble)t, seed, ticks, true, &p->world, &pairs[t].with);
    }
    progress_clear();
    if (r->quiet)
        return EXIT_FINE;
    if (r->json)
        print_json(pairs);
    else
        print(pairs);
    return EXIT_FINE;
}
