/*
 * The log: what has changed, and why, a line each on standard error. The latest entries are kept in
 * memory for `elect history` and `elect watch`, whatever their level. A reader of the log that
 * stops reading must not stop the daemon: lines that cannot be written at once are dropped, and
 * their number is logged later. log_line.h says what a line looks like, log_stream.h where it goes.
 */
#ifndef ELECT_DAEMON_JOURNAL_H
#define ELECT_DAEMON_JOURNAL_H

#include "../base/text.h"
#include "level.h"
#include "log_stream.h"

#include <jansson.h>
#include <stdatomic.h>
#include <sys/types.h>

#define JOURNAL_ENTRIES 256
#define JOURNAL_TEXT    256
#define JOURNAL_NAME    64

/* Local users can cause entries of event WORK as often as they like. These are kept in a ring of
 * their own, so that they replace nothing else; and an entry that occurs more often than SHOWN
 * times in a WINDOW is counted from then on, and summed up in one line when the window is over. */
#define JOURNAL_WORK_ENTRIES 128
#define JOURNAL_SHOWN        8
#define JOURNAL_WINDOW       60 /* seconds */

/* name, word, level unless an entry has one of its own */
#define JOURNAL_EVENTS(X)                                                                          \
    X(STARTED, "started", NOTICE)                                                                  \
    X(NOT_STARTED, "not-started", ERROR)                                                           \
    X(LEADS, "leads", NOTICE)                                                                      \
    X(STOPPED_LEADING, "stopped-leading", NOTICE)                                                  \
    X(FOLLOWS, "follows", NOTICE)                                                                  \
    X(NO_LEADER, "no-leader", NOTICE)                                                              \
    X(MEMBER, "member", WARNING)                                                                   \
    X(LINK, "link", INFO)                                                                          \
    X(ADMIN, "admin", NOTICE)                                                                      \
    X(CONFIG, "config", WARNING)                                                                   \
    X(FINDING, "finding", WARNING)                                                                 \
    X(WORK, "work", INFO)                                                                          \
    X(HOOK, "hook", WARNING)                                                                       \
    X(HOOK_OUTPUT, "hook-output", INFO)                                                            \
    X(GUARDIAN, "guardian", NOTICE)                                                                \
    X(STEP, "step", DEBUG)                                                                         \
    X(LOST, "log-lost", WARNING)                                                                   \
    X(STOPPED, "stopped", NOTICE)

enum journal_event {
#define X(name, word, level) JOURNAL_##name,
    JOURNAL_EVENTS(X)
#undef X
        JOURNAL_EVENT_COUNT
};

struct journal_entry {
    int64_t date;  /* microseconds since 1970 */
    int64_t at;    /* of elect_uv_now(): when it was so, if it was not at that moment */
    uint8_t event; /* enum journal_event */
    uint8_t level; /* enum level; 0: that of the event */
    char group[JOURNAL_NAME];
    char leader[JOURNAL_NAME];
    char peer[JOURNAL_NAME]; /* the other member that it is about */
    uint64_t term;
    uid_t user; /* whose run it is about; entries of one user do not hide those of another */
    char text[JOURNAL_TEXT], cause[JOURNAL_TEXT];
    /* Filled in by journal_write: */
    uint64_t number;   /* in the order of all entries, from 1 */
    int64_t window;    /* when its window began, by `at` */
    unsigned shown;    /* which one of its window it is */
    uint64_t repeated; /* how many more there were in its window that are not shown */
    bool summed;       /* and that was said */
};

/* An entry before daemon_note() adds its leader and term. NULL and 0: not known. */
struct journal_note {
    enum journal_event event;
    enum level level; /* 0: that of the event */
    int group;        /* -1: none */
    uid_t user;
    int64_t at;
    const char *text, *cause, *peer;
};

/* The options of `elect daemon` for its log. */
struct journal_options {
    bool json, quiet; /* quiet: nothing is printed */
    uint8_t level;    /* enum level: what is less serious is not printed */
    bool fixed;       /* by --log-level: a reload does not change it */
};

struct journal_ring {
    uint64_t count; /* that were ever added */
    unsigned room;
    struct journal_entry *entry;
};

enum { JOURNAL_RING_WORK, JOURNAL_RING_OTHERS, JOURNAL_RINGS };

/* Shared memory of the member, its guardian and the hook parents: a reload changes the level for
 * all of them, and the one that prints next reports the lines that any of them lost. */
struct journal_shared {
    _Atomic uint8_t level; /* enum level */
    _Atomic uint64_t lost; /* lines that could not be written, and were not reported yet */
};

struct journal {
    struct journal_options options;
    struct log_stream stream;
    char member[JOURNAL_NAME]; /* empty: not known yet */
    struct journal_shared own, *shared;
    uint64_t count;
    struct journal_ring ring[JOURNAL_RINGS];
    struct journal_entry others[JOURNAL_ENTRIES], work[JOURNAL_WORK_ENTRIES];
    void (*written)(void *context, const struct journal_entry *e); /* may be NULL */
    void *context;
};

void journal_begin(struct journal *j, const struct journal_options *o, const char *member);
/* Keeps the entry, prints it, and passes it on to `written`. Its date is filled in. */
void journal_write(struct journal *j, const struct journal_entry *e);
/* Returns the entry with the keys that docs/formats.md lists. */
json_t *journal_json(const struct journal *j, const struct journal_entry *e);
/* Sums up what was repeated in windows that are over, or with `all` in every window. */
void journal_sum_up(struct journal *j, bool all);

/* Returns true if an entry of that level is printed. */
bool journal_prints(const struct journal *j, enum level level);
/* Prints an entry that is not kept, with a text of any length and with further keys (taken; may be
 * NULL). */
void journal_print(struct journal *j, const struct journal_entry *e, const char *text,
                   json_t *more);
/* Reports why the daemon cannot start, even with -q: as an entry with -o json or in systemd's
 * journal, otherwise in the form of every other command. */
void journal_complain(const struct journal_options *o, const char *member, const char *why);

/* The position of a reader; all 0: before the oldest entry. */
struct journal_cursor {
    uint64_t next[JOURNAL_RINGS];
};

/* The next entry, in the order in which they were written; NULL at the end. */
const struct journal_entry *journal_next(const struct journal *j, struct journal_cursor *c);

/* "2026-11-16T11:20:03.123Z" */
#define JOURNAL_DATE 25
void journal_date(int64_t date, char text[JOURNAL_DATE]);

#endif
