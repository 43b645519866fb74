/* A bad history being written down: the script is written while a world plays along, which knows
 * what is in flight. */
#ifndef ELECT_CMD_WITNESS_H
#define ELECT_CMD_WITNESS_H

#include "verify.h"

struct writer {
    FILE *out;
    struct space *space;
    struct world world;
};

static inline unsigned witness_id(const struct writer *w, unsigned rank)
{
    return w->world.config.id[rank];
}

/* ---- witness_mandate.c ---- */

void witness_mandate_settings(const struct writer *w);
/* From one world of the history to the next. */
void witness_mandate_move(struct writer *w, const struct move *m, const struct row *before,
                          const struct row *after);

#endif
