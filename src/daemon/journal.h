/*
 * What has changed, and why: on standard error, a line each, and the last ones in memory for
 * `elect history` and `elect watch`. Whoever reads the log and stops must not stop the daemon: what
 * cannot be written at once is left out, and how much that was is said later.
 */
#ifndef ELECT_JOURNAL_H
#define ELECT_JOURNAL_H

#include "../model/text.h"

#include <jansson.h>

#define JOURNAL_ENTRIES 256
#define JOURNAL_TEXT    160

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
    char text[JOURNAL_TEXT];
};

struct journal {
    bool json, quiet, stamped; /* stamped: each line begins with the date */
    int fd;
    uint64_t count, lost;
    struct journal_entry entry[JOURNAL_ENTRIES];
    void (*written)(void *context, const struct journal_entry *e); /* may be NULL */
    void *context;
};

void journal_begin(struct journal *j, bool json, bool quiet);
/* Its date is filled in. */
void journal_write(struct journal *j, const struct journal_entry *e);
json_t *journal_json(const struct journal_entry *e);
/* The oldest that is there, and those after it; NULL at the end. */
const struct journal_entry *journal_at(const struct journal *j, unsigned i);

/* "2026-11-16T11:20:03.123Z" */
#define JOURNAL_DATE 25
void journal_date(int64_t date, char text[JOURNAL_DATE]);

#endif
