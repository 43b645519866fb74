/* elect daemon: runs one member and its guardian in the foreground. */
#include "../base/access.h"
#include "../base/standard.h"
#include "../daemon/daemon.h"
#include "../daemon/hook.h"
#include "../daemon/predecessor.h"
#include "member.h"

#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* For error messages: the command line and the member's name, "" until known. */
static struct asked_for asked;
static const char *named = "";

static void complain(const char *why)
{
    journal_complain(&(struct journal_options){.json = asked.json}, named, why);
}

struct started {
    const struct journal_options *log;
    const struct config *c;
    const struct config_member *me;
    struct enrolment *e;
    pid_t parent; /* the member is killed when this process exits; 0: never */
};

static void die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the parent is already gone: no signal will come */
        raise(SIGKILL);
}

/* Main function of the member's process, the only one that reads the key. */
static int run_member(const struct guard *guard, void *context)
{
    const struct started *s = context;
    struct keys keys;
    struct text why;
    if (s->parent != 0)
        die_with(s->parent);
    text_clear(&why);
    if (sodium_init() < 0)
        return ask_complain(
            asked.verb, EXIT_IO,
            "cannot use keys: libsodium finds no random numbers, check /dev/urandom");
    if (!keys_read(&keys, s->c->key_file, KEYS_OWN, &why))
        return ask_complain(asked.verb, EXIT_CONFIG, why.bytes);
    enroll_keys(s->e, &keys);
    keys_wipe(&keys);
    struct daemon *d = calloc(1, sizeof *d);
    int status = d != NULL
                     ? daemon_run(d, s->c, s->me, s->e, guard, s->log)
                     : ask_complain(asked.verb, EXIT_IO, "cannot start the member: no memory");
    enroll_wipe(s->e);
    free(d);
    return status;
}

struct own_options {
    bool with_parent;
    const char *level; /* NULL: as configured */
};

static void take(void *context, int option, const char *value)
{
    struct own_options *o = context;
    if (option == 0)
        o->with_parent = true;
    else
        o->level = value;
}

static bool take_level(const struct own_options *o, const struct config *c,
                       struct journal_options *log)
{
    struct text why;
    uint8_t choice;
    text_clear(&why);
    log->level = c->log_level;
    log->fixed = o->level != NULL;
    if (!log->fixed)
        return true;
    if (!choice_parse(o->level, level_words, LEVEL_COUNT, &choice, &why)) {
        args_complain(asked.verb, "--log-level", why.bytes);
        return false;
    }
    log->level = (uint8_t)(LEVEL_FIRST + choice);
    return true;
}

int cmd_daemon(int argc, char **argv)
{
    static const struct option_spec own[] = {
        {"with-parent", 0, NULL,
         "end immediately when the parent process ends; for demonstrations"},
        {"log-level", 0, "LEVEL",
         "log entries of this level and above: error, warning, notice, info or debug; default: "
         "log-level in elect.conf"}};
    static struct config c;
    static struct enrolment e;
    static struct journal journal;
    struct own_options options = {0};
    struct verb_spec spec = {
        .name = "daemon",
        .without = 1 << ASK_GROUP | 1 << ASK_SOCKET | 1 << ASK_TIMEOUT,
        .usage = "daemon [-c FILE] [--id MEMBER] [--log-level LEVEL] [OPTIONS]",
        .text =
            "Run one member in the foreground, normally under a service manager, such as "
            "systemd, that restarts the daemon. Log each change with its cause on standard error "
            "(with -o json, as a line of JSON; with -q, not at all). On SIGTERM, hand over and "
            "stop. On SIGHUP, read the configuration again, like elect reload."
            "\nExit: 0 stopped by a signal; 64 bad usage; 74 the state can no longer be "
            "written; 75 the daemon cannot start now, because its address or its state is in use; "
            "78 configuration, key or state refused: a restart would not help; 128 + n the "
            "member was killed by signal n.",
        .own = own,
        .owns = 2,
        .take = take,
        .context = &options};
    struct text why;
    char path[CONFIG_FILE];
    standard_fill();
    args_report_to(complain);
    int sockets[ELECT_UV_LINKS], status = ask_parse(&asked, &spec, argc, argv);
    if (status < 0)
        return ~status;
    struct journal_options log = {.json = asked.json, .quiet = asked.quiet};
    text_clear(&why);
    if (!ask_config(&asked, &c))
        return EXIT_CONFIG;
    if (!take_level(&options, &c, &log))
        return EXIT_USAGE;
    const struct config_member *me = ask_self(&asked, &c);
    if (me == NULL)
        return EXIT_CONFIG;
    named = me->name;
    if (!hook_check_all(&c, geteuid(), &why))
        return ask_complain(asked.verb, EXIT_CONFIG, why.bytes);
    config_state_path(&c, me->peer.id, path);
    if (!access_check(path, ACCESS_WRITE, &why) || !access_check(c.key_file, ACCESS_READ, &why))
        return ask_complain(asked.verb, EXIT_CONFIG, why.bytes);
    if (!enroll_member(&e, &c, me, &why))
        return ask_complain(asked.verb, EXIT_NOT_NOW, why.bytes);
    journal_begin(&journal, &log, me->name);
    if (!predecessor_succeed(&c, me, e.peer, sockets, &journal, &why))
        return ask_complain(asked.verb, EXIT_NOT_NOW, why.bytes);
    if (options.with_parent)
        die_with(getppid());
    struct started s = {&log, &c, me, &e, options.with_parent ? getpid() : 0};
    return guardian_run(&c, me, sockets, &log, run_member, &s);
}
