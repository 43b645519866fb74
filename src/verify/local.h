/* A process without its mailbox. Shared by space.c and mandate.c. */
#ifndef ELECT_VERIFY_LOCAL_H
#define ELECT_VERIFY_LOCAL_H

#include "space.h"

struct local {
    struct elect_node node;
    uint64_t up;
    /* Only under a mandate; otherwise the saved state is on disk at once. */
    struct elect_saved disk;
    struct claims claims;
    uint64_t broken; /* set of CLAIMED_* */
};

/* ---- mandate.c ---- */

/* Returns false if the term or the version of the membership then exceeds its bound. */
bool mandate_step(const struct question *q, uint32_t what, const struct elect_message *m,
                  struct local *l, struct elect_output *out);
void mandate_settle(const struct question *q, struct local *l);
/* Returns true if `m` cannot affect the process any more, or not while `other` is in the
 * mailbox. */
bool mandate_is_dead(const struct local *l, const struct elect_message *m,
                     const struct elect_message *other);

#endif
