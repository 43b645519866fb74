/* elect daemon: one member, in the foreground. */
#include "../daemon/daemon.h"
#include "member.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

int cmd_daemon(int argc, char **argv)
{
    static struct config c;
    static const struct verb_spec spec = {
        .name = "daemon",
        .without = 1 << ASK_GROUP | 1 << ASK_SOCKET,
        .usage = "daemon [-c FILE] [--id MEMBER] [OPTIONS]",
        .text = "Runs one member, in the foreground: systemd, or whatever runs it, restarts it. "
                "What changes, and why, is logged on standard error (-o json: a line of JSON each, "
                "-q: nothing). SIGTERM hands over and stops, SIGHUP is elect reload.\nExit: 0 told "
                "to stop; 64 bad usage, 74 the state cannot be written any more, 75 it cannot "
                "start now (its address, its lock), 78 the "
                "configuration, the key or the state is refused: a restart would not help."};
    struct asked_for a;
    struct keys keys;
    struct text why;
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    text_clear(&why);
    if (!ask_config(&a, &c))
        return EXIT_CONFIG;
    const struct config_member *me = ask_self(&a, &c);
    if (me == NULL)
        return EXIT_CONFIG;
    if (sodium_init() < 0 || !keys_read(&keys, c.key_file, KEYS_OWN, &why))
        return ask_complain(a.verb, EXIT_CONFIG, why.bytes);
    struct daemon *d = calloc(1, sizeof *d);
    status = d != NULL ? daemon_run(d, &c, me, &keys, a.json, a.quiet)
                       : ask_complain(a.verb, EXIT_IO, "no memory");
    keys_wipe(&keys);
    free(d);
    return status;
}
