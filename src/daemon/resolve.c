/* Looks up the addresses of other members that are names: about every 10 s, or every second after a
 * failure, in a thread of libuv, one at a time. If a lookup fails, the last address stays. */
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

static void resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct resolver *r = request->data;
    struct daemon *d = r->daemon;
    union elect_address address;
    bool still =
        r->place / ELECT_UV_LINKS < d->config.members &&
        strcmp(host_at(d, r->place)->name, r->name) == 0; /* a reload may have changed it */
    r->busy = false;
    if (status == 0 && found != NULL && d->member != NULL && still) {
        memset(&address, 0, sizeof address);
        memcpy(&address, found->ai_addr,
               found->ai_addrlen < sizeof address ? found->ai_addrlen : sizeof address);
        elect_member_move(d->member, d->config.member[r->place / ELECT_UV_LINKS].peer.id,
                          r->place % ELECT_UV_LINKS, &address);
    }
    uv_freeaddrinfo(found);
    r->failed = r->failed || status != 0;
    r->place++;
    if (d->member != NULL)
        look_up(d);
}

/* Starts to look up the first name at this place or after it; resolved() continues. */
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
