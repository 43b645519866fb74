/* See property.h. */
#include "property.h"

#include <string.h>

const char *property_name(enum property p)
{
    static const char *const names[] = {
#define X(name, word, text) word,
        PROPERTY_LIST(X)
#undef X
    };
    return names[p];
}

const char *property_text(enum property p)
{
    static const char *const texts[] = {
#define X(name, word, text) text,
        PROPERTY_LIST(X)
#undef X
    };
    return texts[p];
}

static bool broken(const struct world *w, enum property p, uint8_t a, const char *what, uint8_t b,
                   struct violation *v)
{
    struct text t;
    text_clear(&t);
    text_add_number(&t, w->config.id[a]);
    text_add(&t, what);
    if (b != ELECT_NOBODY)
        text_add_number(&t, w->config.id[b]);
    v->property = p;
    v->time = w->now;
    memcpy(v->text, t.bytes, sizeof v->text);
    v->text[sizeof v->text - 1] = '\0';
    return true;
}

/* `top` is the highest live process, `other` another process in office, or ELECT_NOBODY. */
static bool breaks(const struct world *w, enum property p, uint8_t rank, uint8_t top, uint8_t other,
                   struct violation *v)
{
    const struct elect_node *node = &w->node[rank];
    switch (p) {
    case PROPERTY_AGREEMENT:
        return (node->state != ELECT_NORMAL || node->leader != w->node[top].leader ||
                node->leader == ELECT_NOBODY || !world_up(w, node->leader)) &&
               broken(w, p, rank,
                      node->leader == ELECT_NOBODY ? " has no leader" : " does not agree with ",
                      node->leader == ELECT_NOBODY ? ELECT_NOBODY : top, v);
    case PROPERTY_HIGHEST_WINS:
        return world_leads(w, rank) && rank < top &&
               broken(w, p, rank, " leads although it is lower than ", top, v);
    case PROPERTY_NO_STUCK:
        return node->state != ELECT_NORMAL &&
               broken(w, p, rank, " is still holding an election", ELECT_NOBODY, v);
    case PROPERTY_ONE_LEADER:
        return world_in_office(w, rank) && other != ELECT_NOBODY &&
               broken(w, p, rank, " leads, and so does ", other, v);
    case PROPERTY_EVENTUALLY:
    case PROPERTY_TERMINATION:
    case PROPERTY_ONE_PER_TERM:
    case PROPERTY_RISING_GRANTS:
    case PROPERTY_RISING_TOKENS:
    case PROPERTY_RELEASED_LAST:
    case PROPERTY_ORDERED_ONCE:
    case PROPERTY_COUNT: break;
    }
    return false;
}

static bool claims_broken(const struct world *w, enum property p, struct violation *v)
{
    static const unsigned breaks_it[PROPERTY_COUNT] = {
        [PROPERTY_ONE_PER_TERM] = CLAIMED_TWICE, [PROPERTY_RISING_GRANTS] = CLAIMED_FALLING,
        [PROPERTY_RISING_TOKENS] = CLAIMED_LATE, [PROPERTY_RELEASED_LAST] = CLAIMED_OVER,
        [PROPERTY_ORDERED_ONCE] = CLAIMED_ORDER,
    };
    if ((w->broken & breaks_it[p]) == 0)
        return false;
    *v = (struct violation){.property = p, .time = w->now};
    strncpy(v->text, property_text(p) + strlen("mandate: "), sizeof v->text - 1);
    return true;
}

bool property_broken(const struct world *w, enum property p, struct violation *v)
{
    if (claims_broken(w, p, v))
        return true;
    uint8_t top = (uint8_t)(63 - __builtin_clzll(w->up | 1)), other = ELECT_NOBODY;
    for (elect_set rest = w->up; rest != 0; rest &= rest - 1) {
        uint8_t rank = (uint8_t)__builtin_ctzll(rest);
        if (breaks(w, p, rank, top, other, v))
            return true;
        if (world_in_office(w, rank))
            other = rank;
    }
    return false;
}

bool property_broken_at_rest(const struct world *w, struct violation *v)
{
    bool promised = !w->disturbed && world_total(w) > 0;
    if (w->config.mandate == ELECT_MAJORITY) /* agreement and highest-wins are not promised */
        return property_broken(w, PROPERTY_ONE_LEADER, v) ||
               property_broken(w, PROPERTY_ONE_PER_TERM, v) ||
               property_broken(w, PROPERTY_RISING_GRANTS, v) ||
               property_broken(w, PROPERTY_RELEASED_LAST, v) ||
               property_broken(w, PROPERTY_ORDERED_ONCE, v);
    return property_broken(w, PROPERTY_NO_STUCK, v) ||
           (promised && (property_broken(w, PROPERTY_HIGHEST_WINS, v) ||
                         property_broken(w, PROPERTY_AGREEMENT, v)));
}
