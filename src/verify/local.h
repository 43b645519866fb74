/* The state of a process without its mailbox. space.c and mandate.c share this file. */
#ifndef ELECT_VERIFY_LOCAL_H
#define ELECT_VERIFY_LOCAL_H

#include "space.h"

struct local {
    struct elect_node node;
    uint64_t up;
    /* These fields are used only under a mandate. Without a mandate, the saved state of a node is
     * on its disk immediately. */
    struct elect_saved disk;
    struct claims claims;
    uint64_t broken; /* the violations by this process: a set of CLAIMED_* */
};

/* ---- mandate.c ---- */

/* Handles an event of a process under a mandate. Returns false if the term or the version of the
 * membership then exceeds its bound. */
bool mandate_step(const struct question *q, uint32_t what, const struct elect_message *m,
                  struct local *l, struct elect_output *out);
void mandate_settle(const struct question *q, struct local *l);
/* Returns true if the message `m` can no longer affect the process, or cannot affect it while
 * `other` is in the mailbox. */
bool mandate_is_dead(const struct local *l, const struct elect_message *m,
                     const struct elect_message *other);

#endif
