/*
 * Deposits and receives testaments. A testament is a sealed packet saying that a term has ended.
 * Before a member requests a term, it deposits one for each peer with its guardian, which sends
 * them if the member dies, so that the others need not wait for the end of the lease. A received
 * testament counts as the RELEASE that the dead member would have sent.
 */
#include "member.h"

#include "bytes.h"

#include <string.h>

#define TESTAMENT_BYTES 16

/* ---- depositing ---- */

static size_t seal_testament(struct elect_member *m, unsigned group, unsigned peer, uint8_t *packet)
{
    const struct group *g = &m->group[group];
    uint8_t content[TESTAMENT_BYTES];
    struct bytes b = {content, content + sizeof content, true};
    put_number(&b, m->state.incarnation, 4);
    put_number(&b, g->mark, 4);
    put_number(&b, g->node.saved.used, 8);
    return sessions_testament(m->sessions, m->session_of[peer], m->testaments, content,
                              sizeof content, packet);
}

/* Each group has its own testament, because the guardian may have to discard one and keep the
 * others. */
static void deposit(struct elect_member *m, unsigned group)
{
    struct elect_testament t = {.group = group, .term = m->group[group].node.saved.used};
    uint8_t packet[SEAL_MAX_PACKET];
    m->testaments++;
    for (unsigned i = 0; i < m->peers; i++) {
        size_t length = i != m->me ? seal_testament(m, group, i, packet) : 0;
        if (length == 0)
            continue;
        struct elect_testament_packet *l = &t.packet[t.packets++];
        l->links = m->peer[i].links;
        memcpy(l->link, m->peer[i].link, sizeof l->link);
        memcpy(l->bytes, packet, length);
        l->length = (uint8_t)length;
    }
    m->options.deposit(m->options.context, &t);
}

void member_deposit_all(struct elect_member *m)
{
    for (unsigned i = 0; i < m->groups; i++) {
        if (m->group[i].deposits && m->options.deposit != NULL)
            deposit(m, i);
        m->group[i].deposits = false;
    }
}

void member_deposit_anew(struct elect_member *m)
{
    for (unsigned i = 0; i < m->groups; i++)
        m->group[i].deposits = m->group[i].node.mandate.leader.term != 0;
}

void elect_member_deposit(struct elect_member *m, unsigned group)
{
    m->group[group].deposits = m->group[group].node.mandate.leader.term != 0;
    member_turn(m);
}

/* ---- receiving ---- */

bool member_take_testament(struct elect_member *m, unsigned peer)
{
    struct bytes b = {m->event.content, m->event.content + m->event.length, true};
    uint32_t life = (uint32_t)take_number(&b, 4), mark = (uint32_t)take_number(&b, 4);
    elect_term term = take_number(&b, 8);
    if (!b.fine || b.at != b.end || elect_term_owner(term) != m->peer[peer].id ||
        life != m->sessions->peer[m->session_of[peer]].known.incarnation)
        return false;
    for (unsigned i = 0; i < m->groups; i++) {
        struct group *g = &m->group[i];
        uint8_t from = elect_rank(&g->config, m->peer[peer].id);
        struct elect_message release = elect_testament(&g->config, from, term, life);
        release.penalty = g->node.mandate.presence.penalty[from];
        struct elect_input in = elect_received(from, &release, elect_uv_now());
        if (g->mark == mark)
            member_step(m, i, &in);
    }
    return true;
}
