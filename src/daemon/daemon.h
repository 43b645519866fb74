/*
 * `elect daemon` runs one member, with its log and its control sockets, and notifies the service
 * manager.
 *
 *     daemon.c     starts, runs and stops the member
 *     answers.c    answers the verbs of the control sockets that change something
 *     queries.c    answers the verbs that only read
 *     inquiry.c    asks other members about flight recorders, settings and clocks
 *     orders.c     sends orders to hand over to the leader
 *     doctor.c     reports problems and their remedies
 *     reload.c     reads the configuration again
 *     resolve.c    looks up the host names of other members
 *
 * Only these files use struct daemon.
 */
#ifndef ELECT_DAEMON_DAEMON_H
#define ELECT_DAEMON_DAEMON_H

#include "config.h"
#include "control.h"
#include "doctor.h"
#include "enrolment.h"
#include "journal.h"
#include "orders.h"
#include "recorder.h"
#include "work.h"

#define DAEMON_ADDRESS 64 /* size of a buffer for HOST:PORT */

/* The state of a group, as clients see it. */
struct watched {
    struct elect_news news;
    bool paused;                /* elections are paused */
    int64_t since;              /* when `news` last changed, in microseconds since 1970 */
    char because[JOURNAL_TEXT]; /* the cause of that change */
    char cause[JOURNAL_TEXT];   /* the cause of the next change, set by the latest step or a hook */
};

struct resolver {
    struct daemon *daemon;
    uv_getaddrinfo_t request;
    bool busy, failed; /* failed: in the current pass over all names, a lookup has failed */
    unsigned place;    /* the name that is looked up: member * ELECT_UV_LINKS + link */
    char name[CONFIG_NAME];
    bool unknown[SESSION_PEERS *
                 ELECT_UV_LINKS]; /* for each place: whether the last lookup of the name failed */
};

struct daemon {
    struct config config;
    const struct config_member *me;
    const char *name[ELECT_MAX]; /* the name of each member, by rank */
    struct elect_config elect;
    struct words words; /* points to `name` and `elect` */
    uv_loop_t loop;
    uv_signal_t signal[3];
    uv_timer_t tick, watchdog;
    uv_check_t awake;
    struct elect_member *member;
    struct journal journal;
    struct recorder recorder;
    struct control control;
    struct orders orders;
    uint32_t inquiries;
    struct {
        unsigned tick, count;
    } told[SESSION_PEERS]; /* how many notes from each member were answered in this second */
    struct resolver resolver;
    sa_family_t family[ELECT_UV_LINKS]; /* address family of this member's socket, by link */
    char address[ELECT_UV_LINKS][DAEMON_ADDRESS];
    struct watched group[STORE_GROUPS];
    bool link_up[SESSION_PEERS][ELECT_UV_LINKS];
    bool is_silent[SESSION_PEERS]; /* whether the log reported the member as down or cut off */
    struct {
        unsigned tick;
        enum elect_peer_news news;
    } refused[SESSION_PEERS]; /* for each peer, the last problem that was logged, and when */
    struct doctor doctor;
    elect_time began;
    unsigned ticks;
    struct work work;
    bool stopping;
    int status;
};

/* Runs the member until it stops or fails. Returns the exit status of the process. Wipes the keys
 * that `e` contains. */
int daemon_run(struct daemon *d, const struct config *config, const struct config_member *me,
               struct enrolment *e, const struct guard *guard, const struct journal_options *log);

/* Logs an entry. Adds the leader and the term of its group, unless the group is -1 (none). */
void daemon_note(struct daemon *d, const struct journal_note *note);
/* Logs an entry that has a text but no cause. */
void daemon_log(struct daemon *d, enum journal_event event, int group, const char *text);
/* Logs a warning if the configuration is valid but unwise. */
void daemon_log_warning(struct daemon *d);

/* ---- queries.c ---- */

/* Writes the address as HOST:PORT, or "not known" if there is no address. */
void daemon_address(const union elect_address *a, char text[DAEMON_ADDRESS]);

/* ---- answers.c ---- */

void answer_request(void *context, struct control_client *client, json_t *request);

/* ---- queries.c ---- */

/* Sends an entry of the log to the clients that watch the log. */
void query_watchers(void *context, const struct journal_entry *e);

/* ---- inquiry.c ---- */

/* Returns the entries that the question selects from the flight recorder of this member. */
json_t *inquiry_answer(const struct daemon *d, const struct recorder_question *q);
/* Asks another member for entries of its flight recorder, and makes the client wait for the
 * answer. */
void inquiry_ask(struct daemon *d, struct control_client *client, uint16_t whom,
                 const struct recorder_question *q);
/* Sends a note to another member; the note may be lost. Takes over the caller's reference to
 * `note`. */
void inquiry_send(struct daemon *d, uint16_t to, json_t *note);
/* Returns the index with which elect_member_peer() finds this peer, or the number of peers if no
 * peer has this id. */
unsigned inquiry_peer(const struct daemon *d, uint16_t id);
/* Handles a note from another member: a question, an answer, or an order. */
void inquiry_note(void *context, uint16_t from, const uint8_t *bytes, size_t length);

/* Asks another member for its settings, beginning with number `from`. The answer updates the
 * differences that `elect doctor` reports. */
void inquiry_ask_settings(struct daemon *d, uint16_t whom, json_int_t from);
/* Asks another member what time its clock shows. The answer repeats `now`, the time at which the
 * question was sent. */
void inquiry_ask_clock(struct daemon *d, uint16_t whom, elect_time now);

/* ---- doctor.c ---- */

/* Evaluates the findings, and logs each finding that has appeared or has been cleared. The daemon
 * calls this function every second. */
void doctor_tick(struct daemon *d);
/* Handles the time `reading` that the clock of a peer showed. `asked` is the time at which this
 * member sent the question, and `i` is the index of the peer in elect_member_peer(). */
void doctor_hear_clock(struct daemon *d, unsigned i, elect_time asked, elect_time reading);
/* Returns the most serious finding of the latest evaluation; a JSON null if there is none. */
json_t *doctor_worst(const struct daemon *d);

/* ---- reload.c ---- */

/* Reads the configuration again. Returns true, with a list of the changes in `done`; or returns
 * false, with a complaint, without changing anything. */
bool daemon_reload(struct daemon *d, struct text *done, struct text *complaint);

/* ---- resolve.c ---- */

/* Looks up every host name of the other members, one after another, in the background. */
void resolve_all(struct daemon *d);

#endif
