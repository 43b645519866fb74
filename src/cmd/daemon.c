/* elect daemon: one member, in the foreground, and its guardian. */
#include "../daemon/daemon.h"
#include "../daemon/hook.h"
#include "member.h"

#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

struct started {
    const struct asked_for *a;
    const struct config *c;
    const struct config_member *me;
    struct enrolment *e;
    pid_t parent; /* it dies with that one; 0: it does not */
};

static void die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* too late to be told */
        raise(SIGKILL);
}

/* In a process of its own: its guardian has no key. */
static int run_member(const struct guard *guard, void *context)
{
    const struct started *s = context;
    struct keys keys;
    struct text why;
    if (s->parent != 0)
        die_with(s->parent);
    text_clear(&why);
    if (sodium_init() < 0 || !keys_read(&keys, s->c->key_file, KEYS_OWN, &why))
        return ask_complain(s->a->verb, EXIT_CONFIG, why.bytes);
    enroll_keys(s->e, &keys);
    keys_wipe(&keys);
    struct daemon *d = calloc(1, sizeof *d);
    int status = d != NULL ? daemon_run(d, s->c, s->me, s->e, guard, s->a->json, s->a->quiet)
                           : ask_complain(s->a->verb, EXIT_IO, "no memory");
    enroll_wipe(s->e);
    free(d);
    return status;
}

static void take(void *context, int option, const char *value)
{
    bool *with_parent = context;
    (void)option;
    (void)value;
    *with_parent = true;
}

int cmd_daemon(int argc, char **argv)
{
    static const struct option_spec own[] = {
        {"with-parent", 0, NULL, "end, at once, when whoever started it ends; for demonstrations"}};
    static struct config c;
    static struct enrolment e;
    bool with_parent = false;
    struct verb_spec spec = {
        .name = "daemon",
        .without = 1 << ASK_GROUP | 1 << ASK_SOCKET | 1 << ASK_TIMEOUT,
        .usage = "daemon [-c FILE] [--id MEMBER] [--with-parent] [OPTIONS]",
        .text = "Runs one member, in the foreground: systemd, or whatever runs it, restarts it. "
                "What changes, and why, is logged on standard error (-o json: a line of JSON each, "
                "-q: nothing). SIGTERM hands over and stops, SIGHUP is elect reload.\nExit: 0 told "
                "to stop; 64 bad usage, 74 the state cannot be written any more, 75 it cannot "
                "start now (its address, its lock), 78 the "
                "configuration, the key or the state is refused: a restart would not help. 128 and "
                "the number of a signal that has killed it.",
        .own = own,
        .owns = 1,
        .take = take,
        .context = &with_parent};
    struct asked_for a;
    struct text why;
    char text[512];
    int sockets[ELECT_UV_LINKS], status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    text_clear(&why);
    if (!ask_config(&a, &c))
        return EXIT_CONFIG;
    const struct config_member *me = ask_self(&a, &c);
    if (me == NULL)
        return EXIT_CONFIG;
    if (!hook_check_all(&c, geteuid(), &why))
        return ask_complain(a.verb, EXIT_CONFIG, why.bytes);
    if (!enroll_member(&e, &c, me, &why))
        return ask_complain(a.verb, EXIT_NOT_NOW, why.bytes);
    if (!elect_member_bind(e.peer, c.members, me->peer.id, sockets, text, sizeof text))
        return ask_complain(a.verb, EXIT_NOT_NOW, text);
    if (with_parent)
        die_with(getppid());
    struct started s = {&a, &c, me, &e, with_parent ? getpid() : 0};
    return guardian_run(&c, me, sockets, a.json, a.quiet, run_member, &s);
}
