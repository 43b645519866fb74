/* elect sim: prints one election step by step, or statistics of many elections. */
#include "sim.h"

#include "../base/access.h"
#include "../base/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum own_option {
    OPTION_BEGIN = SETTING_COUNT,
    OPTION_CRASH,
    OPTION_RECOVER,
    OPTION_CUT,
    OPTION_HEAL,
    OPTION_CRASH_RATE,
    OPTION_RUNS,
    OPTION_STORM,
    OPTION_TROUBLES,
    OPTION_DAYS,
    OPTION_YEARS,
    OPTION_REPLAY,
    OPTION_BEYOND,
    OPTION_SAVE,
    OPTION_TRACE,
    OPTION_TRACE_FILE,
    OPTION_REWRITE,
    OPTION_OUTPUT,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_HELP,
    OPTION_COUNT
};

static const struct option_spec options[OPTION_COUNT] = {
#define X(name, key, value, text) {key, 0, value, text},
    SETUP_SETTINGS(X)
#undef X
        [OPTION_BEGIN] =
            {"begin", 0, "LIST|all",
             "processes that notice at time 0 that there is no leader (default: the lowest)"},
    [OPTION_CRASH] = {"crash", 0, "ID@TIME", "the process crashes at this time"},
    [OPTION_RECOVER] = {"recover", 0, "ID@TIME", "the process recovers at this time"},
    [OPTION_CUT] = {"cut", 0, "0,1,2/3,4@TIME",
                    "no message passes between these parts from this time on"},
    [OPTION_HEAL] = {"heal", 0, "TIME", "all cuts end at this time"},
    [OPTION_CRASH_RATE] =
        {"crash-rate", 0, "P",
         "probability that a process crashes in the first 4T and recovers (default: 0)"},
    [OPTION_RUNS] = {"runs", 0, "N", "hold N elections, run r with seed + r, and print statistics"},
    [OPTION_STORM] = {"storm", 0, NULL,
                      "mandate: alternate between random faults and calm periods"},
    [OPTION_TROUBLES] =
        {"troubles", 0, NULL,
         "mandate: measure how often the leader changes under lasting troubles, with and "
         "without stability"},
    [OPTION_DAYS] = {"days", 0, "N",
                     "storm, troubles: simulated days; a tick is a millisecond (default: 1)"},
    [OPTION_YEARS] = {"years", 0, "N", "storm, troubles: simulated years"},
    [OPTION_REPLAY] = {"replay", 0, "SEED", "storm: print the trace of the storms of this seed"},
    [OPTION_BEYOND] =
        {"beyond", 0, "none|clocks|disks",
         "storm: add faults that violate the assumptions of a mandate, and check only the "
         "promises that still hold (default: none)"},
    [OPTION_SAVE] = {"save", 0, "FILE",
                     "storm: write a violation to FILE, without the steps that it does not need "
                     "(default: storm-SEED.elect)"},
    [OPTION_TRACE] = {"trace", 0, "text|json|none",
                      "format of the trace; json: lines on standard error (default: text)"},
    [OPTION_TRACE_FILE] = {"trace-file", 0, "FILE", "write the trace to FILE"},
    [OPTION_REWRITE] = {"rewrite", 0, NULL,
                        "replace the expected trace of the scenario by the actual one"},
    [OPTION_OUTPUT] = {"output", 'o', "text|json", "format of the result (default: text)"},
    [OPTION_QUIET] = {"quiet", 'q', NULL, "print nothing; the exit status reports the result"},
    [OPTION_VERBOSE] = {"verbose", 'v', NULL, "print acknowledgements and heartbeats, too"},
    [OPTION_HELP] = {"help", 'h', NULL, "print this help"},
};

static int print_help(void)
{
    puts("usage: elect sim SCENARIO [--rewrite] [--trace text|json|none] [-o text|json]\n"
         "       elect sim --processes LIST [OPTIONS]\n"
         "\n"
         "Simulate a scenario file, or an election that the options describe, and print it\n"
         "step by step. With --runs, simulate many elections and print statistics. There\n"
         "can be up to 64 processes or, without faults, 8192 with bully and 16 million\n"
         "with chang-roberts.\n");
    args_help_options(options, OPTION_COUNT);
    puts("\nTimes are in ticks. T = 2 x the largest delay + processing.\n"
         "\nAlgorithms:");
    for (int a = 0; a < ELECT_ALGORITHM_COUNT; a++)
        printf("  %-14s %s\n", elect_algorithm_name((enum elect_algorithm)a),
               elect_algorithm_text((enum elect_algorithm)a));
    puts("\nExit: 0 all processes agree, or the scenario has its expected trace; 1 the trace\n"
         "differs, or a property is violated; 2 no agreement; 64 bad usage; 74 reading or\n"
         "writing failed.\n"
         "\nExamples:\n"
         "  elect sim --algorithm bully --processes 0..7 --down 7 --begin 4\n"
         "  elect sim --algorithm ring --processes 0..7 --down 7 --begin 2,5\n"
         "  elect sim --algorithm chang-roberts --processes 3,32,5,80,6,12 --begin 3\n"
         "  elect sim --processes 8 --begin all --runs 10000 --loss 0.1 --crash-rate 0.05");
    return EXIT_FINE;
}

/* ---- the command line ---- */

static int complain(const char *option, const char *why)
{
    return args_complain_option("sim", option, why);
}

static bool set_begin(struct experiment *e, const char *value, struct text *complaint)
{
    e->begin_given = true;
    e->begin_all = strcmp(value, "all") == 0;
    if (e->begin_all)
        return true;
    if (!numbers_parse(&e->begin, value, complaint))
        return false;
    if (e->begin.count > 0)
        return true;
    text_add(complaint, "expected the processes that begin, or all");
    return false;
}

static bool add_fault(struct experiment *e, enum fault_kind kind, const char *value,
                      struct text *complaint)
{
    if (e->faults == EXPERIMENT_MAX_FAULTS) {
        text_add(complaint, "too many faults: at most 64");
        return false;
    }
    e->fault[e->faults].kind = kind;
    e->fault[e->faults++].text = value;
    return true;
}

static bool set_runs(struct request *r, const char *value, struct text *complaint)
{
    r->runs_given = true;
    if (parse_number(value, 1000000000, &r->runs) && r->runs > 0)
        return true;
    text_add(complaint, value);
    text_add(complaint, " is not a number from 1 to 1000000000");
    return false;
}

static bool set_days(struct request *r, const char *value, uint64_t days, struct text *complaint)
{
    uint64_t number;
    if (r->storm_days > 0 || !parse_number(value, 10000, &number) || number == 0) {
        text_add(complaint, "expected a number from 1 to 10000, once, of days or of years");
        return false;
    }
    r->storm_days = number * days;
    return true;
}

static bool set_beyond(struct request *r, const char *value, struct text *complaint)
{
    uint8_t choice = 0;
    bool fine = choice_parse(value, storm_beyond_words, STORM_BEYONDS, &choice, complaint);
    r->beyond = (enum storm_beyond)choice;
    return fine;
}

static bool set_trace(struct request *r, const char *value, struct text *complaint)
{
    static const char *const words[] = {"text", "json", "none"};
    uint8_t choice = 0;
    bool fine = choice_parse(value, words, 3, &choice, complaint);
    r->trace = (enum trace_mode)(TRACE_TEXT + choice);
    return fine;
}

static bool set_own(struct request *r, enum own_option option, const char *value,
                    struct text *complaint)
{
    struct experiment *e = &r->experiment;
    switch (option) {
    case OPTION_BEGIN: return set_begin(e, value, complaint);
    case OPTION_CRASH: return add_fault(e, FAULT_CRASH, value, complaint);
    case OPTION_RECOVER: return add_fault(e, FAULT_RECOVER, value, complaint);
    case OPTION_CUT: return add_fault(e, FAULT_CUT, value, complaint);
    case OPTION_HEAL: return add_fault(e, FAULT_HEAL, value, complaint);
    case OPTION_CRASH_RATE: return setup_probability(value, &e->crash_rate, complaint);
    case OPTION_RUNS: return set_runs(r, value, complaint);
    case OPTION_STORM: return r->storm = true;
    case OPTION_TROUBLES: return r->troubles = true;
    case OPTION_DAYS: return set_days(r, value, 1, complaint);
    case OPTION_YEARS: return set_days(r, value, 365, complaint);
    case OPTION_REPLAY:
        r->replays = parse_number(value, UINT64_MAX / 16, &r->replay);
        text_add(complaint, r->replays ? "" : "expected a seed, which is a number");
        return r->replays;
    case OPTION_BEYOND: return set_beyond(r, value, complaint);
    case OPTION_SAVE: r->save = value; return true;
    case OPTION_TRACE: return set_trace(r, value, complaint);
    case OPTION_TRACE_FILE: r->trace_file = value; return true;
    case OPTION_REWRITE: return r->rewrite = true;
    case OPTION_OUTPUT: return args_output(value, &r->json, complaint);
    case OPTION_QUIET: return r->quiet = true;
    case OPTION_VERBOSE: return r->verbose = true;
    case OPTION_HELP:
    case OPTION_COUNT: break;
    }
    return false;
}

static bool set_file(struct request *r, const char *file)
{
    if (r->file != NULL) {
        args_complain("sim", file, "expected only one scenario");
        return false;
    }
    r->file = file;
    return true;
}

/* Parses the command line. Returns EXIT_FINE, -1 to print the help, or an exit status after an
 * error message. */
static int parse(struct request *r, int argc, char **argv)
{
    struct args args = {.verb = "sim", .argc = argc, .at = 1, .argv = argv};
    struct text complaint;
    const char *value;
    int option;
    uint64_t seen = 0;
    memset(r, 0, sizeof *r);
    experiment_init(&r->experiment);
    text_clear(&complaint);
    while ((option = args_next(&args, options, OPTION_COUNT, &value)) != ARGS_END) {
        if (option == ARGS_BAD || (option == ARGS_WORD && !set_file(r, value)))
            return EXIT_USAGE;
        if (option == ARGS_WORD)
            continue;
        if (option == OPTION_HELP)
            return -1;
        bool many = option >= OPTION_CRASH && option <= OPTION_HEAL;
        if (!many && (seen >> option & 1) != 0)
            return complain(options[option].name, "is given twice: leave one of them out");
        seen |= UINT64_C(1) << option;
        if (option < OPTION_TRACE)
            r->not_with_file = options[option].name;
        if (option < SETTING_COUNT ? !setup_set(&r->experiment.setup, (enum setting)option,
                                                value != NULL ? value : "on", &complaint)
                                   : !set_own(r, (enum own_option)option, value, &complaint))
            return complain(options[option].name, complaint.bytes);
    }
    return EXIT_FINE;
}

/* Warns if the number of voters is even: one voter fewer would survive just as many failures. */
static void warn_even(const struct request *r)
{
    const struct setup *s = &r->experiment.setup;
    uint64_t voters = s->processes.count - s->observers.count;
    if (s->mandate == ELECT_MAJORITY && voters % 2 == 0 && !r->quiet)
        fprintf(
            stderr,
            "elect sim: warning: %llu voters survive the loss of %llu, as %llu voters do: add a "
            "witness\n",
            (unsigned long long)voters, (unsigned long long)(voters - 1) / 2,
            (unsigned long long)(voters - 1));
}

static int check_storm(struct request *r)
{
    struct setup *s = &r->experiment.setup;
    const char *name = r->troubles ? "troubles" : "storm";
    if ((!r->storm && r->replays) || (!r->storm && !r->troubles && r->storm_days > 0))
        return complain(r->replays ? "replay" : "days", "use it only with --storm");
    if (r->storm && r->troubles)
        return complain("troubles", "cannot be used with --storm: leave one of them out");
    if (!r->storm && (r->save != NULL || r->beyond != STORM_WITHIN))
        return complain(r->save != NULL ? "save" : "beyond", "use it only with --storm");
    if (!r->storm && !r->troubles)
        return EXIT_FINE;
    if (r->save != NULL && !save_possible(r->save))
        return complain("save", access_text(errno, r->save, ACCESS_MAKE));
    if (s->mandate != ELECT_MAJORITY)
        return complain(name, "checks the promises of a mandate: add --mandate majority");
    if (r->troubles && (s->given >> SETTING_STABILITY & 1) != 0)
        return complain("stability", "--troubles measures both settings: leave it out");
    if ((s->given >> SETTING_STOPPING & 1) != 0)
        return complain("stopping", "cannot be used with --storm or --troubles: leave it out");
    if (r->troubles && s->processes.count < 3)
        return complain("troubles", "needs at least three processes: for example --processes 5");
    if (r->runs_given || r->experiment.faults > 0 || r->experiment.begin_given)
        return complain(name,
                        "generates its own faults: leave out --runs, --begin and single faults");
    if ((s->given >> SETTING_DELAY & 1) == 0)
        s->weather.delay_max = 5;
    s->lease = s->lease > 0 ? s->lease : 1000;
    r->storm_days = r->storm_days > 0 ? r->storm_days : 1;
    struct elect_config config;
    struct text complaint;
    text_clear(&complaint);
    return setup_config(s, s->seed, &config, &complaint) ? EXIT_FINE
                                                         : complain(name, complaint.bytes);
}

static int check(struct request *r)
{
    struct experiment *e = &r->experiment;
    struct text complaint;
    bool large = e->setup.processes.count > ELECT_MAX, many = r->runs_given;
    bool traced = r->trace == TRACE_TEXT || r->trace == TRACE_JSON || r->trace_file != NULL;
    text_clear(&complaint);
    if (r->file != NULL && r->not_with_file != NULL)
        return complain(r->not_with_file,
                        "the scenario file contains the settings: leave one of them out");
    if (r->file == NULL && r->rewrite)
        return complain("rewrite", "expected the scenario file to rewrite");
    if (r->trace_file != NULL && (r->trace == TRACE_NONE || r->quiet))
        return complain("trace-file", "there is no trace to write: leave out --trace none and -q");
    if (many && (traced || r->verbose))
        return complain("runs", "a trace shows one election: leave out --trace and -v, or --runs");
    if (large && (traced || r->verbose))
        return complain("trace", "above 64 processes there is no trace: leave it out");
    if (r->trace == TRACE_UNSAID)
        r->trace = many || large || (r->json && r->trace_file == NULL) ? TRACE_NONE : TRACE_TEXT;
    if (r->verbose && r->trace == TRACE_NONE)
        return complain("verbose", "there is no trace: leave it out, or add --trace text");
    if (r->json && r->trace == TRACE_TEXT && r->trace_file == NULL)
        return complain("trace", "with -o json the trace needs --trace-file or --trace json");
    if (r->file != NULL)
        return EXIT_FINE;
    if (e->setup.processes.count == 0)
        return complain("", "expected a scenario file or --processes, see elect sim --help");
    e->many = many;
    int status = check_storm(r);
    if (status != EXIT_FINE || r->storm || r->troubles)
        return status;
    if ((large && !lab_check(e, &complaint)) || !experiment_check(e, &complaint))
        return complain("", complaint.bytes);
    return EXIT_FINE;
}

/* ---- one election ---- */

static void lab_shows(uint64_t delivered) { progress_show(delivered, 0, "messages delivered"); }

static void outcome_of_lab(struct outcome *o, const struct setup *s, const struct lab_result *l)
{
    *o = (struct outcome){
        .config = {.algorithm = s->algorithm, .form = s->form},
        .agreed = l->agreed,
        .leader = l->leader,
        .time = l->time,
        .delivered = l->delivered,
        .failed_hops = l->failed_hops,
    };
    for (unsigned type = 0; type < ELECT_EVENT_COUNT; type++)
        o->total += o->sent[type] = l->sent[type];
}

/* Runs an election in a world or, with too many processes for a world, in the lab. */
static bool hold(const struct request *r, uint64_t seed, struct play *p, struct outcome *o)
{
    const struct experiment *e = &r->experiment;
    struct lab_result lab = {0};
    struct text complaint;
    if (e->setup.processes.count <= ELECT_MAX) {
        experiment_play(e, seed, p);
        outcome_of_play(o, p);
        return true;
    }
    text_clear(&complaint);
    if (!lab_run(e, seed, r->runs_given ? NULL : lab_shows, &lab, &complaint)) {
        complain("", complaint.bytes);
        return false;
    }
    outcome_of_lab(o, &e->setup, &lab);
    return true;
}

static int run_one(const struct request *r, struct play *p)
{
    struct outcome o;
    struct text last;
    FILE *out = r->trace == TRACE_NONE || r->quiet ? NULL : trace_open(r);
    struct trace trace = {.out = out, .mode = r->trace, .verbose = r->verbose};
    if (out == NULL && r->trace != TRACE_NONE && !r->quiet)
        return EXIT_USAGE;
    p->tell = trace_happening;
    p->listener = &trace;
    bool held = hold(r, r->experiment.setup.seed, p, &o);
    progress_clear();
    if (!held)
        return EXIT_USAGE;
    if (!r->quiet && (r->json || o.world == NULL)) {
        report_outcome(&o, NULL, r->json);
    } else if (!r->quiet) {
        text_clear(&last);
        trace_outcome(p, &last);
        fputs(last.bytes, stdout);
    }
    return out != NULL ? trace_close(r, out, outcome_exit(&o)) : outcome_exit(&o);
}

/* ---- many elections ---- */

/* Writes the command that replays one of many runs: the same options except --runs and --seed,
 * and the same failure detector. */
static void replay_command(const struct request *r, int argc, char **argv, bool detector,
                           struct text *t)
{
    text_clear(t);
    text_add(t, "elect sim");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--runs") == 0 || strcmp(argv[i], "--seed") == 0) {
            i++;
            continue;
        }
        if (strncmp(argv[i], "--runs=", 7) == 0 || strncmp(argv[i], "--seed=", 7) == 0)
            continue;
        bool plain = argv[i][strcspn(argv[i], " \t\n'\"$&;|<>()*?\\")] == '\0' && *argv[i] != '\0';
        text_add(t, plain ? " " : " '");
        text_add(t, argv[i]);
        text_add(t, plain ? "" : "'");
    }
    if (r->experiment.setup.detector < 0 && detector)
        text_add(t, " --detector on");
}

static int run_many(const struct request *r, struct play *p, int argc, char **argv)
{
    const struct setup *setup = &r->experiment.setup;
    static struct statistics s;
    struct text command;
    s.processes = setup->processes.count;
    s.seed = setup->seed;
    for (uint64_t i = 0; i < r->runs; i++) {
        struct outcome o;
        if (!hold(r, setup->seed + i, p, &o))
            return EXIT_USAGE;
        statistics_add(&s, &o, setup->seed + i);
        progress_show(i, r->runs, "runs");
    }
    progress_clear();
    replay_command(r, argc, argv, s.config.detector, &command);
    if (!r->quiet)
        report_statistics(&s, command.bytes, r->json);
    return s.violations > 0 ? EXIT_NO : s.agreed < s.runs ? EXIT_UNDECIDED : EXIT_FINE;
}

int cmd_sim(int argc, char **argv)
{
    static struct request r; /* too large for the stack */
    static struct play p;
    int status = parse(&r, argc, argv);
    if (status == -1)
        return print_help();
    if (status == EXIT_FINE)
        status = check(&r);
    if (status != EXIT_FINE)
        return status;
    if (r.file != NULL)
        return sim_scenario(&r);
    warn_even(&r);
    if (r.storm)
        return sim_storm(&r, &p);
    if (r.troubles)
        return sim_troubles(&r, &p);
    return r.runs_given ? run_many(&r, &p, argc, argv) : run_one(&r, &p);
}
