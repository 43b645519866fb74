/* The common parts of all verbs that query or control a daemon: options, configuration and
 * requests. */
#ifndef ELECT_CMD_ASK_H
#define ELECT_CMD_ASK_H

#include "../daemon/config.h"
#include "args.h"

#include <jansson.h>

struct history;

#define ASK_CONFIG "/etc/elect/elect.conf"

struct asked_for {
    const char *verb;
    const char *config, *group, *socket, *id;
    unsigned timeout; /* in seconds; 0: each request has its own default */
    bool json, quiet, help;
    const char *word[64]; /* the arguments that are not options */
    unsigned words;
};

/* The options that all verbs that query a daemon share. In the table of a verb, its own options
 * come after these. */
#define ASK_OPTIONS                                                                                \
    {"config", 'c', "FILE", "configuration file; default: " ASK_CONFIG},                           \
        {"id", 0, "MEMBER", "name or number of a member, if this machine has several members"},    \
        {"group", 'g', "GROUP", "name of a group, if the cluster has several groups"},             \
        {"socket", 'S', "SOCKET", "status socket of the daemon; default: $ELECT_SOCKET"},          \
        {"timeout", 0, "SECONDS",                                                                  \
         "seconds to wait for an answer, 1 to 3600; default: $ELECT_TIMEOUT"},                     \
        {"output", 'o', "text|json", "output format; default: text"},                              \
        {"quiet", 'q', NULL, "print only errors"},                                                 \
    {                                                                                              \
        "help", 'h', NULL, "print this help"                                                       \
    }
enum {
    ASK_CONFIG_FILE,
    ASK_ID,
    ASK_GROUP,
    ASK_SOCKET,
    ASK_TIMEOUT,
    ASK_OUTPUT,
    ASK_QUIET,
    ASK_HELP,
    ASK_OWN_OPTIONS
};

struct verb_spec {
    const char *name;
    const char *usage;   /* printed after "usage: elect" */
    const char *text;    /* describes the verb and its exit codes */
    unsigned min, max;   /* how many arguments the verb accepts besides options */
    const char *missing; /* the error message if arguments are missing */
    const struct option_spec *own;
    size_t owns;
    void (*take)(void *context, int option, const char *value); /* `option` is an index in `own` */
    void *context;
    unsigned without; /* the set of common options that this verb refuses, as bits 1 << ASK_... */
};
/* Parses the command line. Returns 0 if the command can continue. Otherwise, the command must exit,
 * and the result is the bitwise complement (~) of its exit status. */
int ask_parse(struct asked_for *a, const struct verb_spec *spec, int argc, char **argv);

/* Loads the configuration file that --config names, or the default one. If this fails, prints the
 * reason and returns false. */
bool ask_config(const struct asked_for *a, struct config *c);
/* Returns the member that --id names. If there is no such member, prints an error message and
 * returns NULL. */
const struct config_member *ask_member(const struct asked_for *a, const struct config *c);
/* Returns the member that --id names or, without --id, the member whose state is on this machine.
 * If there is no such member, prints an error message and returns NULL. */
const struct config_member *ask_self(const struct asked_for *a, const struct config *c);

/* Returns the member that runs on this machine or, if none runs here, the member whose state is on
 * this machine. Returns NULL if there is no such member. If there are several, sets `several` and
 * returns NULL. If this user may not search the folder, sets `why` and returns NULL. */
const struct config_member *ask_local(const struct config *c, bool *several, struct text *why);

/* Stores the path of one of the daemon's sockets. `which` is "status", "admin" or "run". Returns 0
 * on success. On failure, prints an error message and returns an exit status. */
int ask_socket(const struct asked_for *a, const char *which, char path[CONFIG_FILE]);

/* Sends the request to the daemon and returns its answer. If this fails, prints the reason, sets
 * `status` to an exit status and returns NULL. Frees the request. */
json_t *ask_daemon(const struct asked_for *a, const char *socket, json_t *request, unsigned seconds,
                   int *status);
/* Sends the request to the daemon. Calls `take` with each line of the answer, until the answer ends
 * or `take` returns false. Frees the request. Returns an exit status. */
int ask_stream(const struct asked_for *a, json_t *request,
               bool (*take)(void *context, json_t *line), void *context);

/* Prints "elect VERB: what" on standard error, and returns `status`. */
int ask_complain(const char *verb, int status, const char *what);

void ask_print_json(json_t *o);

/* Returns what the flight recorders of all members contain. If this fails, prints the reason, sets
 * `status` to an exit status and returns NULL. */
struct history *ask_history(struct asked_for *a, int *status);

#endif
