/* elect demo: runs real daemons on the loopback interface. A user or a script causes faults and
 * watches how the daemons react. */
#ifndef ELECT_DEMO_DEMO_H
#define ELECT_DEMO_DEMO_H

#include "screen.h"

struct demo {
    struct cluster cluster;
    struct monitor monitor;
    unsigned chosen;
    bool by_hand;        /* the user has chosen this process; otherwise it is the leader */
    unsigned tried;      /* enum guide_tried */
    unsigned help;       /* see struct view */
    int64_t began, next; /* next: the time of the next round of requests */
    int signals;
    int ended;        /* the signal that ends the demonstration; 0: none */
    bool quits, lost; /* lost: the supervisor has ended */
    int64_t limit;    /* microseconds for a script */
    bool next_algorithm, changing;
    struct text why; /* why the demonstration could not continue */
    bool colour;
};

/* Starts the cluster. Returns false with a complaint if this fails. */
bool demo_begin(struct demo *d, struct text *complaint);
void demo_end(struct demo *d);

/* Waits for the next event or redraw, and handles it. Returns false if the demonstration has
 * ended. */
bool demo_turn(struct demo *d);

/* Carry out an order, or remove all cuts, and add a line to the chronicle. */
void demo_order(struct demo *d, enum order order, unsigned member);
void demo_heal(struct demo *d);

/* Runs the live view until the demonstration ends. */
void demo_live(struct demo *d);

/* The times that a script measured, in microseconds. A time below 0 means that the event did not
 * happen. */
struct demo_measured {
    int64_t started, crashed, recovered, killed, stopped, parted, healed, two;
};

/* Plays a script of crashes, recoveries and a partition. If an expected event does not happen in
 * time, returns false with a complaint that names the event. */
bool demo_script(struct demo *d, bool quiet, struct demo_measured *m, struct text *complaint);
void demo_print(const struct demo *d, const struct demo_measured *m);

#endif
