/* Helpers for the unit tests of the mandate. Each test steps one process by hand. */
#ifndef ELECT_TEST_MANDATE_H
#define ELECT_TEST_MANDATE_H

#include "../support.h"

#include <string.h>

#define LEASE   100
#define RENEWAL 20
#define GRAIN   1
#define DRIFT   10000 /* parts per million */
#define OFFICE  97    /* LEASE * 0.99 / 1.01 - GRAIN */
#define T       2     /* a question and its answer: see support.c */

/* A process and its clock. Its id is 10 times its rank. */
struct voter {
    struct actor a;
    elect_time now;
};

static inline elect_term term(unsigned counter, unsigned rank)
{
    return (elect_term)counter << 16 | 10 * rank;
}

static inline void restart(struct voter *v, uint8_t me)
{
    struct elect_saved saved = v->a.node.saved;
    elect_init(&v->a.config, &v->a.node, me, ELECT_NOBODY, &saved, v->now, &v->a.out);
}

static inline struct voter *begin(unsigned n, uint8_t me)
{
    static struct voter v;
    memset(&v, 0, sizeof v);
    actor_init(&v.a, ELECT_BULLY, n, me, ELECT_NOBODY);
    v.a.config.stable = false; /* the tests of presence.c set `stable` */
    assert_int_equal(elect_config_mandate(&v.a.config, LEASE, RENEWAL, DRIFT, GRAIN), ELECT_FINE);
    v.now = 1000;
    elect_init(&v.a.config, &v.a.node, me, ELECT_NOBODY, NULL, v.now, &v.a.out);
    return &v;
}

static inline void hears(struct voter *v, uint8_t from, struct elect_message m)
{
    m.origin = from;
    if ((m.type == ELECT_REQUEST || m.type == ELECT_PREVOTE) && m.membership.voters == 0) {
        m.membership = v->a.node.saved.membership; /* unless the test sets one */
        m.membership.stamp = m.leading ? m.term : m.membership.stamp;
    }
    struct elect_input in = elect_received(from, &m, v->now);
    elect_step(&v->a.config, &v->a.node, &in, &v->a.out);
}

static inline void happens(struct voter *v, enum elect_event event)
{
    struct elect_input in = elect_happens(event, v->now);
    elect_step(&v->a.config, &v->a.node, &in, &v->a.out);
}

/* Sets the voters, which are also the members that may lead. */
static inline void has_voters(struct voter *v, elect_set voters)
{
    struct elect_membership *m = &v->a.node.saved.membership;
    m->members = m->voters = m->before = voters;
}

static inline struct elect_message request(elect_term e)
{
    return (struct elect_message){
        .type = ELECT_REQUEST, .term = e, .round = 1, .incarnation = 1, .lease = LEASE};
}

static inline void asks(struct voter *v, uint8_t from, elect_term e) { hears(v, from, request(e)); }

static inline void releases(struct voter *v, uint8_t from, elect_term e)
{
    hears(v, from,
          (struct elect_message){
              .type = ELECT_RELEASE, .heir = ELECT_NOBODY, .term = e, .incarnation = 1});
}

static inline const struct elect_message *answer(const struct voter *v)
{
    assert_int_equal(v->a.out.sends, 1);
    return &v->a.out.send[0].message;
}

/* Returns a process that asks which members are present before it begins an election. */
static inline struct voter *watchful(unsigned n, uint8_t me)
{
    struct voter *v = begin(n, me);
    v->a.config.stable = true;
    elect_init(&v->a.config, &v->a.node, me, ELECT_NOBODY, NULL, v->now, &v->a.out);
    return v;
}

static inline void says_present(struct voter *v, uint8_t from, elect_set hears_whom)
{
    hears(v, from,
          (struct elect_message){.type = ELECT_PRESENT,
                                 .heard = hears_whom,
                                 .penalty = v->a.node.mandate.presence.penalty[from],
                                 .incarnation = 1,
                                 .membership = v->a.node.saved.membership});
}

static inline void leads_for(struct voter *v, uint8_t from, elect_term e, uint8_t heir)
{
    struct elect_message m = request(e);
    m.leading = 1;
    m.heir = heir;
    m.roll = SET(v->a.node.me);
    hears(v, from, m);
}

static inline bool sends(const struct voter *v, enum elect_event type, struct elect_message *m)
{
    for (unsigned i = 0; i < v->a.out.sends; i++)
        if (v->a.out.send[i].message.type == type) {
            if (m != NULL)
                *m = v->a.out.send[i].message;
            return true;
        }
    return false;
}

static inline elect_time suspicion(const struct voter *v)
{
    return v->a.config.duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
}

static inline struct elect_message reply(const struct voter *v, enum elect_event type)
{
    const struct elect_mandate *m = &v->a.node.mandate;
    bool prevoting = m->candidate.stage == ELECT_PREVOTING;
    return (struct elect_message){.type = (uint8_t)type,
                                  .what = prevoting ? ELECT_PREVOTE : ELECT_REQUEST,
                                  .term = prevoting ? m->candidate.asked : m->leader.term,
                                  .round =
                                      prevoting ? m->candidate.prevote_round : m->leader.rounds,
                                  .incarnation = v->a.node.saved.incarnation,
                                  .lease = v->a.config.lease};
}

/* Returns the highest of n processes, which has won the election and sent PREVOTE. */
static inline struct voter *nominee(unsigned n)
{
    struct voter *v = begin(n, (uint8_t)(n - 1));
    happens(v, ELECT_SUSPECT);
    assert_true(actor_sent(&v->a, ELECT_PREVOTE, SET(n) - 1));
    return v;
}

static inline struct voter *candidate(unsigned n)
{
    struct voter *v = nominee(n);
    for (unsigned i = 0; i < n / 2 + 1; i++)
        hears(v, (uint8_t)i, reply(v, ELECT_AYE));
    assert_true(actor_sent(&v->a, ELECT_REQUEST, SET(n) - 1));
    return v;
}

static inline void grants(struct voter *v, uint8_t from) { hears(v, from, reply(v, ELECT_GRANT)); }

static inline struct voter *leader(unsigned n)
{
    struct voter *v = candidate(n);
    for (unsigned i = 0; i < n / 2 + 1; i++) {
        assert_false(elect_leads(&v->a.node, v->now));
        grants(v, (uint8_t)i);
    }
    assert_rule(&v->a, TAKES_OFFICE);
    assert_true(elect_leads(&v->a.node, v->now));
    return v;
}

#define assert_granted(v) assert_int_equal(answer(v)->type, ELECT_GRANT)
#define assert_refused(v, why)                                                                     \
    do {                                                                                           \
        assert_int_equal(answer(v)->type, ELECT_REFUSE);                                           \
        assert_int_equal(answer(v)->reason, ELECT_REFUSED_##why);                                  \
    } while (0)

#define TEST(name) cmocka_unit_test(name)
int test_voter(void);
int test_office(void);
int test_candidacy(void);
int test_handover(void);
int test_presence(void);
int test_embed(void);
int test_aside(void);

#endif
