/* The texts of the demonstration: the help, hints that suggest the next key, and a summary at the
 * end. */
#ifndef ELECT_DEMO_GUIDE_H
#define ELECT_DEMO_GUIDE_H

#include "monitor.h"

/* The paragraphs of the help text, followed by NULL. "" is an empty line. */
extern const char *const guide_help[];

/* The keys that the user has tried so far, as bits of a set. */
enum guide_tried {
    TRIED_KILL = 1,
    TRIED_CRASH = 2,
    TRIED_CUT = 4,
    TRIED_STOP = 8,
    TRIED_RESIGN = 16,
    TRIED_ALGORITHM = 32
};

/* Writes a hint that suggests a key to press. This is a key that repairs a fault or, if there is no
 * fault, the first key that the user has not tried. If there is nothing to suggest, writes an empty
 * text. */
void guide_hint(const struct monitor *m, unsigned tried, char *text, size_t room);

/* Prints the number of leaders that took office, the longest time without a leader, and the longest
 * time with two leaders at once. */
void guide_print_summary(const struct monitor *m, int64_t began, int64_t now);

/* Prints one row of a table of durations. `took` is the duration in microseconds. If it is
 * negative, prints `never` instead. */
void guide_print_row(const char *what, int64_t took, const char *never);

#endif
