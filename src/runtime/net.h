/* The sockets of a member, one for each link. */
#ifndef ELECT_RUNTIME_NET_H
#define ELECT_RUNTIME_NET_H

#include "elect-uv.h"
#include "filter.h"
#include "session.h"

#define NET_AT_ONCE 16 /* packets per recvmmsg() */
#define NET_QUEUE   32 /* packets per sendmmsg() */

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
    void (*rested)(void *context);
    void (*broken)(void *context, int error);
    void *context;
    uint8_t bytes[NET_AT_ONCE][SEAL_MAX_PACKET + 1];
    unsigned queued;
    struct net_packet queue[NET_QUEUE];
};

/* Returns the address of `me` on a link, or else the wildcard address in the address family of
 * `other`. */
union elect_address net_own(const struct elect_peer *me, const struct elect_peer *other,
                            unsigned link);

/* Binds a socket to net_own() for each link. Returns 0, or an errno with the number of the failed
 * link in `which`, counted from 1. */
int net_bind(const struct elect_peer *me, const struct elect_peer *other, int fd[ELECT_UV_LINKS],
             unsigned *which);
/* Starts to receive on the sockets, and takes ownership of them even after an error. Returns 0 or
 * an errno. */
int net_open(struct net *n, uv_loop_t *loop, const int *fd, unsigned links);
void net_send(struct net *n, unsigned link, const union elect_address *to, const uint8_t *bytes,
              size_t length);
void net_flush(struct net *n);
void net_filter(struct net *n, const uint32_t *tags, unsigned count, enum filter_samples samples,
                const struct elect_peer *peer, unsigned peers);
/* libuv later calls `closed` for each socket, with a handle whose `data` is the context. */
void net_close(struct net *n, uv_close_cb closed);
bool net_same(const union elect_address *a, const union elect_address *b);

#endif
