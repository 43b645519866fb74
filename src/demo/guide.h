/* The texts of the demonstration: the help, hints that suggest the next key, and a summary at the
 * end. */
#ifndef ELECT_DEMO_GUIDE_H
#define ELECT_DEMO_GUIDE_H

#include "monitor.h"

/* The paragraphs of the help, followed by NULL. A "" stands for a blank line. */
extern const char *const guide_help[];

/* The set of keys that the user has pressed. */
enum guide_tried {
    TRIED_KILL = 1,
    TRIED_CRASH = 2,
    TRIED_CUT = 4,
    TRIED_STOP = 8,
    TRIED_RESIGN = 16,
    TRIED_ALGORITHM = 32
};

/* Writes a hint that suggests a key: one that repairs a fault, or otherwise the first key that the
 * user has not tried. Writes an empty text if there is no suggestion. */
void guide_hint(const struct monitor *m, unsigned tried, char *text, size_t room);

/* Prints the number of leaders that took office, the longest time without a leader, and the longest
 * time with two leaders at once. */
void guide_print_summary(const struct monitor *m, int64_t began, int64_t now);

/* Prints a row of a table of durations. `took` is in microseconds; if it is negative, `never` is
 * printed instead. */
void guide_print_row(const char *what, int64_t took, const char *never);

#endif
