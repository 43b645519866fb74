/* Collects what a member is started with: addresses, some of which are names that are looked up,
 * its groups, its state file, its keys. */
#include "enrolment.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

bool enroll_resolve(const struct config_host *host, sa_family_t family,
                    union elect_address *address)
{
    const struct addrinfo hints = {
        .ai_family = family, .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    char port[8];
    snprintf(port, sizeof port, "%u", host->port);
    if (getaddrinfo(host->name, port, &hints, &found) != 0)
        return false;
    memset(address, 0, sizeof *address);
    memcpy(address, found->ai_addr,
           found->ai_addrlen < sizeof *address ? found->ai_addrlen : sizeof *address);
    freeaddrinfo(found);
    return true;
}

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
    for (unsigned link = 0; link < me->peer.links; link++)
        if (me->host[link].name[0] != '\0' &&
            !enroll_resolve(&me->host[link], AF_UNSPEC, &e->peer[me - c->member].link[link])) {
            text_add(complaint, me->host[link].name);
            text_add(complaint, ": this member's own address cannot be found");
            return false;
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
            if (host->name[0] == '\0' ||
                enroll_resolve(host, e->peer[me].link[link].any.sa_family, &e->peer[i].link[link]))
                continue;
            text_add(complaint, host->name);
            text_add(complaint,
                     ": the address of another member cannot be found, so that it cannot "
                     "be asked; try again later");
            return false;
        }
    return true;
}

void enroll_keys(struct enrolment *e, const struct keys *keys)
{
    e->options.keys = keys->count;
    memcpy(e->options.key, keys->key, sizeof e->options.key);
}

void enroll_wipe(struct enrolment *e) { explicit_bzero(e->options.key, sizeof e->options.key); }
