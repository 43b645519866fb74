/* From a configuration and keys to what a member is started with. */
#ifndef ELECT_DAEMON_ENROLMENT_H
#define ELECT_DAEMON_ENROLMENT_H

#include "config.h"
#include "keys.h"

/* What the options point at; too large for a stack. */
struct enrolment {
    char state[CONFIG_FILE];
    struct elect_group group[STORE_GROUPS];
    struct elect_peer peer[SESSION_PEERS];
    struct elect_member_options options; /* but for the loop, the callbacks and their context */
};

/* False, with a complaint: the own address, if it is a name, must be found. */
bool enroll_member(struct enrolment *e, const struct config *c, const struct config_member *me,
                   struct text *complaint);
/* Until the member has started. */
void enroll_keys(struct enrolment *e, const struct keys *keys);
void enroll_wipe(struct enrolment *e);

/* The others whose address is a name, for who does not look again; false if one is not found. */
bool enroll_others(struct enrolment *e, const struct config *c, struct text *complaint);

/* At once, for who is about to start; of one family, or of any (AF_UNSPEC). False if it cannot be
 * found. */
bool enroll_resolve(const struct config_host *host, sa_family_t family,
                    union elect_address *address);

#endif
