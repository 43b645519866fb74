/* `elect daemon`: one member, its log, its control sockets, its service manager. */
#ifndef ELECT_DAEMON_DAEMON_H
#define ELECT_DAEMON_DAEMON_H

#include "config.h"
#include "control.h"
#include "journal.h"
#include "enrolment.h"
#include "recorder.h"
#include "work.h"

/* What is known of a group, and since when. */
struct watched {
    struct elect_news news;
    bool paused;
    struct work work;
    int64_t since;              /* microseconds since 1970 */
    char because[JOURNAL_TEXT]; /* it is so */
    char cause[JOURNAL_TEXT];   /* of the latest step that changed something */
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
    } told[SESSION_PEERS]; /* of the recorder, to each, in this second */
    struct resolver resolver;
    sa_family_t family[ELECT_UV_LINKS]; /* of the own sockets */
    struct watched group[STORE_GROUPS];
    bool link_up[SESSION_PEERS][ELECT_UV_LINKS];
    struct {
        unsigned tick;
        enum elect_peer_news news;
    } refused[SESSION_PEERS]; /* what was said of a peer last, and when */
    elect_time began;
    unsigned ticks;
    struct guard guard; /* channel -1: it is dead */
    uv_poll_t guard_poll, run_poll;
    uv_timer_t wake;
    uint32_t serials;    /* of what the guardian was asked */
    bool deposits_again; /* it did not hear */
    int run_socket;
    struct talker *talkers; /* on it, the newest first */
    struct pace pace;       /* of their users, over all groups */
    bool stopping, over;
    int status;
};

/* Until it is told to stop; the exit status of the process. The enrolment has the keys, which are
 * wiped. */
int daemon_run(struct daemon *d, const struct config *config, const struct config_member *me,
               struct enrolment *e, const struct guard *guard, bool json, bool quiet);

/* What is shown of a group may not be what it was: it is logged, and told to whoever waits. */
void daemon_show(struct daemon *d, unsigned group);
/* It cannot go on; nobody is told that it is over. */
void daemon_fail(struct daemon *d, const char *why);

void daemon_log(struct daemon *d, enum journal_event event, int group, const char *text);
/* About a run of this user. */
void daemon_log_work(struct daemon *d, unsigned group, uid_t user, const char *text);
struct words daemon_words(const struct daemon *d);

/* ---- answers.c ---- */

void answer_request(void *context, struct control_client *client, json_t *request);
/* Somebody may be waiting for this. */
void answer_news(struct daemon *d, const struct elect_news *news);
void answer_watchers(void *context, const struct journal_entry *e);

/* ---- inquiry.c ---- */

/* What the recorder here has. */
json_t *inquiry_answer(const struct daemon *d, const struct recorder_question *q);
/* What that of another member has: the client gets an answer when there is one. */
void inquiry_ask(struct daemon *d, struct control_client *client, uint16_t whom,
                 const struct recorder_question *q);
/* Another member asks, or answers. */
void inquiry_note(void *context, uint16_t from, const uint8_t *bytes, size_t length);

/* ---- reload.c ---- */

/* Reads the configuration again. True, with what has changed in `done`; or false, with the reason,
 * and nothing has changed. */
bool daemon_reload(struct daemon *d, struct text *done, struct text *complaint);

/* ---- resolve.c ---- */

/* Every name, one after another, in the background. */
void resolve_all(struct daemon *d);

#endif
