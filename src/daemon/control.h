/*
 * The control sockets. A client sends one request, which is a line of JSON, and receives one line
 * in reply; a watcher receives one line after another. The daemon refuses clients that exceed the
 * limit, disconnects slow clients, and never waits for a client.
 *
 * In each turn of the event loop, the daemon accepts one connection on each socket and serves one
 * client, so that a thousand clients delay the member no longer than one client does. A request
 * stays in the kernel until all of it has arrived. Until then, a client costs only a descriptor and
 * a struct control_client.
 *
 *     status    0660    queries, for the group of the daemon
 *     admin     0600    changes, for the user of the daemon and for root
 *     run       0660    work that depends on leadership (run_socket.c), in packets, for run-group
 *
 * Requests never contain a path or a command.
 */
#ifndef ELECT_DAEMON_CONTROL_H
#define ELECT_DAEMON_CONTROL_H

#include "../base/text.h"

#include <jansson.h>
#include <sys/types.h>
#include <uv.h>

#define CONTROL_REQUEST  4096 /* bytes */
#define CONTROL_CLIENTS  1280 /* the most clients per socket, not counting watchers */
#define CONTROL_RESERVED 256  /* places reserved for users with fewer than CONTROL_FEW clients */
#define CONTROL_FEW      16
#define CONTROL_WATCHERS 64 /* the most watchers per socket */
#define CONTROL_WATCHES  16 /* the most watchers that one user may have */
#define CONTROL_NEVER    UINT64_MAX

/* A refusal begins with this text if the same request may succeed later. */
#define CONTROL_TOO_MANY "too many clients: "

enum control_which { CONTROL_STATUS, CONTROL_ADMIN, CONTROL_COUNT };

struct control;

struct control_client {
    struct control *control;
    enum control_which which;
    int fd;
    uid_t user;
    pid_t pid;
    bool asked, last, closing, watches;
    uint64_t due;  /* the deadline for the client's next step, as a time of uv_now() */
    char *rest;    /* bytes for the client that the kernel has not accepted yet, or NULL */
    size_t length; /* the length of `rest` */
    struct control_client *next;
    /* The following fields are used while the client waits for an answer that is not known yet. */
    bool waits;
    const char *late; /* the refusal that the client gets when the deadline passes */
    uint32_t asks;    /* the number of the question that was sent to another member (inquiry.c) */
    uint64_t order;   /* the number of this client's order to hand over (orders.c) */
    uint16_t peer;    /* the member to which the question was sent */
    int64_t since;    /* when the question was sent */
};

/* A socket to which clients connect. */
struct control_door {
    struct control *control; /* NULL if the socket is not open */
    uv_poll_t poll;
    int fd;
    char path[108];
};

struct control {
    uv_loop_t *loop;
    struct control_door door[CONTROL_COUNT];
    unsigned most; /* the most clients that a socket may have; 0 until a socket is opened */
    int ready;     /* an epoll descriptor for all clients */
    uv_poll_t poll;
    uv_timer_t late;
    struct control_client *clients, *gone; /* gone: disconnected clients, which are freed later */
    /* Answers the request, or calls control_wait() if the answer is not known yet. */
    void (*ask)(void *context, struct control_client *client, json_t *request);
    void *context;
};

/* Returns the suffix of a socket's file name: "status" or "admin". */
const char *control_name(enum control_which which);

/* Creates a socket of that type and binds it to a path, replacing a socket that an earlier process
 * left behind. Returns the descriptor of the socket; -1, with a complaint, if this fails. The
 * caller must call listen(). */
int control_bind(const char *path, int type, mode_t mode, struct text *complaint);

/* Opens a socket. Returns false, with a complaint, if this fails. */
bool control_open(struct control *c, enum control_which which, const char *path,
                  struct text *complaint);
/* Sends the answer, and disconnects the client when the kernel has accepted all of it. Takes over
 * the caller's reference to `answer`. */
void control_answer(struct control_client *client, json_t *answer);
/* Makes the client a watcher, which receives every line that control_tell() sends to it. Returns
 * false if there are too many watchers. */
bool control_watch(struct control_client *client);
/* Sends a line to a watcher, and disconnects the watcher if it is too slow. Takes over the caller's
 * reference to `line`. */
void control_tell(struct control_client *client, json_t *line);
/* Makes the client wait until control_answer() is called. After `patience` milliseconds without an
 * answer, the client is refused with the reason `late`. */
void control_wait(struct control_client *client, uint64_t patience, const char *late);
/* Accepts connections again after the process has run out of descriptors. The daemon calls this
 * function every second. */
void control_tick(struct control *c);
void control_close(struct control *c);

#endif
