/*
 * The cluster of the demonstration consists of real daemons with temporary state, and of the
 * network between them.
 *
 * The supervisor is a separate process and the parent of the daemons. The supervisor relays every
 * packet between the daemons, so that connections can be cut without root privileges. If the
 * process that started the supervisor ends for any reason, the supervisor kills the daemons and
 * removes the folder. If the supervisor ends unexpectedly, the kernel kills the daemons, and the
 * process that started the supervisor removes the folder.
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

#define CLUSTER_MEMBERS 9 /* the most members; their names are 1 to 9 */
#define CLUSTER_FEWEST  3
#define CLUSTER_PATH    96

/* Memory that is shared with the supervisor. Times are in microseconds of CLOCK_BOOTTIME, as in the
 * daemons. */
struct cluster_page {
    /* stands: SIGSTOP has stopped the member */
    _Atomic bool runs[CLUSTER_MEMBERS], stands[CLUSTER_MEMBERS];
    _Atomic int64_t done[CLUSTER_MEMBERS]; /* the time just before its last order was carried out */
    _Atomic uint8_t part[CLUSTER_MEMBERS]; /* packets pass only between members of the same part */
    _Atomic bool terminal;                 /* the terminal must be restored */
    struct termios before;                 /* the settings to restore */
};

struct cluster {
    unsigned members;
    uint8_t algorithm, mandate;
    uint8_t identity[16]; /* of the cluster; all zeros until it is chosen at random */
    char folder[CLUSTER_PATH];
    struct cluster_page *page;
    struct sockaddr_in place[CLUSTER_MEMBERS]; /* the address of each member */
    /* seen[a][b]: the address to which a sends packets for b */
    struct sockaddr_in seen[CLUSTER_MEMBERS][CLUSTER_MEMBERS];
    /* relay[a][b]: the supervisor's socket with the address seen[a][b] */
    int relay[CLUSTER_MEMBERS][CLUSTER_MEMBERS];
    int lock, channel, terminal; /* -1: none */
    pid_t supervisor;
};

enum order {
    ORDER_START,
    ORDER_KILL,  /* kill -9 of the member only, so that its guardian sends a testament */
    ORDER_CRASH, /* kill -9 of the member and its guardian, like the loss of a machine */
    ORDER_STOP,
    ORDER_CONTINUE,
};

/* Prepares the files and starts the supervisor. If this fails, removes everything and returns false
 * with a complaint. Call this before any thread exists, and with the signal mask of the
 * demonstration. */
bool cluster_begin(struct cluster *g, struct text *complaint);
/* Returns true when the order has been carried out, or false if the supervisor has ended. */
bool cluster_order(struct cluster *g, enum order order, unsigned member);
/* Writes the configurations of all members again. The changes take effect when a member starts. */
bool cluster_configure(struct cluster *g, struct text *complaint);
void cluster_socket(const struct cluster *g, unsigned member, const char *which, char *path,
                    size_t room);
void cluster_end(struct cluster *g);

/* Returns the mandate as a word of the configuration. */
const char *cluster_mandate(const struct cluster *g);

#endif
