/* The command: a table of verbs. */
#include "member.h"
#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct verb verbs[] = {
    {"init", cmd_init, "make a cluster, or a member of it"},
    {"daemon", cmd_daemon, "run a member"},
    {"run", cmd_run, "run a command only while the member here leads"},
    {"is-leader", cmd_is_leader, "whether the member here leads, for scripts"},
    {"leader", cmd_leader, "who leads"},
    {"status", cmd_status, "who leads, since when, and what is known of each member"},
    {"members", cmd_members, "the members, on each network"},
    {"doctor", cmd_doctor, "find out what is wrong, and what to do"},
    {"watch", cmd_watch, "every change, as it happens"},
    {"history", cmd_history, "what has changed, and why"},
    {"explain", cmd_explain, "how it came to the last change of leader"},
    {"resign", cmd_resign, "make the leader hand over"},
    {"transfer", cmd_transfer, "make the leader hand over to a certain member"},
    {"pause", cmd_pause, "hold no elections until resume"},
    {"resume", cmd_resume, "elections are held again"},
    {"reload", cmd_reload, "the daemon reads its configuration again"},
    {"key", cmd_key, "replace the key of the cluster, without a stop"},
    {"config", cmd_config, "check a configuration, or show an example"},
    {"readmit", cmd_readmit, "a member that has lost its state comes back"},
    {"demo", cmd_demo, "real daemons on this machine, to look at and to disturb"},
    {"sim", cmd_sim, "simulate an election: one, told step by step, or thousands"},
    {"verify", cmd_verify, "explore every possible history of a small cluster"},
};
#define VERB_COUNT (sizeof verbs / sizeof verbs[0])

static void print_help(void)
{
    puts("usage: elect [-c FILE] [-g GROUP] [-S SOCKET] [-o text|json] [-q] VERB [OPTIONS]\n"
         "\n"
         "Elect chooses one leader among the processes of a cluster.\n");
    for (size_t i = 0; i < VERB_COUNT; i++)
        printf("  %-10s %s\n", verbs[i].name, verbs[i].summary);
    puts("  help       elect help VERB: the options of a verb\n"
         "  version    the version of this program\n"
         "\n"
         "  --version    print the version\n"
         "\n"
         "Exit: 0 fine, 1 no, refused, or an expectation is broken, 2 no leader, 3 no\n"
         "daemon answers, 64 bad usage, 74 reading or writing failed, 75 not now, 78\n"
         "configuration, key or state refused.");
}

static const struct verb *find(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

/* A verb that disturbs a leader, or forgets a state, is not suggested to a user who mistyped
 * another one. */
static bool is_harmless(const struct verb *v)
{
    return v->run != cmd_resign && v->run != cmd_transfer && v->run != cmd_pause &&
           v->run != cmd_resume && v->run != cmd_readmit;
}

static int unknown_verb(const char *name)
{
    const char *names[VERB_COUNT + 2] = {"help", "version"};
    size_t count = 2;
    struct text why;
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (is_harmless(&verbs[i]))
            names[count++] = verbs[i].name;
    const char *nearest = choice_nearest(name, strlen(name), names, count);
    text_clear(&why);
    text_add(&why, "unknown verb, ");
    text_add(&why, nearest != NULL ? "did you mean " : "see elect --help");
    if (nearest != NULL) {
        text_add(&why, nearest);
        text_add(&why, "?");
    }
    return args_complain("", name, why.bytes);
}

static bool asks_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int help(const char *name)
{
    char *argv[] = {(char *)name, (char *)"--help", NULL};
    const struct verb *verb = name != NULL ? find(name) : NULL;
    if (verb != NULL)
        return verb->run(2, argv);
    if (name != NULL && strcmp(name, "help") != 0 && strcmp(name, "version") != 0 &&
        !asks_help(name))
        return unknown_verb(name);
    print_help();
    return EXIT_FINE;
}

/* `word` is what follows the verb, or NULL. */
static int print_version(const char *word)
{
    if (word != NULL && asks_help(word))
        return help(NULL);
    if (word != NULL)
        return args_complain("version", word, "unexpected: elect version takes no arguments");
    puts("elect " ELECT_VERSION);
    return EXIT_FINE;
}

/* Options may stand before the verb: returns where the verb is, or 0. */
static int find_verb(int argc, char **argv)
{
    static const char *const valued[] = {"-o", "--output", "-c",   "--config", "-g", "--group",
                                         "-S", "--socket", "--id", "--timeout"};
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-')
            return i;
        for (unsigned k = 0; k < sizeof valued / sizeof valued[0]; k++)
            if (strcmp(argv[i], valued[k]) == 0) {
                i++;
                break;
            }
    }
    return 0;
}

static int run(int argc, char **argv)
{
    int at = find_verb(argc, argv);
    if (at == 0) {
        if (argc > 1 && strcmp(argv[1], "--version") == 0)
            return print_version(NULL);
        if (argc > 1 && !asks_help(argv[1]))
            return args_complain("", argv[1],
                                 "unknown option, or its verb is missing: see elect --help");
        if (argc > 1)
            return help(NULL);
        return args_complain("", "", "a verb is missing, see elect --help");
    }
    if (strcmp(argv[at], "help") == 0)
        return help(at + 1 < argc ? argv[at + 1] : NULL);
    if (strcmp(argv[at], "version") == 0)
        return print_version(at + 1 < argc ? argv[at + 1] : NULL);
    const struct verb *verb = find(argv[at]);
    if (verb == NULL)
        return unknown_verb(argv[at]);
    char *name = argv[at]; /* options that stood before the verb move behind it */
    memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof *argv);
    argv[1] = name;
    return verb->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    int status = run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("elect: standard output");
        return EXIT_IO;
    }
    return status;
}
