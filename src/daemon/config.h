/*
 * The configuration is an INI file, the same on all members.
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
 * The *.conf files in the folder conf.d beside it are read in the order of their names, as if they
 * were appended. Relative paths are resolved from the configuration file's folder. Only the first
 * mistake is reported, in one line: "FILE:LINE: what is wrong, and what to do".
 */
#ifndef ELECT_DAEMON_CONFIG_H
#define ELECT_DAEMON_CONFIG_H

#include "../base/text.h"
#include "../runtime/store.h"
#include "elect-uv.h"

#include <sys/types.h>

#define CONFIG_PATH 256
#define CONFIG_FILE (CONFIG_PATH + 32)
#define CONFIG_NAME STORE_NAME

/* Section, constant, key in the file, placeholder for the value, help text. The help text must
 * begin with a valid value or contain "default: VALUE", because test/system/manual.py sets every
 * key to that value. */
#define CONFIG_KEYS(X)                                                                             \
    X(CLUSTER, ID, "id", "HEX", "32 hexadecimal digits, drawn by elect init --new-cluster")        \
    X(CLUSTER, KEY_FILE, "key-file", "PATH", "the cluster's key; default: key, beside this file")  \
    X(CLUSTER, STATE_DIR, "state-dir", "PATH",                                                     \
      "folder of the state file; default: /var/lib/elect")                                         \
    X(CLUSTER, RUN_DIR, "run-dir", "PATH",                                                         \
      "folder of the sockets; default: /run/elect, or state-dir if that is set")                   \
    X(CLUSTER, PROFILE, "profile", "NAME", "fast, lan or wan: sets lease, renewal and delay")      \
    X(CLUSTER, LEASE, "lease", "TIME", "how long a grant lasts; default: 1s")                      \
    X(CLUSTER, RENEWAL, "renewal", "TIME", "how often a leader renews its lease; default: 200ms")  \
    X(CLUSTER, MAX_LEASE, "max-lease", "TIME",                                                     \
      "the longest lease that is ever used: never reduce it; default: 10s")                        \
    X(CLUSTER, DELAY, "delay", "TIME", "how long a message may take; default: 20ms")               \
    X(CLUSTER, RHO, "rho", "PERCENT", "largest error of the rate of a clock; default: 1%")         \
    X(CLUSTER, ALGORITHM, "algorithm", "NAME", "bully, ring, active-ring or chang-roberts")        \
    X(CLUSTER, TELL_LOWER, "tell-lower", "YES",                                                    \
      "no, or yes: with bully, tell members of lower rank when an election starts")                \
    X(CLUSTER, MANDATE, "mandate", "NAME",                                                         \
      "majority; or none: a textbook election, for lessons only: two may lead")                    \
    X(CLUSTER, PREEMPT, "preempt", "WHEN",                                                         \
      "no, yes, or after TIME: replace a leader when a fitter member is up")                       \
    X(CLUSTER, TESTAMENT, "testament", "YES",                                                      \
      "yes, or no: the guardian of a leader that died ends its lease early")                       \
    X(CLUSTER, TESTAMENT_DELAY, "testament-delay", "TIME",                                         \
      "wait after all work has stopped, for work without tokens; default: 0ms")                    \
    X(CLUSTER, RUN_GROUP, "run-group", "NAME",                                                     \
      "user group that may use elect run; default: the group of the daemon")                       \
    X(CLUSTER, PRE_LEADER, "pre-leader", "PATH",                                                   \
      "a program to run before this member leads; it agrees if it exits with 0")                   \
    X(CLUSTER, ON_LEADER, "on-leader", "PATH", "a program to run when this member leads")          \
    X(CLUSTER, ON_FOLLOWER, "on-follower", "PATH",                                                 \
      "a program to run when it stops leading, before another member may lead")                    \
    X(CLUSTER, ON_LEADER_CHANGE, "on-leader-change", "PATH",                                       \
      "a program to run when the leader changes")                                                  \
    X(CLUSTER, HOOK_TIMEOUT, "hook-timeout", "TIME",                                               \
      "how long each of these programs may take; default: 10s")                                    \
    X(CLUSTER, LOG_LEVEL, "log-level", "LEVEL",                                                    \
      "error, warning, notice, info or debug: least level to log; default: info")                  \
    X(MEMBER, MEMBER_ID, "id", "N", "0 to 65535; if priorities are equal, the highest id leads")   \
    X(MEMBER, ADDRESS, "address", "HOST:PORT, ...",                                                \
      "one for each link; or dynamic: the source address of its packets")                          \
    X(MEMBER, ROLE, "role", "NAME", "member, witness (votes, never leads) or observer")            \
    X(MEMBER, PRIORITY, "priority", "N", "0 to 255; the highest leads; default: 0")                \
    X(GROUP, LEAD_ONLY_WITH_RUNNER, "lead-only-with-runner", "YES",                                \
      "yes: elect only members with an elect run for this group; default: no")

/* A host name in place of an address. It is looked up about every 10 s. */
struct config_host {
    char name[CONFIG_NAME]; /* empty if the address is numeric or "dynamic" */
    uint16_t port;
};

struct config_member {
    char name[CONFIG_NAME];
    bool has_id;
    uint8_t role, priority;
    struct elect_peer peer;
    struct config_host host[ELECT_UV_LINKS];
};

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
    uint8_t algorithm, mandate; /* enum elect_algorithm, enum elect_mandate_kind */
    bool preempt, tell_lower;
    bool testament;
    uint32_t testament_delay, hook_timeout;
    uint8_t log_level;                  /* enum level */
    char run_group[CONFIG_NAME];        /* may use elect run; empty: the daemon's group */
    char hook[HOOK_COUNT][CONFIG_PATH]; /* paths; empty if there is no hook */
    unsigned members, groups;
    struct config_member member[SESSION_PEERS];
    char group[STORE_GROUPS][CONFIG_NAME];
    bool lead_only_with_runner[STORE_GROUPS];
    struct text complaint;
    size_t reason; /* offset in `complaint` of the text after FILE:LINE */
};

/* Reads the configuration file and its conf.d. Returns false, with a complaint, if there is a
 * mistake. */
bool config_load(struct config *c, const char *path);

/* Calls `visit` with each file in conf.d, in the order they are read, and stores the path of conf.d
 * in `folder`. Returns false and sets errno if the folder cannot be read. */
bool config_each_part(const struct config *c, char folder[CONFIG_FILE],
                      void (*visit)(void *context, const char *path), void *context);

/* Parses a configuration from memory, without conf.d. `path` is the file name in complaints;
 * relative paths are resolved from its folder. */
bool config_parse(struct config *c, const char *path, const char *text);

/* Returns NULL if a member can have this address; otherwise the reason why not, worded to follow
 * the address in a sentence. */
const char *config_address_fault(const union elect_address *a);

/* Derives the election's configuration, which all groups share. Times are in microseconds. */
enum elect_error config_elect(const struct config *c, struct elect_config *e);

/* Returns how long a link may be silent before it counts as down, in microseconds: 3 s, or twice
 * the suspicion time if that is longer. */
int64_t config_link_silence(const struct elect_config *e);

/* Return NULL if there is none. */
const struct config_member *config_member(const struct config *c, const char *name);
const struct config_member *config_member_with(const struct config *c, uint16_t id);
const char *config_name(const struct config *c, uint16_t id);

/* Write the path of a member's state file, or of one of its sockets ("status", "admin", "run"). */
void config_state_path(const struct config *c, uint16_t id, char path[CONFIG_FILE]);
void config_socket_path(const struct config *c, uint16_t id, const char *which,
                        char path[CONFIG_FILE]);

/* Makes a path absolute, so that it stays valid after a chdir(). Leaves it relative if the absolute
 * path would be too long for a socket address. */
void config_make_absolute(char path[CONFIG_FILE]);

bool config_address(const char *text, union elect_address *address, struct config_host *host);

/* Returns the index of the named group or, if `name` is NULL, of the only group. Returns -1, with
 * the reason, if there is no such group. */
int config_group(const struct config *c, const char *name, struct text *why);

/* Writes a warning if the configuration is valid but unwise; otherwise an empty text. */
#define CONFIG_WARNING 128
void config_warning(const struct config *c, char warning[CONFIG_WARNING]);

/* Returns the user that runs the daemon: the owner of state-dir, or the calling user if there is no
 * state-dir yet. */
uid_t config_user(const struct config *c);

bool config_has_hooks(const struct config *c);

/* Returns "member", "witness" or "observer". Only a member may lead. */
const char *config_role(const struct config_member *m);
bool config_may_lead(const struct config_member *m);

void config_example(struct text *t);

#endif
