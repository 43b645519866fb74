/* elect config: checks a configuration and explains its effects, or prints an example. */
#include "../daemon/hook.h"
#include "member.h"

#include <stdio.h>

#define MILLISECOND 1000.0

/* Effects of the configured times on the cluster, in microseconds. */
struct meaning {
    double lease, office, renewal, replaced, bound, hand_over;
    unsigned voters, tolerated;
    char warning[CONFIG_WARNING]; /* "" if none */
};

static double duration(const struct elect_config *e, unsigned timer)
{
    return e->duration[timer - ELECT_FIRST_TIMER];
}

static struct meaning meaning_of(const struct config *c, const struct elect_config *e)
{
    const double drift = c->rho / 1e6, trip = 2.0 * c->delay;
    unsigned voters = (unsigned)__builtin_popcountll(e->voters);
    double ring = e->algorithm == ELECT_BULLY ? 0 : duration(e, ELECT_RING_TIMER);
    double look = e->answer_bound; /* how long a member without a leader searches for one */
    struct meaning m = {
        .lease = c->lease,
        .office = (double)elect_office_length(e, c->lease),
        .renewal = c->renewal,
        .replaced = c->lease * (1 + drift) / (1 - drift) + look + 2 * (trip + c->delay),
        /* P4 in docs/guarantees.md: the longest time without a leader, unless a member is being
         * readmitted */
        .bound =
            (10.0 * c->lease + 8.0 * (duration(e, ELECT_SUSPICION_TIMER) + ring)) / (1 - drift),
        .hand_over = 3.0 * c->delay + 2.0 * c->delay,
        .voters = voters,
        .tolerated = (voters - 1) / 2};
    config_warning(c, m.warning);
    return m;
}

static void print_text(const struct config *c, const struct meaning *m)
{
    if (c->mandate == ELECT_NO_MANDATE) {
        printf("%s is valid: %u members, %u group%s, and no mandate: a textbook election.\n"
               "TWO MEMBERS MAY LEAD AT ONCE if a message is late or the network is partitioned.\n",
               c->path, c->members, c->groups, c->groups == 1 ? "" : "s");
        return;
    }
    printf("%s is valid: %u members, %u of them vote, %u group%s.\n\n", c->path, c->members,
           m->voters, c->groups, c->groups == 1 ? "" : "s");
    printf("A lease lasts %.0f ms, renewed every %.0f ms; a leader uses %.1f ms of it.\n",
           m->lease / MILLISECOND, m->renewal / MILLISECOND, m->office / MILLISECOND);
    printf("A leader needs %u of %u voters that reach each other: %u may fail.\n",
           m->voters - m->tolerated, m->voters, m->tolerated);
    printf("A leader that crashes or is cut off is replaced within %.0f ms, if nothing else\n"
           "failed during the last lease and messages take at most delay (%.0f ms).\n"
           "After any failure, a member leads within %.1f s once a majority is connected.\n",
           m->replaced / MILLISECOND, c->delay / MILLISECOND, m->bound / 1e6);
    printf("A leader that resigns is replaced within %.0f ms after its work has stopped.\n",
           m->hand_over / MILLISECOND);
    printf("\nThere are never two leaders at once as long as\n"
           "  - the rates of any two clocks differ by at most %g %%, and no clock stops;\n"
           "  - each member has one state file, which is never replaced by an older copy;\n"
           "  - no lease was ever longer than max-lease (%.0f ms).\n"
           "If a clock exceeds that bound, two members may lead for a while. A resource\n"
           "that checks the fencing token then rejects the leader with the smaller token.\n",
           c->rho / 1e4, c->max_lease / MILLISECOND);
    if (m->warning[0] != '\0')
        printf("\nWarning: %s.\n", m->warning);
}

static void print_json(const struct config *c, const struct meaning *m)
{
    if (c->mandate == ELECT_NO_MANDATE) {
        json_t *none = json_pack("{s:s, s:s, s:i, s:i}", "file", c->path, "mandate", "none",
                                 "members", (int)c->members, "groups", (int)c->groups);
        ask_print_json(none);
        json_decref(none);
        return;
    }
    json_t *o = json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "file", c->path, "members",
        (int)c->members, "voters", (int)m->voters, "tolerated_failures", (int)m->tolerated,
        "groups", (int)c->groups, "lease_ms", m->lease / MILLISECOND, "office_ms",
        m->office / MILLISECOND, "renewal_ms", m->renewal / MILLISECOND, "fail_over_ms",
        m->replaced / MILLISECOND, "longest_gap_ms", m->bound / MILLISECOND, "hand_over_ms",
        m->hand_over / MILLISECOND, "clock_drift_percent", c->rho / 1e4);
    json_object_set_new(o, "warnings", json_array());
    if (m->warning[0] != '\0')
        json_array_append_new(json_object_get(o, "warnings"), json_string(m->warning));
    ask_print_json(o);
    json_decref(o);
}

int cmd_config(int argc, char **argv)
{
    static struct config c;
    static struct text example;
    static const char *const verbs[] = {"check", "example"};
    static const struct verb_spec spec = {
        .name = "config",
        .without = 1 << ASK_ID | 1 << ASK_GROUP | 1 << ASK_SOCKET | 1 << ASK_TIMEOUT,
        .usage = "config check [FILE] | example",
        .text = "check: check the configuration, and print how long a change of leader takes and "
                "under which assumptions there are never two leaders. example: print an example "
                "configuration that explains every key.\nExit: 0 success; 64 bad usage; 78 "
                "configuration refused.",
        .min = 1,
        .max = 2,
        .missing = "expected check or example"};
    struct asked_for a;
    struct text why;
    struct elect_config e;
    uint8_t which;
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    text_clear(&why);
    if (!choice_parse(a.word[0], verbs, 2, &which, &why))
        return args_complain(a.verb, a.word[0], why.bytes);
    if (which == 1) {
        text_clear(&example);
        config_example(&example);
        fputs(example.bytes, stdout);
        return EXIT_FINE;
    }
    a.config = a.words == 2 ? a.word[1] : a.config;
    if (!ask_config(&a, &c))
        return EXIT_CONFIG;
    if (!hook_check_all(&c, config_user(&c), &why))
        return ask_complain(a.verb, EXIT_CONFIG, why.bytes);
    config_elect(&c, &e);
    struct meaning m = meaning_of(&c, &e);
    if (a.json && !a.quiet)
        print_json(&c, &m);
    else if (!a.quiet)
        print_text(&c, &m);
    return EXIT_FINE;
}
