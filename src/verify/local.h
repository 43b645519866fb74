/* The state of a process without its mailbox, as the search keeps it: shared by space.c and
 * mandate.c. */
#ifndef ELECT_VERIFY_LOCAL_H
#define ELECT_VERIFY_LOCAL_H

#include "space.h"

struct local {
    struct elect_node node;
    uint64_t up;
    /* Used only under a mandate. Without a mandate, everything that a node saves is on its disk
     * immediately. */
    struct elect_saved disk;
    struct claims claims;
    uint64_t broken; /* violations of its claims */
};

/* ---- mandate.c ---- */

/* Performs an event of a process under a mandate. Returns false if the terms of the process exceed
 * the bounds. */
bool mandate_step(const struct question *q, uint32_t what, const struct elect_message *m,
                  struct local *l, struct elect_output *out);
void mandate_settle(const struct question *q, struct local *l);
/* Returns true if this message can no longer affect the process, or cannot affect it while `other`
 * is in the mailbox. */
bool mandate_is_dead(const struct local *l, const struct elect_message *m,
                     const struct elect_message *other);

#endif
