#include "invariant.h"

#include <string.h>

const char *invariant_name(enum invariant invariant)
{
    static const char *const names[] = {
#define X(name, word, text) word,
        INVARIANTS(X)
#undef X
    };
    return names[invariant];
}

static bool broken(const struct world *w, enum invariant invariant, uint8_t a, const char *what,
                   uint8_t b, struct violation *v)
{
    struct text t;
    text_clear(&t);
    text_number(&t, w->config.id[a]);
    text_add(&t, what);
    if (b != ELECT_NOBODY)
        text_number(&t, w->config.id[b]);
    v->invariant = invariant;
    v->time = w->now;
    memcpy(v->text, t.bytes, sizeof v->text);
    v->text[sizeof v->text - 1] = '\0';
    return true;
}

bool invariant_broken(const struct world *w, struct violation *v)
{
    bool promised = !w->disturbed && world_total(w) > 0;
    uint8_t top = (uint8_t)(63 - __builtin_clzll(w->up | 1));
    for (elect_set rest = w->up; rest != 0; rest &= rest - 1) {
        uint8_t rank = (uint8_t)__builtin_ctzll(rest);
        const struct elect_node *node = &w->node[rank];
        if (node->state != ELECT_NORMAL)
            return broken(w, NO_STUCK_PARTICIPANT, rank, " holds an election for ever",
                          ELECT_NOBODY, v);
        if (promised && elect_leads(node) && rank < top)
            return broken(w, HIGHEST_WINS, rank, " leads although it is lower than ", top, v);
        if (promised && node->leader != top)
            return broken(w, AGREEMENT, rank, " does not follow ", top, v);
    }
    return false;
}
