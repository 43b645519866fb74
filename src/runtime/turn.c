/*
 * A turn carries out the output of the core's steps in the required order: it writes the state
 * file, deposits death reports, sends packets, announces news to the host, and delivers the
 * member's messages to itself. One write covers all groups, whose messages to a peer share
 * datagrams.
 */
#include "member.h"

#include "saved.h"

#include <stdio.h>
#include <string.h>

/* ---- a step ---- */

static void queue(struct elect_member *m, unsigned group, uint8_t rank,
                  const struct elect_message *message)
{
    const struct group *g = &m->group[group];
    uint8_t bytes[ELECT_MAX_BYTES];
    if (rank == g->node.me) {
        if (m->selves < SELF_ROOM)
            m->self[m->selves++] = (struct self_message){(uint8_t)group, *message};
        return;
    }
    for (unsigned i = 0; i < m->peers; i++)
        if (m->peer[i].id == g->config.id[rank]) {
            bool lost = message->type == ELECT_REMEMBERS;
            size_t length = elect_encode(&g->config, message, bytes);
            outbox_put(lost ? &m->out_lost[i] : &m->out[i], g->mark, bytes, length);
        }
}

/* Updates the state to be written. A member that has lost its state writes nothing until the others
 * have told it enough about every group; then readmit() writes all groups at once. */
static void persist(struct elect_member *m, unsigned group)
{
    struct group *g = &m->group[group];
    saved_store(&g->config, &g->node.saved, &m->state, &m->state.group[group]);
    m->dirty = !m->options.lost;
    g->done = m->options.lost;
    if (m->options.lost && g->node.saved.incarnation > m->state.incarnation)
        m->state.incarnation = g->node.saved.incarnation;
}

void member_perform(struct elect_member *m, unsigned group, const struct elect_output *out,
                    elect_time now)
{
    struct group *g = &m->group[group];
    if (out->persist)
        persist(m, group);
    for (unsigned i = 0; i < out->sends; i++)
        for (elect_set to = out->send[i].to; to != 0; to &= to - 1)
            queue(m, group, (uint8_t)__builtin_ctzll(to), &out->send[i].message);
    for (unsigned t = 0; t < ELECT_TIMER_COUNT; t++) {
        if ((out->stop >> t & 1) != 0)
            g->deadline[t] = ELECT_UNSET;
        if ((out->start >> t & 1) != 0)
            g->deadline[t] = now + g->config.duration[t];
    }
    g->announced = g->announced || out->announced;
    g->deposits = g->deposits || out->deposit;
}

struct elect_rule member_step(struct elect_member *m, unsigned group, const struct elect_input *in)
{
    struct elect_output out;
    if (m->group[group].done)
        return (struct elect_rule){ELECT_RULE_NOTHING, ELECT_NOBODY, ELECT_NOBODY};
    elect_step(&m->group[group].config, &m->group[group].node, in, &out);
    member_perform(m, group, &out, in->now);
    if (m->options.step != NULL)
        m->options.step(m->options.context, group, in, &out);
    return out.rule;
}

/* ---- a turn ---- */

bool member_write(struct elect_member *m)
{
    if (!m->dirty)
        return true;
    m->dirty = false;
    if (store_write(&m->store, &m->state) != STORE_FINE) {
        char why[128];
        snprintf(why, sizeof why, "cannot write the state file: %s", strerror(m->store.error));
        member_fail(m, false, why);
        return false;
    }
    m->writes++;
    m->sessions->sequence = m->state.sequence;
    return true;
}

/* Delivers only messages queued before this call. Answers to them must wait until the state has
 * been written again. */
static void deliver_to_self(struct elect_member *m)
{
    unsigned count = m->over ? 0 : m->selves;
    for (unsigned i = 0; i < count; i++) {
        struct self_message s = m->self[i];
        struct group *g = &m->group[s.group];
        struct elect_input in = elect_received(g->node.me, &s.message, elect_uv_now());
        member_step(m, s.group, &in);
    }
    memmove(m->self, m->self + count, (m->selves - count) * sizeof m->self[0]);
    m->selves -= count;
}

static bool same(const struct elect_news *a, const struct elect_news *b)
{
    return a->known == b->known && a->leads == b->leads && a->works == b->works &&
           a->leader == b->leader && a->term == b->term;
}

static void announce(struct elect_member *m)
{
    for (unsigned i = 0; i < m->groups && !m->over; i++) {
        struct group *g = &m->group[i];
        if (!g->announced && g->node.mandate.time[ELECT_UNTIL] == g->news.until)
            continue;
        struct elect_news news = elect_member_status(m, i);
        news.renewed = same(&news, &g->news);
        bool nothing = news.renewed && !news.works && news.until == g->news.until;
        g->announced = false;
        g->news = news;
        g->news.until = g->node.mandate.time[ELECT_UNTIL];
        if (!nothing)
            m->options.announce(m->options.context, &news);
    }
}

static bool is_quiet(const struct elect_member *m)
{
    bool quiet = m->selves == 0 && !m->dirty && m->net.queued == 0;
    for (unsigned i = 0; i < m->groups; i++)
        quiet = quiet && !m->group[i].announced && !m->group[i].deposits &&
                m->group[i].news.until == m->group[i].node.mandate.time[ELECT_UNTIL];
    for (unsigned i = 0; i < m->peers; i++)
        quiet = quiet && m->out[i].used == 0 && m->out_lost[i].used == 0 && m->note[i].length == 0;
    return quiet;
}

/* Creates the new state file once the other members have told enough about every group. */
static void readmit(struct elect_member *m)
{
    int error;
    for (unsigned i = 0; i < m->groups; i++)
        if (!m->group[i].done)
            return;
    enum file_error result = file_create(m->options.state, &m->store, &m->state, &error);
    m->over = true;
    if (result == FILE_FINE && m->options.readmitted != NULL)
        m->options.readmitted(m->options.context);
    if (result != FILE_FINE)
        m->options.fail(m->options.context, false,
                        result == FILE_IO ? strerror(error) : file_text(result));
}

void member_turn(struct elect_member *m)
{
    if (m->turning || m->over)
        return;
    m->turning = true;
    while (!m->over && !is_quiet(m) && member_write(m)) {
        member_deposit_all(m);
        member_flush(m);
        announce(m);
        deliver_to_self(m);
    }
    m->turning = false;
    if (m->options.lost && !m->over)
        readmit(m);
    if (!m->over)
        member_set_timer(m);
}
