/* Texts of the demonstration: help, hints about the next key, and the final summary. */
#ifndef ELECT_DEMO_GUIDE_H
#define ELECT_DEMO_GUIDE_H

#include "monitor.h"

/* Paragraphs of the help, ending with NULL. "" is an empty line. */
extern const char *const guide_help[];

enum guide_tried {
    TRIED_KILL = 1,
    TRIED_CRASH = 2,
    TRIED_CUT = 4,
    TRIED_STOP = 8,
    TRIED_RESIGN = 16,
    TRIED_ALGORITHM = 32
};

/* Writes a hint about the next key: one that repairs a fault or, without a fault, the first
 * untried key. Writes "" if there is none. */
void guide_hint(const struct monitor *m, unsigned tried, char *text, size_t room);

/* Prints the number of leaders, the longest time without a leader, and the longest time with
 * two. */
void guide_print_summary(const struct monitor *m, int64_t began, int64_t now);

/* Prints one row of a table of durations: `took` in microseconds, or `never` if `took` is
 * negative. */
void guide_print_row(const char *what, int64_t took, const char *never);

#endif
