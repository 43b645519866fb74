/* Runs the health checks of --health, and receives the messages of --watchdog. */
#include "health.h"

#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME_ROOM 32 /* the socket's name is "@" and five digits from the kernel */
#define READS     16 /* reads of a check's output before other work gets its turn */

static bool tell_environment(const struct sockaddr_un *at, socklen_t length, int64_t every)
{
    char name[NAME_ROOM] = "@", period[24];
    size_t characters = length - offsetof(struct sockaddr_un, sun_path) - 1;
    if (characters == 0 || characters + 2 > sizeof name)
        return false;
    memcpy(name + 1, at->sun_path + 1, characters);
    snprintf(period, sizeof period, "%lld", (long long)every);
    /* any process may report, because the pid of the command is not known yet */
    unsetenv("WATCHDOG_PID");
    return setenv("NOTIFY_SOCKET", name, 1) == 0 && setenv("WATCHDOG_USEC", period, 1) == 0;
}

/* Opens an abstract socket with a name chosen by the kernel. */
static int open_notify(int64_t every)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t length = sizeof at;
    const int yes = 1;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at.sun_family) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &length) == 0 &&
        tell_environment(&at, length, every))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

void health_begin(struct health *s, const struct run_options *o, int64_t first)
{
    *s = (struct health){
        .options = o, .looking = true, .next_check = first, .output = -1, .notify = -1};
}

bool health_listen(struct health *s, int64_t now)
{
    s->heard = now;
    return s->options->watchdog == 0 || (s->notify = open_notify(s->options->watchdog)) >= 0;
}

void health_again(struct health *s, int64_t now)
{
    s->looking = true;
    s->failures = 0;
    s->reported = false;
    s->next_check = now + s->options->health_every;
    s->heard = now;
}

int64_t health_next(const struct health *s)
{
    int64_t check = s->options->health != NULL ? s->next_check : DEADLINE_NEVER;
    int64_t silence = s->notify >= 0 ? s->heard + s->options->watchdog : DEADLINE_NEVER;
    if (!s->looking)
        return DEADLINE_NEVER;
    return check < silence ? check : silence;
}

/* ---- one check ---- */

void health_read(struct health *s)
{
    char rest[1024];
    ssize_t got = 1;
    if (s->output < 0)
        return;
    for (unsigned i = 0; i < READS && (got = read(s->output, rest, sizeof rest)) > 0; i++) {
        size_t room = sizeof s->said - 1 - s->length;
        size_t more = (size_t)got < room ? (size_t)got : room;
        memcpy(s->said + s->length, rest, more);
        s->length += more;
    }
    if (got == 0) {
        close(s->output);
        s->output = -1;
    }
}

static void forget_check(struct health *s)
{
    if (s->output >= 0)
        close(s->output);
    s->output = -1;
    s->check = 0;
}

static void start_check(struct health *s)
{
    int ends[2];
    s->length = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    s->output = ends[0];
    s->check = command_start_check(s->options->health, ends[1]);
    close(ends[1]);
    if (s->check == 0)
        forget_check(s);
}

static void end_check(struct health *s)
{
    if (s->check > 0)
        command_signal(s->check, SIGKILL, true);
    forget_check(s);
}

/* Counts a failed check, and reports it with the first line of its output, unless the run has been
 * reported as unhealthy. */
static void fail(struct health *s, const char *how)
{
    health_read(s);
    s->said[s->length] = '\0';
    s->said[strcspn(s->said, "\n")] = '\0';
    snprintf(s->why, sizeof s->why, "its health check %s%s%s", how, s->said[0] != '\0' ? ": " : "",
             s->said);
    s->passed = false;
    s->failures++;
    if (!s->reported && !s->options->quiet)
        channel_report("the health check of %s %s%s%s; failure %u of %u", run_name(s->options), how,
                       s->said[0] != '\0' ? ": " : "", s->said, s->failures,
                       s->options->health_tries);
}

int health_look(struct health *s, int64_t now)
{
    const struct run_options *o = s->options;
    if (s->looking && o->health != NULL && now >= s->next_check) {
        if (s->check > 0) {
            fail(s, "timed out");
            end_check(s);
        }
        s->next_check = now + o->health_every;
        start_check(s);
        if (s->check == 0)
            fail(s, "could not be started");
    }
    if (s->looking && s->failures >= o->health_tries) {
        s->failures = 0;
        s->reported = true;
        return UNHEALTHY_CHECK;
    }
    if (s->looking && s->notify >= 0 && now >= s->heard + o->watchdog) {
        s->heard = now;
        snprintf(s->why, sizeof s->why, "its command gave no sign of life (--watchdog)");
        return UNHEALTHY_SILENT;
    }
    return HEALTH_FINE;
}

void health_ended(struct health *s, pid_t child, int status)
{
    char how[32];
    if (s->check == 0 || child != s->check)
        return;
    int ended = command_status(status);
    snprintf(how, sizeof how, "exited with status %d", ended);
    if (ended != 0) {
        fail(s, how);
    } else {
        s->failures = 0;
        s->passed = true;
        s->reported = false;
    }
    forget_check(s);
}

static bool says(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, word, length) == 0 && (line[length] == '\n' || line[length] == '\0'))
            return true;
    }
    return false;
}

/* Receives a datagram. `ours` is true if it is from a process of the same user. The buffer has no
 * room for descriptors, so the kernel closes any that come with it. */
static bool hear_one(struct health *s, char *text, size_t room, bool *ours)
{
    struct iovec part = {text, room - 1};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof control.room};
    struct ucred who;
    ssize_t got = recvmsg(s->notify, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return false;
    text[got] = '\0';
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    *ours = c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS;
    if (*ours) {
        memcpy(&who, CMSG_DATA(c), sizeof who);
        *ours = who.uid == geteuid();
    }
    return true;
}

void health_hear(struct health *s, int64_t now)
{
    char text[4096];
    bool ours;
    while (hear_one(s, text, sizeof text, &ours)) {
        if (ours && says(text, "WATCHDOG=1"))
            s->heard = now;
        else if (ours && says(text, "WATCHDOG=trigger"))
            s->heard = now - s->options->watchdog;
    }
}

void health_end(struct health *s)
{
    s->looking = false;
    end_check(s);
}
