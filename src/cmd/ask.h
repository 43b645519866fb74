/* Common code of all verbs that query or control a daemon: options, configuration and requests. */
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
    unsigned timeout; /* in seconds; 0: default of the request */
    bool json, quiet, help;
    const char *word[64];
    unsigned words;
};

/* The common options. They come first in the table of every verb, before its own options. */
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
    const char *usage;
    const char *text;
    unsigned min, max;
    const char *missing;
    const struct option_spec *own;
    size_t owns;
    void (*take)(void *context, int option, const char *value); /* `option` is an index in `own` */
    void *context;
    unsigned without; /* common options that the verb refuses, as bits 1 << ASK_... */
};
/* Parses the command line. Returns 0 on success. Otherwise, the verb must exit with the bitwise
 * complement (~) of the result. */
int ask_parse(struct asked_for *a, const struct verb_spec *spec, int argc, char **argv);

/* Loads the configuration file given with --config, or the default one. On failure, prints the
 * reason and returns false. */
bool ask_config(const struct asked_for *a, struct config *c);
/* Returns the member given with --id. If there is none, prints an error message and returns
 * NULL. */
const struct config_member *ask_member(const struct asked_for *a, const struct config *c);
/* Returns the member given with --id or, without --id, the one with its state on this machine.
 * If there is none, prints an error message and returns NULL. */
const struct config_member *ask_self(const struct asked_for *a, const struct config *c);

/* Returns the member that runs on this machine or, if none does, the one with its state here.
 * Returns NULL if there is none, if there are several (sets `several`), or if this user may not
 * search the folder (sets `why`). */
const struct config_member *ask_local(const struct config *c, bool *several, struct text *why);

/* Stores the path of a daemon's socket. `which` is "status", "admin" or "run". Returns 0, or an
 * exit status after an error message. */
int ask_socket(const struct asked_for *a, const char *which, char path[CONFIG_FILE]);

/* Sends the request and returns the daemon's answer. Frees the request. On failure, prints the
 * reason, sets `status` to an exit status and returns NULL. */
json_t *ask_daemon(const struct asked_for *a, const char *socket, json_t *request, unsigned seconds,
                   int *status);
/* Sends the request and passes each line of the answer to `take`, until the answer ends or
 * `take` returns false. Frees the request. Returns an exit status. */
int ask_stream(const struct asked_for *a, json_t *request,
               bool (*take)(void *context, json_t *line), void *context);

/* Prints "elect VERB: what" on standard error, and returns `status`. */
int ask_complain(const char *verb, int status, const char *what);

void ask_print_json(json_t *o);

/* Returns the history from all members' flight recorders. On failure, prints the reason, sets
 * `status` to an exit status and returns NULL. */
struct history *ask_history(struct asked_for *a, int *status);

#endif
