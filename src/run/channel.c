/* Packets to the daemon and its guardian, packets between the runner and the keeper, and messages
 * on standard error. */
#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PASSED 2

/* ---- packets ---- */

bool packet_send(int fd, const void *bytes, size_t length, const int passed[2])
{
    struct iovec part = {(void *)bytes, length};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(PASSED * sizeof(int))];
    } control;
    size_t count = passed == NULL || passed[0] < 0 ? 0 : passed[1] < 0 ? 1 : 2;
    if (count > 0) {
        memset(&control, 0, sizeof control);
        m.msg_control = control.room;
        m.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(c), passed, count * sizeof(int));
    }
    return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length;
}

long packet_receive(int fd, void *bytes, size_t length, int passed[2])
{
    struct iovec part = {bytes, length};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(PASSED * sizeof(int))];
    } control;
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof control.room};
    passed[0] = passed[1] = -1;
    ssize_t got = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    /* The peer closed the connection with unread data. Its own data may still be waiting here. */
    if (got < 0 && errno == ECONNRESET)
        got = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    for (struct cmsghdr *c = got >= 0 ? CMSG_FIRSTHDR(&m) : NULL; c != NULL; c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            memcpy(passed, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? -1 : 0;
    return got;
}

/* ---- the daemon ---- */

void channel_renew(struct channel *c)
{
    if (c->holder >= 0)
        close(c->holder);
    c->holder = -1;
}

int channel_open(struct channel *c, const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int error = strlen(path) < sizeof at.sun_path ? 0 : ENAMETOOLONG;
    *c = CHANNEL_NONE;
    if (error != 0)
        return error;
    memcpy(at.sun_path, path, strlen(path) + 1);
    c->daemon = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->daemon < 0 || connect(c->daemon, (struct sockaddr *)&at, sizeof at) != 0)
        error = errno;
    if (error != 0)
        channel_close(c);
    return error;
}

void channel_close(struct channel *c)
{
    if (c->daemon >= 0)
        close(c->daemon);
    if (c->holder >= 0)
        close(c->holder);
    *c = CHANNEL_NONE;
}

bool channel_say(const struct channel *c, struct talk *t, enum talk_word word)
{
    t->magic = TALK_MAGIC;
    t->word = (uint8_t)word;
    return c->daemon >= 0 && packet_send(c->daemon, t, sizeof *t, NULL);
}

void channel_say_empty(const struct channel *c, const char *group, uint8_t flags, const char *why)
{
    static const char word = TALK_IS_EMPTY;
    struct talk t = {.flags = flags};
    snprintf(t.group, sizeof t.group, "%s", group);
    snprintf(t.why, sizeof t.why, "%s", why);
    if (c->holder >= 0)
        packet_send(c->holder, &word, 1, NULL);
    channel_say(c, &t, TALK_EMPTY);
}

static bool said_by_daemon(uint8_t word)
{
    static const bool table[TALK_WORD_COUNT] = {
#define X(name, daemon) [TALK_##name] = daemon,
        TALK_WORDS(X)
#undef X
    };
    return word < TALK_WORD_COUNT && table[word];
}

enum heard channel_hear(struct channel *c, struct talk *t)
{
    int passed[2];
    long got = packet_receive(c->daemon, t, sizeof *t, passed);
    if (got > 0 && (got != sizeof *t || t->magic != TALK_MAGIC || !said_by_daemon(t->word)))
        *t = (struct talk){.word = TALK_WORD_COUNT};
    if (got > 0 && t->word == TALK_WAIT && c->holder < 0) {
        c->holder = passed[0];
        passed[0] = -1;
    }
    for (unsigned i = 0; i < 2; i++)
        if (passed[i] >= 0)
            close(passed[i]);
    if (got <= 0)
        return got < 0 ? HEARD_NOTHING : HEARD_END;
    t->group[TALK_NAME - 1] = t->node[TALK_NAME - 1] = t->leader[TALK_NAME - 1] = '\0';
    t->why[TALK_WHY - 1] = '\0';
    return HEARD_WORD;
}

/* ---- messages to the user ---- */

static int told_on = STDERR_FILENO;

/* Opens a separate, non-blocking descriptor if standard error is a pipe or a terminal, which could
 * block. O_NONBLOCK on standard error itself would affect every process that shares it. */
void channel_open_report(void)
{
    struct stat is;
    if (fstat(STDERR_FILENO, &is) != 0 || !(S_ISFIFO(is.st_mode) || S_ISCHR(is.st_mode)))
        return;
    int own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    told_on = own >= 0 ? own : STDERR_FILENO;
}

void channel_report(const char *format, ...)
{
    char line[1024];
    size_t length = (size_t)snprintf(line, sizeof line, "elect run: ");
    va_list args;
    va_start(args, format);
    int more = vsnprintf(line + length, sizeof line - length - 1, format, args);
    va_end(args);
    if (more < 0)
        return;
    length = length + (size_t)more < sizeof line - 1 ? length + (size_t)more : sizeof line - 2;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 127)
            line[i] = '?';
    line[length++] = '\n';
    if (send(told_on, line, length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == ENOTSOCK &&
        write(told_on, line, length) < 0)
        return; /* drop the message rather than wait for its reader */
}
