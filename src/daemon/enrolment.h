/* The options with which a member starts, from its configuration and its keys. */
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
    struct elect_member_options options; /* without the loop, the callbacks and their context */
};

/* Fills in all options except the keys. Returns false, with a complaint, if a host name of this
 * member cannot be resolved, or if a member cannot have its address. */
bool enroll_member(struct enrolment *e, const struct config *c, const struct config_member *me,
                   struct text *complaint);
/* Fills in the keys; the caller wipes them when the member has started. */
void enroll_keys(struct enrolment *e, const struct keys *keys);
void enroll_wipe(struct enrolment *e);

/* Looks up the host names of the other members once, and waits for the answers. Returns false, with
 * a complaint, if a name cannot be resolved. A running daemon uses resolve.c instead. */
bool enroll_others(struct enrolment *e, const struct config *c, struct text *complaint);

/* Resolves a name, and waits for the answer. With AF_UNSPEC, accepts an address of any family.
 * Returns NULL, or the reason why the name has no usable address, as the rest of a sentence that
 * begins with the name. */
const char *enroll_resolve(const struct config_host *host, sa_family_t family,
                           union elect_address *address);

/* Returns true if an interface of this machine has the address. A successful bind would not prove
 * this, because with net.ipv4.ip_nonlocal_bind a process can bind any address. */
bool enroll_is_local(const union elect_address *a);

#endif
