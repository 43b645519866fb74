/* The sockets of a member, one for each link. */
#ifndef ELECT_RUNTIME_NET_H
#define ELECT_RUNTIME_NET_H

#include "elect-uv.h"
#include "filter.h"
#include "session.h"

#define NET_AT_ONCE 16 /* most packets that one call receives */
#define NET_QUEUE   32 /* most packets that one call sends */

struct net_packet {
    unsigned link;
    size_t length;
    union elect_address to;
    uint8_t bytes[SEAL_MAX_PACKET];
};

struct net {
    uv_poll_t poll[ELECT_UV_LINKS];
    int fd[ELECT_UV_LINKS];
    unsigned links;
    struct elect_traffic traffic;
    void (*take)(void *context, unsigned link, const union elect_address *from,
                 const uint8_t *bytes, size_t length);
    void (*rested)(void *context); /* called when no more packets are waiting */
    void (*broken)(void *context, int error);
    void *context;
    uint8_t bytes[NET_AT_ONCE][SEAL_MAX_PACKET + 1];
    unsigned queued;
    struct net_packet queue[NET_QUEUE];
};

/* Returns the address of `me` on a link, or the wildcard address of the family of `other`. */
union elect_address net_own(const struct elect_peer *me, const struct elect_peer *other,
                            unsigned link);

/* Binds a socket for each link. Returns 0, or an errno; `which` is then the number of the link
 * whose socket could not be bound, counted from 1. For a link without an address, the socket is
 * bound to the wildcard address in the address family of `other`. */
int net_bind(const struct elect_peer *me, const struct elect_peer *other, int fd[ELECT_UV_LINKS],
             unsigned *which);
/* Begins to receive on the sockets. Returns 0 or an errno. The descriptors belong to `n` from then
 * on, even after an error. */
int net_open(struct net *n, uv_loop_t *loop, const int *fd, unsigned links);
/* Queues a packet. net_flush() sends all queued packets, with one system call for each link. */
void net_send(struct net *n, unsigned link, const union elect_address *to, const uint8_t *bytes,
              size_t length);
void net_flush(struct net *n);
/* Makes the sockets accept packets with these tags, and samples of other packets. */
void net_filter(struct net *n, const uint32_t *tags, unsigned count, enum filter_samples samples,
                const struct elect_peer *peer, unsigned peers);
/* Closes the sockets. libuv then calls `closed` for each of them, with a handle whose `data` is the
 * context. */
void net_close(struct net *n, uv_close_cb closed);
bool net_same(const union elect_address *a, const union elect_address *b);

#endif
