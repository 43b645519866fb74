/* elect run: its command line. The work is in src/run/. */
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
         "when CMD ends: hand leadership over if it failed, always, or never; or start it "
         "again, then hand over; default: yield-on-failure"},
    [OWN_ON_LOSE] = {"on-lose", 0, "stop|signal|freeze",
                     "what becomes of CMD when leadership is lost; default: stop"},
    [OWN_SIGNAL] = {"signal", 's', "SIGNAL", "what it is told first; default: TERM"},
    [OWN_GRACE] = {"grace", 'k', "TIME", "from there to KILL; default: what fits the lease"},
    [OWN_KILL_MARGIN] =
        {"kill-margin", 0, "TIME",
         "how long before the lease ends KILL is sent; default: 50ms, or a sixth of a "
         "short lease"},
    [OWN_NOW] = {"no-wait", 'n', NULL, "end with 1 unless the member here leads now"},
    [OWN_MAX_WAIT] = {"max-wait", 'w', "TIME", "end with 124 if it does not lead by then"},
    [OWN_LOST_EXIT] = {"lost-exit", 'E', "STATUS",
                       "exit status if leadership is lost; default: 75"},
    [OWN_ONCE] = {"once", 0, NULL, "end when leadership is lost; the default"},
    [OWN_RESPAWN] = {"respawn", 0, NULL,
                     "when leadership is lost, wait for it again and start the command anew"},
    [OWN_SHELL] = {"shell", 0, NULL, "the one word behind -- is a line for sh"},
    [OWN_HEALTH] = {"health", 0, "LINE",
                    "check health with this line for sh: start CMD only after a check that "
                    "passed; if checks fail, stop CMD and hand leadership over"},
    [OWN_HEALTH_EVERY] = {"health-every", 0, "TIME",
                          "how often to check, and how long a check may take; default: 2s"},
    [OWN_HEALTH_TRIES] = {"health-tries", 0, "N", "how many checks in a row must fail; default: 3"},
    [OWN_WATCHDOG] = {"watchdog", 0, "TIME",
                      "stop CMD and hand leadership over if CMD does not say WATCHDOG=1 within "
                      "this time (sd_notify)"},
    [OWN_ISOLATE] = {"isolate", 0, NULL, "a process namespace of its own, with its own /proc"},
    [OWN_CGROUP] = {"cgroup", 0, NULL, "a control group of its own, or nothing is started"},
};

struct words {
    const char *value[OWN_COUNT]; /* "" for a switch that is on */
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

/* ---- what the words mean ---- */

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
    complain(name, "no time: expected such as 200ms, 1s, 2m or 3h");
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
    complain(name, "expected more than 0");
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

/* TERM, SIGTERM or 15 */
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
        complain("--signal", "no signal: expected such as TERM, INT or 15");
        return false;
    }
    return true;
}

/* What means nothing together is refused, not ignored. */
static bool goes_together(const struct words *w, const struct run_options *o)
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
        complain(alone, "it goes with --health");
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
        complain(frozen, "it means nothing to what is frozen");
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
                read_number(w, OWN_HEALTH_TRIES, 1, 1000, &tries) && goes_together(w, o);
    o->lost = (int)lost;
    o->health_tries = (unsigned)tries;
    return fine;
}

/* ---- the verb ---- */

static const char help[] =
    "Runs CMD only while the member here leads: waits until it does, starts CMD, and stops it, and "
    "all that it has started, before anybody else can lead. Signals are passed on.\n"
    "CMD finds ELECT_GROUP, ELECT_NODE, ELECT_LEADER, ELECT_TERM, ELECT_TOKEN, ELECT_LEASE_MS, "
    "ELECT_SOCKET and ELECT_LOSS_FD, a descriptor that becomes readable at the loss.\n"
    "Exit: that of CMD, 128 + signal if it was killed by one; 1 -n and another one leads, 75 "
    "leadership was lost, 124 --max-wait is over, 125 elect itself failed, 126 CMD cannot be "
    "executed, 127 there is no CMD.";

/* What stands before --, and what behind it. */
static int split(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return i;
    return argc;
}

/* Scripts for earlier versions have an option --resign. */
static bool has_removed_option(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--resign") == 0) {
            complain(argv[i], "removed: a command that fails hands leadership over; add "
                              "--on-exit yield to hand over also when the command succeeds");
            return true;
        }
    return false;
}

/* 0, or an exit status. */
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
        return complain("", "too long a path");
    config_make_absolute(status); /* the command may go elsewhere */
    return 0;
}

static int start(const struct asked_for *a, struct run_options *o, char **command)
{
    static char run[CONFIG_FILE], status[CONFIG_FILE];
    if (a->words == 1 && a->group != NULL)
        return complain(a->word[0], "the group is named twice");
    o->group = a->words == 1 ? a->word[0] : a->group != NULL ? a->group : "";
    if (strlen(o->group) >= TALK_NAME)
        return complain(o->group, "too long a name of a group");
    if (command[0] == NULL)
        return complain("", "what to run? expected -- CMD, see --help");
    if (o->shell && command[1] != NULL)
        return complain("--shell", "expected one word behind --");
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
