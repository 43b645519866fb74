/* elect demo: command line of the demonstration in src/demo/. */
#include "../demo/demo.h"
#include "../demo/guide.h"
#include "member.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT 27000000 /* time limit of a script, in microseconds */

struct demo_options {
    const char *algorithm, *members, *mandate, *limit;
    bool script;
};

static void take(void *context, int option, const char *value)
{
    struct demo_options *o = context;
    switch (option) {
    case 0: o->algorithm = value; break;
    case 1: o->members = value; break;
    case 2: o->mandate = value; break;
    case 3: o->script = true; break;
    case 4: o->limit = value; break;
    default: break;
    }
}

static bool choose(struct cluster *g, const struct demo_options *o)
{
    static const char *const algorithms[] = {
#define X(name, word, text) word,
        ELECT_ALGORITHMS(X)
#undef X
    };
    static const char *const mandates[] = {"none", "majority"};
    struct text why;
    uint64_t members = 5;
    text_clear(&why);
    g->mandate = ELECT_MAJORITY;
    if (o->algorithm != NULL &&
        !choice_parse(o->algorithm, algorithms, ELECT_ALGORITHM_COUNT, &g->algorithm, &why)) {
        args_complain("demo", "--algorithm", why.bytes);
        return false;
    }
    if (o->mandate != NULL && !choice_parse(o->mandate, mandates, 2, &g->mandate, &why)) {
        args_complain("demo", "--mandate", why.bytes);
        return false;
    }
    if (o->members != NULL &&
        (!parse_number(o->members, CLUSTER_MEMBERS, &members) || members < CLUSTER_FEWEST)) {
        args_complain("demo", "--members", "expected a number from 3 to 9");
        return false;
    }
    g->members = (unsigned)members;
    return true;
}

static bool read_limit(struct demo *d, const char *text)
{
    uint64_t limit = LIMIT;
    if (text != NULL && (!parse_duration(text, UINT32_MAX, &limit) || limit == 0)) {
        args_complain("demo", "--limit", "expected a time such as 27s or 500ms");
        return false;
    }
    d->limit = (int64_t)limit;
    return true;
}

static json_t *milliseconds(int64_t took)
{
    return took < 0 ? json_null() : json_real((double)took / 1000);
}

static void print_json(const struct demo *d, const struct demo_measured *m)
{
    json_t *o = json_pack(
        "{s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "members",
        (int)d->cluster.members, "algorithm",
        elect_algorithm_name((enum elect_algorithm)d->cluster.algorithm), "mandate",
        cluster_mandate(&d->cluster), "first_leader_ms", milliseconds(m->started),
        "machine_lost_ms", milliseconds(m->crashed), "recovered_ms", milliseconds(m->recovered),
        "process_killed_ms", milliseconds(m->killed), "old_leader_stopped_ms",
        milliseconds(m->stopped), "new_leader_ms", milliseconds(m->parted), "healed_ms",
        milliseconds(m->healed), "two_at_once_ms", milliseconds(m->two));
    ask_print_json(o);
    json_decref(o);
}

/* Returns true if no other output was requested, and standard input and output are a terminal
 * that can show the live view. */
static bool is_live(const struct demo_options *o, const struct asked_for *a)
{
    const char *kind = getenv("TERM");
    return !o->script && !a->json && !a->quiet && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
           kind != NULL && *kind != '\0' && strcmp(kind, "dumb") != 0;
}

static bool has_colours(void)
{
    const char *plain = getenv("NO_COLOR"), *kind = getenv("TERM");
    size_t length = kind != NULL ? strlen(kind) : 0;
    return (plain == NULL || *plain == '\0') && length > 2 && strncmp(kind, "vt", 2) != 0 &&
           strcmp(kind + length - 2, "-m") != 0 && strstr(kind, "-mono") == NULL;
}

/* Dies of the signal received earlier, so that the parent process sees it. The caller must have
 * cleaned up. */
static void die_of(int number)
{
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    signal(number, SIG_DFL);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
}

static int play(struct demo *d, const struct asked_for *a, bool live)
{
    struct demo_measured m;
    struct text why;
    bool fine = true;
    text_clear(&why);
    if (live)
        demo_live(d);
    else
        fine = demo_script(d, a->quiet || a->json, &m, &why);
    if (!live && fine && a->json)
        print_json(d, &m);
    else if (!live && fine && !a->quiet)
        demo_print(d, &m);
    fflush(stdout);
    demo_end(d);
    if (live && d->quits) {
        guide_print_summary(&d->monitor, d->began, boottime_now());
        fflush(stdout);
    }
    if (why.length > 0)
        return ask_complain(a->verb, EXIT_NO, why.bytes);
    if (d->ended != 0)
        die_of(d->ended);
    if (d->lost)
        return ask_complain(a->verb, EXIT_IO,
                            d->why.length > 0
                                ? d->why.bytes
                                : "the supervisor of the daemons was killed: start the demo again");
    return EXIT_FINE;
}

int cmd_demo(int argc, char **argv)
{
    static const struct option_spec own[] = {
        {"algorithm", 0, "NAME", "bully, ring, active-ring or chang-roberts; default: bully"},
        {"members", 0, "N", "number of processes, 3 to 9; default: 5"},
        {"mandate", 0, "none|majority",
         "whether a majority must confirm a leader; none: a textbook election, in which two "
         "processes may lead at once; default: majority"},
        {"script", 0, NULL, "play a crash, a recovery and a partition, and print what happens"},
        {"limit", 0, "TIME", "end the script after this time, such as 500ms or 60s; default: 27s"},
    };
    static struct demo d;
    struct demo_options o = {0};
    struct verb_spec spec = {
        .name = "demo",
        .without = 1 << ASK_GROUP | 1 << ASK_SOCKET | 1 << ASK_CONFIG_FILE | 1 << ASK_ID |
                   1 << ASK_TIMEOUT,
        .usage = "demo [--algorithm NAME] [--members N] [--script] [OPTIONS]",
        .text =
            "Run real daemons with temporary state on this machine, watch them elect a leader, and "
            "use the keyboard to kill them, stop them and cut them off. Without a terminal, or "
            "with --script, the demo plays a script, within 30 s or --limit, and prints the "
            "measured times. At the end the demo removes all its files and processes.\n"
            "Exit: 0 success; 1 an event did not "
            "happen in time; 64 bad usage; 74 a folder, a socket or a process could not be "
            "created; 128 + n killed by signal n.",
        .own = own,
        .owns = sizeof own / sizeof own[0],
        .take = take,
        .context = &o};
    struct asked_for a;
    struct text why;
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    if (!choose(&d.cluster, &o) || !read_limit(&d, o.limit))
        return EXIT_USAGE;
    bool live = is_live(&o, &a);
    /* Open the terminal a second time, so that O_NONBLOCK does not affect other processes that
     * use it. */
    d.cluster.terminal =
        live ? open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    live = d.cluster.terminal >= 0;
    d.colour = has_colours();
    text_clear(&why);
    if (!demo_begin(&d, &why))
        return ask_complain(a.verb, EXIT_IO, why.bytes);
    return play(&d, &a, live);
}
