/*
 * The demonstration's cluster: real daemons with temporary state, and the network between them.
 *
 * The supervisor is a separate process and the parent of the daemons. It relays all packets between
 * them, so that connections can be cut without root privileges. If the process that started the
 * supervisor exits for any reason, the supervisor kills the daemons and removes their folder. If
 * the supervisor exits unexpectedly, the kernel kills the daemons, and the process that started it
 * removes the folder.
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

#define CLUSTER_MEMBERS 9 /* named 1 to 9 */
#define CLUSTER_FEWEST  3
#define CLUSTER_PATH    96

/* Memory shared by the supervisor and the process that started it. Times are in microseconds of
 * CLOCK_BOOTTIME, as in the daemons. */
struct cluster_page {
    /* `stands`: suspended by SIGSTOP */
    _Atomic bool runs[CLUSTER_MEMBERS], stands[CLUSTER_MEMBERS];
    _Atomic int64_t done[CLUSTER_MEMBERS];
    _Atomic uint8_t part[CLUSTER_MEMBERS]; /* packets pass only within a part */
    _Atomic bool terminal;                 /* `before` must be restored */
    struct termios before;
};

struct cluster {
    unsigned members;
    uint8_t algorithm, mandate;
    uint8_t identity[16]; /* random id; all zeros until chosen */
    char folder[CLUSTER_PATH];
    struct cluster_page *page;
    struct sockaddr_in place[CLUSTER_MEMBERS];
    /* seen[a][b]: address where member a sends its packets for member b */
    struct sockaddr_in seen[CLUSTER_MEMBERS][CLUSTER_MEMBERS];
    /* relay[a][b]: the supervisor's socket at seen[a][b] */
    int relay[CLUSTER_MEMBERS][CLUSTER_MEMBERS];
    int lock, channel, terminal; /* file descriptors; -1 if closed */
    pid_t supervisor;
};

enum order {
    ORDER_START,
    ORDER_KILL,  /* kill -9 of the member; its guardian survives and sends a death report */
    ORDER_CRASH, /* kill -9 of the member and its guardian, like a machine failure */
    ORDER_STOP,
    ORDER_CONTINUE,
};

/* Prepares the files and starts the supervisor. On failure, removes everything, sets `complaint`
 * and returns false. Call it before starting any thread, with the demonstration's signal mask
 * set. */
bool cluster_begin(struct cluster *g, struct text *complaint);
/* Sends an order and waits until it has been carried out. Returns false if the supervisor has
 * exited. */
bool cluster_order(struct cluster *g, enum order order, unsigned member);
bool cluster_configure(struct cluster *g, struct text *complaint);
void cluster_socket(const struct cluster *g, unsigned member, const char *which, char *path,
                    size_t room);
void cluster_end(struct cluster *g);

const char *cluster_mandate(const struct cluster *g);

#endif
