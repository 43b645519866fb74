/* Declarations shared by the files that answer requests: answers.c has the table of verbs and
 * answers the verbs that change something, and queries.c answers the verbs that only read. */
#ifndef ELECT_DAEMON_ANSWERS_H
#define ELECT_DAEMON_ANSWERS_H

#include "daemon.h"

/* ---- answers.c ---- */

/* Returns an answer that refuses a request, with the reason. */
json_t *answer_refusal(const char *why);
/* Refuses the request of a client. */
void answer_refuse(struct control_client *client, const char *why);
/* Returns the index of the group that the request names. If there is no such group, refuses the
 * request and returns -1. */
int answer_group(const struct daemon *d, struct control_client *client, const json_t *request);

/* ---- queries.c ---- */

void query_status(struct daemon *d, struct control_client *client, json_t *request);
void query_is_leader(struct daemon *d, struct control_client *client, json_t *request);
void query_history(struct daemon *d, struct control_client *client, json_t *request);
void query_messages(struct daemon *d, struct control_client *client, json_t *request);
/* The next function is in doctor.c. */
void query_doctor(struct daemon *d, struct control_client *client, json_t *request);
void query_watch(struct daemon *d, struct control_client *client, json_t *request);

/* Returns true if the peer counts as up: this member has a session with it, and has heard from it
 * recently. */
bool query_is_up(const struct daemon *d, const struct elect_peer_info *p);
/* Returns the ranks of the members that are up, including this member. */
elect_set query_up(const struct daemon *d);
/* Returns the members that may lead but stand aside, which means that they ask not to be elected.
 * The result contains only what this member knows. A follower knows about itself and its leader.
 * The leader knows about all members, and so does every member while there is no leader. */
elect_set query_aside(const struct daemon *d, unsigned group);
/* Returns true if this member has heard from the other member within the suspicion time, so that
 * the other member can probably answer, or take over leadership, now. */
bool query_hears(const struct daemon *d, uint16_t id);
/* Returns the numbers of the member's keys; the first key is in use. */
json_t *query_keys(const struct daemon *d);

#endif
