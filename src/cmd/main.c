/* The main program: finds the verb on the command line and runs it. */
#include "member.h"
#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct verb verbs[] = {
    {"init", cmd_init, "create a cluster, or the state of a member"},
    {"daemon", cmd_daemon, "run a member"},
    {"run", cmd_run, "run a command only while the local member leads"},
    {"is-leader", cmd_is_leader, "test whether the local member leads, for scripts"},
    {"leader", cmd_leader, "print the name of the leader"},
    {"status", cmd_status, "show the leader, the quorum, the local work and the members"},
    {"members", cmd_members, "show the members and their links"},
    {"doctor", cmd_doctor, "find problems, and say how to solve them"},
    {"watch", cmd_watch, "print every change as it happens"},
    {"history", cmd_history, "print the latest changes and their causes"},
    {"explain", cmd_explain, "explain the last change of leader"},
    {"resign", cmd_resign, "make the leader hand over"},
    {"transfer", cmd_transfer, "make the leader hand over to a given member"},
    {"pause", cmd_pause, "pause elections until elect resume is run"},
    {"resume", cmd_resume, "resume elections after elect pause"},
    {"reload", cmd_reload, "make the daemon read its configuration again"},
    {"key", cmd_key, "replace the key of the cluster without downtime"},
    {"config", cmd_config, "check a configuration, or print an example"},
    {"readmit", cmd_readmit, "give a new state to a member that lost its state"},
    {"demo", cmd_demo, "watch and disturb real daemons on this machine"},
    {"sim", cmd_sim, "simulate one election step by step, or thousands of elections"},
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
    puts("  help       print this list, or the options of a verb: elect help VERB\n"
         "  version    print the version\n"
         "\n"
         "  --version    print the version\n"
         "\n"
         "Exit: 0 success; 1 the answer is no, or the request was refused; 2 no leader is\n"
         "known; 3 no daemon answers; 64 bad usage; 74 reading or writing failed; 75 try\n"
         "again later; 78 configuration, key or state refused.");
}

static const struct verb *find(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

/* Returns true if this verb may be suggested after a typing error: it must not disturb a leader
 * or replace a state. */
static bool is_harmless(const struct verb *v)
{
    return v->run != cmd_resign && v->run != cmd_transfer && v->run != cmd_pause &&
           v->run != cmd_resume && v->run != cmd_readmit;
}

static int unknown_verb(const char *name, bool after_options)
{
    const char *names[VERB_COUNT + 2] = {"help", "version"};
    size_t count = 2;
    struct text why;
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (is_harmless(&verbs[i]))
            names[count++] = verbs[i].name;
    const char *nearest = choice_nearest(name, strlen(name), names, count);
    text_clear(&why);
    if (name[0] == '\0')
        return args_complain("", "", "the verb is empty, see elect --help");
    text_add(&why, "unknown verb, ");
    text_add(&why, nearest != NULL ? "did you mean "
                   : after_options ? "put the options after the verb, see elect --help"
                                   : "see elect --help");
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
        return unknown_verb(name, false);
    print_help();
    return EXIT_FINE;
}

/* Prints the version. `word` is the argument after the verb; NULL if none. */
static int print_version(const char *word)
{
    if (word != NULL && asks_help(word))
        return help(NULL);
    if (word != NULL)
        return args_complain("version", word, "unexpected argument: elect version accepts none");
    puts("elect " ELECT_VERSION);
    return EXIT_FINE;
}

/* Returns the index of the verb in argv, or 0 if there is none. Options may precede the verb. */
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
        return args_complain("", "", "expected a verb, see elect --help");
    }
    if (strcmp(argv[at], "help") == 0)
        return help(at + 1 < argc ? argv[at + 1] : NULL);
    if (strcmp(argv[at], "version") == 0)
        return print_version(at + 1 < argc ? argv[at + 1] : NULL);
    const struct verb *verb = find(argv[at]);
    if (verb == NULL)
        return unknown_verb(argv[at], at > 1);
    char *name = argv[at]; /* options that stand before the verb are moved behind it */
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
