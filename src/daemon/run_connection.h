/*
 * A connection to the run socket: of an elect run, which waits for its turn and then works, or of a
 * client, which asks how long the member leads (see talk.h). This is what the files run_*.c share:
 *
 *     run_socket.c      accepts connections and reads packets
 *     run_requests.c    answers each packet
 *     run_queue.c       which run may work, and which must stop
 *     run_connection.c  sends packets, keeps promises, closes connections
 */
#ifndef ELECT_DAEMON_RUN_CONNECTION_H
#define ELECT_DAEMON_RUN_CONNECTION_H

#include "../client/talk.h"
#include "work.h"

#include <sys/socket.h>

enum run_stage {
    RUN_IDLE,
    RUN_WAITS,     /* for its turn */
    RUN_REGISTERS, /* until the guardian has acknowledged it */
    RUN_HOLDS,     /* works under the office: it is the holder of its group */
    RUN_LATE       /* its lease is over, but it has not said yet that its work has ended */
};

struct run_connection {
    uv_poll_t poll;
    struct work *work;
    struct run_connection *next;
    int fd;
    int channel; /* the guardian's end of a holder's channel; -1: none, or the guardian has it */
    struct ucred who;
    uint8_t stage;     /* enum run_stage */
    uint8_t contained; /* TALK_CGROUP, TALK_NAMESPACE */
    bool closing;
    bool loose;      /* its work cannot be killed, so that nothing tells when it has stopped */
    bool voids;      /* therefore its group has no testament now */
    bool registered; /* the guardian has its channel, by this serial: */
    uint32_t serial;
    bool reported;            /* it was logged that it is late */
    bool healthy;             /* it has no health check, or the last one has passed */
    char complaint[TALK_WHY]; /* why its last health check failed; empty: it did not */
    bool yields;              /* the member hands over if it dies while it works */
    elect_time told;          /* when it was told to stop; 0: it was not */
    elect_time began;         /* when it began to work */
    bool restarts;            /* that process has failed, and elect run will start it again */
    uint32_t command;         /* the process that it started; 0: it is not known */
    int64_t since;            /* when it began to work, microseconds since 1970 */
    unsigned group;
    elect_term term;                   /* that it works under */
    elect_time until;                  /* until then it may work, as far as it was told */
    elect_time promised[STORE_GROUPS]; /* until then the member leads, as a client was told */
    bool asked[STORE_GROUPS];          /* a client wants to hear of changes */
};

/* ---- for status and work ---- */

int run_connection_pid(const struct run_connection *c);
/* The command that it runs; 0: it is not known. */
int run_connection_command(const struct run_connection *c);
/* Whether its command has failed, and will be started again: nothing works meanwhile. */
bool run_connection_restarts(const struct run_connection *c);
/* When it began to work, in microseconds since 1970. */
int64_t run_connection_since(const struct run_connection *c);
/* How the processes of its work are held together, in words. */
const char *run_connection_containment(const struct run_connection *c);
elect_term run_connection_term(const struct run_connection *c);
/* Until when clients were told that the member leads this group. */
elect_time run_connection_promised(const struct work *w, unsigned group);

/* ---- for run_*.c ---- */

/* A packet about a group, to be completed. */
struct talk run_connection_words(const struct work *w, enum talk_word word, unsigned group);
/* Drops the connection if its receiver does not read. */
void run_connection_send(struct run_connection *c, const struct talk *t);
void run_connection_tell(struct run_connection *c, enum talk_word word, const char *why);

void run_connection_log(const struct run_connection *c, enum level level, const char *what,
                        const char *cause);

/* Writes into the page of the guardian until when clients of a group were promised something. To be
 * called before they hear it. */
void run_connection_update_promises(struct work *w, unsigned group);

/* Takes it out of the list of all connections. */
void run_connection_unlink(struct run_connection *c);
/* Closes it. It is freed in a later turn of the loop. */
void run_connection_drop(struct run_connection *c);

#endif
