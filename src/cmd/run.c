/* elect run: command line. src/run/ runs the command. */
#include "member.h"

#include "../base/parse.h"
#include "../run/run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERB         "run"
#define LONGEST      (10000 * UINT64_C(3600000000)) /* microseconds */
#define HEALTH_EVERY 2000000                        /* microseconds */
#define HEALTH_TRIES 3

enum own {
    OWN_ON_EXIT,
    OWN_ON_LOSE,
    OWN_SIGNAL,
    OWN_GRACE,
    OWN_KILL_MARGIN,
    OWN_NOW,
    OWN_MAX_WAIT,
    OWN_LOST_EXIT,
    OWN_ONCE,
    OWN_RESPAWN,
    OWN_SHELL,
    OWN_HEALTH,
    OWN_HEALTH_EVERY,
    OWN_HEALTH_TRIES,
    OWN_WATCHDOG,
    OWN_ISOLATE,
    OWN_CGROUP,
    OWN_COUNT
};

static const struct option_spec own[OWN_COUNT] = {
    [OWN_ON_EXIT] =
        {"on-exit", 0, "yield-on-failure|yield|hold|restart",
         "when CMD ends, hand leadership over if CMD failed, always, never, or if CMD still "
         "fails after restarts; default: yield-on-failure"},
    [OWN_ON_LOSE] = {"on-lose", 0, "stop|signal|freeze",
                     "what to do with CMD when leadership is lost; default: stop"},
    [OWN_SIGNAL] = {"signal", 's', "SIGNAL", "signal that CMD receives before KILL; default: TERM"},
    [OWN_GRACE] = {"grace", 'k', "TIME",
                   "time between that signal and KILL, such as 200ms or 5s; default: half of the "
                   "longest time that fits into the lease"},
    [OWN_KILL_MARGIN] =
        {"kill-margin", 0, "TIME",
         "time between KILL and the end of the lease; default: 50ms, or a sixth of the lease if "
         "that is less"},
    [OWN_NOW] = {"no-wait", 'n', NULL, "exit with 1 unless the local member leads now"},
    [OWN_MAX_WAIT] = {"max-wait", 'w', "TIME",
                      "exit with 124 if the local member does not lead within this time"},
    [OWN_LOST_EXIT] = {"lost-exit", 'E', "STATUS",
                       "exit status if leadership is lost; default: 75"},
    [OWN_ONCE] = {"once", 0, NULL, "end when leadership is lost (default)"},
    [OWN_RESPAWN] = {"respawn", 0, NULL,
                     "when leadership is lost, wait until the local member leads again, and start "
                     "CMD again"},
    [OWN_SHELL] = {"shell", 0, NULL, "run the single argument after -- as a command line of sh"},
    [OWN_HEALTH] = {"health", 0, "LINE",
                    "check the health of CMD with this sh command: start CMD only after a check "
                    "has passed; if checks fail, stop CMD and hand leadership over"},
    [OWN_HEALTH_EVERY] = {"health-every", 0, "TIME",
                          "interval of the checks, and time limit of each; default: 2s"},
    [OWN_HEALTH_TRIES] = {"health-tries", 0, "N",
                          "number of checks in a row that must fail; default: 3"},
    [OWN_WATCHDOG] = {"watchdog", 0, "TIME",
                      "stop CMD and hand leadership over unless CMD sends WATCHDOG=1 within each "
                      "period of this length (see sd_notify(3)); default: off"},
    [OWN_ISOLATE] = {"isolate", 0, NULL,
                     "run CMD in a new process namespace, with a separate /proc"},
    [OWN_CGROUP] = {"cgroup", 0, NULL,
                    "run CMD in a new control group, or exit with 125 if that is not possible"},
};

struct words {
    const char *value[OWN_COUNT]; /* "" if the option takes no value */
};

static void take(void *context, int option, const char *value)
{
    struct words *w = context;
    w->value[option] = value != NULL ? value : "";
}

static int complain(const char *what, const char *why)
{
    args_complain(VERB, what, why);
    return EXIT_RUN_FAILED;
}

/* ---- the values of the options of elect run ---- */

static bool read_time(const struct words *w, enum own which, int64_t *to)
{
    char name[32];
    uint64_t value;
    if (w->value[which] == NULL)
        return true;
    if (parse_duration(w->value[which], LONGEST, &value)) {
        *to = (int64_t)value;
        return true;
    }
    snprintf(name, sizeof name, "--%s", own[which].name);
    complain(name, "invalid time: expected for example 200ms, 1s, 2m or 3h");
    return false;
}

static bool read_positive_time(const struct words *w, enum own which, int64_t *to)
{
    char name[32];
    if (!read_time(w, which, to))
        return false;
    if (w->value[which] == NULL || *to > 0)
        return true;
    snprintf(name, sizeof name, "--%s", own[which].name);
    complain(name, "expected a time above 0");
    return false;
}

static bool read_number(const struct words *w, enum own which, uint64_t from, uint64_t to,
                        uint64_t *value)
{
    char name[32], why[64];
    if (w->value[which] == NULL || (parse_number(w->value[which], to, value) && *value >= from))
        return true;
    snprintf(name, sizeof name, "--%s", own[which].name);
    snprintf(why, sizeof why, "expected a number from %u to %u", (unsigned)from, (unsigned)to);
    complain(name, why);
    return false;
}

/* Returns the number of a signal such as TERM, SIGTERM or 15, or 0 if there is none. */
static int signal_number(const char *word)
{
    uint64_t number;
    if (parse_number(word, (uint64_t)SIGRTMAX, &number))
        return (int)number;
    word += strncasecmp(word, "SIG", 3) == 0 ? 3 : 0;
    for (int i = 1; i < NSIG; i++)
        if (sigabbrev_np(i) != NULL && strcasecmp(sigabbrev_np(i), word) == 0)
            return i;
    return 0;
}

static bool read_on_exit(const struct words *w, struct run_options *o)
{
    static const char *const words[] = {[EXIT_YIELDS_ON_FAILURE] = "yield-on-failure",
                                        [EXIT_YIELDS] = "yield",
                                        [EXIT_HOLDS] = "hold",
                                        [EXIT_RESTARTS] = "restart"};
    struct text why;
    uint8_t choice = EXIT_YIELDS_ON_FAILURE;
    const char *word = w->value[OWN_ON_EXIT];
    text_clear(&why);
    bool fine = word == NULL || choice_parse(word, words, 4, &choice, &why);
    if (!fine)
        complain("--on-exit", why.bytes);
    else if (choice == EXIT_YIELDS && w->value[OWN_NOW] != NULL)
        complain("--on-exit yield", "cannot be used with --no-wait: leave one of them out");
    o->on_exit = choice;
    return fine && !(choice == EXIT_YIELDS && w->value[OWN_NOW] != NULL);
}

static bool read_on_lose(const struct words *w, struct run_options *o)
{
    static const char *const words[] = {"stop", "signal", "freeze"};
    struct text why;
    uint8_t choice = LOSE_STOP;
    const char *word = w->value[OWN_ON_LOSE];
    text_clear(&why);
    if (word != NULL && !choice_parse(word, words, 3, &choice, &why)) {
        complain("--on-lose", why.bytes);
        return false;
    }
    o->on_lose = choice;
    o->signal = w->value[OWN_SIGNAL] != NULL ? signal_number(w->value[OWN_SIGNAL]) : SIGTERM;
    if (o->signal == 0 || o->signal == SIGSTOP) {
        complain("--signal",
                 o->signal == 0 ? "invalid signal: expected for example TERM, INT or 15"
                                : "STOP cannot end a command: name a signal that does, for example "
                                  "TERM; to freeze the command, use --on-lose freeze");
        return false;
    }
    return true;
}

/* Returns false after an error message if one option makes another one ineffective. */
static bool options_fit(const struct words *w, const struct run_options *o)
{
    static const struct {
        enum own one, other;
    } never[] = {{OWN_ONCE, OWN_RESPAWN}, {OWN_NOW, OWN_MAX_WAIT}};
    const char *alone = w->value[OWN_HEALTH] != NULL         ? NULL
                        : w->value[OWN_HEALTH_EVERY] != NULL ? "--health-every"
                        : w->value[OWN_HEALTH_TRIES] != NULL ? "--health-tries"
                                                             : NULL;
    char name[32], why[64];
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        if (w->value[never[i].one] != NULL && w->value[never[i].other] != NULL) {
            snprintf(name, sizeof name, "--%s", own[never[i].one].name);
            snprintf(why, sizeof why, "cannot be used with --%s", own[never[i].other].name);
            complain(name, why);
            return false;
        }
    if (alone != NULL)
        complain(alone, "use it only with --health");
    const char *check = w->value[OWN_HEALTH];
    bool empty = check != NULL && check[strspn(check, " \t\n")] == '\0';
    if (empty)
        complain("--health", "the command is empty: a check would always pass");
    const char *frozen = o->on_lose != LOSE_FREEZE       ? NULL
                         : w->value[OWN_SIGNAL] != NULL  ? "--signal"
                         : w->value[OWN_RESPAWN] != NULL ? "--respawn"
                         : w->value[OWN_GRACE] != NULL   ? "--grace"
                                                         : NULL;
    if (frozen != NULL)
        complain(frozen, "cannot be used with --on-lose freeze");
    return alone == NULL && !empty && frozen == NULL;
}

static bool read_options(const struct words *w, struct run_options *o)
{
    uint64_t lost = EXIT_LOST, tries = HEALTH_TRIES;
    *o = (struct run_options){.max_wait = DEADLINE_NEVER,
                              .grace = DEADLINE_DEFAULT,
                              .margin = DEADLINE_DEFAULT,
                              .health = w->value[OWN_HEALTH],
                              .health_every = HEALTH_EVERY,
                              .now = w->value[OWN_NOW] != NULL,
                              .respawn = w->value[OWN_RESPAWN] != NULL,
                              .shell = w->value[OWN_SHELL] != NULL,
                              .isolate = w->value[OWN_ISOLATE] != NULL,
                              .cgroup = w->value[OWN_CGROUP] != NULL};
    bool fine = read_on_exit(w, o) && read_on_lose(w, o) && read_time(w, OWN_GRACE, &o->grace) &&
                read_positive_time(w, OWN_KILL_MARGIN, &o->margin) &&
                read_time(w, OWN_MAX_WAIT, &o->max_wait) &&
                read_positive_time(w, OWN_HEALTH_EVERY, &o->health_every) &&
                read_positive_time(w, OWN_WATCHDOG, &o->watchdog) &&
                read_number(w, OWN_LOST_EXIT, 0, 255, &lost) &&
                read_number(w, OWN_HEALTH_TRIES, 1, 1000, &tries) && options_fit(w, o);
    o->lost = (int)lost;
    o->health_tries = (unsigned)tries;
    return fine;
}

/* ---- the verb ---- */

static const char help[] =
    "Run CMD only while the local member leads: wait until it leads, start CMD, and stop CMD and "
    "all its descendants before another member can lead. Signals are forwarded to CMD.\n"
    "The environment of CMD contains ELECT_GROUP, ELECT_NODE, ELECT_LEADER, ELECT_TERM, "
    "ELECT_TOKEN, ELECT_LEASE_MS, ELECT_SOCKET and ELECT_LOSS_FD, a descriptor that becomes "
    "readable when CMD must stop.\n"
    "Exit: the status of CMD, or 128 + n if signal n killed it; 1 the local member does not lead "
    "(-n); 75 leadership was lost; 124 the local member did not lead within --max-wait; 125 elect "
    "run failed; 126 CMD cannot be executed; 127 CMD not found.";

/* Returns the index of the first "--", or argc if there is none. */
static int split(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return i;
    return argc;
}

/* Returns true after an error message if the command line contains --resign, which an earlier
 * version accepted. */
static bool has_removed_option(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--resign") == 0) {
            complain(argv[i], "removed: a command that fails hands leadership over; to hand over "
                              "even if it succeeds, add --on-exit yield");
            return true;
        }
    return false;
}

static int find_sockets(const struct asked_for *a, char run[CONFIG_FILE], char status[CONFIG_FILE])
{
    const char *dot;
    if (ask_socket(a, "run", run) != 0)
        return EXIT_RUN_FAILED;
    dot = strrchr(run, '.');
    bool beside = dot != NULL && strcmp(dot, ".run") == 0;
    int length = beside ? (int)(dot - run) : (int)strlen(run);
    if (snprintf(status, CONFIG_FILE, "%.*s%s", length, run, beside ? ".status" : "") >=
        CONFIG_FILE)
        return complain(run, "the path is too long for a socket: use at most 107 bytes");
    config_make_absolute(status); /* the command may change its folder */
    return 0;
}

static int start(const struct asked_for *a, struct run_options *o, char **command)
{
    static char run[CONFIG_FILE], status[CONFIG_FILE];
    if (a->words == 1 && a->group != NULL)
        return complain(a->word[0], "the group is given twice: leave one of them out");
    o->group = a->words == 1 ? a->word[0] : a->group != NULL ? a->group : "";
    if (strlen(o->group) >= TALK_NAME)
        return complain(
            o->group, "the name of the group is too long: use at most 63 bytes, see elect status");
    if (command[0] == NULL)
        return complain("", "expected -- CMD, see --help");
    if (o->shell && command[1] != NULL)
        return complain("--shell", "expected one word after --");
    o->command = command;
    o->quiet = a->quiet;
    int failed = find_sockets(a, run, status);
    o->socket = run;
    o->status_socket = status;
    return failed != 0 ? failed : run_command(o);
}

int cmd_run(int argc, char **argv)
{
    struct words words = {0};
    struct verb_spec spec = {.name = VERB,
                             .usage = "run [GROUP] [OPTIONS] -- CMD [ARG...]",
                             .text = help,
                             .max = 1,
                             .own = own,
                             .owns = OWN_COUNT,
                             .take = take,
                             .context = &words,
                             .without = 1 << ASK_OUTPUT | 1 << ASK_TIMEOUT};
    struct asked_for a;
    struct run_options o;
    int before = split(argc, argv);
    if (has_removed_option(before, argv))
        return EXIT_RUN_FAILED;
    int status = ask_parse(&a, &spec, before, argv);
    if (status < 0)
        return ~status == EXIT_FINE ? EXIT_FINE : EXIT_RUN_FAILED;
    if (!read_options(&words, &o))
        return EXIT_RUN_FAILED;
    return start(&a, &o, argv + (before < argc ? before + 1 : argc));
}
