/* Declarations that the files that answer requests share: answers.c has the table of verbs and
 * answers the verbs that change something, and queries.c answers the verbs that only read. */
#ifndef ELECT_DAEMON_ANSWERS_H
#define ELECT_DAEMON_ANSWERS_H

#include "daemon.h"

/* ---- answers.c ---- */

/* Returns an answer that refuses a request, with the reason. */
json_t *answer_refusal(const char *why);
/* Refuses the request of a client. */
void answer_refuse(struct control_client *client, const char *why);
/* Returns the group that the request names; -1 if the request was refused. */
int answer_group(const struct daemon *d, struct control_client *client, const json_t *request);

/* ---- queries.c ---- */

void query_status(struct daemon *d, struct control_client *client, json_t *request);
void query_is_leader(struct daemon *d, struct control_client *client, json_t *request);
void query_history(struct daemon *d, struct control_client *client, json_t *request);
void query_messages(struct daemon *d, struct control_client *client, json_t *request);
/* In doctor.c. */
void query_doctor(struct daemon *d, struct control_client *client, json_t *request);
void query_watch(struct daemon *d, struct control_client *client, json_t *request);

/* Returns true if the status shows the member as up: the member has a session and was heard
 * recently. */
bool query_is_up(const struct daemon *d, const struct elect_peer_info *p);
/* Returns the ranks of the members that are up, including this member. */
elect_set query_up(const struct daemon *d);
/* Returns the members that may lead but stand aside, as far as this member knows. The leader knows
 * which members stand aside; without a leader, every member knows it. A follower knows this only
 * about itself and its leader. */
elect_set query_aside(const struct daemon *d, unsigned group);
/* Returns true if the member was heard within the suspicion time, so that it can probably answer or
 * take an office now. */
bool query_hears(const struct daemon *d, uint16_t id);
/* Returns the numbers of the member's keys; the first key is in use. */
json_t *query_keys(const struct daemon *d);

#endif
