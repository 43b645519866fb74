/* Tracks the addresses of the peers. A dynamic peer is reached at the source address of its
 * packets. It may move to another address while it runs, but an attacker that replays its packets
 * from elsewhere must not be able to change its address. */
#include "member.h"

#define MOVED_PACKETS 5 /* packets needed from a new address before a dynamic peer has moved */

unsigned member_peer_with(const struct elect_member *m, uint16_t id)
{
    unsigned peer = 0;
    while (peer < m->peers && m->peer[peer].id != id)
        peer++;
    return peer;
}

bool member_is_candidate_heard(const struct elect_member *m, const struct candidate *c)
{
    return c->packets > 0 && elect_uv_now() - c->heard < (elect_time)m->sessions->suspicion;
}

static void move(struct elect_member *m, unsigned peer, unsigned link,
                 const union elect_address *to)
{
    if (net_same(&m->peer[peer].link[link], to))
        return;
    m->peer[peer].link[link] = *to;
    m->candidate[peer][link].packets = 0;
    member_deposit_anew(m);
}

/* A dynamic peer has moved once its newest packets, at least MOVED_PACKETS of them, have all come
 * from one new address for at least the suspicion time. An attacker that relays the peer's packets
 * from another address cannot move the peer while packets still arrive from the known address, even
 * if the attacker's copies arrive first. */
void member_follow_address(struct elect_member *m, unsigned peer, unsigned link,
                           const union elect_address *from)
{
    struct candidate *c = &m->candidate[peer][link];
    elect_time now = elect_uv_now();
    if (m->event.later)
        c->packets = 0;
    if (!m->peer[peer].dynamic || !m->event.newest || net_same(&m->peer[peer].link[link], from))
        return;
    if (c->packets == 0 || !net_same(&c->address, from))
        *c = (struct candidate){.address = *from, .since = now};
    c->packets++;
    c->heard = now;
    if (m->peer[peer].link[link].any.sa_family == AF_UNSPEC ||
        (c->packets >= MOVED_PACKETS && now - c->since >= (elect_time)m->sessions->suspicion))
        move(m, peer, link, from);
}

void elect_member_move(struct elect_member *m, uint16_t id, unsigned link,
                       const union elect_address *to)
{
    unsigned peer = member_peer_with(m, id);
    if (peer < m->peers && peer != m->me && link < m->peer[peer].links)
        move(m, peer, link, to);
}
