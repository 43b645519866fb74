/*
 * Performs steps: calls elect_step, then writes the state, sends the messages and starts the
 * timers, in this order. Also starts a world, and makes moves by hand for scenarios and tests.
 */
#include "world_internal.h"

#include <assert.h>
#include <string.h>

/* ---- the output of a step ---- */

/* The process stands still until the write is done. */
static void write(struct world *w, uint8_t rank)
{
    struct disk *d = &w->disk[rank];
    if (d->done <= w->now)
        d->before = d->saved;
    d->saved = w->node[rank].saved;
    d->done = w->now + d->takes;
    if (d->takes > 0)
        flights_hold(w, rank, d->done);
}

void world_perform(struct world *w, uint8_t rank, const struct elect_output *out)
{
    if (out->persist)
        write(w, rank);
    if (out->deposit)
        w->testament[rank] = w->node[rank].saved.used;
    for (unsigned i = 0; i < out->sends; i++)
        flights_send(w, rank, &out->send[i]);
    for (uint32_t rest = out->start; rest != 0; rest &= rest - 1) {
        unsigned t = (unsigned)__builtin_ctz(rest);
        w->timer[rank][t].due = w->now + w->config.duration[t];
        w->timer[rank][t].order = w->order++;
    }
}

void world_step(struct world *w, uint8_t rank, const struct elect_input *in, struct happening *h)
{
    struct elect_node *node = &w->node[rank];
    uint8_t state = node->state, leader = node->leader, hop = node->queue[0].type;
    uint32_t round = node->saved.round;
    elect_set active = node->active;
    elect_term token = elect_token(node);

    assert(w->up & rank_bit(rank));
    h->what = HAPPENED_STEP;
    h->rank = rank;
    h->input = *in;
    elect_step(&w->config, node, in, &h->output);
    if (elect_must_stop(node) && w->stops[rank] == WORLD_FOREVER)
        w->stops[rank] = w->now + w->stopping;
    if (h->output.rule.number == ELECT_RULE_HOP_FAILED) {
        w->books.sent[hop]--;
        w->books.failed_hops++;
    }
    world_perform(w, rank, &h->output);
    w->broken |= claims_note(&w->claims[rank], &w->latest, token, node, &h->output,
                             w->disk[rank].done <= w->now);
    if (state != node->state || leader != node->leader || round != node->saved.round ||
        active != node->active)
        w->changed = w->now;
}

/* ---- the beginning ---- */

void world_restart(struct world *w, uint8_t rank, uint8_t leader)
{
    struct elect_output out;
    elect_init(&w->config, &w->node[rank], rank, leader, &w->disk[rank].saved, world_clock(w, rank),
               &out);
    w->stops[rank] = WORLD_FOREVER;
    world_perform(w, rank, &out);
}

void world_init(struct world *w, const struct elect_config *config, const struct weather *weather,
                uint64_t seed, uint8_t leader)
{
    memset(w, 0, offsetof(struct world, node));
    w->flights = w->elections = 0;
    w->config = *config;
    w->weather = *weather;
    for (int kind = 0; kind < DICE_KINDS; kind++)
        dice_seed(&w->dice[kind], seed, (enum dice_kind)kind);
    for (uint8_t rank = 0; rank < config->n; rank++) {
        w->up |= rank_bit(rank);
        world_restart(w, rank, leader);
    }
}

void world_down(struct world *w, uint8_t rank)
{
    w->up &= ~rank_bit(rank);
    w->node[rank].running = 0;
    w->node[rank].mandate = (struct elect_mandate){.presence.follows = ELECT_NOBODY};
    w->stops[rank] = WORLD_FOREVER;
}

/* ---- moves by hand ---- */

void world_suspect(struct world *w, uint8_t rank, struct happening *h)
{
    struct elect_input in = elect_happens(ELECT_SUSPECT, world_clock(w, rank));
    world_step(w, rank, &in, h);
}

void world_take(struct world *w, uint8_t rank, uint8_t from, const struct elect_message *m,
                struct happening *h)
{
    struct elect_input in = elect_received(from, m, world_clock(w, rank));
    w->disturbed = true;
    world_step(w, rank, &in, h);
}

/* Answers the process's current request in the name of `from`. */
static void answer(struct world *w, uint8_t rank, uint8_t from, struct elect_message m,
                   struct happening *h)
{
    m.origin = from;
    m.incarnation = w->node[rank].saved.incarnation;
    world_take(w, rank, from, &m, h);
}

bool world_assent(struct world *w, uint8_t rank, uint8_t from, struct happening *h)
{
    const struct elect_mandate *m = &w->node[rank].mandate;
    const struct elect_membership *who = &w->node[rank].saved.membership;
    if (m->candidate.stage != ELECT_PREVOTING ||
        ((who->voters | who->before) & rank_bit(from)) == 0)
        return false;
    answer(w, rank, from,
           (struct elect_message){
               .type = ELECT_AYE, .term = m->candidate.asked, .round = m->candidate.prevote_round},
           h);
    return true;
}

void world_refuse(struct world *w, uint8_t rank, enum elect_refusal why, elect_term counter,
                  struct happening *h)
{
    answer(w, rank, rank,
           (struct elect_message){.type = ELECT_REFUSE,
                                  .what = ELECT_REQUEST,
                                  .reason = (uint8_t)why,
                                  .term = elect_token(&w->node[rank]),
                                  .in_the_way = elect_term_make(counter, w->config.id[rank])},
           h);
}

void world_alarm(struct world *w, uint8_t rank, struct happening *h)
{
    struct elect_input in = elect_happens(ELECT_ALARM, world_clock(w, rank));
    world_step(w, rank, &in, h);
}

void world_stopped(struct world *w, uint8_t rank, struct happening *h)
{
    struct elect_input in = elect_happens(ELECT_STOPPED, world_clock(w, rank));
    w->stops[rank] = WORLD_FOREVER;
    world_step(w, rank, &in, h);
}

void world_fire(struct world *w, uint8_t rank, enum elect_event timer, struct happening *h)
{
    struct elect_input in = elect_happens(timer, world_clock(w, rank));
    assert(world_timer_runs(w, rank, timer));
    w->disturbed = true;
    world_step(w, rank, &in, h);
}
