/* Reads one line of JSON from each client of a control socket, and writes lines back. Limits keep a
 * client that is slow, or one user with many clients, from delaying the daemon. */
#include "control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE 1000      /* milliseconds for a request */
#define BACKLOG  (1 << 16) /* bytes that a watcher may be behind */

const char *control_name(enum control_which which)
{
    static const char *const names[] = {"status", "admin"};
    return names[which];
}

/* ---- the end of a conversation ---- */

static void closed(uv_handle_t *handle)
{
    struct control_client *client = handle->data;
    if (--client->handles == 0)
        free(client);
}

static void let_go(struct control_client *client)
{
    struct control_client **at = &client->control->clients;
    if (client->closing)
        return;
    client->closing = true;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    client->handles = 2;
    uv_close((uv_handle_t *)&client->pipe, closed);
    uv_close((uv_handle_t *)&client->patience, closed);
}

static void impatient(uv_timer_t *timer)
{
    struct control_client *client = timer->data;
    if (client->waits)
        control_answer(client, json_pack("{s:b, s:s}", "ok", 0, "error", client->late));
    else
        let_go(client);
}

void control_wait(struct control_client *client, uint64_t patience, const char *late)
{
    client->waits = true;
    client->late = late;
    uv_timer_start(&client->patience, impatient, patience, 0);
}

/* ---- answers ---- */

struct outgoing_line {
    uv_write_t write;
    char *text;
    bool last;
};

static void written(uv_write_t *write, int status)
{
    struct outgoing_line *l = write->data;
    struct control_client *client = write->handle->data;
    if (l->last || status != 0)
        let_go(client);
    free(l->text);
    free(l);
}

static void send_line(struct control_client *client, json_t *line, bool last)
{
    struct outgoing_line *l = calloc(1, sizeof *l);
    char *text = json_dumps(line, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
    json_decref(line);
    if (l == NULL || text == NULL || client->closing) {
        free(l);
        free(text);
        let_go(client);
        return;
    }
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the NUL */
    *l = (struct outgoing_line){.text = text, .last = last};
    l->write.data = l;
    uv_buf_t all = uv_buf_init(text, (unsigned)(length + 1));
    if (uv_write(&l->write, (uv_stream_t *)&client->pipe, &all, 1, written) != 0) {
        free(text);
        free(l);
        let_go(client);
    }
}

void control_answer(struct control_client *client, json_t *answer)
{
    client->waits = false;
    uv_timer_start(&client->patience, impatient, PATIENCE, 0); /* to read it */
    send_line(client, answer, true);
}

void control_tell(struct control_client *client, json_t *line)
{
    if (uv_stream_get_write_queue_size((uv_stream_t *)&client->pipe) > BACKLOG) {
        json_decref(line);
        let_go(client);
        return;
    }
    send_line(client, line, false);
}

/* ---- requests ---- */

static void room_for_request(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    struct control_client *client = handle->data;
    (void)wanted;
    *buffer = uv_buf_init(client->request + client->length,
                          (unsigned)(sizeof client->request - client->length));
}

static void take_request(struct control_client *client, size_t length)
{
    json_error_t error;
    json_t *request = json_loadb(client->request, length, JSON_REJECT_DUPLICATES, &error);
    client->asked = true;
    uv_timer_stop(&client->patience);
    if (json_is_object(request))
        client->control->ask(client->control->context, client, request);
    else
        control_answer(client, json_pack("{s:b, s:s}", "ok", 0, "error", "no request"));
    json_decref(request);
}

static void readable(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct control_client *client = stream->data;
    (void)buffer;
    if (got < 0) {
        let_go(client);
        return;
    }
    if (client->asked) /* only one request is taken */
        return;
    size_t before = client->length;
    client->length += (size_t)got;
    const char *end = memchr(client->request + before, '\n', (size_t)got);
    if (end != NULL)
        take_request(client, (size_t)(end - client->request));
    else if (client->length == sizeof client->request)
        let_go(client);
    if (client->asked)
        client->length = 0; /* room to read on, and to notice that the client disconnects */
}

/* ---- accepting ---- */

/* Clients that watch are counted apart from those that ask, because they stay. */
static bool has_room(const struct control *c, enum control_which which, bool watches, uid_t user)
{
    unsigned all = 0, same = 0;
    for (const struct control_client *x = c->clients; x != NULL; x = x->next) {
        bool alike = x->which == which && x->watches == watches;
        all += alike;
        same += alike && x->user == user;
    }
    return all < CONTROL_CLIENTS && same < CONTROL_OF_USER;
}

static void welcome(struct control *c, enum control_which which, int fd, uid_t user)
{
    struct control_client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        close(fd);
        return;
    }
    client->control = c;
    client->which = which;
    client->user = user;
    client->next = c->clients;
    c->clients = client;
    uv_pipe_init(c->loop, &client->pipe, 0);
    uv_timer_init(c->loop, &client->patience);
    client->pipe.data = client->patience.data = client;
    if (uv_pipe_open(&client->pipe, fd) != 0) {
        close(fd);
        let_go(client);
        return;
    }
    uv_timer_start(&client->patience, impatient, PATIENCE, 0);
    uv_read_start((uv_stream_t *)&client->pipe, room_for_request, readable);
}

/* Accepts one connection in a turn of the loop, and allocates nothing for one that is too many. A
 * user who connects as fast as possible takes its turn like every other event, and cannot keep the
 * member from renewing its leases. (uv_listen accepts until there is none left.) */
static void connected(uv_poll_t *poll, int status, int events)
{
    struct control_door *door = poll->data;
    struct ucred who;
    socklen_t size = sizeof who;
    (void)events;
    int fd = status == 0 ? accept4(door->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (fd < 0) {
        if (status != 0 || errno == EMFILE || errno == ENFILE)
            uv_poll_stop(poll); /* until control_tick() */
        return;
    }
    enum control_which which = (enum control_which)(door - door->control->door);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
        has_room(door->control, which, false, who.uid))
        welcome(door->control, which, fd, who.uid);
    else
        close(fd);
}

void control_tick(struct control *c)
{
    for (unsigned i = 0; i < CONTROL_COUNT; i++)
        if (c->door[i].control != NULL && !uv_is_active((uv_handle_t *)&c->door[i].poll))
            uv_poll_start(&c->door[i].poll, UV_READABLE, connected);
}

bool control_watch(struct control_client *client)
{
    client->watches = has_room(client->control, client->which, true, client->user);
    return client->watches;
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
            return text_complain(complaint, path, "something else is there", ": move it away");
        unlink(path); /* no other daemon listens there: this process has locked the state file */
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
    text_complain(complaint, path, strerror(error),
                  error == EACCES || error == ENOENT
                      ? ": run-dir must exist, and this user must be able to write there"
                      : "");
    return -1;
}

bool control_open(struct control *c, enum control_which which, const char *path,
                  struct text *complaint)
{
    struct control_door *door = &c->door[which];
    int fd = control_bind(path, SOCK_STREAM, which == CONTROL_STATUS ? 0660 : 0600, complaint);
    if (fd < 0)
        return false;
    *door = (struct control_door){.control = c, .fd = fd};
    snprintf(door->path, sizeof door->path, "%s", path);
    uv_poll_init(c->loop, &door->poll, fd);
    door->poll.data = door;
    if (listen(fd, CONTROL_CLIENTS) == 0 && uv_poll_start(&door->poll, UV_READABLE, connected) == 0)
        return true;
    return text_complain(complaint, path, strerror(errno), "");
}

void control_close(struct control *c)
{
    while (c->clients != NULL)
        let_go(c->clients);
    for (unsigned i = 0; i < CONTROL_COUNT; i++) {
        struct control_door *door = &c->door[i];
        if (door->control == NULL)
            continue;
        uv_close((uv_handle_t *)&door->poll, NULL);
        close(door->fd);
        unlink(door->path);
        door->control = NULL;
    }
}
