/* Draws the live view: the ring of members, their states, the lease, the chronicle and the keys. */
#ifndef ELECT_DEMO_SCREEN_H
#define ELECT_DEMO_SCREEN_H

#include "monitor.h"

struct view {
    const struct cluster *cluster;
    const struct monitor *monitor;
    unsigned chosen;
    int64_t began;
    bool colour;
    unsigned help; /* the page of the help that is shown, from 1; 0: the view is shown */
    const char *hint;
};

/* Prepare the terminal for the view, and restore it afterwards. */
void screen_enter(struct cluster *g);
void screen_leave(struct cluster *g);

/* Returns the number of pages of the help on this terminal. */
unsigned screen_help_pages(const struct cluster *g);

/* Returns false if the terminal is gone. */
bool screen_draw(const struct view *v);

#endif
