/* The live view: the ring of members, the state of each, the lease, the chronicle and the keys. */
#ifndef ELECT_DEMO_SCREEN_H
#define ELECT_DEMO_SCREEN_H

#include "monitor.h"

struct view {
    const struct cluster *cluster;
    const struct monitor *monitor;
    unsigned chosen;
    int64_t began;
    bool colour;
    unsigned help; /* page of the help that is shown, from 1; 0: the view */
    const char *hint;
};

/* The terminal becomes ours, and as it was before. */
void screen_enter(struct cluster *g);
void screen_leave(struct cluster *g);

/* How many pages the help has on this terminal. */
unsigned screen_help_pages(const struct cluster *g);

/* False: there is nobody to look at it any more. */
bool screen_draw(const struct view *v);

#endif
