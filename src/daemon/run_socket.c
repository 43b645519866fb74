/* Server of the run socket: accepts a limited number of connections and passes their packets to
 * run_requests.c. No user can keep the daemon busy: in each turn of the event loop, it accepts one
 * connection and reads only a few packets from each. */
#include "run_socket.h"

#include "control.h"
#include "run_queue.h"
#include "run_requests.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECTIONS 256
#define OF_USER     (CONNECTIONS / 2)
#define AT_ONCE     2 /* packets per turn of the event loop */
#define BACKLOG     1024

static const char too_many[] =
    "too many clients: at most 128 per user and 256 in total may be connected";

/* ---- reading ---- */

static void readable(uv_poll_t *poll, int status, int events)
{
    struct run_connection *c = poll->data;
    (void)events;
    /* If a process exits with unread packets, the socket reports an error, and libuv stops polling
     * it. The loop below then reads all packets that the process has sent. */
    for (unsigned i = 0; (i < AT_ONCE || status != 0) && !c->closing; i++) {
        struct talk t;
        /* recv() takes no descriptors: the kernel closes any that a client sends */
        ssize_t got = recv(c->fd, &t, sizeof t, MSG_DONTWAIT | MSG_TRUNC);
        if (got < 0 && errno == ECONNRESET)
            got = recv(c->fd, &t, sizeof t, MSG_DONTWAIT | MSG_TRUNC);
        if (got < 0 && (errno == EAGAIN || errno == EINTR) && status == 0)
            return;
        if (got <= 0 || c->work->over || !run_request_is_valid(&t, (size_t)got)) {
            run_connection_drop(c);
            return;
        }
        run_request(c, &t);
        work_turn(c->work, c->group); /* a dropped c is only freed in a later turn */
    }
}

/* ---- accepting ---- */

static bool is_one_too_many(const struct run_connection *new)
{
    unsigned all = 0, same = 0;
    for (const struct run_connection *c = new->work->connections; c != NULL; c = c->next) {
        all++;
        same += c->who.uid == new->who.uid;
    }
    return all >= CONNECTIONS || same >= OF_USER;
}

static void connected(uv_poll_t *poll, int status, int events)
{
    struct work *w = poll->data;
    socklen_t size = sizeof(struct ucred);
    (void)events;
    int fd = status == 0 ? accept4(w->run_socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (fd < 0 && (status != 0 || errno == EMFILE || errno == ENFILE))
        uv_poll_stop(poll); /* until the next tick */
    struct run_connection *c = fd >= 0 ? calloc(1, sizeof *c) : NULL;
    if (c == NULL || uv_poll_init(w->loop, &c->poll, fd) != 0) {
        if (fd >= 0)
            close(fd);
        free(c);
        return;
    }
    c->work = w;
    c->fd = fd;
    c->channel = -1;
    c->poll.data = c;
    bool fine = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c->who, &size) == 0 && !is_one_too_many(c);
    c->next = w->connections;
    w->connections = c;
    if (!fine)
        run_connection_tell(c, TALK_REFUSED, too_many);
    if (!fine || uv_poll_start(&c->poll, UV_READABLE, readable) != 0)
        run_connection_drop(c);
}

static void accept_again(struct work *w)
{
    if (w->run_poll.data != NULL && !uv_is_active((uv_handle_t *)&w->run_poll))
        uv_poll_start(&w->run_poll, UV_READABLE, connected);
}

/* ---- all connections ---- */

void run_socket_tick(struct work *w)
{
    for (struct run_connection *c = w->connections; c != NULL; c = c->next)
        run_queue_report_late(c, false);
    accept_again(w);
}

void run_socket_news(struct work *w, unsigned group)
{
    for (struct run_connection *c = w->connections, *next; c != NULL; c = next) {
        next = c->next;
        struct talk t = run_connection_words(w, TALK_NEWS, group);
        if (c->group == group && (c->stage == RUN_WAITS || c->stage == RUN_REGISTERS))
            run_connection_tell_leader(c);
        if (c->asked[group])
            run_connection_send(c, &t);
    }
}

/* ---- opening and closing ---- */

/* Reads /etc/group itself, because getgrnam() would need half a megabyte of memory. */
static bool find_group(const char *name, gid_t *gid)
{
    FILE *file = fopen("/etc/group", "re");
    const struct group *g = NULL;
    while (file != NULL && (g = fgetgrent(file)) != NULL && strcmp(g->gr_name, name) != 0) {
    }
    if (g != NULL)
        *gid = g->gr_gid;
    if (file != NULL)
        fclose(file);
    return g != NULL;
}

static bool give_to_group(const struct work *w, const char *path, struct text *complaint)
{
    gid_t gid;
    const char *name = w->config->run_group;
    if (name[0] == '\0')
        return true;
    if (!find_group(name, &gid))
        return text_complain(complaint, name, "no such group in /etc/group",
                             ": create it, or change run-group");
    return chown(path, (uid_t)-1, gid) == 0 ||
           text_complain(complaint, name, strerror(errno),
                         ": the user that the daemon runs as must be in run-group, and allowed to "
                         "chown");
}

bool run_socket_open(struct work *w, struct text *complaint)
{
    char path[CONFIG_FILE];
    config_socket_path(w->config, w->me->peer.id, "run", path);
    w->run_socket = control_bind(path, SOCK_SEQPACKET, 0660, complaint);
    if (w->run_socket < 0 || !give_to_group(w, path, complaint))
        return false;
    if (listen(w->run_socket, BACKLOG) != 0)
        return text_complain(complaint, path, strerror(errno), "");
    uv_poll_init(w->loop, &w->run_poll, w->run_socket);
    w->run_poll.data = w;
    return uv_poll_start(&w->run_poll, UV_READABLE, connected) == 0;
}

void run_socket_close(struct work *w)
{
    char path[CONFIG_FILE];
    for (struct run_connection *c = w->connections; c != NULL; c = c->next)
        run_queue_report_late(c, true);
    while (w->connections != NULL)
        run_connection_drop(w->connections);
    if (w->run_poll.data != NULL)
        uv_close((uv_handle_t *)&w->run_poll, NULL);
    if (w->run_socket >= 0)
        close(w->run_socket);
    config_socket_path(w->config, w->me->peer.id, "run", path);
    if (w->run_poll.data != NULL)
        unlink(path);
}
