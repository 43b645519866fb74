/* Shared by the files that answer requests: answers.c (table of verbs, and verbs that change
 * something) and queries.c (read-only verbs). */
#ifndef ELECT_DAEMON_ANSWERS_H
#define ELECT_DAEMON_ANSWERS_H

#include "daemon.h"

/* ---- answers.c ---- */

json_t *answer_refusal(const char *why);
void answer_refuse(struct control_client *client, const char *why);
/* Returns the index of the request's group. If there is no such group, refuses the request and
 * returns -1. */
int answer_group(const struct daemon *d, struct control_client *client, const json_t *request);

/* ---- queries.c ---- */

void query_status(struct daemon *d, struct control_client *client, json_t *request);
void query_is_leader(struct daemon *d, struct control_client *client, json_t *request);
void query_history(struct daemon *d, struct control_client *client, json_t *request);
void query_messages(struct daemon *d, struct control_client *client, json_t *request);
void query_doctor(struct daemon *d, struct control_client *client, json_t *request);
void query_watch(struct daemon *d, struct control_client *client, json_t *request);

/* Returns true if this member has a session with the peer and has heard from it recently. */
bool query_is_up(const struct daemon *d, const struct elect_peer_info *p);
/* Ranks of all members that are up, including this one. */
elect_set query_up(const struct daemon *d);
/* Returns the members that have asked not to be elected, as far as this member knows. A follower
 * knows this only of itself and its leader; the leader knows it of all members, and so does every
 * member while there is no leader. */
elect_set query_aside(const struct daemon *d, unsigned group);
/* Returns true if this member has heard from the other one within the suspicion time, so the other
 * member can probably answer or take over now. */
bool query_hears(const struct daemon *d, uint16_t id);
/* The first key is in use. */
json_t *query_keys(const struct daemon *d);

#endif
