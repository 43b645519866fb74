#include "net.h"

#include "filter.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PACKETS_A_TURN 256

static socklen_t size_of(const union member_address *a)
{
    return a->any.sa_family == AF_INET6 ? sizeof a->six : sizeof a->four;
}

bool net_same(const union member_address *a, const union member_address *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return false;
    if (a->any.sa_family == AF_INET6)
        return a->six.sin6_port == b->six.sin6_port &&
               memcmp(&a->six.sin6_addr, &b->six.sin6_addr, sizeof a->six.sin6_addr) == 0;
    return a->four.sin_port == b->four.sin_port &&
           a->four.sin_addr.s_addr == b->four.sin_addr.s_addr;
}

static void readable(uv_poll_t *poll, int status, int events)
{
    struct net *n = poll->data;
    unsigned link = (unsigned)(poll - n->poll);
    uint8_t bytes[SEAL_MAX_PACKET + 1];
    (void)status;
    (void)events;
    for (unsigned i = 0; i < PACKETS_A_TURN && link < n->links; i++) { /* until it is closed */
        union member_address from;
        socklen_t size = sizeof from;
        ssize_t got = recvfrom(n->fd[link], bytes, sizeof bytes, 0, &from.any, &size);
        if (got < 0)
            break;
        n->take(n->context, link, &from, bytes, (size_t)got);
    }
    n->rested(n->context);
}

static int open_link(struct net *n, uv_loop_t *loop, const union member_address *at)
{
    unsigned link = n->links;
    int one = 1;
    n->fd[link] = socket(at->any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (n->fd[link] < 0)
        return errno;
    int error = uv_poll_init(loop, &n->poll[link], n->fd[link]);
    if (error != 0) {
        close(n->fd[link]);
        return -error;
    }
    n->links++;
    n->poll[link].data = n;
    if (at->any.sa_family == AF_INET6)
        setsockopt(n->fd[link], IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(n->fd[link], &at->any, size_of(at)) != 0)
        return errno;
    return -uv_poll_start(&n->poll[link], UV_READABLE, readable);
}

int net_open(struct net *n, uv_loop_t *loop, const struct member_peer *me, unsigned *which)
{
    int error = 0;
    n->links = 0;
    for (*which = 0; *which < me->links && error == 0; ++*which)
        error = open_link(n, loop, &me->link[*which]);
    return error;
}

/* What cannot be sent now is lost, as on any network. */
void net_send(struct net *n, unsigned link, const union member_address *to, const uint8_t *bytes,
              size_t length)
{
    if (link < n->links)
        (void)!sendto(n->fd[link], bytes, length, 0, &to->any, size_of(to));
}

void net_filter(struct net *n, const uint32_t *tags, unsigned count)
{
    for (unsigned link = 0; link < n->links; link++)
        if (!filter_attach(n->fd[link], tags, count))
            filter_detach(
                n->fd[link]); /* it only saves work; the old one would keep new ones out */
}

void net_close(struct net *n, uv_close_cb closed)
{
    for (unsigned link = 0; link < n->links; link++) {
        uv_poll_stop(&n->poll[link]);
        close(n->fd[link]);
        n->poll[link].data = n->context;
        uv_close((uv_handle_t *)&n->poll[link], closed);
    }
    n->links = 0;
}
