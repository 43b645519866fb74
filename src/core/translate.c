/* Translates saved state to a configuration with other ranks. */
#include "elect.h"

#include <string.h>

/* Returns false if the configuration lacks one of the processes. */
static bool translate_set(const struct elect_config *config, const uint16_t *id, unsigned n,
                          elect_set *set, uint16_t *unknown)
{
    elect_set before = *set;
    *set = *unknown = 0;
    if (n < ELECT_MAX && before >> n != 0)
        return false;
    for (; before != 0; before &= before - 1) {
        uint16_t number = id[__builtin_ctzll(before)];
        uint8_t rank = elect_rank(config, number);
        if (rank == ELECT_NOBODY) {
            *unknown = number;
            return false;
        }
        *set |= (elect_set)1 << rank;
    }
    return true;
}

bool elect_saved_translate(const struct elect_config *config, const uint16_t *id, unsigned n,
                           struct elect_saved *saved, uint16_t *unknown)
{
    struct elect_saved before = *saved;
    struct elect_membership *m = &saved->membership;
    if (!translate_set(config, id, n, &m->members, unknown) ||
        !translate_set(config, id, n, &m->voters, unknown) ||
        !translate_set(config, id, n, &m->before, unknown)) {
        *saved = before;
        return false;
    }
    memset(saved->closed, 0, sizeof saved->closed);
    memset(saved->met, 0, sizeof saved->met);
    for (unsigned i = 0; i < n; i++) {
        uint8_t rank = elect_rank(config, id[i]);
        if (rank == ELECT_NOBODY)
            continue;
        saved->closed[rank] = before.closed[i];
        saved->met[rank] = before.met[i];
    }
    return true;
}
