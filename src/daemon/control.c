#include "control.h"

#include <errno.h>
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

struct letter {
    uv_write_t write;
    char *text;
    bool last;
};

static void written(uv_write_t *write, int status)
{
    struct letter *l = write->data;
    struct control_client *client = write->handle->data;
    if (l->last || status != 0)
        let_go(client);
    free(l->text);
    free(l);
}

static void send_line(struct control_client *client, json_t *line, bool last)
{
    struct letter *l = calloc(1, sizeof *l);
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
    *l = (struct letter){.text = text, .last = last};
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
    if (client->asked) /* it has said enough */
        return;
    size_t before = client->length;
    client->length += (size_t)got;
    const char *end = memchr(client->request + before, '\n', (size_t)got);
    if (end != NULL)
        take_request(client, (size_t)(end - client->request));
    else if (client->length == sizeof client->request)
        let_go(client);
    if (client->asked)
        client->length = 0; /* room to hear that it is gone */
}

/* Who watches is counted apart from who asks: it stays. */
static bool is_one_too_many(const struct control_client *new)
{
    unsigned all = 0, same = 0;
    for (const struct control_client *c = new->control->clients; c != NULL; c = c->next) {
        bool alike = c->which == new->which && c->watches == new->watches;
        all += alike;
        same += alike && c->user == new->user;
    }
    return all > CONTROL_CLIENTS || same > CONTROL_OF_USER;
}

static void connected(uv_stream_t *socket, int status)
{
    struct control *c = socket->data;
    struct control_client *client = status == 0 ? calloc(1, sizeof *client) : NULL;
    struct ucred who = {.uid = (uid_t)-1};
    socklen_t size = sizeof who;
    int fd;
    if (client == NULL)
        return;
    client->control = c;
    client->which = socket == (uv_stream_t *)&c->socket[CONTROL_ADMIN] ? CONTROL_ADMIN : 0;
    client->next = c->clients;
    c->clients = client;
    uv_pipe_init(c->loop, &client->pipe, 0);
    uv_timer_init(c->loop, &client->patience);
    client->pipe.data = client->patience.data = client;
    bool fine = uv_accept(socket, (uv_stream_t *)&client->pipe) == 0 &&
                uv_fileno((uv_handle_t *)&client->pipe, &fd) == 0 &&
                getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
    client->user = who.uid;
    if (!fine || is_one_too_many(client)) {
        let_go(client);
        return;
    }
    uv_timer_start(&client->patience, impatient, PATIENCE, 0);
    uv_read_start((uv_stream_t *)&client->pipe, room_for_request, readable);
}

bool control_watch(struct control_client *client)
{
    client->watches = true;
    bool fine = !is_one_too_many(client);
    client->watches = fine;
    return fine;
}

/* ---- opening ---- */

bool control_place(const char *path, struct text *complaint)
{
    struct sockaddr_un unused;
    struct stat is;
    if (strlen(path) >= sizeof unused.sun_path)
        return text_complain(complaint, path, "too long for a socket",
                             ": set run-dir to a shorter path (at most 90 characters)");
    if (lstat(path, &is) == 0) {
        if (!S_ISSOCK(is.st_mode))
            return text_complain(complaint, path, "something else is there", ": move it away");
        unlink(path); /* nobody listens: the state file is locked by this process */
    }
    return true;
}

bool control_open(struct control *c, enum control_which which, const char *path,
                  struct text *complaint)
{
    uv_pipe_t *socket = &c->socket[which];
    if (!control_place(path, complaint))
        return false;
    uv_pipe_init(c->loop, socket, 0);
    socket->data = c;
    c->open[which] = true;
    mode_t before = umask(which == CONTROL_STATUS ? 0117 : 0177);
    int error = uv_pipe_bind(socket, path);
    umask(before);
    error = error == 0 ? uv_listen((uv_stream_t *)socket, CONTROL_CLIENTS, connected) : error;
    return error == 0 ||
           text_complain(complaint, path, uv_strerror(error),
                         error == UV_EACCES || error == UV_ENOENT
                             ? ": run-dir must exist, and this user must be able to write there"
                             : "");
}

void control_close(struct control *c)
{
    while (c->clients != NULL)
        let_go(c->clients);
    for (unsigned i = 0; i < CONTROL_COUNT; i++)
        if (c->open[i])
            uv_close((uv_handle_t *)&c->socket[i], NULL);
    memset(c->open, 0, sizeof c->open);
}
