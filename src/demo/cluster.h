/*
 * The cluster of the demonstration: real daemons with temporary state, and the network between
 * them.
 *
 * A process of its own, the supervisor, is the parent of the daemons and relays every packet
 * between them, so that links can be cut without being root. When the process that started it is
 * gone, for whatever reason, the supervisor kills the daemons and removes the folder. When the
 * supervisor is gone, the kernel kills the daemons, and the process that started it removes the
 * folder.
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

#define CLUSTER_MEMBERS 9 /* called 1 to 9 */
#define CLUSTER_FEWEST  3
#define CLUSTER_PATH    96

/* What both see. Times are of CLOCK_BOOTTIME, in microseconds, as the daemons'. */
struct cluster_page {
    _Atomic bool runs[CLUSTER_MEMBERS], stands[CLUSTER_MEMBERS]; /* stands: still */
    _Atomic int64_t done[CLUSTER_MEMBERS]; /* when the last order for it was carried out */
    _Atomic uint8_t part[CLUSTER_MEMBERS]; /* packets pass within a part of the network only */
    _Atomic bool terminal;                 /* it is to be put back as it was */
    struct termios before;
};

struct cluster {
    unsigned members;
    uint8_t algorithm, mandate;
    uint8_t identity[16]; /* of the cluster; zeros: not drawn yet */
    char folder[CLUSTER_PATH];
    struct cluster_page *page;
    struct sockaddr_in place[CLUSTER_MEMBERS];                 /* where each is */
    struct sockaddr_in seen[CLUSTER_MEMBERS][CLUSTER_MEMBERS]; /* where the first sees the second */
    int relay[CLUSTER_MEMBERS][CLUSTER_MEMBERS];               /* the socket there */
    int lock, channel, terminal;                               /* terminal: -1 if there is none */
    pid_t supervisor;
};

enum order {
    ORDER_START,
    ORDER_KILL,  /* kill -9 of the member: its guardian says that it is dead */
    ORDER_CRASH, /* and of its guardian, as if the machine were lost */
    ORDER_STOP,
    ORDER_CONTINUE,
};

/* False, with a complaint, and nothing is left. Before any thread, and with signals as they are
 * to be for the daemons. */
bool cluster_begin(struct cluster *g, struct text *complaint);
/* Carried out when it returns; false: the supervisor is gone. */
bool cluster_order(struct cluster *g, enum order order, unsigned member);
/* Another algorithm, from the next start on. */
bool cluster_configure(struct cluster *g, struct text *complaint);
void cluster_socket(const struct cluster *g, unsigned member, const char *which, char *path,
                    size_t room);
void cluster_end(struct cluster *g);

/* As it is written. */
const char *cluster_mandate(const struct cluster *g);

#endif
