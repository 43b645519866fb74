/* Opens the sockets, and receives and sends packets in batches. */
#include "net.h"

#include "filter.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PACKETS_A_TURN 256

static socklen_t size_of(const union elect_address *a)
{
    return a->any.sa_family == AF_INET6 ? sizeof a->six : sizeof a->four;
}

bool net_same(const union elect_address *a, const union elect_address *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return false;
    if (a->any.sa_family == AF_INET6)
        return a->six.sin6_port == b->six.sin6_port &&
               memcmp(&a->six.sin6_addr, &b->six.sin6_addr, sizeof a->six.sin6_addr) == 0;
    return a->four.sin_port == b->four.sin_port &&
           a->four.sin_addr.s_addr == b->four.sin_addr.s_addr;
}

static void readable(uv_poll_t *poll, int status, int events);

/* libuv stops polling a socket when the kernel reports a failed send. */
static void look_again(struct net *n, unsigned link)
{
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(n->fd[link], SOL_SOCKET, SO_ERROR, &error, &size);
    error = -uv_poll_start(&n->poll[link], UV_READABLE, readable);
    if (error != 0)
        n->broken(n->context, error);
}

/* Returns fewer than NET_AT_ONCE if no more packets are waiting. */
static unsigned take_some(struct net *n, unsigned link)
{
    uint8_t(*bytes)[SEAL_MAX_PACKET + 1] = n->bytes;
    union elect_address from[NET_AT_ONCE];
    struct iovec part[NET_AT_ONCE];
    struct mmsghdr packet[NET_AT_ONCE];
    for (unsigned i = 0; i < NET_AT_ONCE; i++) {
        part[i] = (struct iovec){bytes[i], sizeof bytes[i]};
        packet[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
                                            .msg_namelen = sizeof from[i],
                                            .msg_iov = &part[i],
                                            .msg_iovlen = 1};
    }
    int got = recvmmsg(n->fd[link], packet, NET_AT_ONCE, MSG_DONTWAIT, NULL);
    /* the callback may close the sockets */
    for (int i = 0; i < got && link < n->links; i++) {
        n->traffic.taken++;
        n->traffic.taken_bytes += packet[i].msg_len;
        n->take(n->context, link, &from[i], bytes[i], packet[i].msg_len);
    }
    return got < 0 ? 0 : (unsigned)got;
}

static void readable(uv_poll_t *poll, int status, int events)
{
    struct net *n = poll->data;
    unsigned link = (unsigned)(poll - n->poll), taken = 0, some = NET_AT_ONCE;
    (void)events;
    if (status < 0) {
        look_again(n, link);
        return;
    }
    for (; some == NET_AT_ONCE && taken < PACKETS_A_TURN && link < n->links; taken += some)
        some = take_some(n, link);
    n->rested(n->context);
}

static union elect_address anywhere(const union elect_address *other)
{
    union elect_address a = {.any = {.sa_family = other->any.sa_family}};
    if (a.any.sa_family != AF_INET6)
        a.four = (struct sockaddr_in){.sin_family = AF_INET};
    return a;
}

static int bound(const union elect_address *at, int *fd)
{
    int one = 1, error;
    *fd = socket(at->any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return errno;
    if (at->any.sa_family == AF_INET6)
        setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(*fd, &at->any, size_of(at)) == 0)
        return 0;
    error = errno;
    close(*fd);
    return error;
}

union elect_address net_own(const struct elect_peer *me, const struct elect_peer *other,
                            unsigned link)
{
    bool known = me->link[link].any.sa_family != AF_UNSPEC;
    return known ? me->link[link] : anywhere(&other->link[link]);
}

int net_bind(const struct elect_peer *me, const struct elect_peer *other, int fd[ELECT_UV_LINKS],
             unsigned *which)
{
    int error = 0;
    for (*which = 0; *which < me->links && error == 0; ++*which) {
        union elect_address own = net_own(me, other, *which);
        error = bound(&own, &fd[*which]);
    }
    for (unsigned link = 0; error != 0 && link + 1 < *which; link++)
        close(fd[link]);
    return error;
}

static int open_link(struct net *n, uv_loop_t *loop, int fd)
{
    int error = uv_poll_init(loop, &n->poll[n->links], fd);
    if (error != 0) {
        close(fd);
        return -error;
    }
    n->fd[n->links] = fd;
    n->poll[n->links].data = n;
    return -uv_poll_start(&n->poll[n->links++], UV_READABLE, readable);
}

int net_open(struct net *n, uv_loop_t *loop, const int *fd, unsigned links)
{
    int error = 0;
    n->links = 0;
    for (unsigned i = 0; i < links; i++) {
        int wrong = error == 0 ? open_link(n, loop, fd[i]) : close(fd[i]);
        error = error != 0 ? error : wrong;
    }
    return error;
}

void net_send(struct net *n, unsigned link, const union elect_address *to, const uint8_t *bytes,
              size_t length)
{
    if (link >= n->links || to->any.sa_family == AF_UNSPEC)
        return;
    if (n->queued == NET_QUEUE)
        net_flush(n);
    struct net_packet *p = &n->queue[n->queued++];
    p->link = link;
    p->length = length;
    p->to = *to;
    memcpy(p->bytes, bytes, length);
}

/* Drops packets that the kernel refuses, and sends the others. */
static void send_all(struct net *n, unsigned link, struct mmsghdr *message, unsigned count)
{
    for (unsigned at = 0; at < count;) {
        int sent = sendmmsg(n->fd[link], message + at, count - at, 0);
        for (int i = 0; i < sent; i++) {
            n->traffic.sent++;
            n->traffic.sent_bytes += message[at + (unsigned)i].msg_len;
        }
        at += sent > 0 ? (unsigned)sent : 1;
    }
}

void net_flush(struct net *n)
{
    struct iovec part[NET_QUEUE];
    struct mmsghdr message[NET_QUEUE];
    for (unsigned link = 0; link < n->links && n->queued > 0; link++) {
        unsigned count = 0;
        for (unsigned i = 0; i < n->queued; i++) {
            struct net_packet *p = &n->queue[i];
            if (p->link != link)
                continue;
            part[count] = (struct iovec){p->bytes, p->length};
            message[count].msg_hdr = (struct msghdr){.msg_name = &p->to,
                                                     .msg_namelen = size_of(&p->to),
                                                     .msg_iov = &part[count],
                                                     .msg_iovlen = 1};
            count++;
        }
        send_all(n, link, message, count);
    }
    n->queued = 0;
}

/* The kernel limits the memory for filters (net.core.optmem_max), and the old filter counts until
 * it is replaced. In a large cluster it may have to be removed first, or the new one may fit only
 * without samples. If even that fails, the socket is left without a filter, open to floods. Keeping
 * the old filter would be worse, because it would drop the packets of new sessions. */
static void replace_filter(int fd, const uint32_t *tags, unsigned count,
                           enum filter_samples samples, const union elect_address *from,
                           unsigned addresses)
{
    if (filter_attach(fd, tags, count, samples, from, addresses))
        return;
    filter_detach(fd);
    if (!filter_attach(fd, tags, count, samples, from, addresses))
        filter_attach(fd, tags, count, FILTER_NONE, from, addresses);
}

void net_filter(struct net *n, const uint32_t *tags, unsigned count, enum filter_samples samples,
                const struct elect_peer *peer, unsigned peers)
{
    union elect_address from[SESSION_PEERS];
    for (unsigned link = 0; link < n->links; link++) {
        unsigned addresses = 0;
        for (unsigned i = 0; i < peers; i++)
            if (link < peer[i].links && peer[i].link[link].any.sa_family != AF_UNSPEC)
                from[addresses++] = peer[i].link[link];
        replace_filter(n->fd[link], tags, count, samples, from, addresses);
    }
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
