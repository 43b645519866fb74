/* What a member is started with, made of its configuration and its keys. */
#ifndef ELECT_DAEMON_ENROLMENT_H
#define ELECT_DAEMON_ENROLMENT_H

#include "config.h"
#include "keys.h"

/* The options of a member and what they point at. Too large for a stack. */
struct enrolment {
    char state[CONFIG_FILE];
    struct elect_group group[STORE_GROUPS];
    struct elect_peer peer[SESSION_PEERS];
    struct elect_member_options options; /* except the loop, the callbacks and their context */
};

/* Fills it in, without keys. False, with a complaint, if this member's own address is a name that
 * cannot be found. */
bool enroll_member(struct enrolment *e, const struct config *c, const struct config_member *me,
                   struct text *complaint);
/* Puts the keys in, and wipes them when the member has started. */
void enroll_keys(struct enrolment *e, const struct keys *keys);
void enroll_wipe(struct enrolment *e);

/* Looks up the other members whose addresses are names, for callers that do not do so repeatedly.
 * False, with a complaint, if one is not found. */
bool enroll_others(struct enrolment *e, const struct config *c, struct text *complaint);

/* Looks up a name, and waits for the answer: not for a running daemon. AF_UNSPEC: of any family.
 * False if it cannot be found. */
bool enroll_resolve(const struct config_host *host, sa_family_t family,
                    union elect_address *address);

#endif
