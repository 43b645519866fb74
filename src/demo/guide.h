/* The texts that the demonstration shows besides the view: the help, a hint about which key to try
 * next, and a summary at the end. */
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

/* Writes which key to try next: one that repairs a fault, or else the first key that was not tried.
 * Writes an empty text if there is no suggestion. */
void guide_hint(const struct monitor *m, unsigned tried, char *text, size_t room);

/* Prints how many leaders took office, the longest time without a leader, and how long two led at
 * the same time. */
void guide_print_summary(const struct monitor *m, int64_t began, int64_t now);

/* Prints a row of a table of durations, which are in microseconds; below 0: prints `never`. */
void guide_print_row(const char *what, int64_t took, const char *never);

#endif
