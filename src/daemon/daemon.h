/*
 * `elect daemon`: one member, its log, its control sockets, its service manager.
 *
 *     daemon.c     begins, runs and ends it
 *     answers.c    what clients of the control sockets ask
 *     inquiry.c    what other members ask of the flight recorder
 *     reload.c     reads the configuration again
 *     resolve.c    looks up the names of other members
 *
 * These files share struct daemon. All others, work.c among them, do without it.
 */
#ifndef ELECT_DAEMON_DAEMON_H
#define ELECT_DAEMON_DAEMON_H

#include "config.h"
#include "control.h"
#include "enrolment.h"
#include "journal.h"
#include "recorder.h"
#include "work.h"

/* What is shown of a group. */
struct watched {
    struct elect_news news;
    bool paused;                /* elections are */
    int64_t since;              /* microseconds since 1970 */
    char because[JOURNAL_TEXT]; /* why it is shown as it is */
    char cause[JOURNAL_TEXT];   /* why it is shown as it is next: by the latest step, or a hook */
};

struct resolver {
    struct daemon *daemon;
    uv_getaddrinfo_t request;
    bool busy, failed; /* failed: some name was not found */
    unsigned place;    /* member and link */
    char name[CONFIG_NAME];
};

struct daemon {
    struct config config;
    const struct config_member *me;
    const char *name[ELECT_MAX]; /* by rank */
    struct elect_config elect;
    struct words words; /* with these names and this configuration */
    uv_loop_t loop;
    uv_signal_t signal[3];
    uv_timer_t tick, watchdog;
    uv_check_t awake;
    struct elect_member *member;
    struct journal journal;
    struct recorder recorder;
    struct control control;
    uint32_t inquiries;
    struct {
        unsigned tick, count;
    } told[SESSION_PEERS]; /* answers of the recorder to each member, in this second */
    struct resolver resolver;
    sa_family_t family[ELECT_UV_LINKS]; /* of the own sockets */
    struct watched group[STORE_GROUPS];
    bool link_up[SESSION_PEERS][ELECT_UV_LINKS];
    struct {
        unsigned tick;
        enum elect_peer_news news;
    } refused[SESSION_PEERS]; /* what was logged last of a peer that is refused, and when */
    elect_time began;
    unsigned ticks;
    struct work work;
    bool stopping;
    int status;
};

/* Runs the member until it is told to stop. Returns the exit status of the process. Wipes the keys
 * in the enrolment. */
int daemon_run(struct daemon *d, const struct config *config, const struct config_member *me,
               struct enrolment *e, const struct guard *guard, bool json, bool quiet);

/* `group`: -1 if it is about none. */
void daemon_log(struct daemon *d, enum journal_event event, int group, const char *text);

/* ---- answers.c ---- */

void answer_request(void *context, struct control_client *client, json_t *request);
/* Another leader is shown: clients that wait for one are answered. */
void answer_news(struct daemon *d, const struct elect_news *news);
void answer_watchers(void *context, const struct journal_entry *e);

/* ---- inquiry.c ---- */

/* Returns what the flight recorder of this member has. */
json_t *inquiry_answer(const struct daemon *d, const struct recorder_question *q);
/* Asks another member for what its flight recorder has. The client hears its answer. */
void inquiry_ask(struct daemon *d, struct control_client *client, uint16_t whom,
                 const struct recorder_question *q);
/* Takes in a note in which another member asks, or answers. */
void inquiry_note(void *context, uint16_t from, const uint8_t *bytes, size_t length);

/* ---- reload.c ---- */

/* Reads the configuration again. True, with what has changed in `done`; or false, with the reason,
 * and nothing has changed. */
bool daemon_reload(struct daemon *d, struct text *done, struct text *complaint);

/* ---- resolve.c ---- */

/* Looks up every name, one after another, in the background. */
void resolve_all(struct daemon *d);

#endif
