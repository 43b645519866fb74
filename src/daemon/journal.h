/*
 * The log: what has changed, and why, a line each on standard error. The latest entries are kept in
 * memory for `elect history` and `elect watch`. A reader of the log that stops reading must not
 * stop the daemon: lines that cannot be written at once are dropped, and their number is logged
 * later.
 */
#ifndef ELECT_DAEMON_JOURNAL_H
#define ELECT_DAEMON_JOURNAL_H

#include "../base/text.h"

#include <jansson.h>
#include <sys/types.h>

#define JOURNAL_ENTRIES 256
#define JOURNAL_TEXT    160

/* Local users can cause entries of event WORK as often as they like. These are kept in a ring of
 * their own, so that they replace nothing else; and an entry that occurs more often than SHOWN
 * times in a WINDOW is counted from then on, and summed up in one line when the window is over. */
#define JOURNAL_WORK_ENTRIES 128
#define JOURNAL_SHOWN        8
#define JOURNAL_WINDOW       60 /* seconds */

/* name, word */
#define JOURNAL_EVENTS(X)                                                                          \
    X(STARTED, "started")                                                                          \
    X(LEADS, "leads")                                                                              \
    X(LEADS_NO_MORE, "leads-no-more")                                                              \
    X(FOLLOWS, "follows")                                                                          \
    X(NO_LEADER, "no-leader")                                                                      \
    X(MEMBER, "member")                                                                            \
    X(LINK, "link")                                                                                \
    X(ADMIN, "admin")                                                                              \
    X(WORK, "work")                                                                                \
    X(HOOK, "hook")                                                                                \
    X(GUARDIAN, "guardian")                                                                        \
    X(STOPPED, "stopped")

enum journal_event {
#define X(name, word) JOURNAL_##name,
    JOURNAL_EVENTS(X)
#undef X
        JOURNAL_EVENT_COUNT
};

struct journal_entry {
    int64_t date;  /* microseconds since 1970 */
    int64_t at;    /* of elect_uv_now(): when it was so, if it was not at that moment */
    uint8_t event; /* enum journal_event */
    char group[64];
    char leader[64];
    uint64_t term;
    uid_t user; /* whose run it is about; entries of one user do not hide those of another */
    char text[JOURNAL_TEXT];
    /* Filled in by journal_write: */
    uint64_t number;   /* in the order of all entries, from 1 */
    int64_t window;    /* when its window began, by `at` */
    unsigned shown;    /* which one of its window it is */
    uint64_t repeated; /* how many more there were in its window that are not shown */
    bool summed;       /* and that was said */
};

struct journal_ring {
    uint64_t count; /* that were ever added */
    unsigned room;
    struct journal_entry *entry;
};

enum { JOURNAL_RING_WORK, JOURNAL_RING_OTHERS, JOURNAL_RINGS };

struct journal {
    bool json, quiet, stamped; /* stamped: each line begins with the date */
    int fd;
    uint64_t count, lost;
    struct journal_ring ring[JOURNAL_RINGS];
    struct journal_entry others[JOURNAL_ENTRIES], work[JOURNAL_WORK_ENTRIES];
    void (*written)(void *context, const struct journal_entry *e); /* may be NULL */
    void *context;
};

void journal_begin(struct journal *j, bool json, bool quiet);
/* Its date is filled in. */
void journal_write(struct journal *j, const struct journal_entry *e);
json_t *journal_json(const struct journal_entry *e);
/* Sums up what was repeated in windows that are over, or with `all` in every window. */
void journal_sum_up(struct journal *j, bool all);

/* Where a reader is; all 0: before the oldest entry. */
struct journal_cursor {
    uint64_t next[JOURNAL_RINGS];
};

/* The next entry, in the order in which they were written; NULL at the end. */
const struct journal_entry *journal_next(const struct journal *j, struct journal_cursor *c);

/* "2026-11-16T11:20:03.123Z" */
#define JOURNAL_DATE 25
void journal_date(int64_t date, char text[JOURNAL_DATE]);

#endif
