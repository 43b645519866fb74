/* A member's start options, derived from its configuration and its keys. */
#ifndef ELECT_DAEMON_ENROLMENT_H
#define ELECT_DAEMON_ENROLMENT_H

#include "config.h"
#include "keys.h"

/* Too large for the stack. */
struct enrolment {
    char state[CONFIG_FILE];
    struct elect_group group[STORE_GROUPS];
    struct elect_peer peer[SESSION_PEERS];
    struct elect_member_options options; /* loop, callbacks and context are added by the daemon */
};

/* Fills in everything but the keys. Returns false, with a complaint, if a host name of this member
 * cannot be resolved, or if a configured address is impossible. */
bool enroll_member(struct enrolment *e, const struct config *c, const struct config_member *me,
                   struct text *complaint);
/* The caller must wipe the keys once the member has started. */
void enroll_keys(struct enrolment *e, const struct keys *keys);
void enroll_wipe(struct enrolment *e);

/* Looks up the other members' host names once and waits for the answers. Returns false, with a
 * complaint, if a lookup fails. A running daemon uses resolve.c instead. */
bool enroll_others(struct enrolment *e, const struct config *c, struct text *complaint);

/* Looks up a host name and waits for the answer. AF_UNSPEC accepts any address family. Returns NULL
 * on success; otherwise the reason why there is no usable address, worded to follow the name in a
 * sentence. */
const char *enroll_resolve(const struct config_host *host, sa_family_t family,
                           union elect_address *address);

/* Returns true if an interface has the address. A successful bind() would not prove this: with
 * net.ipv4.ip_nonlocal_bind, any address can be bound. */
bool enroll_is_local(const union elect_address *a);

#endif
