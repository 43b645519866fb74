/*
 * The cluster of the demonstration: real daemons with temporary state, and the network between
 * them.
 *
 * The supervisor, a process of its own, is the parent of the daemons and relays every packet
 * between them, so that connections can be cut without root privileges. When the process that
 * started the supervisor ends, for whatever reason, the supervisor kills the daemons and removes
 * the folder. When the supervisor ends, the kernel kills the daemons, and the process that started
 * the supervisor removes the folder.
 */
#ifndef ELECT_DEMO_CLUSTER_H
#define ELECT_DEMO_CLUSTER_H

#include "../base/clock.h"
#include "../base/text.h"
#include "elect.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <termios.h>

#define CLUSTER_MEMBERS 9 /* at most; their names are 1 to 9 */
#define CLUSTER_FEWEST  3
#define CLUSTER_PATH    96

/* Memory shared with the supervisor. Times are of CLOCK_BOOTTIME, as in the daemons, in
 * microseconds. */
struct cluster_page {
    _Atomic bool runs[CLUSTER_MEMBERS], stands[CLUSTER_MEMBERS]; /* stands: is stopped by SIGSTOP */
    _Atomic int64_t done[CLUSTER_MEMBERS]; /* when its last order was carried out */
    _Atomic uint8_t part[CLUSTER_MEMBERS]; /* packets pass only between members of the same part */
    _Atomic bool terminal;                 /* the terminal must be restored */
    struct termios before;                 /* its settings to restore */
};

struct cluster {
    unsigned members;
    uint8_t algorithm, mandate;
    uint8_t identity[16]; /* of the cluster; all zeros: not drawn yet */
    char folder[CLUSTER_PATH];
    struct cluster_page *page;
    struct sockaddr_in place[CLUSTER_MEMBERS]; /* the address of each member */
    struct sockaddr_in seen[CLUSTER_MEMBERS]
                           [CLUSTER_MEMBERS];    /* at which the first sees the second */
    int relay[CLUSTER_MEMBERS][CLUSTER_MEMBERS]; /* the socket bound to it */
    int lock, channel, terminal;                 /* -1: none */
    pid_t supervisor;
};

enum order {
    ORDER_START,
    ORDER_KILL,  /* kill -9 of the member: its guardian reports the death */
    ORDER_CRASH, /* kill -9 of the member and its guardian, as if the machine were lost */
    ORDER_STOP,
    ORDER_CONTINUE,
};

/* Starts the supervisor and prepares the files. Returns false, with a complaint and without leaving
 * anything behind, if that fails. Called before any thread exists, and with the signal mask that
 * the demonstration keeps. */
bool cluster_begin(struct cluster *g, struct text *complaint);
/* Returns true when the order has been carried out; false: the supervisor has ended. */
bool cluster_order(struct cluster *g, enum order order, unsigned member);
/* Writes the configurations again. They take effect at the next start. */
bool cluster_configure(struct cluster *g, struct text *complaint);
void cluster_socket(const struct cluster *g, unsigned member, const char *which, char *path,
                    size_t room);
void cluster_end(struct cluster *g);

/* Returns the mandate as a word of the configuration. */
const char *cluster_mandate(const struct cluster *g);

#endif
