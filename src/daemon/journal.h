/*
 * Writes one line to standard error for each change, with its cause. The latest entries of all
 * levels are kept in memory for `elect history` and `elect watch`, printed or not. The daemon must
 * not stop if the reader of the log does, so lines that would block are dropped, and their number
 * is logged later. log_line.h describes the form of a line, log_stream.h its destination.
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
#define JOURNAL_TEXT    384 /* fits the audit of an order that names four members */
#define JOURNAL_NAME    64

/* Local users can cause WORK entries as often as they like. These have a ring buffer of their own,
 * so that they cannot push out other entries. After JOURNAL_SHOWN similar entries in a
 * JOURNAL_WINDOW, further ones are only counted, and one line reports their number when the window
 * ends. */
#define JOURNAL_WORK_ENTRIES 128
#define JOURNAL_SHOWN        8
#define JOURNAL_WINDOW       60 /* seconds */

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
    int64_t at;    /* time of the event by elect_uv_now(); 0 if it is logged at once */
    uint8_t event; /* enum journal_event */
    uint8_t level; /* enum level; 0 for the event's default */
    char group[JOURNAL_NAME];
    char leader[JOURNAL_NAME];
    char peer[JOURNAL_NAME];
    uint64_t term;
    uid_t user; /* similar entries are counted per user */
    char text[JOURNAL_TEXT], cause[JOURNAL_TEXT];
    const char *kind; /* entries of the same kind are similar; may be NULL */
    /* Set by journal_write(). */
    uint64_t number;
    int64_t window;    /* start of its time window */
    unsigned shown;    /* similar entries printed in the window, including this one */
    uint64_t repeated; /* similar entries not printed in the window */
    bool summed;
};

/* An entry without its leader and term, which daemon_note() adds. Fields are NULL or 0 if not
 * known. */
struct journal_note {
    enum journal_event event;
    enum level level; /* 0 for the event's default */
    int group;        /* -1 if none */
    uid_t user;
    int64_t at;
    const char *text, *cause, *peer;
    const char *kind;
};

struct journal_options {
    bool json, quiet; /* quiet: print nothing */
    uint8_t level;    /* enum level */
    bool fixed;       /* set by --log-level; a reload does not change it */
};

struct journal_ring {
    uint64_t count;
    unsigned room;
    struct journal_entry *entry;
};

enum { JOURNAL_RING_WORK, JOURNAL_RING_OTHERS, JOURNAL_RINGS };

/* Shared by the member, its guardian and the hook parents: a reload changes the level for all of
 * them, and the next one to print also reports the lines that the others have lost. */
struct journal_shared {
    _Atomic uint8_t level; /* enum level */
    _Atomic uint64_t lost; /* lost lines that have not been reported yet */
};

struct journal {
    struct journal_options options;
    struct log_stream stream;
    char member[JOURNAL_NAME]; /* empty if not known yet */
    struct journal_shared own, *shared;
    uint64_t count;
    struct journal_ring ring[JOURNAL_RINGS];
    struct journal_entry others[JOURNAL_ENTRIES], work[JOURNAL_WORK_ENTRIES];
    void (*written)(void *context, const struct journal_entry *e);
    void *context;
};

void journal_begin(struct journal *j, const struct journal_options *o, const char *member);
/* Dates, stores and prints the entry, and passes it to `written`. */
void journal_write(struct journal *j, const struct journal_entry *e);
/* Returns the entry with the JSON keys of docs/formats.md. */
json_t *journal_json(const struct journal *j, const struct journal_entry *e);
/* Logs the number of repeated entries for each window that has ended, or for all windows if
 * `all`. */
void journal_sum_up(struct journal *j, bool all);

bool journal_prints(const struct journal *j, enum level level);
/* Prints an entry without storing it. The text may have any length. `more` contains further keys,
 * or is NULL; takes over the caller's reference to it. */
void journal_print(struct journal *j, const struct journal_entry *e, const char *text,
                   json_t *more);
/* Reports why the daemon cannot start, even with -q. With -o json or systemd's journal, this is a
 * log entry; otherwise it looks like any other command's error message. */
void journal_complain(const struct journal_options *o, const char *member, const char *why);

/* Position of a reader; zeros are before the oldest entry. */
struct journal_cursor {
    uint64_t next[JOURNAL_RINGS];
};

/* Returns the entries in the order of writing; NULL at the end. */
const struct journal_entry *journal_next(const struct journal *j, struct journal_cursor *c);

/* For example, "2026-11-16T11:20:03.123Z". */
#define JOURNAL_DATE 25
void journal_date(int64_t date, char text[JOURNAL_DATE]);

#endif
