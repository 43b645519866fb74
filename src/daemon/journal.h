/*
 * The log writes one line to standard error for each change, with its cause. The latest entries, of
 * every level, are kept in memory for `elect history` and `elect watch`, even if they are not
 * printed. The daemon must not stop if the reader of the log stops reading, so lines that cannot be
 * written immediately are dropped, and their number is logged later. log_line.h describes the form
 * of a line, and log_stream.h its destination.
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
#define JOURNAL_TEXT    384 /* for the audit of an order that names four members */
#define JOURNAL_NAME    64

/* Local users can cause entries of the kind WORK as often as they like. A separate ring buffer
 * keeps these entries, so that they cannot push out other entries. After JOURNAL_SHOWN similar
 * entries in a JOURNAL_WINDOW, further similar entries are only counted, and one line reports their
 * number when the window ends. */
#define JOURNAL_WORK_ENTRIES 128
#define JOURNAL_SHOWN        8
#define JOURNAL_WINDOW       60 /* seconds */

/* For each kind of event: its name, its word in the log, and its default level. */
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
    int64_t at;    /* when the event happened, by elect_uv_now(); 0 means: when it was logged */
    uint8_t event; /* enum journal_event */
    uint8_t level; /* enum level; 0 means the default level of the event */
    char group[JOURNAL_NAME];
    char leader[JOURNAL_NAME];
    char peer[JOURNAL_NAME]; /* another member to which the entry refers */
    uint64_t term;
    uid_t user; /* the user of a run, because similar entries are counted per user */
    char text[JOURNAL_TEXT], cause[JOURNAL_TEXT];
    const char *kind; /* entries that have a kind are similar if it is the same; may be NULL */
    /* journal_write() fills in the following fields. */
    uint64_t number;   /* the first entry has number 1 */
    int64_t window;    /* the start of the time window in which similar entries are counted */
    unsigned shown;    /* how many similar entries were shown in the window, including this one */
    uint64_t repeated; /* how many similar entries in the window were not shown */
    bool summed;       /* whether `repeated` has been logged */
};

/* An entry to which daemon_note() has not added the leader and the term yet. A field that is NULL
 * or 0 has no known value. */
struct journal_note {
    enum journal_event event;
    enum level level; /* 0 means the default level of the event */
    int group;        /* -1 if it concerns no group */
    uid_t user;
    int64_t at;
    const char *text, *cause, *peer;
    const char *kind; /* see struct journal_entry */
};

/* The options of `elect daemon` for its log. */
struct journal_options {
    bool json, quiet; /* quiet: nothing is printed */
    uint8_t level;    /* enum level: less serious entries are not printed */
    bool fixed;       /* --log-level was given, so a reload does not change the level */
};

struct journal_ring {
    uint64_t count; /* how many entries have ever been added */
    unsigned room;
    struct journal_entry *entry;
};

enum { JOURNAL_RING_WORK, JOURNAL_RING_OTHERS, JOURNAL_RINGS };

/* Memory that the member, its guardian and the hook parents share: a reload changes the level for
 * all of them, and the process that prints next reports the lines that any of them has lost. */
struct journal_shared {
    _Atomic uint8_t level; /* enum level */
    _Atomic uint64_t lost; /* lost lines whose number has not been logged yet */
};

struct journal {
    struct journal_options options;
    struct log_stream stream;
    char member[JOURNAL_NAME]; /* empty if the name is not known yet */
    struct journal_shared own, *shared;
    uint64_t count;
    struct journal_ring ring[JOURNAL_RINGS];
    struct journal_entry others[JOURNAL_ENTRIES], work[JOURNAL_WORK_ENTRIES];
    void (*written)(void *context, const struct journal_entry *e); /* may be NULL */
    void *context;
};

void journal_begin(struct journal *j, const struct journal_options *o, const char *member);
/* Fills in the date of the entry, stores and prints the entry, and passes it to `written`. */
void journal_write(struct journal *j, const struct journal_entry *e);
/* Returns the entry as a JSON object with the keys that docs/formats.md lists. */
json_t *journal_json(const struct journal *j, const struct journal_entry *e);
/* Logs the number of repeated entries for each time window that has ended or, if `all` is true, for
 * every window. */
void journal_sum_up(struct journal *j, bool all);

/* Returns true if an entry of that level is printed. */
bool journal_prints(const struct journal *j, enum level level);
/* Prints an entry without storing it. The text may have any length, and `more`, which may be NULL,
 * contains further keys. Takes over the caller's reference to `more`. */
void journal_print(struct journal *j, const struct journal_entry *e, const char *text,
                   json_t *more);
/* Reports, even with -q, why the daemon cannot start. With -o json, or if standard error is
 * systemd's journal, the report is an entry of the log. Otherwise it looks like an error message of
 * any other command. */
void journal_complain(const struct journal_options *o, const char *member, const char *why);

/* The position of a reader of the stored entries; a cursor of zeros is before the oldest entry. */
struct journal_cursor {
    uint64_t next[JOURNAL_RINGS];
};

/* Returns the next entry in the order of writing; NULL at the end. */
const struct journal_entry *journal_next(const struct journal *j, struct journal_cursor *c);

/* Writes a date such as "2026-11-16T11:20:03.123Z". */
#define JOURNAL_DATE 25
void journal_date(int64_t date, char text[JOURNAL_DATE]);

#endif
