/*
 * The ring links, which implement the verb `forward`. They acknowledge every hop, keep messages in
 * order, skip successors that do not answer, and separate the rounds.
 *
 * Invariants:
 *  1. One message at a time is in flight to the successor; the other messages wait in queue[], in
 *     order. A link therefore delivers messages in order, even if the network does not. The hop
 *     timer runs if and only if queued > 0.
 *  2. Within a round a process passes on each (type, origin) at most once. An acknowledgement can
 *     therefore name the message itself instead of a sequence number, and remains true if it
 *     arrives late or twice.
 *  3. A successor that did not acknowledge within T is `silent`: messages skip that process until a
 *     message from it arrives or the next round begins. If all other processes are silent, the
 *     process is its own successor.
 *  4. The state of the links belongs to the current round of the node. The round of the node is
 *     persisted, so that no process takes part in a round twice. A message of a higher round opens
 *     that round; a message of a lower round is dropped. If the current round has been decided, the
 *     acknowledgement says so, and a process that missed the outcome while it was down begins again
 *     in a later round. If the current round has not been decided, its election will reach the
 *     sender. If the sender began a later round instead, elections could chase each other round the
 *     ring forever.
 *  5. If no message is lost and no process fails (config->reliable), messages go to the successor
 *     without a queue or an acknowledgement.
 */
#include "ring_links.h"

#include <assert.h>
#include <string.h>

static unsigned kind(unsigned type)
{
    return type == ELECT_ELECTION || type == ELECT_ELECT ? 0 : 1;
}

bool passed_on(const struct process *p, unsigned type, number origin)
{
    return has(p->node->passed[kind(type)], origin);
}

static number successor(const struct process *p)
{
    const struct elect_config *c = p->config;
    unsigned place = c->place[me(p)];
    for (unsigned i = 1; i < c->n; i++) {
        number j = c->ring[(place + i) % c->n];
        if (has(members(p), j) && !has(p->node->silent, j))
            return j;
    }
    return me(p);
}

static void hop(struct process *p, number to, unsigned type, number origin, set list)
{
    send(p, type, only(to));
    p->out->send[p->out->sends - 1].message.origin = origin;
    p->out->send[p->out->sends - 1].message.list = list;
}

static void transmit(struct process *p)
{
    const struct elect_hop *first = &p->node->queue[0];
    p->node->next = successor(p);
    hop(p, p->node->next, first->type, first->origin, first->set);
    start(p, ELECT_HOP_TIMER);
}

/* Drops queue[0], because it was acknowledged or because the queue is full. If a message is lost
 * because of a full queue, the ring timer later begins a new round. */
static void drop_first(struct process *p)
{
    struct elect_node *node = p->node;
    node->queued--;
    memmove(&node->queue[0], &node->queue[1], node->queued * sizeof node->queue[0]);
    memset(&node->queue[node->queued], 0, sizeof node->queue[0]);
    node->next = 0;
}

void forward_list(struct process *p, unsigned type, number origin, set list)
{
    struct elect_node *node = p->node;
    assert(!passed_on(p, type, origin));
    node->passed[kind(type)] |= only(origin);
    if (p->config->reliable) {
        hop(p, successor(p), type, origin, list);
        return;
    }
    bool full = node->queued == ELECT_MAX_QUEUE;
    if (full)
        drop_first(p);
    node->queue[node->queued++] =
        (struct elect_hop){.type = (uint8_t)type, .origin = origin, .set = list};
    if (full || node->queued == 1)
        transmit(p);
}

void forward(struct process *p, unsigned type, number origin) { forward_list(p, type, origin, 0); }

void multicast_list(struct process *p, unsigned type, set list)
{
    p->node->passed[kind(type)] |= only(me(p));
    if (is_empty(list & others(p)))
        return;
    send(p, type, list & others(p));
    p->out->send[p->out->sends - 1].message.list = list;
}

void close_ring(struct process *p, set members) { p->node->silent = others(p) & ~members; }

void become_active(struct process *p, number j) { p->node->active |= only(j); }

void become_participant(struct process *p)
{
    if (participant(p))
        return;
    p->node->state = ELECTING;
    p->node->leader = ELECT_NOBODY;
    start(p, ELECT_RING_TIMER);
}

void elect__enter_round(struct process *p, uint32_t round)
{
    struct elect_node *node = p->node;
    assert(round > node->saved.round);
    node->saved.round = round;
    p->out->persist = true;
    node->state = NORMAL;
    node->active = node->silent = node->passed[0] = node->passed[1] = 0;
    node->queued = node->next = 0;
    memset(node->queue, 0, sizeof node->queue);
    stop(p, ELECT_HOP_TIMER);
    stop(p, ELECT_RING_TIMER);
    p->opened = true;
}

void elect__leave_round(struct process *p)
{
    struct elect_node *node = p->node;
    node->active = 0;
    node->queued = node->next = 0;
    memset(node->queue, 0, sizeof node->queue);
    stop(p, ELECT_HOP_TIMER);
    stop(p, ELECT_RING_TIMER);
}

void new_round(struct process *p) { elect__enter_round(p, p->node->saved.round + 1); }

/* `seen` is a decided ring round if the sender is still holding a decided election, and 0
 * otherwise. */
static void acknowledge(struct process *p, number from, const message *m, uint32_t seen)
{
    send(p, ELECT_ACK, only(from));
    p->out->send[p->out->sends - 1].message = (struct elect_message){
        .type = ELECT_ACK,
        .what = m->type,
        .origin = m->origin,
        .round = m->round,
        .seen = seen,
    };
}

/* Returns true if the message carries only the sender's own number, in a decided ring round. Lists
 * are accepted even after the decision. */
static bool comes_late(const struct process *p, number from, const message *m)
{
    return m->round == p->node->saved.round && is(p, NORMAL) && m->origin == from &&
           kind(m->type) == 0 && m->list == 0;
}

void elect__link_receive(struct process *p, number from, const message *m)
{
    bool over = m->round < p->node->saved.round;
    bool tell = (over && is(p, NORMAL)) || comes_late(p, from, m);
    if (m->type != ELECT_LEADER && !p->config->reliable)
        acknowledge(p, from, m, tell ? p->node->saved.round : 0);
    if (over || tell) {
        because(p, tell ? TELLS_ROUND : ROUND_IS_OVER);
        return;
    }
    if (m->round > p->node->saved.round)
        elect__enter_round(p, m->round);
    p->about = m->list != 0 && m->type != ELECT_ELECTION ? highest(m->list) : m->origin;
    p->algorithm->upon(p, &(struct event){m->type, from, m->origin, m->list});
}

void elect__link_acknowledged(struct process *p, number from, const message *m)
{
    struct elect_node *node = p->node;
    const struct elect_hop *first = &node->queue[0];
    if (m->seen >= node->saved.round && participant(p)) {
        node->saved.round = m->seen;
        p->algorithm->begin(p, BEHIND);
    } else if (node->queued > 0 && node->next == from && first->type == m->what &&
               first->origin == m->origin && node->saved.round == m->round) {
        drop_first(p);
        stop(p, ELECT_HOP_TIMER);
        if (node->queued > 0)
            transmit(p);
        because(p, ACKED);
    } else {
        because(p, LATE_ACK);
    }
}

void elect__link_timeout(struct process *p)
{
    struct elect_node *node = p->node;
    assert(node->queued > 0);
    p->about = node->next;
    if (node->next != me(p))
        node->silent |= only(node->next);
    transmit(p);
    because(p, HOP_FAILED);
    p->out->rule.b = node->next;
}
