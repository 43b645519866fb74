/*
 * The cluster of the demonstration consists of real daemons with temporary state, and of the
 * network between them.
 *
 * The supervisor is a separate process and the parent of the daemons. The supervisor relays every
 * packet between the daemons, so that connections can be cut without root privileges. If the
 * process that started the supervisor exits for any reason, the supervisor kills the daemons and
 * removes the folder with their files. If the supervisor exits unexpectedly, the kernel kills the
 * daemons, and the process that started the supervisor removes the folder.
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

#define CLUSTER_MEMBERS 9 /* the largest number of members; their names are 1 to 9 */
#define CLUSTER_FEWEST  3
#define CLUSTER_PATH    96

/* The memory that the supervisor shares with the process that started it. Times are in microseconds
 * of CLOCK_BOOTTIME, the clock that the daemons use. */
struct cluster_page {
    /* runs: the member is running; stands: it is suspended by SIGSTOP */
    _Atomic bool runs[CLUSTER_MEMBERS], stands[CLUSTER_MEMBERS];
    _Atomic int64_t done[CLUSTER_MEMBERS]; /* when the last order to the member began */
    _Atomic uint8_t part[CLUSTER_MEMBERS]; /* packets pass only between members of the same part */
    _Atomic bool terminal;                 /* true if the terminal's settings must be restored */
    struct termios before;                 /* the terminal's settings that must be restored */
};

struct cluster {
    unsigned members;
    uint8_t algorithm, mandate;
    uint8_t identity[16]; /* the random id of the cluster; all zeros until it is chosen */
    char folder[CLUSTER_PATH];
    struct cluster_page *page;
    struct sockaddr_in place[CLUSTER_MEMBERS]; /* the address of each member */
    /* seen[a][b]: the address to which member a sends its packets for member b */
    struct sockaddr_in seen[CLUSTER_MEMBERS][CLUSTER_MEMBERS];
    /* relay[a][b]: the supervisor's socket that receives the packets of member a for member b */
    int relay[CLUSTER_MEMBERS][CLUSTER_MEMBERS];
    int lock, channel, terminal; /* file descriptors; -1: not open */
    pid_t supervisor;
};

enum order {
    ORDER_START,
    ORDER_KILL,  /* kill -9 for the member only; its guardian then sends a testament */
    ORDER_CRASH, /* kill -9 for the member and its guardian, as if their machine failed */
    ORDER_STOP,
    ORDER_CONTINUE,
};

/* Prepares the files and starts the supervisor. If this fails, removes everything, sets `complaint`
 * and returns false. The caller must not have started any thread yet, and must have set the signal
 * mask of the demonstration. */
bool cluster_begin(struct cluster *g, struct text *complaint);
/* Waits until the supervisor has carried out the order. Returns false if the supervisor has
 * exited. */
bool cluster_order(struct cluster *g, enum order order, unsigned member);
/* Writes the configuration files of all members again. A member reads its file when it starts. */
bool cluster_configure(struct cluster *g, struct text *complaint);
void cluster_socket(const struct cluster *g, unsigned member, const char *which, char *path,
                    size_t room);
void cluster_end(struct cluster *g);

/* Returns the value of the cluster's `mandate` setting: "none" or "majority". */
const char *cluster_mandate(const struct cluster *g);

#endif
