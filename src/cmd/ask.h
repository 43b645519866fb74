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
    unsigned timeout; /* seconds; 0: the default of each request */
    bool json, quiet, help;
    const char *word[64]; /* arguments that are not options */
    unsigned words;
};

/* The common options of these verbs. A verb's own options follow them. */
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
    unsigned min, max;   /* how many words it accepts */
    const char *missing; /* the complaint if there are too few words */
    const struct option_spec *own;
    size_t owns;
    void (*take)(void *context, int option, const char *value); /* option: index in `own` */
    void *context;
    unsigned without; /* set of 1 << ASK_...: common options that this verb refuses */
};
/* Returns 0, or the complement (~) of an exit status if the command must end. */
int ask_parse(struct asked_for *a, const struct verb_spec *spec, int argc, char **argv);

/* Loads the configuration of --config, or the default one. Returns false after a complaint. */
bool ask_config(const struct asked_for *a, struct config *c);
/* Returns the member of --id, or NULL after a complaint. */
const struct config_member *ask_member(const struct asked_for *a, const struct config *c);
/* Returns the member of --id or, without --id, the member whose state is on this machine. Returns
 * NULL after a complaint. */
const struct config_member *ask_self(const struct asked_for *a, const struct config *c);

/* Returns the member that runs on this machine, or else the member whose state is on this machine.
 * Returns NULL if there is no such member, if there are `several` members, or if this user may not
 * read the folder; only then does the function set `why`. */
const struct config_member *ask_local(const struct config *c, bool *several, struct text *why);

/* Finds the path of the daemon's socket that `which` names: "status", "admin" or "run". Returns 0,
 * or an exit status after a complaint. */
int ask_socket(const struct asked_for *a, const char *which, char path[CONFIG_FILE]);

/* Returns the answer, or NULL with an exit status after a complaint. Frees the request. */
json_t *ask_daemon(const struct asked_for *a, const char *socket, json_t *request, unsigned seconds,
                   int *status);
/* Calls `take` with every line of the answer, until the answer ends or `take` returns false. Frees
 * the request. Returns an exit status. */
int ask_stream(const struct asked_for *a, json_t *request,
               bool (*take)(void *context, json_t *line), void *context);

/* Prints "elect VERB: what" on standard error, and returns `status`. */
int ask_complain(const char *verb, int status, const char *what);

void ask_print_json(json_t *o);

/* Returns the recorders of all members, or NULL with an exit status after a complaint. */
struct history *ask_history(struct asked_for *a, int *status);

#endif
