/*
 * Finds problems with this member and its cluster, and suggests remedies, for `elect doctor`. The
 * daemon evaluates the findings every second. It logs a finding when the finding has lasted for
 * some seconds, and again when the finding is resolved. The answer to `elect status` contains the
 * most serious finding.
 */
#ifndef ELECT_DAEMON_DOCTOR_H
#define ELECT_DAEMON_DOCTOR_H

#include "config.h"
#include "journal.h"

#define DOCTOR_FINDINGS 96
#define DOCTOR_TEXT     320

/* NOTE: may be intended; it is not logged, and a cluster with notes is healthy. */
enum doctor_severity { DOCTOR_OK, DOCTOR_NOTE, DOCTOR_WARNING, DOCTOR_BROKEN };

struct finding {
    uint8_t severity; /* enum doctor_severity */
    const char *area;
    int group; /* -1 if it concerns no group */
    char object[CONFIG_NAME];
    bool is_logged; /* another part of the daemon logs this finding */
    char what[DOCTOR_TEXT], remedy[DOCTOR_TEXT];
};

/* The history of a finding, which determines when the finding is logged. */
struct finding_seen {
    const char *area;
    int group;
    char object[CONFIG_NAME];
    uint8_t lasted, missed; /* evaluations in a row with the finding, and without it */
    bool logged;
};

/* Bounds on how far the clock of a peer was ahead of the clock of this member. */
struct clock_reading {
    elect_time at, least, most; /* at: when, by this member's clock; 0 if there is no reading */
};

/* Bounds on how much faster the clock of a peer runs than the clock of this member. */
struct clock_rate {
    uint32_t incarnation;       /* the peer's incarnation, which changes if it restarts */
    elect_time asked;           /* when this member asked the peer; 0 if no answer is pending */
    struct clock_reading first; /* the reading at the beginning of the measurement */
    bool known;                 /* whether `least` and `most` have been measured */
    double least, most;
};

/* The latest report from a peer about the work that it does as leader. */
struct peer_work {
    elect_time heard; /* when the report arrived; 0 if none has arrived */
    int64_t date;     /* when the report arrived, in microseconds since 1970 */
    json_t *groups;   /* {"main": [PID, SINCE]}; a group in which the peer has no work is absent */
    json_t *ready;    /* ["main"]: the groups in which the peer has a healthy run */
};

struct doctor {
    unsigned count, seen;
    unsigned omitted; /* findings that did not fit into the list */
    bool starting;    /* the member has just started, and may not have heard its peers yet */
    struct finding finding[DOCTOR_FINDINGS], surplus;
    struct finding_seen memory[DOCTOR_FINDINGS];
    elect_time led[STORE_GROUPS];       /* when a leader was last known; 0 if never */
    char hook[HOOK_COUNT][DOCTOR_TEXT]; /* why the hook cannot run; empty if it can run */
    struct {
        struct clock_rate clock;
        struct peer_work work;
        char differs[DOCTOR_TEXT]; /* how the peer's settings differ; empty if this is not known */
    } peer[SESSION_PEERS];
};

const char *doctor_severity_name(enum doctor_severity severity);

#endif
