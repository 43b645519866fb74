/* The options with which a member starts. They are derived from its configuration and its keys. */
#ifndef ELECT_DAEMON_ENROLMENT_H
#define ELECT_DAEMON_ENROLMENT_H

#include "config.h"
#include "keys.h"

/* The options of a member and the data to which they point. This struct is too large for the
 * stack. */
struct enrolment {
    char state[CONFIG_FILE];
    struct elect_group group[STORE_GROUPS];
    struct elect_peer peer[SESSION_PEERS];
    struct elect_member_options options; /* the daemon adds loop, callbacks and context */
};

/* Fills in all options except the keys. Returns false, with a complaint, if a host name of this
 * member cannot be resolved, or if a member cannot have the address that the configuration gives
 * it. */
bool enroll_member(struct enrolment *e, const struct config *c, const struct config_member *me,
                   struct text *complaint);
/* Fills in the keys, which the caller must wipe from memory when the member has started. */
void enroll_keys(struct enrolment *e, const struct keys *keys);
void enroll_wipe(struct enrolment *e);

/* Looks up the host names of the other members once, and waits for the answers. Returns false, with
 * a complaint, if a name cannot be resolved. A running daemon uses resolve.c instead. */
bool enroll_others(struct enrolment *e, const struct config *c, struct text *complaint);

/* Looks up a host name, and waits for the answer. If `family` is AF_UNSPEC, an address of any
 * family is accepted. Returns NULL on success; otherwise the reason why the name has no usable
 * address, worded to follow the name in a sentence. */
const char *enroll_resolve(const struct config_host *host, sa_family_t family,
                           union elect_address *address);

/* Returns true if an interface of this machine has the address. A successful bind would not prove
 * this, because a process can bind any address if net.ipv4.ip_nonlocal_bind is set. */
bool enroll_is_local(const union elect_address *a);

#endif
