/* Queries that do not change a world. */
#include "world_internal.h"

#include <string.h>

/* ---- one process ---- */

bool world_up(const struct world *w, uint8_t rank) { return (w->up & rank_bit(rank)) != 0; }

bool world_leads(const struct world *w, uint8_t rank)
{
    return world_up(w, rank) && elect_leads(&w->node[rank], world_clock(w, rank));
}

bool world_in_office(const struct world *w, uint8_t rank)
{
    return world_up(w, rank) && elect_in_office(&w->node[rank], world_clock(w, rank));
}

bool world_timer_runs(const struct world *w, uint8_t rank, enum elect_event timer)
{
    return (w->node[rank].running & ELECT_TIMER_BIT(timer)) != 0;
}

elect_set world_reach(const struct world *w, uint8_t rank) { return w->up & ~w->cut[rank]; }

uint8_t world_follows(const struct world *w, uint8_t rank)
{
    const struct elect_node *node = &w->node[rank];
    if (node->mandated)
        return node->mandate.presence.follows;
    return node->state == ELECT_NORMAL ? node->leader : ELECT_NOBODY;
}

bool world_forgot(const struct world *w, uint8_t rank)
{
    return w->disk[rank].saved.incarnation == 0;
}

/* ---- all processes ---- */

uint8_t world_in_charge(const struct world *w)
{
    for (elect_set rest = w->up; rest != 0; rest &= rest - 1)
        if (world_in_office(w, (uint8_t)__builtin_ctzll(rest)))
            return (uint8_t)__builtin_ctzll(rest);
    return ELECT_NOBODY;
}

uint8_t world_leader(const struct world *w)
{
    uint8_t leader = ELECT_NOBODY;
    for (elect_set rest = w->up; rest != 0; rest &= rest - 1) {
        uint8_t follows = world_follows(w, (uint8_t)__builtin_ctzll(rest));
        if (follows == ELECT_NOBODY || (leader != ELECT_NOBODY && follows != leader))
            return ELECT_NOBODY;
        leader = follows;
    }
    return leader != ELECT_NOBODY && world_up(w, leader) ? leader : ELECT_NOBODY;
}

/* Returns true if some leader can renew its mandate, and all processes in its reach follow it. */
static bool office_is_known(const struct world *w)
{
    for (elect_set rest = w->up; rest != 0; rest &= rest - 1) {
        uint8_t leader = (uint8_t)__builtin_ctzll(rest);
        elect_set voters = w->node[leader].saved.membership.voters;
        bool known =
            world_leads(w, leader) && 2 * __builtin_popcountll(world_reach(w, leader) & voters) >
                                          __builtin_popcountll(voters);
        for (elect_set near = world_reach(w, leader); near != 0 && known; near &= near - 1)
            known = w->node[__builtin_ctzll(near)].mandate.presence.follows == leader;
        if (known)
            return true;
    }
    return false;
}

bool world_settled(const struct world *w)
{
    if (w->elections > 0 || w->next_fault < w->fault_count)
        return false;
    if (w->config.mandate == ELECT_MAJORITY)
        return office_is_known(w);
    for (elect_set rest = w->up; rest != 0; rest &= rest - 1) {
        uint8_t rank = (uint8_t)__builtin_ctzll(rest);
        const struct elect_node *node = &w->node[rank];
        elect_set near = world_reach(w, rank);
        if (node->state != ELECT_NORMAL || node->leader == ELECT_NOBODY ||
            (near & rank_bit(node->leader)) == 0)
            return false;
        for (; near != 0; near &= near - 1)
            if (w->node[__builtin_ctzll(near)].leader != node->leader)
                return false;
    }
    return true;
}

uint64_t world_total(const struct world *w)
{
    uint64_t total = 0;
    for (unsigned type = ELECT_FIRST_MESSAGE; type < ELECT_PREVOTE; type++)
        total += w->books.sent[type];
    return total;
}

/* ---- two worlds ---- */

static unsigned place_on_link(const struct world *w, const struct flight *f)
{
    unsigned place = 0;
    for (uint32_t i = 0; i < w->flights; i++)
        place += w->flight[i].from == f->from && w->flight[i].to == f->to &&
                 w->flight[i].order < f->order;
    return place;
}

static bool in_flight_too(const struct world *w, const struct flight *f, unsigned place)
{
    for (uint32_t i = 0; i < w->flights; i++) {
        const struct flight *g = &w->flight[i];
        if (g->from == f->from && g->to == f->to && place_on_link(w, g) == place)
            return memcmp(&g->message, &f->message, sizeof f->message) == 0;
    }
    return false;
}

bool world_same(const struct world *a, const struct world *b)
{
    bool same = a->up == b->up && a->flights == b->flights &&
                memcmp(a->cut, b->cut, sizeof a->cut) == 0 &&
                memcmp(a->disk, b->disk, sizeof a->disk) == 0;
    for (elect_set rest = a->up; rest != 0 && same; rest &= rest - 1) {
        unsigned rank = (unsigned)__builtin_ctzll(rest);
        same = memcmp(&a->node[rank], &b->node[rank], sizeof a->node[rank]) == 0;
    }
    for (uint32_t i = 0; i < a->flights && same; i++)
        same = in_flight_too(b, &a->flight[i], place_on_link(a, &a->flight[i]));
    return same;
}
