/*
 * The mandate against an adversary: every message may arrive at any time, any number of times or
 * never; anybody may believe at any time that it is elected; processes crash and come back with
 * what they wrote down. No weather, no election, no time but ticks of the clocks.
 *
 *     test_adversary any|bounded [HISTORIES [FIRST]]
 *
 * any: clocks tick as they like. No token is used twice, no voter grants a smaller term (P1, P2).
 * bounded: no clock is ever more than a tick ahead of another. Then, too, no two lead at the same
 * time, and every later token is larger (P3).
 */
#include "../../src/model/claims.h"
#include "../../src/model/dice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX   5
#define STEPS 600
#define POOL  4096
#define LEASE 8
#define GRAIN 2 /* a clock may be a tick ahead at one end of a lease, and another at the other */

struct letter {
    uint8_t from, to;
    struct elect_message message;
};

struct history {
    struct dice dice;
    struct elect_config config;
    struct elect_node node[MAX];
    struct elect_saved disk[MAX];
    bool up[MAX], bounded;
    unsigned ticks[MAX];
    struct claims claims[MAX];
    elect_term latest; /* the largest token ever taken */
    struct letter pool[POOL];
    unsigned letters, offices;
    const char *broken;
};

static unsigned below(struct history *h, unsigned bound)
{
    return (unsigned)dice_below(&h->dice, bound);
}

static void perform(struct history *h, uint8_t i, const struct elect_output *out)
{
    if (out->persist)
        h->disk[i] = h->node[i].saved;
    for (unsigned k = 0; k < out->sends; k++) {
        const struct elect_message *m = &out->send[k].message;
        for (elect_set to = out->send[k].to; to != 0; to &= to - 1)
            if (h->letters < POOL)
                h->pool[h->letters++] = (struct letter){i, (uint8_t)__builtin_ctzll(to), *m};
    }
}

static void judge(struct history *h, uint8_t i, elect_term before, const struct elect_output *out)
{
    const struct elect_node *node = &h->node[i];
    unsigned wrong = claims_note(&h->claims[i], &h->latest, before, node, out, true);
    if (wrong & CLAIMED_FALLING)
        h->broken = "P2: a voter grants a smaller term";
    if (wrong & CLAIMED_TWICE)
        h->broken = "P2: a token is used twice";
    if (wrong & CLAIMED_OVER)
        h->broken = "P3: a term is released by who leads or works";
    if (h->bounded && wrong & CLAIMED_LATE)
        h->broken = "P3: a later office has a smaller token";
    if (node->mandate.token == 0 || node->mandate.token == before)
        return;
    h->offices++;
    for (uint8_t j = 0; j < h->config.n && h->bounded; j++)
        if (j != i && h->up[j] && elect_leads(&h->node[j], 0))
            h->broken = "P3: two lead at the same time";
}

static void step(struct history *h, uint8_t i, struct elect_input in)
{
    struct elect_output out;
    elect_term before = h->node[i].mandate.token;
    elect_step(&h->config, &h->node[i], &in, &out);
    perform(h, i, &out);
    judge(h, i, before, &out);
}

/* What elections, timers and hosts do in the end: this process is told that it is chosen. */
static void nominate(struct history *h, uint8_t i)
{
    struct elect_node *node = &h->node[i];
    node->state = ELECT_NORMAL;
    node->leader = i;
    node->mandate.nominated = true;
    node->mandate.time[ELECT_RETRY] = 0;
    step(h, i, elect_happens(ELECT_ALARM, 0));
}

static void deliver(struct history *h)
{
    if (h->letters == 0)
        return;
    unsigned recent = h->letters < 12 ? h->letters : 12;
    unsigned back = below(h, 4) > 0 ? below(h, recent) : below(h, h->letters);
    const struct letter *l = &h->pool[h->letters - 1 - back];
    if (h->up[l->to])
        step(h, l->to, elect_received(l->from, &l->message, 0));
}

static void tick(struct history *h, uint8_t i)
{
    for (uint8_t j = 0; j < h->config.n; j++)
        if (h->bounded && h->ticks[i] > h->ticks[j])
            return;
    h->ticks[i]++;
    elect_shift(&h->node[i], -1);
}

static void restart(struct history *h, uint8_t i)
{
    struct elect_output out;
    elect_init(&h->config, &h->node[i], i, ELECT_NOBODY, &h->disk[i], 0, &out);
    h->up[i] = true;
    perform(h, i, &out);
}

static void move(struct history *h)
{
    uint8_t i = (uint8_t)below(h, h->config.n);
    unsigned kind = below(h, 100);
    if (kind < 55)
        deliver(h);
    else if (kind < 85)
        tick(h, i);
    else if (!h->up[i])
        restart(h, i);
    else if (kind < 87)
        h->up[i] = false;
    else if (kind < 90)
        nominate(h, i);
    else
        step(h, i, elect_happens(kind < 97 ? ELECT_ALARM : ELECT_STOPPED, 0));
}

static void play(struct history *h, uint64_t seed)
{
    static const uint16_t ids[MAX] = {0, 1, 2, 3, 4};
    bool bounded = h->bounded;
    memset(h, 0, sizeof *h);
    h->bounded = bounded;
    dice_seed(&h->dice, seed, DICE_CRASH);
    unsigned n = seed % 4 == 0 ? 2 + below(h, 4) : 3;
    elect_config_init(&h->config, ELECT_BULLY, ids, n, 1, 0);
    if (elect_config_mandate(&h->config, LEASE, 2, 0, GRAIN) != ELECT_FINE)
        abort();
    for (uint8_t i = 0; i < n; i++)
        restart(h, i);
    for (unsigned s = 0; s < STEPS && h->broken == NULL; s++) {
        if (below(h, 40) == 0) /* all are told of another lease */
            elect_config_mandate(&h->config, LEASE + below(h, LEASE), 2, 0, GRAIN);
        move(h);
    }
}

int main(int argc, char **argv)
{
    static struct history h;
    uint64_t histories = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000;
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1, offices = 0;
    h.bounded = argc > 1 && strcmp(argv[1], "bounded") == 0;
    for (uint64_t seed = first; seed < first + histories; seed++) {
        play(&h, seed);
        offices += h.offices;
        if (h.broken != NULL) {
            fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, h.broken);
            return 1;
        }
    }
    printf("%llu histories, %llu offices\n", (unsigned long long)histories,
           (unsigned long long)offices);
    return offices < histories / 10; /* else the adversary is too strong to show anything */
}
