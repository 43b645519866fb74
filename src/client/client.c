/* libelect-client asks the daemon on this machine whether and for how long its member leads. The
 * library is a single file, so that programs can compile it themselves; see elect-client.h and
 * talk.h. */
#include "../base/clock.h"
#include "elect-client.h"
#include "talk.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef ELECT_RUN_FOLDER
#define ELECT_RUN_FOLDER "/run/elect"
#endif

/* times in microseconds */
#define SECOND  INT64_C(1000000)
#define RETRY   (SECOND / 5) /* between attempts to find the daemon */
#define SILENCE SECOND       /* before an unanswered question is repeated */
#define AGAIN   5000         /* between attempts to connect */
#define SOONEST 1000         /* shortest time between questions */
#define NEVER   0            /* disarms the timer */

#define MANY 256 /* most packets that a call reads without waiting */

_Static_assert(TALK_NAME == ELECT_CLIENT_NAME, "names fit");

struct elect_client {
    struct sockaddr_un at;
    char group[ELECT_CLIENT_NAME];
    int fd;
    int watch; /* epoll descriptor of `fd` and `timer`, for the caller to poll */
    int timer;
    bool asked;
    bool resigning;
    int64_t stamp; /* of the latest question and its answer */
    int64_t span;  /* longest promise to ask for; 0: no limit */
    char why[sizeof((struct sockaddr_un *)0)->sun_path + TALK_WHY + 8];
};

const char *elect_client_text(enum elect_client_error error)
{
    static const char *const texts[] = {
#define X(name, text) text,
        ELECT_CLIENT_ERRORS(X)
#undef X
    };
    return error < ELECT_CLIENT_ERROR_COUNT ? texts[error] : "no such error";
}

const char *elect_client_why(const struct elect_client *c) { return c->why; }

static enum elect_client_error fail(struct elect_client *c, enum elect_client_error error,
                                    const char *said)
{
    snprintf(c->why, sizeof c->why, "%s: %s", c->at.sun_path, said);
    return error;
}

static enum elect_client_error fail_plainly(struct elect_client *c, enum elect_client_error error)
{
    return fail(c, error, elect_client_text(error));
}

static enum elect_client_error fail_by_errno(struct elect_client *c)
{
    switch (errno) {
    case ENOENT:
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE: return fail_plainly(c, ELECT_CLIENT_NO_DAEMON);
    case EACCES:
    case EPERM: return fail_plainly(c, ELECT_CLIENT_FORBIDDEN);
    case EAGAIN: return fail_plainly(c, ELECT_CLIENT_LATE);
    case EPROTOTYPE: return fail_plainly(c, ELECT_CLIENT_NONSENSE);
    default: snprintf(c->why, sizeof c->why, "%s: %m", c->at.sun_path); return ELECT_CLIENT_SYSTEM;
    }
}

/* ---- time ---- */

static struct timespec timespec_of(int64_t time)
{
    return (struct timespec){.tv_sec = (time_t)(time / SECOND),
                             .tv_nsec = (long)(time % SECOND) * 1000};
}

int64_t elect_client_left(const struct elect_client_answer *answer)
{
    int64_t left = answer->leads ? answer->deadline - boottime_now() : 0;
    return left > 0 ? left : 0;
}

bool elect_client_valid(const struct elect_client_answer *answer)
{
    return elect_client_left(answer) > 0;
}

static int64_t end_of(int64_t patience)
{
    int64_t begin = boottime_now();
    return patience < INT64_MAX - begin ? begin + patience : INT64_MAX;
}

/* Waits until the socket is ready, but not beyond `end`. Returns false only if `end` had already
 * passed, so the socket may not be ready after true. */
static bool wait_for(const struct elect_client *c, short events, int64_t end)
{
    struct pollfd poll = {.fd = c->fd, .events = events};
    int64_t left = end - boottime_now();
    if (left <= 0)
        return false;
    struct timespec t = timespec_of(left < 60 * SECOND ? left : 60 * SECOND);
    ppoll(&poll, 1, &t, NULL);
    return true;
}

/* Makes the caller's descriptor readable at `when`, or at once if that has passed. */
static void wake_at(struct elect_client *c, int64_t when)
{
    struct itimerspec spec = {.it_value = timespec_of(when)};
    timerfd_settime(c->timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* ---- the connection ---- */

static void hang_up(struct elect_client *c)
{
    if (c->fd < 0)
        return;
    /* before close(): epoll would keep reporting a socket that a forked child has inherited */
    epoll_ctl(c->watch, EPOLL_CTL_DEL, c->fd, NULL);
    close(c->fd);
    c->fd = -1;
    c->asked = c->resigning = false;
}

/* connect() fails with EAGAIN if too many clients are waiting. poll() cannot wait for that, so try
 * again after a pause. */
static int connect_by(const struct elect_client *c, int64_t end)
{
    const struct timespec pause = timespec_of(AGAIN);
    int result;
    while ((result = connect(c->fd, (const struct sockaddr *)&c->at, sizeof c->at)) != 0 &&
           errno == EAGAIN && boottime_now() < end)
        nanosleep(&pause, NULL);
    return result;
}

static enum elect_client_error reach(struct elect_client *c, int64_t end)
{
    struct epoll_event readable = {.events = EPOLLIN};
    if (c->fd >= 0)
        return ELECT_CLIENT_FINE;
    c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd >= 0 && connect_by(c, end) == 0 &&
        epoll_ctl(c->watch, EPOLL_CTL_ADD, c->fd, &readable) == 0)
        return ELECT_CLIENT_FINE;
    enum elect_client_error error = fail_by_errno(c);
    hang_up(c);
    return error;
}

/* Sends a question. Its deadline counts from its stamp, so each attempt to send uses a new one. No
 * two questions share a stamp, so an old answer cannot match a later question. */
static enum elect_client_error say(struct elect_client *c, enum talk_word word, int64_t end)
{
    struct talk t = {.magic = TALK_MAGIC, .word = (uint8_t)word};
    enum elect_client_error error = reach(c, end);
    if (error != ELECT_CLIENT_FINE)
        return error;
    memcpy(t.group, c->group, sizeof t.group);
    t.left = word == TALK_LEASE ? c->span : 0;
    do {
        while ((t.stamp = boottime_now()) == c->stamp) {
        }
        if (send(c->fd, &t, sizeof t, MSG_NOSIGNAL) == (ssize_t)sizeof t) {
            c->asked = c->asked || word == TALK_LEASE;
            c->resigning = c->resigning || word == TALK_RESIGN;
            c->stamp = word == TALK_LEASE ? t.stamp : c->stamp;
            return ELECT_CLIENT_FINE;
        }
    } while (errno == EAGAIN && wait_for(c, POLLOUT, end));
    if (errno == EAGAIN)
        return fail_plainly(c, ELECT_CLIENT_LATE);
    error = fail_by_errno(c);
    hang_up(c);
    return error;
}

/* Like say(), but connects again if the daemon has been restarted since the last call. */
static enum elect_client_error say_again(struct elect_client *c, enum talk_word word, int64_t end)
{
    bool known = c->fd >= 0;
    enum elect_client_error error = say(c, word, end);
    return known && error == ELECT_CLIENT_NO_DAEMON ? say(c, word, end) : error;
}

/* ---- hearing the daemon ---- */

/* Returns true if the text ends in NUL and has no control characters, which could affect a terminal
 * or a log. */
static bool is_text(const char *s, size_t room)
{
    for (size_t i = 0; i < room; i++) {
        if (s[i] == '\0')
            return true;
        if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
            return false;
    }
    return false;
}

static bool is_sound(const struct talk *t)
{
    bool known = t->word == TALK_TOLD || t->word == TALK_NEWS || t->word == TALK_DONE ||
                 t->word == TALK_REFUSED;
    return t->magic == TALK_MAGIC && known && is_text(t->group, sizeof t->group) &&
           is_text(t->node, sizeof t->node) && is_text(t->leader, sizeof t->leader) &&
           is_text(t->why, sizeof t->why);
}

static enum elect_client_error take_nonsense(struct elect_client *c)
{
    hang_up(c);
    return fail_plainly(c, ELECT_CLIENT_NONSENSE);
}

static enum elect_client_error hear(struct elect_client *c, int64_t end, struct talk *t)
{
    ssize_t got;
    do
        got = recv(c->fd, t, sizeof *t, MSG_TRUNC);
    while (got < 0 && errno == EAGAIN && wait_for(c, POLLIN, end));
    if (got == (ssize_t)sizeof *t && is_sound(t))
        return ELECT_CLIENT_FINE;
    if (got > 0)
        return take_nonsense(c);
    if (got < 0 && errno == EAGAIN)
        return fail_plainly(c, ELECT_CLIENT_LATE);
    enum elect_client_error error =
        got == 0 ? fail_plainly(c, ELECT_CLIENT_NO_DAEMON) : fail_by_errno(c);
    hang_up(c);
    return error;
}

/* Converts the daemon's packet into an answer. Returns false if a correct daemon would not send it.
 * The promise is limited to the lease, because it may be longer just after the lease has been
 * shortened. It may be negative if leadership ended while the daemon was answering. */
static bool understand(const struct elect_client *c, const struct talk *t,
                       struct elect_client_answer *a)
{
    bool leads = t->left > 0;
    if ((leads && (t->lease == 0 || t->term == 0)) ||
        (c->group[0] != '\0' && strcmp(c->group, t->group) != 0))
        return false;
    memset(a, 0, sizeof *a);
    a->leads = leads;
    a->token = leads ? t->term : 0;
    a->deadline = leads ? t->stamp + (t->left < t->lease ? t->left : t->lease) : 0;
    memcpy(a->group, t->group, sizeof a->group);
    memcpy(a->node, t->node, sizeof a->node);
    memcpy(a->leader, t->leader, sizeof a->leader);
    return true;
}

/* ---- asking ---- */

/* Returns when the next question is due. Questions are as frequent as renewals of the lease. */
static int64_t next_question(const struct talk *told, const struct elect_client_answer *a)
{
    int64_t half = (a->deadline - told->stamp) / 2;
    int64_t pause = told->renewal > 0 && told->renewal < half ? told->renewal : half;
    return told->stamp + (pause > SOONEST ? pause : SOONEST);
}

/* Asks the daemon. Only one question is open at a time, so its answer may arrive during a later
 * call. A late promise of leadership is valid until its deadline. A late answer that the member
 * does not lead may be out of date, so the question is repeated if this call may wait. */
static enum elect_client_error converse(struct elect_client *c, int64_t end, bool waits,
                                        struct talk *t, struct elect_client_answer *a)
{
    bool fresh = false;
    for (unsigned taken = 0; taken < MANY || boottime_now() < end; taken++) {
        enum elect_client_error error = ELECT_CLIENT_FINE;
        if (!c->asked || boottime_now() - c->stamp >= SILENCE) {
            error = say_again(c, TALK_LEASE, end);
            fresh = true;
        }
        int64_t silence = c->stamp + SILENCE;
        if (error == ELECT_CLIENT_FINE)
            error = hear(c, end < silence ? end : silence, t);
        if (error == ELECT_CLIENT_LATE && boottime_now() < end && c->asked)
            continue;
        if (error == ELECT_CLIENT_NO_DAEMON && !fresh)
            continue;
        if (error != ELECT_CLIENT_FINE)
            return error;
        if (t->word == TALK_REFUSED && !c->resigning) {
            c->asked = false;
            return fail(c, ELECT_CLIENT_REFUSED, t->why);
        }
        if (t->word == TALK_DONE || t->word == TALK_REFUSED)
            c->resigning = false;
        if (t->word != TALK_TOLD || t->stamp != c->stamp)
            continue;
        c->asked = false;
        if (!understand(c, t, a))
            return take_nonsense(c);
        if (a->leads ? elect_client_valid(a) : fresh || !waits)
            return ELECT_CLIENT_FINE;
    }
    return fail_plainly(c, ELECT_CLIENT_LATE);
}

enum elect_client_error elect_client_ask(struct elect_client *c, int64_t patience,
                                         struct elect_client_answer *answer)
{
    struct elect_client_answer a;
    struct talk t;
    if (patience < 0)
        return fail_plainly(c, ELECT_CLIENT_INVALID);
    enum elect_client_error error = converse(c, end_of(patience), patience > 0, &t, &a);
    if (error == ELECT_CLIENT_FINE) {
        *answer = a;
        wake_at(c, a.leads ? next_question(&t, &a) : NEVER);
    } else {
        wake_at(c, boottime_now() + (error == ELECT_CLIENT_NO_DAEMON ? RETRY : SILENCE));
    }
    return error;
}

/* Drops the answer to an earlier question. The descriptor is readable afterwards, so that the
 * caller asks again. */
enum elect_client_error elect_client_resign(struct elect_client *c, int64_t patience)
{
    struct talk t;
    enum elect_client_error error = ELECT_CLIENT_INVALID;
    if (patience < 0)
        return fail_plainly(c, error);
    int64_t end = end_of(patience);
    error = c->resigning ? ELECT_CLIENT_FINE : say_again(c, TALK_RESIGN, end);
    for (unsigned taken = 0; error == ELECT_CLIENT_FINE && c->resigning; taken++) {
        error = taken < MANY || boottime_now() < end ? hear(c, end, &t)
                                                     : fail_plainly(c, ELECT_CLIENT_LATE);
        if (error != ELECT_CLIENT_FINE)
            break;
        if (t.word == TALK_TOLD && t.stamp == c->stamp)
            c->asked = false;
        if (t.word == TALK_DONE || t.word == TALK_REFUSED)
            c->resigning = false;
        if (t.word == TALK_REFUSED)
            error = fail(c, ELECT_CLIENT_REFUSED, t.why);
    }
    wake_at(c, boottime_now());
    return error;
}

void elect_client_span(struct elect_client *c, int64_t span) { c->span = span > 0 ? span : 0; }

void elect_client_stopped(struct elect_client *c)
{
    if (c->asked)
        wake_at(c, boottime_now());
    c->asked = false; /* a late answer must not permit new work */
    if (c->fd >= 0)
        say(c, TALK_EMPTY, boottime_now());
}

int elect_client_fd(const struct elect_client *c) { return c->watch; }

/* ---- opening ---- */

static enum elect_client_error find_socket(char *path, size_t room)
{
    enum elect_client_error error = ELECT_CLIENT_NO_DAEMON;
    DIR *folder = opendir(ELECT_RUN_FOLDER);
    if (folder == NULL)
        return errno == EACCES   ? ELECT_CLIENT_FORBIDDEN
               : errno == ENOENT ? ELECT_CLIENT_NO_DAEMON
                                 : ELECT_CLIENT_SYSTEM;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        char name[32];
        unsigned number;
        if (sscanf(e->d_name, "member-%5u", &number) != 1)
            continue;
        snprintf(name, sizeof name, "member-%u.run", number);
        if (strcmp(e->d_name, name) != 0)
            continue;
        if (error == ELECT_CLIENT_FINE) {
            error = ELECT_CLIENT_SEVERAL;
            break;
        }
        snprintf(path, room, "%s/%s", ELECT_RUN_FOLDER, name);
        error = ELECT_CLIENT_FINE;
    }
    closedir(folder);
    return error;
}

/* For a status socket, member-N.status, uses member-N.run in the same folder. */
static bool set_path(struct sockaddr_un *at, const char *socket)
{
    static const char status[] = ".status";
    size_t length = strlen(socket), tail = sizeof status - 1;
    bool beside = length > tail && strcmp(socket + length - tail, status) == 0;
    if (length == 0 || length >= sizeof at->sun_path)
        return false;
    memcpy(at->sun_path, socket, length + 1);
    if (beside)
        memcpy(at->sun_path + length - tail, ".run", sizeof ".run");
    return true;
}

static enum elect_client_error fill_in(struct elect_client *c, const char *socket,
                                       const char *group)
{
    const char *given = socket != NULL ? socket : secure_getenv("ELECT_SOCKET");
    struct epoll_event readable = {.events = EPOLLIN};
    c->at.sun_family = AF_UNIX;
    if (group != NULL && strlen(group) >= sizeof c->group)
        return ELECT_CLIENT_INVALID;
    if (group != NULL)
        memcpy(c->group, group, strlen(group));
    if (given != NULL && !set_path(&c->at, given))
        return ELECT_CLIENT_INVALID;
    enum elect_client_error error =
        given != NULL ? ELECT_CLIENT_FINE : find_socket(c->at.sun_path, sizeof c->at.sun_path);
    if (error != ELECT_CLIENT_FINE)
        return error;
    c->watch = epoll_create1(EPOLL_CLOEXEC);
    c->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (c->watch < 0 || c->timer < 0 ||
        epoll_ctl(c->watch, EPOLL_CTL_ADD, c->timer, &readable) != 0)
        return ELECT_CLIENT_SYSTEM;
    wake_at(c, boottime_now());
    return ELECT_CLIENT_FINE;
}

enum elect_client_error elect_client_open(struct elect_client **client, const char *socket,
                                          const char *group)
{
    struct elect_client *c = *client = calloc(1, sizeof *c);
    if (c == NULL)
        return ELECT_CLIENT_SYSTEM;
    c->fd = c->watch = c->timer = -1;
    enum elect_client_error error = fill_in(c, socket, group);
    if (error != ELECT_CLIENT_FINE) {
        elect_client_close(c);
        *client = NULL;
    }
    return error;
}

void elect_client_close(struct elect_client *c)
{
    if (c == NULL)
        return;
    hang_up(c);
    if (c->timer >= 0)
        close(c->timer);
    if (c->watch >= 0)
        close(c->watch);
    free(c);
}
