/* Parses a single value: a duration, a path, an address, or one of a few fixed words. Each function
 * reports a wrong value, and what it expected, in one line. */
#include "config_internal.h"

#include "../base/parse.h"
#include "level.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECOND 1000u
#define SECOND      1000000u

static const char *const no_yes[] = {"no", "yes"};
static const char *const mandates[] = {[ELECT_NO_MANDATE] = "none", [ELECT_MAJORITY] = "majority"};

static const struct {
    const char *name;
    uint32_t lease, renewal, delay;
} profiles[] = {
    {"fast", 60 * MILLISECOND, 12 * MILLISECOND, 2 * MILLISECOND},
    {"lan", SECOND, 200 * MILLISECOND, 20 * MILLISECOND},
    {"wan", 5 * SECOND, SECOND, 250 * MILLISECOND},
};

static bool take_duration(struct config *c, const char *value, uint32_t *to)
{
    uint64_t time = 0;
    bool fine = parse_duration(value, UINT32_MAX, &time);
    *to = (uint32_t)time;
    return fine ||
           config_complain(c, "not a duration", value, ": expected for example 200ms, 1s or 2m");
}

/* Parses a percentage such as 0.05% into millionths. */
static bool take_percent(struct config *c, const char *value, uint32_t *to)
{
    char *end;
    double percent = strtod(value, &end);
    if (end == value || strcmp(end, "%") != 0 || !(percent >= 0 && percent < 50))
        return config_complain(c, "not a percentage", value,
                               ": expected for example 1% or 0.05%, below 50%");
    *to = (uint32_t)(percent * 10000 + 0.5);
    return true;
}

static bool take_number(struct config *c, const char *value, uint64_t limit, uint64_t *to)
{
    char remedy[64];
    snprintf(remedy, sizeof remedy, ": expected 0 to %llu", (unsigned long long)limit);
    return parse_number(value, limit, to) || config_complain(c, "not a number", value, remedy);
}

static bool take_path(struct config *c, const char *value, char to[CONFIG_PATH])
{
    int folder = value[0] == '/' ? 0 : config_folder(c);
    if (value[0] == '\0')
        return config_complain(c, "not a path", value, ": expected the name of a file or a folder");
    return (size_t)snprintf(to, CONFIG_PATH, "%.*s%s", folder, c->path, value) < CONFIG_PATH ||
           config_complain(c, "path", value, " is too long: at most 255 characters");
}

/* A hook's path must be absolute, because trusted.c checks the owner of every folder from /
 * down. */
static bool take_hook(struct config *c, const char *value, enum hook hook)
{
    if (value[0] != '/')
        return config_complain(c, "not an absolute path", value,
                               ": expected a program, for example /usr/local/bin/hook");
    return take_path(c, value, c->hook[hook]);
}

static bool take_cluster_id(struct config *c, const char *value)
{
    unsigned digit[2];
    c->has_cluster = strlen(value) == 2 * SEAL_CLUSTER &&
                     strspn(value, "0123456789abcdefABCDEF") == 2 * SEAL_CLUSTER;
    for (unsigned i = 0; i < SEAL_CLUSTER && c->has_cluster; i++) {
        sscanf(value + 2 * (size_t)i, "%1x%1x", &digit[0], &digit[1]);
        c->cluster[i] = (uint8_t)(16 * digit[0] + digit[1]);
    }
    return c->has_cluster ||
           config_complain(c, "not a cluster id", value, ": expected 32 hexadecimal digits");
}

static bool take_profile(struct config *c, const char *value)
{
    const char *names[sizeof profiles / sizeof profiles[0]];
    for (unsigned i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        names[i] = profiles[i].name;
        if (strcmp(value, names[i]) == 0) {
            c->lease = profiles[i].lease;
            c->renewal = profiles[i].renewal;
            c->delay = profiles[i].delay;
            return true;
        }
    }
    return config_complain_unknown(c, "unknown profile ", value, names,
                                   sizeof names / sizeof names[0]);
}

static bool take_choice(struct config *c, const char *what, const char *value,
                        const char *const *names, unsigned count, uint8_t *to)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(value, names[i]) == 0) {
            *to = (uint8_t)i;
            return true;
        }
    return config_complain_unknown(c, what, value, names, count);
}

static bool take_algorithm(struct config *c, const char *value)
{
    const char *names[ELECT_ALGORITHM_COUNT];
    for (unsigned i = 0; i < ELECT_ALGORITHM_COUNT; i++)
        names[i] = elect_algorithm_name((enum elect_algorithm)i);
    return take_choice(c, "unknown algorithm ", value, names, ELECT_ALGORITHM_COUNT, &c->algorithm);
}

static bool take_preempt(struct config *c, const char *value)
{
    uint64_t after = 0;
    bool fine = strcmp(value, "no") == 0 || strcmp(value, "yes") == 0 ||
                (strncmp(value, "after ", 6) == 0 && parse_duration(value + 6, UINT32_MAX, &after));
    c->preempt = strcmp(value, "no") != 0;
    c->preempt_after = (uint32_t)after;
    return fine || config_complain(c, "unknown value", value,
                                   ": expected no, yes or for example after 30s");
}

/* A text of only digits and dots is a mistyped address, not a host name. */
static bool is_host(const char *s)
{
    size_t length = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-");
    return length > 0 && s[length] == '\0' && s[0] != '-' && s[0] != '.' &&
           strspn(s, "0123456789.") != length;
}

/* Accepts 10.0.0.1:7400, [fd00::1]:7400 and a.example.org:7400. */
bool config_address(const char *text, union elect_address *a, struct config_host *host)
{
    uint64_t port;
    const char *colon = strrchr(text, ':');
    bool six = text[0] == '[';
    memset(a, 0, sizeof *a);
    memset(host, 0, sizeof *host);
    if (colon == NULL || !parse_number(colon + 1, 65535, &port) || port == 0 ||
        (six && (colon < text + 2 || colon[-1] != ']')))
        return false;
    size_t length = (size_t)(colon - text) - (six ? 2 : 0);
    if (length >= sizeof host->name)
        return false;
    memcpy(host->name, text + (six ? 1 : 0), length);
    host->port = (uint16_t)port;
    bool known = inet_pton(six ? AF_INET6 : AF_INET, host->name,
                           six ? (void *)&a->six.sin6_addr : (void *)&a->four.sin_addr) == 1;
    if (!known)
        return !six && is_host(host->name);
    a->any.sa_family = six ? AF_INET6 : AF_INET;
    a->four.sin_port = htons(host->port); /* same offset in sockaddr_in6 */
    memset(host->name, 0, sizeof host->name);
    return true;
}

const char *config_address_fault(const union elect_address *a)
{
    const uint32_t four = ntohl(a->four.sin_addr.s_addr);
    const struct in6_addr *six = &a->six.sin6_addr;
    bool is_six = a->any.sa_family == AF_INET6, is_four = a->any.sa_family == AF_INET;
    if (is_six && IN6_IS_ADDR_V4MAPPED(six))
        return " is an IPv4 address in IPv6 notation: write it as an IPv4 address";
    if ((is_four && four == INADDR_ANY) || (is_six && IN6_IS_ADDR_UNSPECIFIED(six)))
        return " is a wildcard: write the address at which the other members reach this one";
    if ((is_four && IN_MULTICAST(four)) || (is_six && IN6_IS_ADDR_MULTICAST(six)))
        return " is a multicast address: write the member's own address";
    if (is_four && four == INADDR_BROADCAST)
        return " is the broadcast address: write the member's own address";
    if (is_six && IN6_IS_ADDR_LINKLOCAL(six))
        return " is a link-local address, which needs an interface: write a routable address";
    if (is_four && (IN_BADCLASS(four) || four >> 24 == 0))
        return " is reserved: write the member's own address";
    return NULL;
}

static bool take_addresses(struct config *c, const char *value, struct config_member *m)
{
    struct elect_peer *p = &m->peer;
    char copy[512], *next;
    if ((size_t)snprintf(copy, sizeof copy, "%s", value) >= sizeof copy)
        return config_complain(c, "the value is too long", NULL, ": at most 4 addresses");
    p->links = 0;
    p->dynamic = strcmp(value, "dynamic") == 0;
    if (p->dynamic) {
        p->links = 1;
        memset(&p->link[0], 0, sizeof p->link[0]);
        return true;
    }
    for (char *at = strtok_r(copy, ", ", &next); at != NULL; at = strtok_r(NULL, ", ", &next)) {
        if (p->links == ELECT_UV_LINKS)
            return config_complain(c, "too many addresses", NULL, ": at most 4");
        if (!config_address(at, &p->link[p->links], &m->host[p->links]))
            return config_complain(
                c, "not an address", at,
                ": expected for example 10.0.0.1:7400, [fd00::1]:7400 or a.example.org:7400");
        const char *why = config_address_fault(&p->link[p->links]);
        if (why != NULL)
            return config_complain(c, "address", at, why);
        p->links++;
    }
    return p->links > 0 ||
           config_complain(c, "no address", NULL, ": expected for example 10.0.0.1:7400");
}

static bool take_name(struct config *c, const char *value, char to[CONFIG_NAME])
{
    if (!config_is_name(value))
        return config_complain_name(c, value);
    memcpy(to, value, strlen(value) + 1);
    return true;
}

bool config_take_value(struct config *c, unsigned index, enum config_key key, const char *value)
{
    struct config_member *m = &c->member[index];
    uint64_t number = 0;
    uint8_t choice = 0;
    bool fine;
    switch (key) {
    case KEY_ID: return take_cluster_id(c, value);
    case KEY_KEY_FILE: return take_path(c, value, c->key_file);
    case KEY_STATE_DIR: return take_path(c, value, c->state_dir);
    case KEY_RUN_DIR: return take_path(c, value, c->run_dir);
    case KEY_PROFILE: return take_profile(c, value);
    case KEY_LEASE: return take_duration(c, value, &c->lease);
    case KEY_RENEWAL: return take_duration(c, value, &c->renewal);
    case KEY_MAX_LEASE: return take_duration(c, value, &c->max_lease);
    case KEY_DELAY: return take_duration(c, value, &c->delay);
    case KEY_RHO: return take_percent(c, value, &c->rho);
    case KEY_ALGORITHM: return take_algorithm(c, value);
    case KEY_MANDATE: return take_choice(c, "unknown mandate ", value, mandates, 2, &c->mandate);
    case KEY_PREEMPT: return take_preempt(c, value);
    case KEY_TELL_LOWER:
        fine = take_choice(c, "unknown value ", value, no_yes, 2, &choice);
        c->tell_lower = choice == 1;
        return fine;
    case KEY_TESTAMENT:
        fine = take_choice(c, "unknown value ", value, no_yes, 2, &choice);
        c->testament = choice == 1;
        return fine;
    case KEY_TESTAMENT_DELAY: return take_duration(c, value, &c->testament_delay);
    case KEY_RUN_GROUP: return take_name(c, value, c->run_group);
    case KEY_PRE_LEADER: return take_hook(c, value, HOOK_PRE_LEADER);
    case KEY_ON_LEADER: return take_hook(c, value, HOOK_ON_LEADER);
    case KEY_ON_FOLLOWER: return take_hook(c, value, HOOK_ON_FOLLOWER);
    case KEY_ON_LEADER_CHANGE: return take_hook(c, value, HOOK_ON_LEADER_CHANGE);
    case KEY_HOOK_TIMEOUT:
        return take_duration(c, value, &c->hook_timeout) &&
               (c->hook_timeout > 0 || config_complain(c, "hook-timeout", value,
                                                       " is too short: expected for example 10s"));
    case KEY_LOG_LEVEL:
        fine = take_choice(c, "unknown log level ", value, level_words, LEVEL_COUNT, &choice);
        c->log_level = (uint8_t)(LEVEL_FIRST + choice);
        return fine;
    case KEY_MEMBER_ID:
        fine = take_number(c, value, ELECT_MAX_ID, &number);
        m->has_id = fine;
        m->peer.id = (uint16_t)number;
        return fine;
    case KEY_ADDRESS: return take_addresses(c, value, m);
    case KEY_ROLE: return take_choice(c, "unknown role ", value, config_roles, 3, &m->role);
    case KEY_PRIORITY:
        fine = take_number(c, value, UINT8_MAX, &number);
        m->priority = (uint8_t)number;
        return fine;
    case KEY_LEAD_ONLY_WITH_RUNNER:
        fine = take_choice(c, "unknown value ", value, no_yes, 2, &choice);
        c->lead_only_with_runner[index] = choice == 1;
        return fine;
    case KEY_COUNT: break;
    }
    return false;
}
