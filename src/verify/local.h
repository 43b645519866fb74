/* The state of a process without its mailbox, as the search keeps it: shared by space.c and
 * mandate.c. */
#ifndef ELECT_VERIFY_LOCAL_H
#define ELECT_VERIFY_LOCAL_H

#include "space.h"

struct local {
    struct elect_node node;
    uint64_t up;
    /* Only under a mandate. Without one, all that a node saves is on its disk immediately. */
    struct elect_saved disk;
    struct claims claims;
    uint64_t broken; /* violations of its claims */
};

/* ---- mandate.c ---- */

/* Performs what happens to a process under a mandate. Returns false if its terms are beyond the
 * bounds. */
bool mandate_step(const struct question *q, uint32_t what, const struct elect_message *m,
                  struct local *l, struct elect_output *out);
void mandate_settle(const struct question *q, struct local *l);
/* Returns true if this message can no longer have an effect on the process, or has none while
 * `other` is in the mailbox. */
bool mandate_is_dead(const struct local *l, const struct elect_message *m,
                     const struct elect_message *other);

#endif
