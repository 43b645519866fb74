/*
 * The configuration: an INI file, the same on all members.
 *
 *     [cluster]
 *     id = 0f1e2d3c4b5a69788796a5b4c3d2e1f0
 *
 *     [member a]
 *     id = 1
 *     address = 10.0.0.1:7400, 10.1.0.1:7400
 *
 *     [group scheduler]
 *
 * The files *.conf in conf.d beside it are read after it, in the order of their names, as if their
 * lines stood at its end. Relative paths start at the folder of the file. Only the first mistake is
 * reported, in one line: "FILE:LINE: what is wrong, and what to do".
 */
#ifndef ELECT_DAEMON_CONFIG_H
#define ELECT_DAEMON_CONFIG_H

#include "../base/text.h"
#include "../runtime/store.h"
#include "elect-uv.h"

#include <sys/types.h>

#define CONFIG_PATH 256
#define CONFIG_FILE (CONFIG_PATH + 32) /* of a file in such a folder */
#define CONFIG_NAME STORE_NAME

/* section, name, key, value, help. The help begins with a valid value or says "default: VALUE":
 * the example that `elect config example` prints, and its test, use that one. */
#define CONFIG_KEYS(X)                                                                             \
    X(CLUSTER, ID, "id", "HEX", "32 digits, made by elect init --new-cluster")                     \
    X(CLUSTER, KEY_FILE, "key-file", "PATH", "the cluster's key; default: key, beside this file")  \
    X(CLUSTER, STATE_DIR, "state-dir", "PATH", "where states are; default: /var/lib/elect")        \
    X(CLUSTER, RUN_DIR, "run-dir", "PATH", "where sockets are; default: /run/elect, or state-dir") \
    X(CLUSTER, PROFILE, "profile", "NAME", "fast, lan or wan: lease, renewal and delay at once")   \
    X(CLUSTER, LEASE, "lease", "TIME", "how long a majority's word holds; default: 1s")            \
    X(CLUSTER, RENEWAL, "renewal", "TIME", "how often it is asked for; default: 200ms")            \
    X(CLUSTER, MAX_LEASE, "max-lease", "TIME",                                                     \
      "no lease is ever longer: do not make it smaller; default: 10s")                             \
    X(CLUSTER, DELAY, "delay", "TIME", "how long a message may take; default: 20ms")               \
    X(CLUSTER, RHO, "rho", "PERCENT", "how far the rates of two clocks differ; default: 1%")       \
    X(CLUSTER, ALGORITHM, "algorithm", "NAME", "bully, ring, active-ring or chang-roberts")        \
    X(CLUSTER, TELL_LOWER, "tell-lower", "YES",                                                    \
      "no, or yes: with bully, tell members of lower rank when an election starts")                \
    X(CLUSTER, MANDATE, "mandate", "NAME",                                                         \
      "majority; or none: a textbook election, for lessons: two may lead at once")                 \
    X(CLUSTER, PREEMPT, "preempt", "WHEN", "no, yes, or after TIME: the fittest takes over")       \
    X(CLUSTER, TESTAMENT, "testament", "YES",                                                      \
      "yes, or no: whoever dies is not waited for, as its guardian says so")                       \
    X(CLUSTER, TESTAMENT_DELAY, "testament-delay", "TIME",                                         \
      "so long after all has stopped, for what checks no token; default: 0ms")                     \
    X(CLUSTER, RUN_GROUP, "run-group", "NAME",                                                     \
      "whose users may elect run; default: those of the daemon's group")                           \
    X(CLUSTER, PRE_LEADER, "pre-leader", "PATH",                                                   \
      "a program that agrees (0) before this member leads, or declines")                           \
    X(CLUSTER, ON_LEADER, "on-leader", "PATH", "a program that is run when this member leads")     \
    X(CLUSTER, ON_FOLLOWER, "on-follower", "PATH", "and when it does no more, before others may")  \
    X(CLUSTER, ON_LEADER_CHANGE, "on-leader-change", "PATH", "and when anybody else leads")        \
    X(CLUSTER, HOOK_TIMEOUT, "hook-timeout", "TIME",                                               \
      "how long one of those may take; default: 10s")                                              \
    X(CLUSTER, LOG_LEVEL, "log-level", "LEVEL",                                                    \
      "error, warning, notice, info or debug: lowest level to print; default: info")               \
    X(MEMBER, MEMBER_ID, "id", "N", "0 to 65535; the highest leads, among equals")                 \
    X(MEMBER, ADDRESS, "address", "HOST:PORT, ...",                                                \
      "one for each network; or dynamic: it is where its packets come from")                       \
    X(MEMBER, ROLE, "role", "NAME", "member, witness (votes, never leads) or observer")            \
    X(MEMBER, PRIORITY, "priority", "N", "0 to 255; the highest leads; default: 0")                \
    X(GROUP, LEAD_ONLY_WITH_RUNNER, "lead-only-with-runner", "YES",                                \
      "yes: elect only members with an elect run for this group; default: no")

/* The address of a member on a network if it is a name, which is looked up again every 10 s. */
struct config_host {
    char name[CONFIG_NAME]; /* empty: the address is known */
    uint16_t port;
};

struct config_member {
    char name[CONFIG_NAME];
    bool has_id;
    uint8_t role, priority;
    struct elect_peer peer;
    struct config_host host[ELECT_UV_LINKS];
};

/* The hooks: programs that are run when the leader changes. */
#define CONFIG_HOOKS(X)                                                                            \
    X(PRE_LEADER, "pre-leader")                                                                    \
    X(ON_LEADER, "on-leader")                                                                      \
    X(ON_FOLLOWER, "on-follower")                                                                  \
    X(ON_LEADER_CHANGE, "on-leader-change")

enum hook {
#define X(name, word) HOOK_##name,
    CONFIG_HOOKS(X)
#undef X
        HOOK_COUNT
};

struct config {
    char path[CONFIG_PATH];
    uint8_t cluster[SEAL_CLUSTER];
    bool has_cluster;
    char key_file[CONFIG_PATH], state_dir[CONFIG_PATH], run_dir[CONFIG_PATH];
    uint32_t lease, renewal, max_lease, delay, rho, preempt_after;
    uint8_t algorithm, mandate; /* enum elect_mandate_kind */
    bool preempt, tell_lower;
    bool testament;
    uint32_t testament_delay, hook_timeout;
    uint8_t log_level;                  /* enum level */
    char run_group[CONFIG_NAME];        /* empty: the daemon's own */
    char hook[HOOK_COUNT][CONFIG_PATH]; /* empty: none */
    unsigned members, groups;
    struct config_member member[SESSION_PEERS];
    char group[STORE_GROUPS][CONFIG_NAME];
    bool lead_only_with_runner[STORE_GROUPS];
    struct text complaint; /* the first one */
    size_t reason;         /* where in it the reason begins, after file and line */
};

/* Reads the file and its conf.d. False, with a complaint, if something is wrong. */
bool config_load(struct config *c, const char *path);

/* Calls `visit` with each file in the folder conf.d beside the configuration, in the order in which
 * they are read, and names the folder. Returns false, with errno, if the folder cannot be read. */
bool config_each_part(const struct config *c, char folder[CONFIG_FILE],
                      void (*visit)(void *context, const char *path), void *context);

/* The same for a text, which ends in NUL; `path` is the file that it stands in. */
bool config_parse(struct config *c, const char *path, const char *text);

/* Returns why no member can have this address, to be written after it; NULL if one can. */
const char *config_address_fault(const union elect_address *a);

/* Makes the configuration of the election, which all groups share. Times are in microseconds. */
enum elect_error config_elect(const struct config *c, struct elect_config *e);

/* Returns how long a link may be silent before it counts as down, in microseconds: 3 s, or twice
 * the suspicion time if that is longer. */
int64_t config_link_silence(const struct elect_config *e);

/* The member of that name, or with that id; NULL if there is none. */
const struct config_member *config_member(const struct config *c, const char *name);
const struct config_member *config_member_with(const struct config *c, uint16_t id);
/* The name of the member with that id; "nobody" if there is none. */
const char *config_name(const struct config *c, uint16_t id);

/* The path of the state of member `id`, or of one of its sockets ("status", "admin", "run"). */
void config_state_path(const struct config *c, uint16_t id, char path[CONFIG_FILE]);
void config_socket_path(const struct config *c, uint16_t id, const char *which,
                        char path[CONFIG_FILE]);

/* Makes the path absolute for a program that may change its folder; leaves it as it is if it would
 * be too long for a socket. */
void config_make_absolute(char path[CONFIG_FILE]);

/* Reads HOST:PORT. The host is an address or a name; false if it is neither. */
bool config_address(const char *text, union elect_address *address, struct config_host *host);

/* The number of the group of that name, or with NULL of the only group; -1, and why. */
int config_group(const struct config *c, const char *name, struct text *why);

/* Writes a warning about a configuration that is valid but unwise; empty if there is none. */
#define CONFIG_WARNING 128
void config_warning(const struct config *c, char warning[CONFIG_WARNING]);

/* The user that runs the daemon: the owner of the folder of its state. Before there is one, it is
 * assumed to be this user. */
uid_t config_user(const struct config *c);

bool config_has_hooks(const struct config *c);

/* "member", "witness" or "observer"; only a member may lead. */
const char *config_role(const struct config_member *m);
bool config_may_lead(const struct config_member *m);

/* Adds an example of a configuration with all keys and their meaning. */
void config_example(struct text *t);

#endif
