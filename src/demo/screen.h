/* The live view: the ring of members, their states, the lease, the chronicle and the keys. */
#ifndef ELECT_DEMO_SCREEN_H
#define ELECT_DEMO_SCREEN_H

#include "monitor.h"

struct view {
    const struct cluster *cluster;
    const struct monitor *monitor;
    unsigned chosen;
    int64_t began;
    bool colour;
    unsigned help; /* page; 0 if not shown */
    const char *hint;
};

void screen_enter(struct cluster *g);
void screen_leave(struct cluster *g);

unsigned screen_help_pages(const struct cluster *g);

/* Returns false if the terminal is gone. */
bool screen_draw(const struct view *v);

#endif
