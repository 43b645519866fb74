/* Members whose address is a name: it is looked up again and again, one after another, and the last
 * good answer is kept when there is none. */
#include "daemon.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

static const struct addrinfo hints = {
    .ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV};

static void resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct resolver *r = request->data;
    union elect_address address;
    r->busy = false;
    if (status == 0 && found != NULL && r->daemon->member != NULL) {
        memset(&address, 0, sizeof address);
        memcpy(&address, found->ai_addr,
               found->ai_addrlen < sizeof address ? found->ai_addrlen : sizeof address);
        elect_member_move(r->daemon->member, r->id, r->link, &address);
    }
    uv_freeaddrinfo(found);
}

void resolve_next(struct daemon *d)
{
    struct resolver *r = &d->resolver;
    char port[8];
    unsigned places = d->config.members * ELECT_UV_LINKS;
    for (unsigned i = 0; i < places && !r->busy; i++) {
        unsigned place = (unsigned)(d->ticks + i) % places;
        const struct config_member *m = &d->config.member[place / ELECT_UV_LINKS];
        const struct config_host *host = &m->host[place % ELECT_UV_LINKS];
        if (host->name[0] == '\0' || m == d->me)
            continue;
        *r = (struct resolver){
            .daemon = d, .busy = true, .id = m->peer.id, .link = (uint8_t)(place % ELECT_UV_LINKS)};
        r->request.data = r;
        snprintf(port, sizeof port, "%u", host->port);
        r->busy = uv_getaddrinfo(&d->loop, &r->request, resolved, host->name, port, &hints) == 0;
    }
}
