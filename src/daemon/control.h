/*
 * The control sockets. A client sends one request, a line of JSON, and gets a line back; a client
 * that watches gets one line after another. A client beyond the limit gets a refusal; a slow
 * client is disconnected. Nothing here waits for a client.
 *
 * In a turn of the loop one connection of each socket is accepted, and one client is served, so
 * that a thousand clients at once delay the member no longer than one does. A request stays in the
 * kernel until all of it has come: a client that has not asked yet costs a descriptor and the
 * struct below.
 *
 *     status    0660    queries; for the group that the daemon runs as
 *     admin     0600    changes; for its user and root
 *     run       0660    what works under an office (run_socket.c), in packets; for run-group
 *
 * No request carries a path or a command.
 */
#ifndef ELECT_DAEMON_CONTROL_H
#define ELECT_DAEMON_CONTROL_H

#include "../base/text.h"

#include <jansson.h>
#include <sys/types.h>
#include <uv.h>

#define CONTROL_REQUEST  4096 /* bytes */
#define CONTROL_CLIENTS  1280 /* of a socket, besides those that watch */
#define CONTROL_RESERVED 256  /* of those, for users with less than CONTROL_FEW clients */
#define CONTROL_FEW      16
#define CONTROL_WATCHERS 64 /* of a socket */
#define CONTROL_WATCHES  16 /* of those, of one user */
#define CONTROL_NEVER    UINT64_MAX

/* Begins every refusal after which the same request may succeed later. */
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
    uint64_t due;  /* until then it must have asked, have its answer, or have read it: uv_now() */
    char *rest;    /* what the kernel has not taken yet of the lines for it; NULL: nothing */
    size_t length; /* of that */
    struct control_client *next;
    /* If the answer comes later: */
    bool waits;
    const char *late; /* what is said if there is none */
    uint32_t asks;    /* the number of a question to another member (inquiry.c); or */
    uint64_t order;   /* of an order to hand over (orders.c) */
    uint16_t peer;    /* asks: that member */
    int64_t since;    /* when that was */
};

/* A socket that clients connect to. */
struct control_door {
    struct control *control; /* NULL: it is not open */
    uv_poll_t poll;
    int fd;
    char path[108];
};

struct control {
    uv_loop_t *loop;
    struct control_door door[CONTROL_COUNT];
    unsigned most; /* clients of a socket; 0: no socket was opened yet */
    int ready;     /* an epoll of all clients */
    uv_poll_t poll;
    uv_timer_t late;
    struct control_client *clients, *gone; /* gone: freed in a later turn */
    /* Answers a request, or calls control_wait(). */
    void (*ask)(void *context, struct control_client *client, json_t *request);
    void *context;
};

const char *control_name(enum control_which which); /* as its file ends */

/* Binds a socket of that type to a path, and replaces a socket that an earlier process left there.
 * It does not listen yet. -1, with a complaint. */
int control_bind(const char *path, int type, mode_t mode, struct text *complaint);

/* False, with a complaint. */
bool control_open(struct control *c, enum control_which which, const char *path,
                  struct text *complaint);
/* Sends the only line, and disconnects when it was read. Takes the reference. */
void control_answer(struct control_client *client, json_t *answer);
/* From now on the client gets lines by control_tell(); false if too many clients watch. */
bool control_watch(struct control_client *client);
/* Sends a line to a client that watches. Takes the reference. */
void control_tell(struct control_client *client, json_t *line);
/* The answer comes later. If there is none within this time, in milliseconds, it is `late`. */
void control_wait(struct control_client *client, uint64_t patience, const char *late);
/* Every second: accepts again if there were no descriptors left. */
void control_tick(struct control *c);
void control_close(struct control *c);

#endif
