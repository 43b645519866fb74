/* The sockets of a member: one for each link. */
#ifndef ELECT_NET_H
#define ELECT_NET_H

#include "member.h"

struct net {
    uv_poll_t poll[MEMBER_LINKS];
    int fd[MEMBER_LINKS];
    unsigned links;
    void (*take)(void *context, unsigned link, const union member_address *from,
                 const uint8_t *bytes, size_t length);
    void (*rested)(void *context); /* after the packets of a turn */
    void *context;
};

/* 0, or an errno, and which link. */
int net_open(struct net *n, uv_loop_t *loop, const struct member_peer *me, unsigned *which);
void net_send(struct net *n, unsigned link, const union member_address *to, const uint8_t *bytes,
              size_t length);
void net_filter(struct net *n, const uint32_t *tags, unsigned count);
void net_close(struct net *n, uv_close_cb closed); /* whose handle's data is the context */
bool net_same(const union member_address *a, const union member_address *b);

#endif
