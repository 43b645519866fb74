/* Accepts a limited number of clients, reads one request from each, and writes lines back. No user
 * can delay the daemon, or keep it from serving other users. */
#include "control.h"

#include "../base/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE 1000      /* milliseconds to send a request or read an answer */
#define BEHIND   (1 << 16) /* unread bytes; a watcher with more is disconnected */
#define BACKLOG  1024
#define OTHERS   512 /* descriptors reserved for everything but clients */

#define EVENTS (EPOLLIN | EPOLLRDHUP | EPOLLET)

static const char refusal[] =
    "{\"ok\":false,\"error\":\"" CONTROL_TOO_MANY "this socket is full; try again later\"}\n";

const char *control_name(enum control_which which)
{
    static const char *const names[] = {"status", "admin"};
    return names[which];
}

/* ---- the end of a conversation ---- */

/* Frees disconnected clients. This is deferred to a later turn of the event loop, because a caller
 * further up the stack may still use the client. */
static void free_gone(struct control *c)
{
    for (struct control_client *client; (client = c->gone) != NULL;) {
        c->gone = client->next;
        free(client->rest);
        free(client);
    }
}

static void let_go(struct control_client *client)
{
    struct control *c = client->control;
    struct control_client **at = &c->clients;
    if (client->closing)
        return;
    client->closing = true;
    client->waits = false;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    client->next = c->gone;
    c->gone = client;
    /* close() alone does not end the polling if a forked child still has the descriptor. */
    epoll_ctl(c->ready, EPOLL_CTL_DEL, client->fd, NULL);
    close(client->fd);
}

static void overdue(uv_timer_t *timer);

/* `patience` is in milliseconds; CONTROL_NEVER for no deadline. */
static void set_due(struct control_client *client, uint64_t patience)
{
    struct control *c = client->control;
    bool never = patience == CONTROL_NEVER;
    client->due = never ? CONTROL_NEVER : uv_now(c->loop) + patience;
    if (!never &&
        (!uv_is_active((uv_handle_t *)&c->late) || uv_timer_get_due_in(&c->late) > patience))
        uv_timer_start(&c->late, overdue, patience, 0);
}

/* Looks at the request without consuming it. Returns true if all of it has arrived: the first
 * `length` bytes of `text`, without the newline. Otherwise `length` is the number of bytes so far.
 * Bytes after the newline are never read. */
static bool peek(const struct control_client *client, char text[CONTROL_REQUEST], size_t *length)
{
    ssize_t got = recv(client->fd, text, CONTROL_REQUEST, MSG_PEEK | MSG_DONTWAIT);
    const char *end = got > 0 ? memchr(text, '\n', (size_t)got) : NULL;
    *length = end != NULL ? (size_t)(end - text) : got > 0 ? (size_t)got : 0;
    return end != NULL;
}

/* Handles a client whose deadline has passed. If its request arrived in time, but has not been read
 * yet, the client gets a new deadline. */
static void end_patience(struct control_client *client)
{
    char text[CONTROL_REQUEST];
    size_t length;
    if (client->waits)
        control_answer(client, json_pack("{s:b, s:s}", "ok", 0, "error", client->late));
    else if (!client->asked && peek(client, text, &length))
        set_due(client, PATIENCE);
    else
        let_go(client);
}

static void overdue(uv_timer_t *timer)
{
    struct control *c = timer->data;
    uint64_t now = uv_now(c->loop), first = CONTROL_NEVER;
    free_gone(c);
    for (struct control_client *client = c->clients, *next; client != NULL; client = next) {
        next = client->next;
        if (client->due <= now)
            end_patience(client);
        if (!client->closing && client->due < first)
            first = client->due;
    }
    if (first != CONTROL_NEVER)
        uv_timer_start(timer, overdue, first - now, 0);
}

void control_wait(struct control_client *client, uint64_t patience, const char *late)
{
    client->waits = true;
    client->late = late;
    set_due(client, patience);
}

/* ---- answers ---- */

/* Returns false if there is no memory. */
static bool keep_rest(struct control_client *client, const char *text, size_t length)
{
    struct epoll_event e = {.events = EVENTS | EPOLLOUT, .data.ptr = client};
    char *rest = realloc(client->rest, client->length + length);
    if (rest == NULL)
        return false;
    memcpy(rest + client->length, text, length);
    client->rest = rest;
    client->length += length;
    return epoll_ctl(client->control->ready, EPOLL_CTL_MOD, client->fd, &e) == 0;
}

/* Returns the number of bytes sent; -1 if the client has disconnected. */
static ssize_t push(const struct control_client *client, const char *text, size_t length)
{
    ssize_t sent = send(client->fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : sent;
}

static void send_line(struct control_client *client, json_t *line, bool last)
{
    char *text = json_dumps(line, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
    size_t length = text != NULL ? strlen(text) + 1 : 0;
    json_decref(line);
    if (text == NULL || client->closing) {
        free(text);
        let_go(client);
        return;
    }
    text[length - 1] = '\n';
    ssize_t sent = client->rest == NULL ? push(client, text, length) : 0;
    bool all = sent == (ssize_t)length;
    client->last = last;
    if (sent < 0 || (all && last) ||
        (!all && !keep_rest(client, text + sent, length - (size_t)sent)))
        let_go(client);
    free(text);
}

static void send_rest(struct control_client *client)
{
    struct epoll_event e = {.events = EVENTS, .data.ptr = client};
    ssize_t sent = push(client, client->rest, client->length);
    if (sent < 0) {
        let_go(client);
        return;
    }
    client->length -= (size_t)sent;
    memmove(client->rest, client->rest + sent, client->length);
    if (client->length > 0)
        return;
    free(client->rest);
    client->rest = NULL;
    if (client->last || epoll_ctl(client->control->ready, EPOLL_CTL_MOD, client->fd, &e) != 0)
        let_go(client);
}

void control_answer(struct control_client *client, json_t *answer)
{
    client->waits = false;
    set_due(client, PATIENCE);
    send_line(client, answer, true);
}

void control_tell(struct control_client *client, json_t *line)
{
    if (client->length <= BEHIND) {
        send_line(client, line, false);
        return;
    }
    json_decref(line);
    let_go(client);
}

/* ---- requests ---- */

static void take_request(struct control_client *client, const char *text, size_t length)
{
    json_error_t error;
    json_t *request = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    client->asked = true;
    set_due(client, CONTROL_NEVER);
    if (json_is_object(request))
        client->control->ask(client->control->context, client, request);
    else
        control_answer(client, json_pack("{s:b, s:s}", "ok", 0, "error",
                                         "not a request: expected a JSON object"));
    json_decref(request);
}

static void look_for_request(struct control_client *client, bool ends)
{
    char text[CONTROL_REQUEST];
    size_t length;
    if (peek(client, text, &length) && recv(client->fd, text, length + 1, MSG_DONTWAIT) > 0)
        take_request(client, text, length);
    else if (ends || length == sizeof text)
        let_go(client);
}

/* The request of a client that has already disconnected is not read. */
static void serve(uv_poll_t *poll, int status, int events)
{
    struct control *c = poll->data;
    struct epoll_event e;
    (void)status;
    (void)events;
    free_gone(c);
    if (epoll_wait(c->ready, &e, 1, 0) != 1)
        return;
    struct control_client *client = e.data.ptr;
    if ((e.events & (EPOLLHUP | EPOLLERR)) != 0)
        let_go(client);
    else if (client->rest != NULL)
        send_rest(client);
    else if (!client->asked)
        look_for_request(client, (e.events & EPOLLRDHUP) != 0);
}

/* ---- accepting ---- */

struct crowd {
    unsigned all, same;
};

/* Counts a socket's clients. Watchers are counted separately, because they stay connected. */
static struct crowd crowd_of(const struct control *c, enum control_which which, bool watches,
                             uid_t user)
{
    struct crowd crowd = {0};
    for (const struct control_client *x = c->clients; x != NULL; x = x->next) {
        bool alike = x->which == which && x->watches == watches;
        crowd.all += alike;
        crowd.same += alike && x->user == user;
    }
    return crowd;
}

/* Returns true if the socket can take another client of this user. The last places are reserved for
 * users with few clients, so that no user can take them all. */
static bool has_place(const struct control *c, enum control_which which, uid_t user)
{
    struct crowd crowd = crowd_of(c, which, false, user);
    return crowd.all < c->most - CONTROL_RESERVED ||
           (crowd.all < c->most && crowd.same < CONTROL_FEW);
}

bool control_watch(struct control_client *client)
{
    struct crowd crowd = crowd_of(client->control, client->which, true, client->user);
    client->watches = crowd.all < CONTROL_WATCHERS && crowd.same < CONTROL_WATCHES;
    return client->watches;
}

static void welcome(struct control *c, enum control_which which, int fd, const struct ucred *who)
{
    struct control_client *client = calloc(1, sizeof *client);
    struct epoll_event e = {.events = EVENTS, .data.ptr = client};
    if (client == NULL || epoll_ctl(c->ready, EPOLL_CTL_ADD, fd, &e) != 0) {
        free(client);
        close(fd);
        return;
    }
    *client = (struct control_client){.control = c,
                                      .which = which,
                                      .fd = fd,
                                      .user = who->uid,
                                      .pid = who->pid,
                                      .next = c->clients};
    c->clients = client;
    set_due(client, PATIENCE);
}

/* Accepts one connection. If there are too many clients, refuses it without allocating memory.
 * uv_listen() would accept for as long as connections are waiting, so a user who connects in a loop
 * could keep the member from renewing its lease. */
static void connected(uv_poll_t *poll, int status, int events)
{
    struct control_door *door = poll->data;
    struct control *c = door->control;
    struct ucred who;
    socklen_t size = sizeof who;
    (void)events;
    int fd = status == 0 ? accept4(door->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (fd < 0) {
        if (status != 0 || errno == EMFILE || errno == ENFILE)
            uv_poll_stop(poll); /* until the next tick */
        return;
    }
    enum control_which which = (enum control_which)(door - c->door);
    free_gone(c);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && has_place(c, which, who.uid)) {
        welcome(c, which, fd, &who);
        return;
    }
    (void)!send(fd, refusal, sizeof refusal - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

void control_tick(struct control *c)
{
    for (unsigned i = 0; i < CONTROL_COUNT; i++)
        if (c->door[i].control != NULL && !uv_is_active((uv_handle_t *)&c->door[i].poll))
            uv_poll_start(&c->door[i].poll, UV_READABLE, connected);
}

/* ---- opening ---- */

static bool make_room(const char *path, struct text *complaint)
{
    struct sockaddr_un unused;
    struct stat is;
    if (strlen(path) >= sizeof unused.sun_path)
        return text_complain(complaint, path, "too long for a socket",
                             ": set run-dir to a shorter path (at most 90 characters)");
    if (lstat(path, &is) == 0) {
        if (!S_ISSOCK(is.st_mode))
            return text_complain(complaint, path, "it exists and is not a socket",
                                 ": move it away");
        unlink(path); /* this daemon has locked the state file, so no other uses it */
    }
    return true;
}

int control_bind(const char *path, int type, mode_t mode, struct text *complaint)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (!make_room(path, complaint))
        return -1;
    memcpy(at.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t before = umask(~mode & 0777);
    int error = fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ? errno : 0;
    umask(before);
    if (error == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    text_complain(complaint, path, access_text(error, path, ACCESS_MAKE),
                  error == ENOENT ? ": run-dir must exist" : "");
    return -1;
}

/* Returns the maximum number of clients per socket: fewer than CONTROL_CLIENTS if RLIMIT_NOFILE is
 * too low. */
static unsigned most_clients(void)
{
    const rlim_t wanted = OTHERS + CONTROL_COUNT * CONTROL_CLIENTS, least = 2 * CONTROL_RESERVED;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return least;
    if (limit.rlim_cur < wanted) {
        struct rlimit more = {wanted < limit.rlim_max ? wanted : limit.rlim_max, limit.rlim_max};
        limit = setrlimit(RLIMIT_NOFILE, &more) == 0 ? more : limit;
    }
    rlim_t most = limit.rlim_cur > OTHERS ? (limit.rlim_cur - OTHERS) / CONTROL_COUNT : 0;
    return (unsigned)(most < least ? least : most < CONTROL_CLIENTS ? most : CONTROL_CLIENTS);
}

/* Does nothing after the first call. */
static bool prepare(struct control *c)
{
    if (c->most != 0)
        return true;
    c->ready = epoll_create1(EPOLL_CLOEXEC);
    if (c->ready < 0 || uv_poll_init(c->loop, &c->poll, c->ready) != 0)
        return false;
    uv_timer_init(c->loop, &c->late);
    c->poll.data = c->late.data = c;
    c->most = most_clients();
    return uv_poll_start(&c->poll, UV_READABLE, serve) == 0;
}

bool control_open(struct control *c, enum control_which which, const char *path,
                  struct text *complaint)
{
    struct control_door *door = &c->door[which];
    if (!prepare(c))
        return text_complain(complaint, path, strerror(errno), "");
    int fd = control_bind(path, SOCK_STREAM, which == CONTROL_STATUS ? 0660 : 0600, complaint);
    if (fd < 0)
        return false;
    *door = (struct control_door){.control = c, .fd = fd};
    snprintf(door->path, sizeof door->path, "%s", path);
    uv_poll_init(c->loop, &door->poll, fd);
    door->poll.data = door;
    if (listen(fd, BACKLOG) == 0 && uv_poll_start(&door->poll, UV_READABLE, connected) == 0)
        return true;
    return text_complain(complaint, path, strerror(errno), "");
}

void control_close(struct control *c)
{
    /* Remove the sockets first: this is how a disconnected watcher can tell that the daemon has
     * ended. */
    for (unsigned i = 0; i < CONTROL_COUNT; i++) {
        struct control_door *door = &c->door[i];
        if (door->control == NULL)
            continue;
        uv_close((uv_handle_t *)&door->poll, NULL);
        close(door->fd);
        unlink(door->path);
        door->control = NULL;
    }
    while (c->clients != NULL)
        let_go(c->clients);
    free_gone(c);
    if (c->most != 0) {
        uv_close((uv_handle_t *)&c->poll, NULL);
        uv_close((uv_handle_t *)&c->late, NULL);
        close(c->ready);
        c->most = 0;
    }
}
