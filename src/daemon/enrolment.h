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

/* Fills it in, without keys. Returns false, with a complaint, if this member's own address is a
 * name that cannot be resolved, or is not an address that a member can have. */
bool enroll_member(struct enrolment *e, const struct config *c, const struct config_member *me,
                   struct text *complaint);
/* Puts the keys in, and wipes them when the member has started. */
void enroll_keys(struct enrolment *e, const struct keys *keys);
void enroll_wipe(struct enrolment *e);

/* Looks up the other members whose addresses are names, for callers that do not do so repeatedly.
 * False, with a complaint, if one is not found. */
bool enroll_others(struct enrolment *e, const struct config *c, struct text *complaint);

/* Resolves a name, and waits for the answer: not for a running daemon. AF_UNSPEC: of any family.
 * Returns NULL, or why the name gives no address that a member can have, to be written after it. */
const char *enroll_resolve(const struct config_host *host, sa_family_t family,
                           union elect_address *address);

/* Returns true if an interface of this machine has the address. An attempt to bind it would not
 * tell: with net.ipv4.ip_nonlocal_bind any address can be bound. */
bool enroll_is_local(const union elect_address *a);

#endif
