/* See log_stream.h. */
#include "log_stream.h"

#include "log_line.h"
#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Returns true if the descriptor is the journal stream of $JOURNAL_STREAM. The variable alone
 * proves nothing, because a parent such as a shell may have redirected standard error. */
static bool is_journal(int fd)
{
    const char *named = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    char end;
    struct stat is;
    return named != NULL && sscanf(named, "%llu:%llu%c", &device, &inode, &end) == 2 &&
           fstat(fd, &is) == 0 && is.st_dev == device && is.st_ino == inode;
}

void log_stream_open(struct log_stream *s, bool json)
{
    *s = (struct log_stream){.json = json, .socket = LOG_STREAM_SOCKET, .fd = STDERR_FILENO};
    struct stat is = {0};
    s->journal = is_journal(STDERR_FILENO);
    fstat(STDERR_FILENO, &is);
    /* Opened again, so that O_NONBLOCK does not affect other processes that share the stream. */
    if (isatty(STDERR_FILENO) || S_ISFIFO(is.st_mode)) {
        int own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        s->fd = own >= 0 ? own : s->fd;
    }
}

/* Writes the whole line without blocking, or returns false. Files never block; log_stream_open()
 * has opened terminals and pipes with O_NONBLOCK if it was permitted to. */
static bool write_at_once(int fd, const char *bytes, size_t length)
{
    struct stat is = {0};
    struct iovec all = {(void *)bytes, length};
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    fstat(fd, &is);
    if (S_ISSOCK(is.st_mode))
        return send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length;
    ssize_t put = pwritev2(fd, &all, 1, -1, RWF_NOWAIT);
    if (put < 0 && (errno == EOPNOTSUPP || S_ISREG(is.st_mode)) && poll(&room, 1, 0) == 1)
        put = write(fd, bytes, length);
    return put == (ssize_t)length;
}

bool log_stream_put(const struct log_stream *s, enum level level, const json_t *line)
{
    struct text t;
    text_clear(&t);
    if (s->journal) {
        log_line_fields(line, level, s->json, &t);
        int error = service_send(s->socket, t.bytes, t.length);
        if (error == 0 || error == EAGAIN) /* EAGAIN: the journal is busy */
            return error == 0;
        text_clear(&t);
        text_add(&t, "<");
        text_add_number(&t, level);
        text_add(&t, ">");
    }
    if (s->json)
        log_line_json(line, &t);
    else
        log_line_pairs(line, !s->journal, &t);
    text_add(&t, "\n");
    return write_at_once(s->fd, t.bytes, t.length);
}
