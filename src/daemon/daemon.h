/*
 * `elect daemon` runs one member, with its log and its control sockets, and notifies the service
 * manager.
 *
 *     daemon.c     starts, runs and stops the member
 *     answers.c    answers the control sockets' verbs that change something
 *     queries.c    answers the read-only verbs
 *     inquiry.c    asks other members about flight recorders, settings and clocks
 *     orders.c     sends orders to hand over to the leader
 *     doctor.c     reports problems and their remedies
 *     reload.c     reads the configuration again
 *     resolve.c    looks up the other members' host names
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

#define DAEMON_ADDRESS 64

struct watched {
    struct elect_news news;
    bool paused;
    int64_t since; /* time of the last change of `news`, in microseconds since 1970 */
    char because[JOURNAL_TEXT];
    char cause[JOURNAL_TEXT]; /* cause of the next change, set by the latest step or a hook */
};

struct resolver {
    struct daemon *daemon;
    uv_getaddrinfo_t request;
    bool busy, failed; /* failed: a lookup has failed in the current pass */
    unsigned place;    /* current name: member * ELECT_UV_LINKS + link */
    char name[CONFIG_NAME];
    bool unknown[SESSION_PEERS * ELECT_UV_LINKS]; /* by place: the last lookup failed */
};

struct daemon {
    struct config config;
    const struct config_member *me;
    const char *name[ELECT_MAX]; /* by rank */
    struct elect_config elect;
    struct words words;
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
    } told[SESSION_PEERS]; /* notes answered in this second */
    struct resolver resolver;
    sa_family_t family[ELECT_UV_LINKS];
    char address[ELECT_UV_LINKS][DAEMON_ADDRESS];
    struct watched group[STORE_GROUPS];
    bool link_up[SESSION_PEERS][ELECT_UV_LINKS];
    bool is_silent[SESSION_PEERS];
    struct {
        unsigned tick;
        enum elect_peer_news news;
    } refused[SESSION_PEERS]; /* last problem that was logged */
    struct doctor doctor;
    elect_time began;
    unsigned ticks;
    struct work work;
    bool stopping;
    int status;
};

/* Runs the member until it stops or fails. Returns the exit status. Wipes the keys in `e`. */
int daemon_run(struct daemon *d, const struct config *config, const struct config_member *me,
               struct enrolment *e, const struct guard *guard, const struct journal_options *log);

/* Logs an entry, with the leader and the term of its group unless the group is -1 (none). */
void daemon_note(struct daemon *d, const struct journal_note *note);
void daemon_log(struct daemon *d, enum journal_event event, int group, const char *text);
void daemon_log_warning(struct daemon *d);

/* ---- queries.c ---- */

/* Writes HOST:PORT, or "not known" if there is no address. */
void daemon_address(const union elect_address *a, char text[DAEMON_ADDRESS]);

/* ---- answers.c ---- */

void answer_request(void *context, struct control_client *client, json_t *request);

/* ---- queries.c ---- */

/* Sends a log entry to all watchers. */
void query_watchers(void *context, const struct journal_entry *e);

/* ---- inquiry.c ---- */

/* The size of the name of a command in a note. A longer name is cut. */
#define INQUIRY_COMMAND 32

/* Returns the entries that the question selects from the flight recorder of this member. */
json_t *inquiry_answer(const struct daemon *d, const struct recorder_question *q);
/* Asks for entries of another member's flight recorder. The client waits for the answer. */
void inquiry_ask(struct daemon *d, struct control_client *client, uint16_t whom,
                 const struct recorder_question *q);
/* Sends a note to another member, without any guarantee of delivery. Takes over the caller's
 * reference to `note`. */
void inquiry_send(struct daemon *d, uint16_t to, json_t *note);
/* Returns the peer's index for elect_member_peer(), or the number of peers if there is no such
 * peer. */
unsigned inquiry_peer(const struct daemon *d, uint16_t id);
void inquiry_note(void *context, uint16_t from, const uint8_t *bytes, size_t length);

/* Asks another member for its settings, from number `from` on. The answer updates the differences
 * that `elect doctor` reports. */
void inquiry_ask_settings(struct daemon *d, uint16_t whom, json_int_t from);
/* Asks another member for the time of its clock. The answer repeats `now`, the time of the
 * question. */
void inquiry_ask_clock(struct daemon *d, uint16_t whom, elect_time now);

/* ---- doctor.c ---- */

/* Updates the findings, and logs each one that has appeared or been cleared. Called every
 * second. */
void doctor_tick(struct daemon *d);
/* Handles a peer's clock reading. `i` is its index for elect_member_peer(), and `asked` the time of
 * the question. */
void doctor_hear_clock(struct daemon *d, unsigned i, elect_time asked, elect_time reading);
/* Returns the most serious finding of the latest update; a JSON null if there is none. */
json_t *doctor_worst(const struct daemon *d);

/* ---- reload.c ---- */

/* Reads the configuration again. Returns true, with the changes in `done`; or false, with a
 * complaint, and changes nothing. */
bool daemon_reload(struct daemon *d, struct text *done, struct text *complaint);

/* ---- resolve.c ---- */

/* Looks up the host names of all other members, one after another, in the background. */
void resolve_all(struct daemon *d);

#endif
