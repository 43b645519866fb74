/* What the verbs that ask, or tell, a daemon have in common. */
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
    const char *word[64]; /* what stands beside the options */
    unsigned words;
};

/* The options of every such verb, then those of its own. */
#define ASK_OPTIONS                                                                                \
    {"config", 'c', "FILE", "the configuration; default: " ASK_CONFIG},                            \
        {"id", 0, "MEMBER", "which member, if several run here: its name or number"},              \
        {"group", 'g', "GROUP", "which group, if there are several"},                              \
        {"socket", 'S', "SOCKET", "the daemon's status socket; or $ELECT_SOCKET"},                 \
        {"timeout", 0, "SECONDS", "how long to wait for an answer; or $ELECT_TIMEOUT"},            \
        {"output", 'o', "text|json", "text, or json for scripts"},                                 \
        {"quiet", 'q', NULL, "print nothing but errors"},                                          \
    {                                                                                              \
        "help", 'h', NULL, "print this"                                                            \
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
    const char *usage;   /* behind "usage: elect" */
    const char *text;    /* some lines, and its exit codes */
    unsigned min, max;   /* words */
    const char *missing; /* what to say if there are too few */
    const struct option_spec *own;
    size_t owns;
    void (*take)(void *context, int option, const char *value); /* an own one, from 0 on */
    void *context;
    unsigned without; /* set of 1 << ASK_...: what means nothing to it, and is refused */
};
/* Below 0: the exit status is ~ of that. */
int ask_parse(struct asked_for *a, const struct verb_spec *spec, int argc, char **argv);

/* The configuration that is meant; false after having complained. */
bool ask_config(const struct asked_for *a, struct config *c);
/* By --id: NULL after having complained. */
const struct config_member *ask_member(const struct asked_for *a, const struct config *c);
/* By --id, or by the state that is here. */
const struct config_member *ask_self(const struct asked_for *a, const struct config *c);

/* The member that runs here, or else the one whose state is here. NULL if there is none, or more
 * than one (`several`), or if this user may not look (a reason in `why`). */
const struct config_member *ask_local(const struct config *c, bool *several, struct text *why);

/* Where the daemon listens; an exit status after having complained, 0 if it is known. */
int ask_socket(const struct asked_for *a, const char *which, char path[CONFIG_FILE]);

/* The answer, or NULL with an exit status, after having complained. Takes the request. */
json_t *ask_daemon(const struct asked_for *a, const char *socket, json_t *request, unsigned seconds,
                   int *status);
/* Calls back with every line that comes, until there is no more, or it says false. */
int ask_stream(const struct asked_for *a, json_t *request,
               bool (*take)(void *context, json_t *line), void *context);

/* "elect VERB: what", and the status. */
int ask_complain(const char *verb, int status, const char *what);

void ask_print_json(json_t *o);

/* Returns the recorders of all members, or NULL with an exit status after having complained. */
struct history *ask_history(struct asked_for *a, int *status);

#endif
