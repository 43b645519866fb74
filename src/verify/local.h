/* A process by itself, as the search keeps it: what space.c and mandate.c share. */
#ifndef ELECT_VERIFY_LOCAL_H
#define ELECT_VERIFY_LOCAL_H

#include "space.h"

struct local {
    struct elect_node node;
    uint64_t up;
    /* Under a mandate. Without one all that a node saves is on its disk at once. */
    struct elect_saved disk;
    struct claims claims;
    uint64_t broken; /* what its claims broke */
};

/* ---- mandate.c ---- */

/* What happens to a process under a mandate. False: its terms are beyond the bound. */
bool mandate_step(const struct question *q, uint32_t what, const struct elect_message *m,
                  struct local *l, struct elect_output *out);
void mandate_settle(const struct question *q, struct local *l);
/* A letter that this process can do nothing with any more, or not with that other one beside it. */
bool mandate_is_dead(const struct local *l, const struct elect_message *m,
                     const struct elect_message *other);

#endif
