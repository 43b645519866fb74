/* elect verify: explores every possible history of a small cluster. */
#include "verify.h"

#include "../base/access.h"
#include "../base/parse.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum option {
    OPTION_ALGORITHM,
    OPTION_PROCESSES,
    OPTION_DOWN,
    OPTION_LEADER,
    OPTION_FORM,
    OPTION_ANNOUNCE,
    OPTION_TELL_LOWER,
    OPTION_REORDER,
    OPTION_BEGIN,
    OPTION_CRASHES,
    OPTION_RECOVERIES,
    OPTION_LOSSES,
    OPTION_DUPLICATES,
    OPTION_CUTS,
    OPTION_JOINS,
    OPTION_CRASHING,
    OPTION_TIMEOUTS,
    OPTION_MANDATE,
    OPTION_WITNESSES,
    OPTION_CLOCKS,
    OPTION_TERMS,
    OPTION_ROUNDS,
    OPTION_OBSERVERS,
    OPTION_CHANGES,
    OPTION_HAND_OVER,
    OPTION_PROPERTY,
    OPTION_LIST,
    OPTION_REDUCE,
    OPTION_SAVE,
    OPTION_MAX_STATES,
    OPTION_MAX_MEMORY,
    OPTION_THREADS,
    OPTION_OUTPUT,
    OPTION_QUIET,
    OPTION_HELP,
    OPTION_COUNT
};

static const struct option_spec options[OPTION_COUNT] = {
    [OPTION_ALGORITHM] = {"algorithm", 0, "NAME",
                          "bully, ring, active-ring or chang-roberts (default: bully)"},
    [OPTION_PROCESSES] = {"processes", 0, "LIST", "2 to 16 processes, in the order of the ring"},
    [OPTION_DOWN] = {"down", 0, "LIST", "processes that are down at the start (default: none)"},
    [OPTION_LEADER] =
        {"leader", 0, "ID|none",
         "process that all processes follow at first (default: the highest if it is down, else "
         "none)"},
    [OPTION_FORM] = {"form", 0, "circulate|multicast",
                     "ring: how the leader is announced (default: circulate)"},
    [OPTION_ANNOUNCE] = {"announce", 0, "lower|all",
                         "bully: processes to which the winner is announced (default: lower)"},
    [OPTION_TELL_LOWER] = {"tell-lower", 0, NULL,
                           "bully: a process that starts an election notifies the lower processes, "
                           "which then start none"},
    [OPTION_REORDER] = {"reorder", 0, NULL,
                        "messages from one process to another may overtake each other"},
    [OPTION_BEGIN] =
        {"begin", 0, "any|all|LIST",
         "processes that begin an election: any live process once, at any moment (default); all "
         "processes, or the processes of the list, at the start"},
    [OPTION_CRASHES] = {"crashes", 0, "N", "up to N crashes, at any moment (default: 0)"},
    [OPTION_RECOVERIES] = {"recoveries", 0, "N", "up to N recoveries after crashes (default: 0)"},
    [OPTION_LOSSES] = {"losses", 0, "N", "up to N lost messages (default: 0)"},
    [OPTION_DUPLICATES] = {"duplicates", 0, "N", "up to N messages that arrive twice (default: 0)"},
    [OPTION_CUTS] = {"cuts", 0, "N",
                     "up to N cuts of the cluster in two, which may heal (default: 0)"},
    [OPTION_JOINS] = {"joins", 0, "N",
                      "up to N processes that are down at the start join (default: 0)"},
    [OPTION_CRASHING] = {"crashing", 0, "LIST", "processes that can crash (default: all)"},
    [OPTION_TIMEOUTS] =
        {"timeouts", 0, "late|any",
         "timers expire only when no message is in flight (default), or at any moment"},
    [OPTION_MANDATE] = {"mandate", 0, "none|majority",
                        "check elections (default), or the mandate that confirms a leader"},
    [OPTION_WITNESSES] = {"witnesses", 0, "LIST", "mandate: processes that vote but never lead"},
    [OPTION_CLOCKS] =
        {"clocks", 0, "any|bounded|beyond",
         "mandate: clocks show any time (default), or their rates differ by a factor of 2 "
         "(bounded) or 4 (beyond)"},
    [OPTION_TERMS] = {"terms", 0, "N",
                      "mandate: largest counter of a term (default: 2 with --clocks any, else 1)"},
    [OPTION_ROUNDS] = {"rounds", 0, "N",
                       "mandate: number of rounds of a term that arrive, 1 to 3 (default: 1)"},
    [OPTION_OBSERVERS] = {"observers", 0, "LIST",
                          "mandate: processes that neither vote nor lead at first"},
    [OPTION_CHANGES] = {"changes", 0, "N",
                        "mandate: up to N changes of the membership, one after the other, 1 to 4 "
                        "(default: none)"},
    [OPTION_HAND_OVER] = {"hand-over", 0, NULL,
                          "mandate: leaders may resign, and a process that restarts may leave a "
                          "testament"},
    [OPTION_PROPERTY] = {"property", 0, "NAME,...",
                         "properties to check (default: those that the algorithm claims)"},
    [OPTION_LIST] = {"list-properties", 0, NULL, "print the properties"},
    [OPTION_REDUCE] =
        {"reduce", 0, NULL,
         "rings without faults: if the order of some steps does not matter, explore only one "
         "order"},
    [OPTION_SAVE] = {"save", 0, "FILE", "write the shortest counterexample to FILE, as a scenario"},
    [OPTION_MAX_STATES] = {"max-states", 0, "N", "give up after N states (default: 2147483647)"},
    [OPTION_MAX_MEMORY] = {"max-memory", 0, "SIZE",
                           "give up after this much memory, such as 500M or 4G (default: 4G)"},
    [OPTION_THREADS] = {"threads", 0, "N", "number of threads, 1 to 8 (default: 1)"},
    [OPTION_OUTPUT] = {"output", 'o', "text|json", "format of the result (default: text)"},
    [OPTION_QUIET] = {"quiet", 'q', NULL, "print nothing; the exit status reports the result"},
    [OPTION_HELP] = {"help", 'h', NULL, "print this help"},
};

static volatile int stop;

static void on_interrupt(int signal)
{
    (void)signal;
    stop = 1;
}

static int print_help(void)
{
    puts("usage: elect verify --processes LIST [OPTIONS]\n"
         "\n"
         "Explore every possible history of a small cluster, with the same code that real\n"
         "members run, and find the shortest one that violates a property.\n");
    args_help_options(options, OPTION_COUNT);
    puts("\nExit: 0 the properties hold in every history; 1 a property is violated; 2 the\n"
         "exploration reached a bound, or was interrupted, before it found a violation;\n"
         "64 bad usage; 74 a property is violated, but --save failed.\n"
         "\nExamples:\n"
         "  elect verify --algorithm bully --processes 3\n"
         "  elect verify --algorithm chang-roberts --processes 4 --crashes 1\n"
         "  elect verify --algorithm bully --processes 3 --timeouts any \\\n"
         "      --property one-leader --save bad.elect\n"
         "  elect verify --mandate majority --processes 3 --crashes 1\n"
         "  elect verify --mandate majority --processes 3 --clocks bounded");
    return EXIT_FINE;
}

static int list_properties(void)
{
    for (int p = 0; p < PROPERTY_COUNT; p++)
        printf("%-21s %s\n", property_name((enum property)p), property_text((enum property)p));
    return EXIT_FINE;
}

static int complain(const char *option, const char *why)
{
    return args_complain_option("verify", option, why);
}

/* ---- the command line ---- */

static bool set_number(const char *value, uint64_t limit, uint64_t *number, struct text *complaint)
{
    if (parse_number(value, limit, number))
        return true;
    text_add(complaint, "expected a number from 0 to ");
    text_add_number(complaint, limit);
    return false;
}

static bool set_memory(struct asked *a, const char *value, struct text *complaint)
{
    static const char units[] = "KMGT";
    uint64_t number;
    const char *rest = value, *unit;
    if (parse_digits(&rest, 1 << 20, &number) && number > 0 && *rest != '\0' && rest[1] == '\0' &&
        (unit = strchr(units, *rest)) != NULL) {
        a->exploration.max_memory = (size_t)number << (10 * (unit - units + 1));
        return true;
    }
    text_add(complaint, "expected a size, such as 500M or 4G");
    return false;
}

static bool set_properties(struct asked *a, const char *value, struct text *complaint)
{
    const char *names[PROPERTY_COUNT];
    for (int p = 0; p < PROPERTY_COUNT; p++)
        names[p] = property_name((enum property)p);
    a->properties_given = true;
    while (*value != '\0') {
        char word[64];
        size_t length = strcspn(value, ",");
        uint8_t choice;
        snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), value);
        if (!choice_parse(word, names, PROPERTY_COUNT, &choice, complaint))
            return false;
        a->exploration.properties |= 1u << choice;
        value += length + (value[length] == ',');
    }
    if (a->exploration.properties != 0)
        return true;
    text_add(complaint, "expected a property, see --list-properties");
    return false;
}

static bool set_begin(struct asked *a, const char *value, struct text *complaint)
{
    if (strcmp(value, "any") == 0)
        return true;
    a->begin_given = true;
    a->begin_all = strcmp(value, "all") == 0;
    return a->begin_all || numbers_parse(&a->begin, value, complaint);
}

static bool set_timeouts(struct asked *a, const char *value, struct text *complaint)
{
    static const char *const words[] = {"late", "any"};
    uint8_t choice = 0;
    bool fine = choice_parse(value, words, 2, &choice, complaint);
    a->exploration.question.any_timeouts = choice == 1;
    return fine;
}

static bool set_threads(struct asked *a, const char *value, struct text *complaint)
{
    uint64_t threads = 0;
    bool fine = parse_number(value, EXPLORE_MAX_THREADS, &threads) && threads > 0;
    if (!fine)
        text_add(complaint, "expected a number from 1 to 8");
    a->exploration.threads = (unsigned)threads;
    return fine;
}

static bool set_clocks(struct asked *a, const char *value, struct text *complaint)
{
    static const char *const words[] = {"any", "bounded", "beyond"};
    uint8_t choice = 0;
    bool fine = choice_parse(value, words, 3, &choice, complaint);
    a->exploration.question.clocks = (enum clocks)choice;
    return fine;
}

static bool set_bound(const char *value, uint64_t limit, uint32_t *bound, struct text *complaint)
{
    uint64_t number = 0;
    bool fine = parse_number(value, limit, &number) && number > 0;
    *bound = (uint32_t)number;
    if (!fine) {
        text_add(complaint, "expected a number from 1 to ");
        text_add_number(complaint, limit);
    }
    return fine;
}

static bool set(struct asked *a, enum option option, const char *value, struct text *complaint)
{
    struct setup *s = &a->setup;
    struct exploration *e = &a->exploration;
    switch (option) {
    case OPTION_ALGORITHM: return setup_set(s, SETTING_ALGORITHM, value, complaint);
    case OPTION_PROCESSES: return setup_set(s, SETTING_PROCESSES, value, complaint);
    case OPTION_DOWN: return setup_set(s, SETTING_DOWN, value, complaint);
    case OPTION_LEADER: return setup_set(s, SETTING_LEADER, value, complaint);
    case OPTION_FORM: return setup_set(s, SETTING_FORM, value, complaint);
    case OPTION_ANNOUNCE: return setup_set(s, SETTING_ANNOUNCE, value, complaint);
    case OPTION_TELL_LOWER: return setup_set(s, SETTING_TELL_LOWER, "on", complaint);
    case OPTION_REORDER: return setup_set(s, SETTING_REORDER, "on", complaint);
    case OPTION_CRASHES:
    case OPTION_RECOVERIES:
    case OPTION_LOSSES:
    case OPTION_DUPLICATES:
    case OPTION_CUTS:
    case OPTION_JOINS:
        return set_number(value, 100, &a->budget[option - OPTION_CRASHES], complaint);
    case OPTION_CRASHING:
        a->crashing_given = true;
        return numbers_parse(&a->crashing, value, complaint);
    case OPTION_BEGIN: return set_begin(a, value, complaint);
    case OPTION_TIMEOUTS: return set_timeouts(a, value, complaint);
    case OPTION_MANDATE: return setup_set(s, SETTING_MANDATE, value, complaint);
    case OPTION_WITNESSES: return setup_set(s, SETTING_WITNESSES, value, complaint);
    case OPTION_CLOCKS: return set_clocks(a, value, complaint);
    case OPTION_TERMS: return set_bound(value, 100, &e->question.max_term, complaint);
    case OPTION_ROUNDS: return set_bound(value, 3, &e->question.max_rounds, complaint);
    case OPTION_OBSERVERS: return setup_set(s, SETTING_OBSERVERS, value, complaint);
    case OPTION_CHANGES: return set_bound(value, 4, &e->question.max_changes, complaint);
    case OPTION_HAND_OVER: return e->question.hand_over = true;
    case OPTION_PROPERTY: return set_properties(a, value, complaint);
    case OPTION_REDUCE: return e->question.reduce = true;
    case OPTION_SAVE: a->save = value; return true;
    case OPTION_MAX_STATES: return set_number(value, UINT32_MAX / 2, &e->max_states, complaint);
    case OPTION_MAX_MEMORY: return set_memory(a, value, complaint);
    case OPTION_THREADS: return set_threads(a, value, complaint);
    case OPTION_OUTPUT: return args_output(value, &a->json, complaint);
    case OPTION_QUIET: return a->quiet = true;
    case OPTION_LIST:
    case OPTION_HELP:
    case OPTION_COUNT: break;
    }
    return false;
}

/* Remembers an option that requires or forbids a mandate. */
static void note(struct asked *a, enum option option)
{
    static const enum option textbook[] = {
        OPTION_DOWN,       OPTION_LEADER, OPTION_FORM,       OPTION_ANNOUNCE,  OPTION_REORDER,
        OPTION_BEGIN,      OPTION_LOSSES, OPTION_DUPLICATES, OPTION_CUTS,      OPTION_JOINS,
        OPTION_RECOVERIES, OPTION_REDUCE, OPTION_TIMEOUTS,   OPTION_TELL_LOWER};
    static const enum option mandate[] = {OPTION_WITNESSES, OPTION_CLOCKS,    OPTION_TERMS,
                                          OPTION_ROUNDS,    OPTION_OBSERVERS, OPTION_CHANGES,
                                          OPTION_HAND_OVER};
    static char names[OPTION_COUNT][24];
    snprintf(names[option], sizeof names[option], "--%s", options[option].name);
    for (unsigned i = 0; i < sizeof textbook / sizeof textbook[0]; i++)
        a->textbook = textbook[i] == option ? names[option] : a->textbook;
    for (unsigned i = 0; i < sizeof mandate / sizeof mandate[0]; i++)
        a->mandate = mandate[i] == option ? names[option] : a->mandate;
}

/* Parses the command line. Returns EXIT_FINE, -1 to print the help, -2 to list the properties,
 * or an exit status after an error message. */
static int parse(struct asked *a, int argc, char **argv)
{
    struct args args = {.verb = "verify", .argc = argc, .at = 1, .argv = argv};
    struct text complaint;
    const char *value;
    uint64_t seen = 0;
    int option;
    setup_init(&a->setup);
    a->exploration.max_states = UINT32_MAX / 2;
    a->exploration.max_memory = (size_t)4 << 30;
    a->exploration.threads = 1;
    a->exploration.question.max_rounds = 1;
    text_clear(&complaint);
    while ((option = args_next(&args, options, OPTION_COUNT, &value)) != ARGS_END) {
        if (option == ARGS_WORD)
            args_complain("verify", value, "unexpected argument: expected an option, see --help");
        if (option < 0)
            return EXIT_USAGE;
        if (option == OPTION_HELP || option == OPTION_LIST)
            return option == OPTION_HELP ? -1 : -2;
        if (option != OPTION_PROPERTY && (seen >> option & 1) != 0)
            return complain(options[option].name, "is given twice: leave one of them out");
        seen |= UINT64_C(1) << option;
        note(a, (enum option)option);
        if (!set(a, (enum option)option, value, &complaint))
            return complain(options[option].name, complaint.bytes);
    }
    return EXIT_FINE;
}

static bool refuse(struct text *t, const char *why)
{
    text_add(t, why);
    return false;
}

static bool choose_beginners(const struct asked *a, struct question *q, struct text *complaint)
{
    uint32_t id;
    q->begin = a->begin_given ? BEGIN_LISTED : BEGIN_ANY;
    for (unsigned place = 0; place < q->config.n && a->begin_all; place++)
        if ((q->down >> q->config.ring[place] & 1) == 0)
            q->beginner[q->beginners++] = q->config.ring[place];
    for (struct numbers_place i = NUMBERS_START; numbers_next(&a->begin, &i, &id);) {
        uint8_t rank = elect_rank(&q->config, id);
        if (rank == ELECT_NOBODY || (q->down >> rank & 1) != 0 || q->beginners == SPACE_MAX) {
            text_add_number(complaint, id);
            return refuse(complaint, " cannot begin: it is down, or not in the cluster");
        }
        q->beginner[q->beginners++] = rank;
    }
    if (a->begin_given && q->beginners == 0)
        return refuse(complaint, "--begin: expected the processes that begin");
    if (numbers_repeat(&a->begin, &id)) {
        text_add_number(complaint, id);
        return refuse(complaint, " begins twice: name it once");
    }
    return true;
}

static bool choose_mortals(const struct asked *a, struct question *q, struct text *complaint)
{
    uint32_t id;
    for (struct numbers_place i = NUMBERS_START; numbers_next(&a->crashing, &i, &id);) {
        uint8_t rank = elect_rank(&q->config, id);
        if (rank == ELECT_NOBODY) {
            text_add_number(complaint, id);
            return refuse(complaint, " cannot crash: it is not in the cluster");
        }
        q->mortal |= (elect_set)1 << rank;
    }
    if (a->crashing_given && q->budget.crashes == 0)
        return refuse(complaint, "--crashing: add --crashes N, the number of crashes");
    if (a->crashing_given && q->mortal == 0)
        return refuse(complaint, "--crashing: expected the processes that may crash");
    if (!a->crashing_given)
        q->mortal = ~(elect_set)0;
    return true;
}

#define AT_REST (1u << PROPERTY_AGREEMENT | 1u << PROPERTY_HIGHEST_WINS | 1u << PROPERTY_NO_STUCK)

/* Returns the properties that the algorithm promises under the given assumptions. If all
 * processes start as followers of a leader, they need not replace it, so highest-wins holds only
 * if it is the highest process. */
static uint32_t claims(const struct question *q)
{
    elect_set up = elect_everyone(&q->config) & ~q->down;
    uint32_t at_rest = AT_REST;
    if (q->leader != ELECT_NOBODY && up >> q->leader > 1)
        at_rest &= ~(1u << PROPERTY_HIGHEST_WINS);
    if (q->reduce)
        return at_rest;
    if (q->any_timeouts) /* timers may expire forever */
        return 1u << PROPERTY_NO_STUCK | 1u << PROPERTY_EVENTUALLY;
    return at_rest | 1u << PROPERTY_EVENTUALLY | 1u << PROPERTY_TERMINATION;
}

static bool check_reduction(const struct asked *a, const struct question *q, bool faults,
                            struct text *complaint)
{
    if (!q->reduce)
        return true;
    if (q->config.algorithm == ELECT_BULLY || q->config.form == ELECT_MULTICAST || faults ||
        q->any_timeouts || q->reorder)
        return refuse(complaint,
                      "--reduce is only for rings without faults and with --timeouts late: "
                      "elsewhere the order of steps matters");
    if ((a->exploration.properties & ~AT_REST) != 0)
        return refuse(complaint, "--reduce can check only agreement, highest-wins and "
                                 "no-stuck-participant");
    return true;
}

/* With --joins N but no --down, the N highest processes start down. */
static void default_down(const struct asked *a, struct question *q)
{
    unsigned joins = q->budget.joins;
    if (a->setup.down.count == 0 && joins > 0 && joins < q->config.n)
        q->down = ((elect_set)1 << q->config.n) - ((elect_set)1 << (q->config.n - joins));
}

static bool make_question(struct asked *a, struct text *complaint)
{
    struct question *q = &a->exploration.question;
    uint32_t id;
    bool mandate = a->setup.mandate == ELECT_MAJORITY;
    if (mandate)
        verify_mandate_settings(&a->setup);
    else if (a->mandate != NULL) {
        text_add(complaint, a->mandate);
        return refuse(complaint, " needs --mandate majority");
    }
    if (!setup_config(&a->setup, 1, &q->config, complaint))
        return false;
    if (q->config.n > SPACE_MAX)
        return refuse(complaint, "too many processes: use at most 16");
    if (mandate)
        return verify_mandate_question(a, complaint) && choose_mortals(a, q, complaint);
    if (a->exploration.properties >= 1u << PROPERTY_ONE_PER_TERM)
        return refuse(complaint,
                      "--property: a mandate is needed for this property: add --mandate majority");
    for (unsigned i = 0; i < 6; i++)
        ((uint8_t *)&q->budget)[i] = (uint8_t)a->budget[i];
    for (struct numbers_place i = NUMBERS_START; numbers_next(&a->setup.down, &i, &id);)
        q->down |= (elect_set)1 << elect_rank(&q->config, id);
    default_down(a, q);
    q->reorder = a->setup.weather.reorder;
    q->leader = setup_first_leader(&a->setup, q->config.id[q->config.n - 1], &id)
                    ? elect_rank(&q->config, id)
                    : ELECT_NOBODY;
    bool faults = q->down != 0 || !budget_is_none(&q->budget);
    if (q->budget.recoveries > 0 && q->budget.crashes == 0)
        return refuse(complaint,
                      "--recoveries: add --crashes, because only a crashed process recovers");
    if (q->budget.joins > 0 && q->down == 0)
        return refuse(complaint, "--joins: expected processes that are down: add --down");
    if (q->config.n < 2)
        return refuse(complaint, "too few processes: use at least 2");
    q->config.reliable = !faults && !q->any_timeouts && !q->reorder;
    if (!choose_mortals(a, q, complaint) || !choose_beginners(a, q, complaint) ||
        !check_reduction(a, q, faults, complaint))
        return false;
    if (!a->properties_given)
        a->exploration.properties = claims(q);
    return true;
}

/* ---- the report ---- */

static const char *verdict(const struct outcome_of_exploration *o, enum property p)
{
    if (o->finding[p].violated)
        return "violated";
    bool cut_short = !o->exhausted || o->moves > 0;
    return cut_short ? "unknown" : "holds";
}

static const char *overall(const struct outcome_of_exploration *o)
{
    return explore_violated(o) ? "violated" : o->exhausted ? "holds" : "unknown";
}

static const char *const bounds[] = {NULL, "max-states", "max-memory", "interrupted"};

static void report_json(const struct asked *a, const struct outcome_of_exploration *o,
                        const char *saved)
{
    json_t *object = json_object(), *properties = json_array();
    const struct question *q = &a->exploration.question;
    for (int p = 0; p < PROPERTY_COUNT; p++) {
        if ((a->exploration.properties >> p & 1) == 0)
            continue;
        json_t *depth = o->finding[p].violated ? json_integer(o->finding[p].depth) : json_null();
        json_array_append_new(properties,
                              json_pack("{s:s, s:s, s:o}", "name", property_name((enum property)p),
                                        "verdict", verdict(o, (enum property)p), "depth", depth));
    }
    json_object_set_new(
        object, "algorithm",
        json_string(elect_algorithm_name((enum elect_algorithm)q->config.algorithm)));
    json_object_set_new(object, "processes", json_integer(q->config.n));
    if (q->config.mandate == ELECT_MAJORITY)
        json_object_set_new(object, "mandate", verify_mandate_json(q));
    json_object_set_new(object, "verdict", json_string(overall(o)));
    json_object_set_new(object, "properties", properties);
    json_object_set_new(object, "states", json_integer((json_int_t)o->states));
    json_object_set_new(object, "transitions", json_integer((json_int_t)o->transitions));
    json_object_set_new(object, "depth", json_integer(o->depth));
    json_object_set_new(object, "exhausted", json_boolean(o->exhausted));
    json_object_set_new(object, "bound",
                        bounds[o->bound] ? json_string(bounds[o->bound]) : json_null());
    json_object_set_new(object, "reduction", json_boolean(q->reduce));
    json_object_set_new(object, "steps", json_integer((json_int_t)o->steps));
    json_object_set_new(object, "seconds", json_real(o->seconds));
    json_object_set_new(object, "states_per_second", json_real((double)o->states / o->seconds));
    json_object_set_new(object, "bytes_per_state", json_real((double)o->bytes / (double)o->states));
    json_object_set_new(object, "counterexample", saved ? json_string(saved) : json_null());
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(object);
}

static void report_text(const struct asked *a, const struct outcome_of_exploration *o)
{
    for (int p = 0; p < PROPERTY_COUNT; p++) {
        if ((a->exploration.properties >> p & 1) == 0)
            continue;
        printf("%-21s %s", property_name((enum property)p), verdict(o, (enum property)p));
        if (o->finding[p].violated)
            printf(" after %u moves", o->finding[p].depth);
        putchar('\n');
    }
    if (a->exploration.question.config.mandate == ELECT_MAJORITY)
        verify_mandate_report(&a->exploration.question);
    printf("%s: %llu states, %llu transitions, depth %u, %s%s\n", overall(o),
           (unsigned long long)o->states, (unsigned long long)o->transitions, o->depth,
           o->exhausted             ? "exhausted"
           : o->bound == BOUND_NONE ? "stopped at the violation"
                                    : "cut short by ",
           o->exhausted || o->bound == BOUND_NONE ? "" : bounds[o->bound]);
    if (o->full)
        puts("a mailbox would hold more than 256 messages: the number of worlds may be infinite");
    printf("%.2f s, %.0f states per second, %.0f bytes per state; %llu steps of the code\n",
           o->seconds, (double)o->states / o->seconds, (double)o->bytes / (double)o->states,
           (unsigned long long)o->steps);
}

/* Returns the counterexample as a script, and its trace in `story`. If it cannot be replayed,
 * prints an error message and returns NULL. */
static char *tell_counterexample(struct space *s, const struct outcome_of_exploration *o,
                                 char **story)
{
    struct text complaint;
    char *script = counterexample_script(s, o);
    text_clear(&complaint);
    *story = script != NULL ? save_replay(script, o->worst, &complaint, NULL) : NULL;
    if (*story != NULL)
        return script;
    args_complain("verify", "the counterexample",
                  complaint.length > 0 ? complaint.bytes : "not enough memory");
    free(script);
    return NULL;
}

static void show_progress(uint64_t states, uint64_t total, unsigned depth)
{
    char what[32];
    snprintf(what, sizeof what, total > 0 ? "states checked" : "states, depth %u", depth);
    progress_show(states, total, what);
}

static void report(const struct asked *a, const struct outcome_of_exploration *o, const char *saved)
{
    if (!a->quiet && a->json)
        report_json(a, o, saved);
    else if (!a->quiet)
        report_text(a, o);
}

static int run(struct asked *a)
{
    static struct space space;
    struct outcome_of_exploration o;
    if (a->save != NULL && !save_possible(a->save))
        return args_complain("verify", *a->save ? a->save : "--save",
                             access_text(errno, a->save, ACCESS_MAKE));
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    signal(SIGHUP, on_interrupt);
    a->exploration.interrupted = &stop;
    a->exploration.progress = show_progress;
    if (!explore_all(&a->exploration, &space, &o))
        return complain("max-memory", "not enough memory, or not enough threads, to begin");
    progress_clear();
    bool bad = explore_violated(&o);
    char *story = NULL, *script = bad ? tell_counterexample(&space, &o, &story) : NULL;
    bool tried = script != NULL && a->save != NULL;
    bool saved = tried && save_scenario("verify", "--save", a->save, script, story);
    report(a, &o, saved ? a->save : NULL);
    if (story != NULL && a->save == NULL && !a->json && !a->quiet)
        printf("\n%s", story);
    free(script);
    free(story);
    explore_free(&space, &o);
    if (bad)
        return tried && !saved ? EXIT_IO : EXIT_NO;
    return o.exhausted ? EXIT_FINE : EXIT_UNDECIDED;
}

int cmd_verify(int argc, char **argv)
{
    static struct asked a;
    struct text complaint;
    int status = parse(&a, argc, argv);
    if (status < 0)
        return status == -1 ? print_help() : list_properties();
    if (status != EXIT_FINE)
        return status;
    text_clear(&complaint);
    if (!make_question(&a, &complaint))
        return complain("", complaint.bytes);
    return run(&a);
}
