/* Shared by the files that answer requests: answers.c has the table of verbs and those that change
 * something, queries.c those that only read. */
#ifndef ELECT_DAEMON_ANSWERS_H
#define ELECT_DAEMON_ANSWERS_H

#include "daemon.h"

/* ---- answers.c ---- */

/* Returns the answer that says why a request is refused. */
json_t *answer_refusal(const char *why);
/* Sends that answer. */
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

/* Returns true if the member is shown as up: a packet of it came lately, in a session. */
bool query_is_up(const struct daemon *d, const struct elect_peer_info *p);
/* Returns the ranks of the members that are up, this one included. */
elect_set query_up(const struct daemon *d);
/* Returns which members that may lead stand aside, as far as this member knows it now. The leader
 * hears it from all, and without a leader all tell each other. A follower hears only its leader. */
elect_set query_aside(const struct daemon *d, unsigned group);
/* Returns true if the member was heard lately, so that it can answer or take an office now. */
bool query_hears(const struct daemon *d, uint16_t id);
/* Returns the keys of the member, by number; the first is the one in use. */
json_t *query_keys(const struct daemon *d);

#endif
