/*
 * The ground of the demonstration: real daemons with temporary state, and the network between them.
 *
 * All of it is kept by a process of its own, the keeper, which is the daemons' parent and passes on
 * every packet between them, so that links can be cut by whoever is no root. When whoever began it
 * is gone, for whatever reason, the keeper kills everything and removes the folder. When the keeper
 * is gone the daemons are killed by the kernel, and whoever began it removes the folder.
 */
#ifndef ELECT_DEMO_GROUND_H
#define ELECT_DEMO_GROUND_H

#include "../model/text.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <termios.h>

#define GROUND_MEMBERS 9 /* called 1 to 9 */
#define GROUND_FEWEST  3
#define GROUND_PATH    96

/* What both see. Times are of CLOCK_BOOTTIME, in microseconds, as the daemons'. */
struct ground_page {
    _Atomic bool runs[GROUND_MEMBERS], stands[GROUND_MEMBERS]; /* stands: still */
    _Atomic int64_t done[GROUND_MEMBERS]; /* when the last order for it was carried out */
    _Atomic uint8_t part[GROUND_MEMBERS]; /* packets pass within a part of the network only */
    _Atomic bool terminal;                /* it is to be put back as it was */
    struct termios before;
};

struct ground {
    unsigned members;
    uint8_t algorithm, mandate;
    uint8_t cluster[16]; /* its identity; zeros: not drawn yet */
    char folder[GROUND_PATH];
    struct ground_page *page;
    struct sockaddr_in place[GROUND_MEMBERS];                /* where each is */
    struct sockaddr_in seen[GROUND_MEMBERS][GROUND_MEMBERS]; /* where the first sees the second */
    int relay[GROUND_MEMBERS][GROUND_MEMBERS];               /* the socket there */
    int lock, channel, terminal;                             /* terminal: -1 if there is none */
    pid_t keeper;
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
bool ground_begin(struct ground *g, struct text *complaint);
/* Carried out when it returns; false: the keeper is gone. */
bool ground_order(struct ground *g, enum order order, unsigned member);
/* Another algorithm, from the next start on. */
bool ground_configure(struct ground *g, struct text *complaint);
void ground_socket(const struct ground *g, unsigned member, const char *which, char *path,
                   size_t room);
void ground_end(struct ground *g);

/* As it is written. */
const char *ground_mandate(const struct ground *g);

int64_t ground_now(void);

#endif
