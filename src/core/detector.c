/*
 * The failure detector. A leader sends HEARTBEAT to all others. A process that hears nothing from
 * its leader for the suspicion time begins an election. A heartbeat also serves as an announcement,
 * which makes up for lost announcements and tells two leaders of each other after a partition.
 *
 * Heartbeats carry the round, so that on a ring the heartbeat of an earlier leader cannot undo a
 * later election. If two processes lead in one round, the lower one follows the higher, and so does
 * every process that hears both.
 */
#include "detector.h"

#include "ring_links.h"
#include "mandate.h"

#include <assert.h>

void elect__suspect(struct process *p)
{
    p->about = p->node->leader;
    if (p->node->mandated && presence(p)->follows != me(p))
        presence(p)->follows = ELECT_NOBODY; /* it follows no leader until it hears from one */
    if (!has(members(p), me(p))) {
        /* This process is not a member. If it becomes one, it must not wait for the old leader. */
        p->node->leader = ELECT_NOBODY;
        because(p, NOTHING);
    } else if (p->node->mandated && p->config->stable && is(p, NORMAL) && !leads(p))
        elect__miss(p);
    else if (!is(p, NORMAL))
        because(p, ALREADY_ELECTING);
    else if (leads(p))
        because(p, LEADS_ITSELF);
    else
        p->algorithm->begin(p, p->about == ELECT_NOBODY ? NO_LEADER : SUSPECTS);
}

void elect__beat(struct process *p)
{
    assert(leads(p));
    send(p, ELECT_HEARTBEAT, others(p));
    start(p, ELECT_HEARTBEAT_TIMER);
    because(p, BEATS);
}

static void upon_lower_leader(struct process *p, number j, uint32_t round)
{
    if (leads(p) && round == saved(p)->round) {
        send(p, ELECT_HEARTBEAT, only(j));
        because(p, TELLS_LOWER);
    } else if (is(p, NORMAL)) {
        saved(p)->round = round;
        p->algorithm->begin(p, LOWER_LEADS);
    } else {
        because(p, ELECTION_IS_ON);
    }
}

static void upon_higher_leader(struct process *p, number j, uint32_t round)
{
    number followed = p->node->leader;
    if (round == saved(p)->round && followed != ELECT_NOBODY && followed > j) {
        because(p, STILL_FOLLOWS);
        return;
    }
    if (round > saved(p)->round)
        elect__enter_round(p, round);
    follow(p, j);
    because(p, FOLLOWS_HEARTBEAT);
}

void elect__heartbeat(struct process *p, number j, const message *m)
{
    if (m->round < saved(p)->round) {
        because(p, EARLIER_REIGN);
    } else if (j == p->node->leader && m->round == saved(p)->round) {
        if (p->config->detector)
            start(p, ELECT_SUSPICION_TIMER);
        because(p, HEARD_LEADER);
    } else if (j < me(p)) {
        upon_lower_leader(p, j, m->round);
    } else {
        upon_higher_leader(p, j, m->round);
    }
}

void elect__watch(struct process *p, number leader_before, uint8_t state_before)
{
    if (!p->config->detector)
        return;
    bool led = state_before == NORMAL && leader_before == me(p), beats = !p->node->mandated;
    bool same = state_before == p->node->state && leader_before == p->node->leader;
    if (led && !leads(p))
        stop(p, ELECT_HEARTBEAT_TIMER);
    if (leads(p) && !led && beats)
        start(p, ELECT_HEARTBEAT_TIMER);
    if (!is(p, NORMAL) || leads(p))
        stop(p, ELECT_SUSPICION_TIMER);
    else if (!same)
        start(p, ELECT_SUSPICION_TIMER);
}
