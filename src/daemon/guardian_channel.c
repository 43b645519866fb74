/* Notes between the member and its guardian. Each one is a packet that may carry a descriptor.
 * Nothing here blocks, because the other process may be stopped. */
#include "guardian_channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union descriptor { /* sized and aligned for one descriptor */
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr head;
};

bool guardian_channel_put(int socket, struct iovec *part, size_t parts, int fd)
{
    union descriptor d = {0};
    struct msghdr m = {.msg_iov = part, .msg_iovlen = parts};
    if (fd >= 0) {
        m.msg_control = d.bytes;
        m.msg_controllen = sizeof d.bytes;
        d.head.cmsg_level = SOL_SOCKET;
        d.head.cmsg_type = SCM_RIGHTS;
        d.head.cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(&d.head), &fd, sizeof fd);
    }
    return sendmsg(socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

bool guardian_channel_send(int channel, const struct guard_note *note, const void *body,
                           size_t length, int fd)
{
    struct iovec part[2] = {{(void *)note, sizeof *note}, {(void *)body, length}};
    return guardian_channel_put(channel, part, length > 0 ? 2 : 1, fd);
}

bool guardian_channel_deposit(int channel, const struct elect_testament *t)
{
    struct guard_note note = {.word = GUARD_DEPOSIT, .group = (uint8_t)t->group};
    size_t length = offsetof(struct elect_testament, packet) + t->packets * sizeof t->packet[0];
    return guardian_channel_send(channel, &note, t, length, -1);
}

ssize_t guardian_channel_take(int channel, struct guard_packet *p, int *fd)
{
    struct iovec part = {p, sizeof *p};
    union descriptor d = {0};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = d.bytes,
                       .msg_controllen = CMSG_LEN(sizeof *fd)};
    ssize_t got = recvmsg(channel, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 &&
        errno == ECONNRESET) /* the sender has exited; its last notes can still be read */
        got = recvmsg(channel, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got > 0 && m.msg_controllen >= sizeof d.head && d.head.cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(&d.head), sizeof *fd);
    return got;
}
