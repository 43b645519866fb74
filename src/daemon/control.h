/*
 * The control sockets. A client sends one request, a line of JSON, and receives one line in reply;
 * a watcher receives one line after another. The daemon refuses clients beyond a limit, disconnects
 * slow ones, and never waits for a client.
 *
 * In each turn of the event loop, the daemon accepts one connection per socket and serves one
 * client, so a thousand clients delay the member no more than one does. A request stays in the
 * kernel until it is complete. Until then, a client costs a descriptor and a struct control_client.
 *
 *     status    0660    queries, for the daemon's group
 *     admin     0600    changes, for the daemon's user and for root
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

#define CONTROL_REQUEST  4096
#define CONTROL_CLIENTS  1280 /* maximum per socket, without watchers */
#define CONTROL_RESERVED 256  /* for users with fewer than CONTROL_FEW clients */
#define CONTROL_FEW      16
#define CONTROL_WATCHERS 64
#define CONTROL_WATCHES  16
#define CONTROL_NEVER    UINT64_MAX

/* Prefix of a refusal if the same request may succeed later. */
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
    uint64_t due; /* deadline of the client's next step, by uv_now() */
    char *rest;   /* bytes not accepted by the kernel yet, or NULL */
    size_t length;
    struct control_client *next;
    /* Only used while the client waits for an answer that is not known yet. */
    bool waits;
    const char *late; /* refusal to send when the deadline passes */
    uint32_t asks;    /* number of its question to another member */
    uint64_t order;   /* number of its order to hand over */
    uint16_t peer;
    int64_t since;
};

struct control_door {
    struct control *control; /* NULL if not open */
    uv_poll_t poll;
    int fd;
    char path[108];
};

struct control {
    uv_loop_t *loop;
    struct control_door door[CONTROL_COUNT];
    unsigned most; /* maximum number of clients per socket; 0 before the first control_open() */
    int ready;
    uv_poll_t poll;
    uv_timer_t late;
    struct control_client *clients, *gone; /* gone: disconnected, to be freed later */
    /* Answers the request, or calls control_wait() if the answer is not known yet. */
    void (*ask)(void *context, struct control_client *client, json_t *request);
    void *context;
};

const char *control_name(enum control_which which);

/* Creates and binds a socket, replacing one that an earlier process left behind. Returns its
 * descriptor; -1, with a complaint, on failure. The caller must call listen(). */
int control_bind(const char *path, int type, mode_t mode, struct text *complaint);

bool control_open(struct control *c, enum control_which which, const char *path,
                  struct text *complaint);
/* Sends the answer and disconnects the client once all of it is sent. Takes over the caller's
 * reference to `answer`. */
void control_answer(struct control_client *client, json_t *answer);
/* Makes the client a watcher, which stays connected for control_tell(). Returns false if there are
 * too many watchers. */
bool control_watch(struct control_client *client);
/* Sends a line to a watcher, or disconnects a watcher that is too slow. Takes over the caller's
 * reference to `line`. */
void control_tell(struct control_client *client, json_t *line);
/* After `patience` milliseconds without control_answer(), refuses the client with the reason
 * `late`. */
void control_wait(struct control_client *client, uint64_t patience, const char *late);
/* Accepts connections again after the process has run out of descriptors. Called every second. */
void control_tick(struct control *c);
void control_close(struct control *c);

#endif
