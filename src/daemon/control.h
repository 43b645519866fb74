/*
 * The control sockets. A client sends one request, a line of JSON, and gets a line back; a client
 * that watches gets one line after another. Clients that are slow, or too many, are disconnected;
 * nothing here waits for a client.
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

#define CONTROL_REQUEST 4096 /* bytes */
#define CONTROL_CLIENTS 16   /* of a socket */
#define CONTROL_OF_USER 4    /* of those */

enum control_which { CONTROL_STATUS, CONTROL_ADMIN, CONTROL_COUNT };

struct control;

struct control_client {
    uv_pipe_t pipe;
    uv_timer_t patience;
    struct control *control;
    enum control_which which;
    uid_t user;
    size_t length;
    char request[CONTROL_REQUEST];
    bool asked, closing, watches;
    uint8_t handles;
    struct control_client *next;
    /* If the answer comes later: */
    bool waits;
    unsigned group;
    uint64_t term;
    const char *whom; /* who is to lead; NULL: anybody */
    const char *late; /* what is said if there is none */
    uint32_t asks;    /* another member (inquiry.c); 0: for a change of leader */
    uint16_t peer;    /* that one */
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
    struct control_client *clients;
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
/* Every second: accepts again, if there were no descriptors left. */
void control_tick(struct control *c);
void control_close(struct control *c);

#endif
