/* elect demo: real daemons on the loopback interface, which a user or a script disturbs and
 * watches. */
#ifndef ELECT_DEMO_DEMO_H
#define ELECT_DEMO_DEMO_H

#include "screen.h"

struct demo {
    struct cluster cluster;
    struct monitor monitor;
    unsigned chosen;
    bool by_hand;        /* the user has chosen it; else the leader is chosen */
    unsigned tried;      /* enum guide_tried */
    unsigned help;       /* see struct view */
    int64_t began, next; /* next: when everybody is asked again */
    int signals;
    int ended;        /* by this signal; 0: not */
    bool quits, lost; /* lost: the supervisor is gone */
    int64_t limit;    /* microseconds for a script */
    bool next_algorithm, changing;
    struct text why; /* it could not go on */
    bool colour;
};

/* Begins everything; false, with a complaint. */
bool demo_begin(struct demo *d, struct text *complaint);
void demo_end(struct demo *d);

/* Waits for a moment, and takes in whatever comes. False if it is over. */
bool demo_turn(struct demo *d);

/* Hands. */
void demo_order(struct demo *d, enum order order, unsigned member);
void demo_heal(struct demo *d);

/* From the keyboard, until it is over. */
void demo_live(struct demo *d);

/* What a script measured, in microseconds; below 0: it did not happen. */
struct demo_measured {
    int64_t started, crashed, recovered, killed, stopped, parted, healed, two;
};

/* By itself: a crash, a recovery, a partition. False if something did not happen in time; it is
 * told which. */
bool demo_script(struct demo *d, bool quiet, struct demo_measured *m, struct text *complaint);
void demo_print(const struct demo *d, const struct demo_measured *m);

#endif
