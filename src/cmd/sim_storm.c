/* elect sim --storm: simulates days or years of random faults in a cluster with a mandate. */
#include "sim.h"

#include "../sim/shrink.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define SECOND 1000                      /* in ticks of one millisecond */
#define SEED   (UINT64_C(3600) * SECOND) /* ticks simulated per seed */

static volatile int stop;

static void on_interrupt(int signal)
{
    (void)signal;
    stop = 1;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void report_json(const struct elect_config *c, enum storm_beyond beyond,
                        const struct storm_report *s, double seconds)
{
    json_t *lost = json_object();
    for (int i = 0; i < STORM_PROMISE_COUNT; i++)
        if (s->lost[i] > 0)
            json_object_set_new(lost, storm_promise_name((enum storm_promise)i),
                                json_integer((json_int_t)s->lost[i]));
    json_t *faults = json_object(), *violations = json_array();
    for (int f = 0; f < STORM_FAULT_COUNT; f++)
        json_object_set_new(faults, storm_fault_name((enum storm_fault)f),
                            json_integer((json_int_t)s->fault[f]));
    for (unsigned i = 0; i < s->violations && i < STORM_MAX_VIOLATIONS; i++) {
        const struct storm_violation *v = &s->violation[i];
        json_array_append_new(
            violations, json_pack("{s:s, s:s, s:I, s:f}", "promise", storm_promise_name(v->promise),
                                  "text", storm_promise_text(v->promise), "seed",
                                  (json_int_t)v->seed, "second", (double)v->time / SECOND));
    }
    json_t *object =
        json_pack("{s:s, s:i, s:f, s:I, s:I, s:I, s:f, s:o, s:o, s:f, s:f}", "algorithm",
                  elect_algorithm_name((enum elect_algorithm)c->algorithm), "processes", (int)c->n,
                  "simulated_seconds", (double)s->time / SECOND, "events", (json_int_t)s->events,
                  "storms", (json_int_t)s->storms, "offices", (json_int_t)s->offices,
                  "slowest_recovery", (double)s->slowest / SECOND, "faults", faults, "violations",
                  violations, "seconds", seconds, "speed", (double)s->time / SECOND / seconds);
    json_object_set_new(object, "beyond", json_string(storm_beyond_words[beyond]));
    json_object_set_new(object, "not_promised", lost);
    json_object_set_new(object, "interrupted", json_boolean(stop != 0));
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(8));
    putchar('\n');
    json_decref(object);
}

static void print_counts(const struct storm_report *s)
{
    unsigned column = (unsigned)printf("faults:");
    const char *comma = "";
    for (int f = 0; f < STORM_FAULT_COUNT; f++) {
        char text[64];
        unsigned length =
            (unsigned)snprintf(text, sizeof text, "%s %llu", storm_fault_name((enum storm_fault)f),
                               (unsigned long long)s->fault[f]);
        if (s->fault[f] == 0)
            continue;
        bool fits = column + length + 3 <= 80;
        printf("%s%s%s", comma, fits ? " " : "\n  ", text);
        column = (fits ? column + 2 : 2) + length;
        comma = ",";
    }
    putchar('\n');
}

static void print_held(const struct elect_config *c, enum storm_beyond beyond)
{
    static const char *const why[] = {
        [STORM_WITHIN] = "",
        [STORM_CLOCKS] = "; clocks exceeded their bound",
        [STORM_DISKS] = "; disks were rolled back, lost or cloned",
    };
    unsigned held = 0, said = 0;
    for (int i = 0; i < STORM_PROMISE_COUNT; i++)
        held += storm_promises((enum storm_promise)i, c, beyond);
    for (int i = 0; i < STORM_PROMISE_COUNT; i++)
        if (storm_promises((enum storm_promise)i, c, beyond)) {
            printf("%s%s",
                   said == 0          ? ""
                   : said + 1 == held ? " and "
                                      : ", ",
                   storm_promise_name((enum storm_promise)i));
            said++;
        }
    printf("%s%s%s\n",
           held == 0   ? "nothing is promised"
           : held == 1 ? " holds"
                       : " hold",
           why[beyond], c->stable ? "" : "; P4 needs stability");
}

static void report_text(const struct elect_config *c, enum storm_beyond beyond,
                        const struct storm_report *s, double seconds)
{
    printf("%u processes, %s, lease %u ms, renewal %u ms, clocks within %.3g %%\n", c->n,
           elect_algorithm_name((enum elect_algorithm)c->algorithm), c->lease, c->renewal,
           (double)c->drift / 10000);
    printf("%.2f days in %.1f s: %.0f times real time; %llu events, %llu storms\n",
           (double)s->time / SECOND / 86400, seconds, (double)s->time / SECOND / seconds,
           (unsigned long long)s->events, (unsigned long long)s->storms);
    print_counts(s);
    printf("offices %llu; longest time from a calm to a leader %.3f s\n",
           (unsigned long long)s->offices, (double)s->slowest / SECOND);
    for (unsigned i = 0; i < s->violations && i < STORM_MAX_VIOLATIONS; i++) {
        const struct storm_violation *v = &s->violation[i];
        printf("violated %s, seed %llu, second %.3f: %s\n", storm_promise_name(v->promise),
               (unsigned long long)v->seed, (double)v->time / SECOND,
               storm_promise_text(v->promise));
    }
    if (s->violations == 0)
        print_held(c, beyond);
    if (stop)
        printf("interrupted: the rest was not simulated\n");
    const char *gap = "not promised, and broken: ";
    for (int i = 0; i < STORM_PROMISE_COUNT; i++)
        if (s->lost[i] > 0) {
            printf("%s%s %llu times", gap, storm_promise_name((enum storm_promise)i),
                   (unsigned long long)s->lost[i]);
            gap = ", ";
        }
    if (*gap == ',')
        putchar('\n');
}

/* ---- saving a violation ---- */

static char *script_of(const struct shrink_trace *trace, enum storm_promise promise, struct play *p)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL)
        return NULL;
    shrink_write(trace, promise, &p->world, out);
    fclose(out);
    return text;
}

static bool save(const char *file, const char *script, enum property property)
{
    struct text complaint;
    text_clear(&complaint);
    char *story = save_replay(script, property, &complaint, NULL);
    if (story == NULL)
        args_complain("sim", "the counterexample", complaint.bytes);
    bool saved = story != NULL && save_scenario("sim", "--save", file, script, story);
    free(story);
    return saved;
}

/* Replays the seed's storm, removes all steps that the violation does not need, and saves the
 * rest. */
static bool save_violation(const struct request *r, const struct elect_config *c,
                           const struct storm_violation *v, struct play *p, const char *file)
{
    struct shrink_trace trace = {.config = *c, .seed = v->seed};
    struct storm_report ignored = {0};
    p->tell = shrink_note;
    p->listener = &trace;
    storm_run(c, r->beyond, v->seed, SEED, p, &stop, &ignored);
    p->tell = NULL;
    bool small = shrink_reduce(&trace, v->promise, &p->world, &stop);
    char *script = small ? script_of(&trace, v->promise, p) : NULL;
    bool saved = script != NULL && save(file, script, trace.broken);
    free(script);
    shrink_free(&trace);
    return saved;
}

static void keep_violation(const struct request *r, const struct elect_config *c,
                           const struct storm_report *report, struct play *p)
{
    const struct storm_violation *v = &report->violation[0];
    char file[64];
    snprintf(file, sizeof file, "storm-%llu.elect", (unsigned long long)v->seed);
    const char *name = r->save != NULL ? r->save : file;
    bool saved = v->promise != STORM_P4 && save_violation(r, c, v, p, name);
    if (r->quiet)
        return;
    if (saved)
        fprintf(stderr, "elect sim: the shortest counterexample that was found is in %s\n", name);
    else
        fprintf(stderr, "elect sim: --replay %llu prints the whole trace\n",
                (unsigned long long)v->seed);
}

int sim_storm(const struct request *r, struct play *p)
{
    struct storm_report report = {0};
    struct elect_config c;
    struct text complaint;
    uint64_t seed = r->replays ? r->replay : r->experiment.setup.seed;
    uint64_t ticks = r->replays ? SEED : r->storm_days * 86400 * SECOND, began;
    FILE *out = r->replays && !r->quiet ? trace_open(r) : NULL;
    struct trace trace = {.out = out, .mode = r->trace, .verbose = r->verbose};
    text_clear(&complaint);
    if (r->replays && !r->quiet && out == NULL)
        return EXIT_USAGE;
    /* A shuffled ring takes its order from the first seed and keeps it. */
    setup_config(&r->experiment.setup, r->experiment.setup.seed, &c, &complaint);
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    p->tell = out != NULL ? trace_happening : NULL;
    p->listener = &trace;
    double start = seconds_now();
    for (; report.time < ticks && report.violations == 0 && !stop; seed++) {
        began = report.time;
        storm_run(&c, r->beyond, seed, ticks - began < SEED ? ticks - began : SEED, p, &stop,
                  &report);
        progress_show(report.time / SECOND, ticks / SECOND, "seconds simulated");
    }
    progress_clear();
    double seconds = seconds_now() - start;
    if (!r->quiet && r->json)
        report_json(&c, r->beyond, &report, seconds);
    else if (!r->quiet)
        report_text(&c, r->beyond, &report, seconds);
    if (report.violations > 0 && !r->replays)
        keep_violation(r, &c, &report, p);
    int status = report.violations > 0 ? EXIT_NO : stop ? EXIT_UNDECIDED : EXIT_FINE;
    return out != NULL ? trace_close(r, out, status) : status;
}
