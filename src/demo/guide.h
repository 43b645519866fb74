/* What the demonstration tells its user besides the view: the help page, a hint what to try next,
 * and a summary at the end. */
#ifndef ELECT_DEMO_GUIDE_H
#define ELECT_DEMO_GUIDE_H

#include "monitor.h"

/* The lines of the help page, which end in NULL; each is a paragraph, "" is a blank line. */
extern const char *const guide_help[];

/* Keys that the user has pressed, as a set. */
enum guide_tried {
    TRIED_KILL = 1,
    TRIED_CRASH = 2,
    TRIED_CUT = 4,
    TRIED_STOP = 8,
    TRIED_RESIGN = 16,
    TRIED_ALGORITHM = 32
};

/* Writes what to try next: repair what is broken, else the first of the keys that were not tried.
 * Empty if there is nothing to suggest. */
void guide_hint(const struct monitor *m, unsigned tried, char *text, size_t room);

/* Prints how often the leader changed, and how long there was none, or two. */
void guide_print_summary(const struct monitor *m, int64_t began, int64_t now);

/* A row of a table of durations, in microseconds; below 0: `never`. */
void guide_print_row(const char *what, int64_t took, const char *never);

#endif
