/*
 * A connection to the run socket. The other end is either an elect run, which waits until it may
 * start its command, or a client, which asks how long the member will lead (see talk.h). The files
 * run_*.c share this header:
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
    RUN_WAITS,     /* the run waits for its turn */
    RUN_REGISTERS, /* the run waits until the guardian has acknowledged its registration */
    RUN_HOLDS,     /* the run is the holder of its group: its command may be running */
    RUN_LATE       /* the run's lease has ended, but the run has not reported the end of its work */
};

struct run_connection {
    uv_poll_t poll;
    struct work *work;
    struct run_connection *next;
    int fd;
    int channel; /* the guardian's end of the run's channel, until it is sent; else -1 */
    struct ucred who;
    uint8_t stage;     /* enum run_stage */
    uint8_t contained; /* the flags TALK_CGROUP and TALK_NAMESPACE */
    bool closing;
    bool loose;      /* the run's work cannot be killed, so its end cannot be enforced */
    bool voids;      /* because this run is loose, the group has no testament now */
    bool registered; /* the guardian has the run's channel, under `serial` */
    uint32_t serial;
    bool reported;            /* the daemon has logged that the run did not stop in time */
    bool healthy;             /* the run has no health check, or its last check has passed */
    char complaint[TALK_WHY]; /* why the last health check failed; empty if it did not */
    bool yields;              /* the member hands over if the run dies while it works */
    elect_time told;          /* when the run was told to stop; 0 if it was not */
    elect_time began;         /* when the run began to work */
    bool restarts;            /* the command has failed, and elect run will start it again */
    uint32_t command;         /* the process id of the command; 0 if it is not known */
    char program[TALK_WHY];   /* the name of the command; empty: not known */
    char stopped[TALK_WHY];   /* why the run was told to stop; empty: it was not, or not known */
    int64_t since;            /* when the run began to work, in microseconds since 1970 */
    unsigned group;
    elect_term term;                   /* the term in which the run began to work */
    elect_time until;                  /* the latest deadline for the run's work */
    elect_time promised[STORE_GROUPS]; /* by group: the latest deadline that the client was given */
    bool asked[STORE_GROUPS];          /* by group: whether the client is told about changes */
};

/* ---- for status and work ---- */

int run_connection_pid(const struct run_connection *c);
/* Returns the process id of the run's command; 0 if it is not known. */
int run_connection_command(const struct run_connection *c);
/* Returns true if the run's command has failed and will be started again. Until then, the run does
 * no work. */
bool run_connection_restarts(const struct run_connection *c);
/* Returns the time at which the run began to work, in microseconds since 1970. */
int64_t run_connection_since(const struct run_connection *c);
/* Returns how the processes of the run are kept together, for example "control group". */
const char *run_connection_containment(const struct run_connection *c);
elect_term run_connection_term(const struct run_connection *c);
/* Returns the latest deadline that any client of this group was given. */
elect_time run_connection_promised(const struct work *w, unsigned group);

/* ---- for run_*.c ---- */

/* Returns a packet with the data of a group. The caller may set further fields. */
struct talk run_connection_words(const struct work *w, enum talk_word word, unsigned group);
/* Sends a packet. Drops the connection if the other end does not read its packets. */
void run_connection_send(struct run_connection *c, const struct talk *t);
void run_connection_tell(struct run_connection *c, enum talk_word word, const char *why);
/* Tells a run that waits who leads now. The packet is lost if the run does not read. */
void run_connection_tell_leader(const struct run_connection *c);

/* Writes the command of this run for a log line, such as "sleep (pid 4711)"; if its name is not
 * known, writes `unknown`. */
#define RUN_WORK 96
void run_connection_work(const struct run_connection *c, const char *unknown, char text[RUN_WORK]);

/* Logs an entry of the user of this run. `kind` is NULL, or it stands for the text of an entry that
 * contains words of the user: see struct journal_entry. */
void run_connection_log_kind(const struct run_connection *c, enum level level, const char *kind,
                             const char *what, const char *cause);
void run_connection_log(const struct run_connection *c, enum level level, const char *what,
                        const char *cause);

/* Writes the latest deadline that any client of the group was given into the memory that is shared
 * with the guardian. Must be called before a client is given a new deadline. */
void run_connection_update_promises(struct work *w, unsigned group);

/* Removes the connection from the list of all connections. */
void run_connection_unlink(struct run_connection *c);
/* Closes the connection. The memory of the connection is freed in a later turn of the loop. */
void run_connection_drop(struct run_connection *c);

#endif
