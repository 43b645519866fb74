/* Collects a member's start options: groups, state file, keys, and the addresses of all members,
 * including DNS lookups. */
#include "enrolment.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

/* ---- addresses ---- */

const char *enroll_resolve(const struct config_host *host, sa_family_t family,
                           union elect_address *address)
{
    const struct addrinfo hints = {
        .ai_family = family, .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    char port[8];
    snprintf(port, sizeof port, "%u", host->port);
    if (getaddrinfo(host->name, port, &hints, &found) != 0)
        return " cannot be resolved to an address";
    memset(address, 0, sizeof *address);
    memcpy(address, found->ai_addr,
           found->ai_addrlen < sizeof *address ? found->ai_addrlen : sizeof *address);
    freeaddrinfo(found);
    return config_address_fault(address);
}

static bool same_address(const union elect_address *a, const struct sockaddr *other)
{
    const union elect_address *b = (const union elect_address *)(const void *)other;
    if (other == NULL || other->sa_family != a->any.sa_family)
        return false;
    return a->any.sa_family == AF_INET6
               ? memcmp(&a->six.sin6_addr, &b->six.sin6_addr, sizeof a->six.sin6_addr) == 0
               : a->four.sin_addr.s_addr == b->four.sin_addr.s_addr;
}

/* Returns true if an interface has the address or, with `broadcast`, has it as its broadcast
 * address. All of 127.0.0.0/8 is local, even if no interface shows it. */
static bool has_interface(const union elect_address *a, bool broadcast)
{
    const uint32_t four = ntohl(a->four.sin_addr.s_addr);
    struct ifaddrs *all;
    bool found = false;
    if (a->any.sa_family == AF_INET && four >> 24 == IN_LOOPBACKNET)
        return broadcast == (four == (INADDR_LOOPBACK | 0xffffff));
    if (getifaddrs(&all) != 0)
        return false;
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next)
        found = found || (!broadcast ? same_address(a, i->ifa_addr)
                                     : (i->ifa_flags & IFF_BROADCAST) != 0 &&
                                           same_address(a, i->ifa_broadaddr));
    freeifaddrs(all);
    return found;
}

bool enroll_is_local(const union elect_address *a) { return has_interface(a, false); }

/* Returns true if this is a broadcast address and not also an address of this machine. It can be
 * both in a network of a single address, as in some clouds. */
static bool is_broadcast(const union elect_address *a)
{
    return has_interface(a, true) && !has_interface(a, false);
}

static bool refuse(struct text *complaint, const struct config_member *m, const char *host,
                   const char *why)
{
    text_add(complaint, "member ");
    text_add(complaint, m->name);
    text_add(complaint, ": ");
    text_add(complaint, host);
    return text_refuse(complaint, why);
}

/* ---- a member ---- */

bool enroll_member(struct enrolment *e, const struct config *c, const struct config_member *me,
                   struct text *complaint)
{
    struct elect_config config;
    memset(e, 0, sizeof *e);
    config_elect(c, &config);
    config_state_path(c, me->peer.id, e->state);
    e->options = (struct elect_member_options){.id = me->peer.id,
                                               .state = e->state,
                                               .peers = c->members,
                                               .peer = e->peer,
                                               .groups = c->groups,
                                               .group = e->group};
    memcpy(e->options.cluster, c->cluster, sizeof e->options.cluster);
    for (unsigned i = 0; i < c->members; i++)
        e->peer[i] = c->member[i].peer;
    for (unsigned link = 0; link < me->peer.links; link++) {
        union elect_address *own = &e->peer[me - c->member].link[link];
        const char *name = me->host[link].name;
        const char *why = name[0] != '\0' ? enroll_resolve(&me->host[link], AF_UNSPEC, own) : NULL;
        if (why == NULL && is_broadcast(own))
            why = " is a broadcast address of this machine: write the member's own address";
        if (why != NULL)
            return refuse(complaint, me, name[0] != '\0' ? name : "its address", why);
    }
    for (unsigned i = 0; i < c->groups; i++) {
        memcpy(e->group[i].name, c->group[i], sizeof e->group[i].name);
        e->group[i].config = config;
    }
    return true;
}

bool enroll_others(struct enrolment *e, const struct config *c, struct text *complaint)
{
    unsigned me = 0;
    while (e->peer[me].id != e->options.id)
        me++;
    for (unsigned i = 0; i < c->members; i++)
        for (unsigned link = 0; link < e->peer[i].links && i != me; link++) {
            const struct config_host *host = &c->member[i].host[link];
            const char *why = host->name[0] == '\0'
                                  ? NULL
                                  : enroll_resolve(host, e->peer[me].link[link].any.sa_family,
                                                   &e->peer[i].link[link]);
            if (why != NULL) {
                refuse(complaint, &c->member[i], host->name, why);
                return text_refuse(complaint, ", so the member cannot be reached: try again later");
            }
        }
    return true;
}

void enroll_keys(struct enrolment *e, const struct keys *keys)
{
    e->options.keys = keys->count;
    memcpy(e->options.key, keys->key, sizeof e->options.key);
}

void enroll_wipe(struct enrolment *e) { explicit_bzero(e->options.key, sizeof e->options.key); }
