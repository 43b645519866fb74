/* elect demo: real daemons on the loopback interface, which a user or a script disturbs while it
 * watches them. */
#ifndef ELECT_DEMO_DEMO_H
#define ELECT_DEMO_DEMO_H

#include "screen.h"

struct demo {
    struct cluster cluster;
    struct monitor monitor;
    unsigned chosen;
    bool by_hand;        /* the user has chosen the process; else the leader is chosen */
    unsigned tried;      /* enum guide_tried */
    unsigned help;       /* see struct view */
    int64_t began, next; /* next: when all members are asked again */
    int signals;
    int ended;        /* the signal that ends the demonstration; 0: none */
    bool quits, lost; /* lost: the supervisor has ended */
    int64_t limit;    /* microseconds for a script */
    bool next_algorithm, changing;
    struct text why; /* why it could not continue */
    bool colour;
};

/* Starts the cluster. Returns false, with a complaint, if that fails. */
bool demo_begin(struct demo *d, struct text *complaint);
void demo_end(struct demo *d);

/* Waits for the next event or until the next drawing is due, and handles it. Returns false if the
 * demonstration is over. */
bool demo_turn(struct demo *d);

/* Carry out an order, or remove all cuts, and note it in the chronicle. */
void demo_order(struct demo *d, enum order order, unsigned member);
void demo_heal(struct demo *d);

/* Runs the live view until the demonstration is over. */
void demo_live(struct demo *d);

/* The times that a script measured, in microseconds; below 0: the event did not happen. */
struct demo_measured {
    int64_t started, crashed, recovered, killed, stopped, parted, healed, two;
};

/* Plays a script: crashes, recoveries and a partition. Returns false, with a complaint that names
 * the event, if an event did not happen in time. */
bool demo_script(struct demo *d, bool quiet, struct demo_measured *m, struct text *complaint);
void demo_print(const struct demo *d, const struct demo_measured *m);

#endif
