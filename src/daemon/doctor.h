/*
 * Finds problems with this member and its cluster, and suggests remedies, for `elect doctor`. The
 * findings are updated every second. A finding is logged when it has lasted for some seconds, and
 * again when it is resolved. `elect status` shows the most serious one.
 */
#ifndef ELECT_DAEMON_DOCTOR_H
#define ELECT_DAEMON_DOCTOR_H

#include "config.h"
#include "journal.h"

#define DOCTOR_FINDINGS 96
#define DOCTOR_TEXT     320

/* A NOTE may be intended: it is not logged, and a cluster with notes is healthy. */
enum doctor_severity { DOCTOR_OK, DOCTOR_NOTE, DOCTOR_WARNING, DOCTOR_BROKEN };

struct finding {
    uint8_t severity;
    const char *area;
    int group; /* -1 if none */
    char object[CONFIG_NAME];
    bool is_logged; /* logged by another part of the daemon */
    char what[DOCTOR_TEXT], remedy[DOCTOR_TEXT];
};

/* History of a finding, to decide when to log it. */
struct finding_seen {
    const char *area;
    int group;
    char object[CONFIG_NAME];
    uint8_t lasted, missed; /* updates in a row with and without the finding */
    bool logged;
};

/* Bounds on how far the peer's clock was ahead of this member's clock. */
struct clock_reading {
    elect_time at, least, most; /* at: by this member's clock; 0 if none */
};

/* Bounds on how much faster the peer's clock runs than this member's clock. */
struct clock_rate {
    uint32_t incarnation;
    elect_time asked; /* time of the pending question; 0 if none */
    struct clock_reading first;
    bool known; /* `least` and `most` are valid */
    double least, most;
};

/* A peer's latest report about its work as leader. */
struct peer_work {
    elect_time heard; /* when the report arrived; 0 if none has arrived */
    int64_t date;     /* when the report arrived, in microseconds since 1970 */
    /* {"main": [PID, SINCE, COMMAND]}; an unknown COMMAND, and a group in which the peer has no
     * work, are absent */
    json_t *groups;
    json_t *ready; /* ["main"]: the groups in which the peer has a healthy run */
};

struct doctor {
    unsigned count, seen;
    unsigned omitted;
    bool starting; /* just started, so peers may not have been heard yet */
    struct finding finding[DOCTOR_FINDINGS], surplus;
    struct finding_seen memory[DOCTOR_FINDINGS];
    elect_time led[STORE_GROUPS];       /* when there last was a leader; 0 if never */
    char hook[HOOK_COUNT][DOCTOR_TEXT]; /* why the hook cannot run; empty if it can */
    struct {
        struct clock_rate clock;
        struct peer_work work;
        char differs[DOCTOR_TEXT]; /* differences in the peer's settings; empty if not known */
    } peer[SESSION_PEERS];
};

const char *doctor_severity_name(enum doctor_severity severity);

#endif
