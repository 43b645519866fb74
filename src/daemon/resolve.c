/* Looks up other members' host names about every 10 s, or every second after a failure. Lookups run
 * one at a time, in a libuv thread. If one fails, the member keeps the last address. */
#include "daemon.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

static void look_up(struct daemon *d);

static const struct config_host *host_at(const struct daemon *d, unsigned place)
{
    return &d->config.member[place / ELECT_UV_LINKS].host[place % ELECT_UV_LINKS];
}

/* Logs only the first failure of a name, and when it can be resolved again. */
static void log_change(struct daemon *d, unsigned place, int status)
{
    const struct config_member *m = &d->config.member[place / ELECT_UV_LINKS];
    char text[JOURNAL_TEXT];
    if (d->resolver.unknown[place] == (status != 0))
        return;
    d->resolver.unknown[place] = status != 0;
    snprintf(text, sizeof text, "%s %.80s, address %u of member %s",
             status != 0 ? "cannot resolve" : "resolved", d->resolver.name,
             place % ELECT_UV_LINKS + 1, m->name);
    daemon_note(d, &(struct journal_note){.event = JOURNAL_LINK,
                                          .level = status != 0 ? LEVEL_WARNING : 0,
                                          .group = -1,
                                          .text = text,
                                          .cause = status != 0 ? uv_strerror(status) : NULL,
                                          .peer = m->name});
}

static void resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct resolver *r = request->data;
    struct daemon *d = r->daemon;
    union elect_address address;
    bool still =
        r->place / ELECT_UV_LINKS < d->config.members &&
        strcmp(host_at(d, r->place)->name, r->name) == 0; /* a reload may have changed it */
    r->busy = false;
    if (status == 0) {
        memset(&address, 0, sizeof address);
        memcpy(&address, found->ai_addr,
               found->ai_addrlen < sizeof address ? found->ai_addrlen : sizeof address);
        status = config_address_fault(&address) != NULL ? UV_EADDRNOTAVAIL : 0;
    }
    if (status == 0 && d->member != NULL && still) {
        elect_member_move(d->member, d->config.member[r->place / ELECT_UV_LINKS].peer.id,
                          r->place % ELECT_UV_LINKS, &address);
    }
    uv_freeaddrinfo(found);
    if (d->member != NULL && still)
        log_change(d, r->place, status);
    r->failed = r->failed || status != 0;
    r->place++;
    if (d->member != NULL)
        look_up(d);
}

/* resolved() continues with the next one. */
static void look_up(struct daemon *d)
{
    struct resolver *r = &d->resolver;
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV};
    for (; r->place < d->config.members * ELECT_UV_LINKS; r->place++) {
        const struct config_host *host = host_at(d, r->place);
        if (host->name[0] == '\0' || &d->config.member[r->place / ELECT_UV_LINKS] == d->me)
            continue;
        r->daemon = d;
        r->request.data = r;
        memcpy(r->name, host->name, sizeof r->name);
        snprintf(port, sizeof port, "%u", host->port);
        hints.ai_family = d->family[r->place % ELECT_UV_LINKS];
        r->busy = uv_getaddrinfo(&d->loop, &r->request, resolved, host->name, port, &hints) == 0;
        if (r->busy)
            return;
    }
}

void resolve_all(struct daemon *d)
{
    if (d->resolver.busy)
        return;
    d->resolver.place = 0;
    d->resolver.failed = false;
    look_up(d);
}
