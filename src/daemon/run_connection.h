/*
 * A connection to the run socket: either an elect run, which waits until it may start its command,
 * or a client, which asks how long the member will lead (see talk.h). Shared by the run_*.c files:
 *
 *     run_socket.c      accepts connections and reads packets
 *     run_requests.c    answers each packet
 *     run_queue.c       decides which run may work, and which must stop
 *     run_connection.c  sends packets, remembers deadlines, closes connections
 */
#ifndef ELECT_DAEMON_RUN_CONNECTION_H
#define ELECT_DAEMON_RUN_CONNECTION_H

#include "../client/talk.h"
#include "work.h"

#include <sys/socket.h>

enum run_stage {
    RUN_IDLE,
    RUN_WAITS,
    RUN_REGISTERS, /* waits for the guardian to acknowledge its registration */
    RUN_HOLDS,     /* is the group's holder: its command may be running */
    RUN_LATE       /* its lease has ended, but its work is not known to have stopped */
};

struct run_connection {
    uv_poll_t poll;
    struct work *work;
    struct run_connection *next;
    int fd;
    int channel; /* the guardian's end of the channel until it is sent; then -1 */
    struct ucred who;
    uint8_t stage;     /* enum run_stage */
    uint8_t contained; /* TALK_CGROUP and TALK_NAMESPACE */
    bool closing;
    bool loose;      /* its processes cannot be killed */
    bool voids;      /* the group has no testament now, because this run is loose */
    bool registered; /* the guardian has its channel, under `serial` */
    uint32_t serial;
    bool reported;
    bool healthy;             /* true if there is no health check */
    char complaint[TALK_WHY]; /* empty unless the health check has failed */
    bool yields;              /* hand over if it dies while it works */
    elect_time told;          /* 0 if it was not told to stop */
    elect_time began;
    bool restarts;
    uint32_t command;       /* process id; 0 if not known */
    char program[TALK_WHY]; /* name of the command; empty if not known */
    char stopped[TALK_WHY]; /* why it was told to stop; may be empty */
    int64_t since;          /* start of its work, in microseconds since 1970 */
    unsigned group;
    elect_term term;
    elect_time until;                  /* latest deadline of its work */
    elect_time promised[STORE_GROUPS]; /* latest deadlines given to the client */
    bool asked[STORE_GROUPS];          /* the client is told about changes */
};

/* ---- for status and work ---- */

int run_connection_pid(const struct run_connection *c);
/* Returns the name of the run's command; empty if it is not known. */
const char *run_connection_program(const struct run_connection *c);
/* Returns the process id of the run's command; 0 if it is not known. */
int run_connection_command(const struct run_connection *c);
/* The run does no work until its command is started again. */
bool run_connection_restarts(const struct run_connection *c);
/* In microseconds since 1970. */
int64_t run_connection_since(const struct run_connection *c);
/* For example, "control group". */
const char *run_connection_containment(const struct run_connection *c);
elect_term run_connection_term(const struct run_connection *c);
/* Returns the latest deadline that was given to any client of this group. */
elect_time run_connection_promised(const struct work *w, unsigned group);

/* ---- for run_*.c ---- */

/* Returns a packet with the state of a group; the caller may set more fields. */
struct talk run_connection_words(const struct work *w, enum talk_word word, unsigned group);
/* A client that does not read is dropped. */
void run_connection_send(struct run_connection *c, const struct talk *t);
void run_connection_tell(struct run_connection *c, enum talk_word word, const char *why);
/* The packet is lost if the run does not read. */
void run_connection_tell_leader(const struct run_connection *c);

/* Writes the run's command for the log, such as "sleep (pid 4711)", or `unknown` if its name is not
 * known. */
#define RUN_WORK 96
void run_connection_work(const struct run_connection *c, const char *unknown, char text[RUN_WORK]);

/* Logs an entry for the run's user. `kind` is needed if the text contains the user's own words;
 * otherwise NULL. See struct journal_entry. */
void run_connection_log_kind(const struct run_connection *c, enum level level, const char *kind,
                             const char *what, const char *cause);
void run_connection_log(const struct run_connection *c, enum level level, const char *what,
                        const char *cause);

/* Shares the latest deadline of any client of the group with the guardian. Must be called before a
 * client is given a new deadline. */
void run_connection_update_promises(struct work *w, unsigned group);

void run_connection_unlink(struct run_connection *c);
/* The memory is freed in a later turn of the event loop. */
void run_connection_drop(struct run_connection *c);

#endif
