/* Translates between the core's ranks and the member ids in the state file. */
#include "saved.h"

#include <assert.h>
#include <string.h>

enum role { LEADS = 1, VOTES = 2, VOTED = 4 };

static uint8_t owner(const struct elect_config *config, elect_term e)
{
    return e != 0 ? elect_rank(config, elect_term_owner(e)) : ELECT_NOBODY;
}

/* ---- the peers in the state ---- */

static struct state_peer *find(struct state *state, uint16_t id)
{
    for (unsigned i = 0; i < state->peers; i++)
        if (state->peer[i].id == id)
            return &state->peer[i];
    return NULL;
}

static bool in_a_group(const struct state *state, uint16_t id)
{
    for (unsigned i = 0; i < state->groups; i++)
        for (unsigned k = 0; k < state->group[i].members; k++)
            if (state->group[i].member[k].id == id)
                return true;
    return false;
}

static bool less(const struct state *state, const struct state_peer *a, const struct state_peer *b)
{
    bool counted = in_a_group(state, a->id);
    return counted != in_a_group(state, b->id) ? !counted : a->known.sequence < b->known.sequence;
}

/* Returns the removed member to drop first. There is one, because the state has room for all
 * members of a configuration. */
static struct state_peer *least_of_the_gone(struct state *state, const uint16_t *id, unsigned count)
{
    struct state_peer *least = NULL;
    for (unsigned i = 0; i < state->peers; i++) {
        struct state_peer *p = &state->peer[i];
        bool gone = true;
        for (unsigned k = 0; k < count; k++)
            gone = gone && id[k] != p->id;
        if (gone && (least == NULL || less(state, p, least)))
            least = p;
    }
    assert(least != NULL);
    return least;
}

const char *saved_begin(struct state *state, const uint16_t *id, unsigned count)
{
    if (ELECT_LAST_START(state->incarnation))
        return "it was used for too many starts: move it away, then run elect readmit";
    for (unsigned i = 0; i < count; i++) {
        if (id[i] == state->node || find(state, id[i]) != NULL)
            continue;
        struct state_peer *p = state->peers < SESSION_PEERS ? &state->peer[state->peers++]
                                                            : least_of_the_gone(state, id, count);
        *p = (struct state_peer){.id = id[i]};
    }
    return NULL;
}

/* ---- loading and storing ---- */

bool saved_load(const struct elect_config *config, const struct state *state,
                const struct state_group *group, struct elect_saved *saved, uint16_t *whom)
{
    memset(saved, 0, sizeof *saved);
    saved->promised = group->promised;
    saved->used = group->used;
    saved->longest = group->longest;
    saved->round = group->round;
    saved->pause = group->pause;
    saved->incarnation = state->incarnation;
    saved->membership.stamp = group->stamp;
    saved->membership.version = group->version;
    for (unsigned i = 0; i < group->members; i++) {
        uint8_t rank = elect_rank(config, *whom = group->member[i].id);
        uint8_t roles = group->member[i].roles;
        if (rank == ELECT_NOBODY)
            return false;
        saved->membership.members |= (elect_set)((roles & LEADS) != 0) << rank;
        saved->membership.voters |= (elect_set)((roles & VOTES) != 0) << rank;
        saved->membership.before |= (elect_set)((roles & VOTED) != 0) << rank;
    }
    for (unsigned i = 0; i < STORE_MEMBERS; i++) {
        uint8_t rank = owner(config, group->closed[i]);
        if (rank != ELECT_NOBODY)
            saved->closed[rank] = group->closed[i];
    }
    for (unsigned i = 0; i < state->peers; i++) {
        uint8_t rank = elect_rank(config, state->peer[i].id);
        const struct state_peer *p = &state->peer[i];
        if (rank != ELECT_NOBODY)
            saved->met[rank] = p->met > p->known.incarnation ? p->met : p->known.incarnation;
    }
    return true;
}

static void store_members(const struct elect_config *config, const struct elect_membership *m,
                          struct state_group *group)
{
    elect_set all = m->members | m->voters | m->before;
    group->members = 0;
    memset(group->member, 0, sizeof group->member);
    for (; all != 0; all &= all - 1) {
        unsigned rank = (unsigned)__builtin_ctzll(all);
        group->member[group->members++] = (struct state_member){
            .id = config->id[rank],
            .roles = (uint8_t)((m->members >> rank & 1) * LEADS + (m->voters >> rank & 1) * VOTES +
                               (m->before >> rank & 1) * VOTED)};
    }
}

/* Stores the closed terms of the configured members and, in the remaining room, the latest ones of
 * other members. */
static void store_closed(const struct elect_config *config, const struct elect_saved *saved,
                         struct state_group *group)
{
    uint64_t before[STORE_MEMBERS];
    unsigned count = 0;
    memcpy(before, group->closed, sizeof before);
    memset(group->closed, 0, sizeof group->closed);
    for (unsigned rank = 0; rank < config->n; rank++)
        if (saved->closed[rank] != 0)
            group->closed[count++] = saved->closed[rank];
    while (count < STORE_MEMBERS) {
        unsigned latest = 0;
        for (unsigned i = 0; i < STORE_MEMBERS; i++) {
            if (before[i] != 0 && owner(config, before[i]) != ELECT_NOBODY)
                before[i] = 0;
            latest = before[i] > before[latest] ? i : latest;
        }
        group->closed[count++] = before[latest];
        before[latest] = 0;
    }
}

/* Stores the incarnations seen in the core's messages, apart from those seen by the sessions, which
 * only a HELLO may change. */
static void store_met(const struct elect_config *config, const struct elect_saved *saved,
                      struct state *state)
{
    for (unsigned i = 0; i < state->peers; i++) {
        uint8_t rank = elect_rank(config, state->peer[i].id);
        if (rank != ELECT_NOBODY && saved->met[rank] > state->peer[i].met)
            state->peer[i].met = saved->met[rank];
    }
}

void saved_store(const struct elect_config *config, const struct elect_saved *saved,
                 struct state *state, struct state_group *group)
{
    store_met(config, saved, state);
    group->promised = saved->promised;
    group->used = saved->used;
    group->longest = saved->longest;
    group->round = saved->round;
    group->pause = saved->pause;
    group->stamp = saved->membership.stamp;
    group->version = saved->membership.version;
    store_members(config, &saved->membership, group);
    store_closed(config, saved, group);
}
