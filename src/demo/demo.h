/* elect demo: runs real daemons on the loopback interface. A user or a script causes faults, and
 * the output shows how the daemons react. */
#ifndef ELECT_DEMO_DEMO_H
#define ELECT_DEMO_DEMO_H

#include "screen.h"

struct demo {
    struct cluster cluster;
    struct monitor monitor;
    unsigned chosen;
    bool by_hand;        /* true: the user chose the process; false: the leader is chosen */
    unsigned tried;      /* the keys tried so far, as a set of enum guide_tried */
    unsigned help;       /* the page of the help that is shown; 0: none */
    int64_t began, next; /* `next`: the time of the next request to the members */
    int signals;
    int ended;        /* the signal that requested the end of the demonstration; 0: none */
    bool quits, lost; /* `lost`: the supervisor has exited unexpectedly */
    int64_t limit;    /* the time limit for a script, in microseconds */
    bool next_algorithm, changing;
    struct text why; /* the reason why the demonstration could not continue */
    bool colour;
};

/* Starts the cluster of the demonstration. If this fails, sets `complaint` and returns false. */
bool demo_begin(struct demo *d, struct text *complaint);
void demo_end(struct demo *d);

/* Waits for the next event or the next redraw, and handles it. Returns false at the end of the
 * demonstration. */
bool demo_turn(struct demo *d);

/* The first function carries out an order, and the second removes all cuts. Both add a line to the
 * chronicle. */
void demo_order(struct demo *d, enum order order, unsigned member);
void demo_heal(struct demo *d);

/* Shows the live view until the demonstration ends. */
void demo_live(struct demo *d);

/* The durations that a script measured, in microseconds. A negative value means that the event did
 * not happen. */
struct demo_measured {
    int64_t started, crashed, recovered, killed, stopped, parted, healed, two;
};

/* Plays a script of crashes, recoveries and a partition. If an expected event does not happen in
 * time, names it in `complaint` and returns false. */
bool demo_script(struct demo *d, bool quiet, struct demo_measured *m, struct text *complaint);
void demo_print(const struct demo *d, const struct demo_measured *m);

#endif
