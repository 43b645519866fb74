/* elect demo: runs real daemons on the loopback interface, injects faults (by key or script),
 * and shows how the daemons react. */
#ifndef ELECT_DEMO_DEMO_H
#define ELECT_DEMO_DEMO_H

#include "screen.h"

struct demo {
    struct cluster cluster;
    struct monitor monitor;
    unsigned chosen;
    bool by_hand;        /* the user chose `chosen`; otherwise it follows the leader */
    unsigned tried;      /* set of enum guide_tried */
    unsigned help;       /* page; 0 if not shown */
    int64_t began, next; /* `next`: when to ask the members again */
    int signals;
    int ended;        /* signal that ended the demonstration; 0 if none */
    bool quits, lost; /* `lost`: the supervisor exited unexpectedly */
    int64_t limit;    /* microseconds */
    bool next_algorithm, changing;
    struct text why;
    bool colour;
};

bool demo_begin(struct demo *d, struct text *complaint);
void demo_end(struct demo *d);

/* Handles the next event or redraws. Returns false at the end of the demonstration. */
bool demo_turn(struct demo *d);

/* Carries out an order, or removes all cuts, and adds a line to the chronicle. */
void demo_order(struct demo *d, enum order order, unsigned member);
void demo_heal(struct demo *d);

void demo_live(struct demo *d);

/* Durations measured by a script, in microseconds; negative if the event did not happen. */
struct demo_measured {
    int64_t started, crashed, recovered, killed, stopped, parted, healed, two;
};

/* Plays a script of crashes, recoveries and a partition. If an expected event takes too long,
 * names it in `complaint` and returns false. */
bool demo_script(struct demo *d, bool quiet, struct demo_measured *m, struct text *complaint);
void demo_print(const struct demo *d, const struct demo_measured *m);

#endif
