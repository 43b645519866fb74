/* Tests which members count as present when clocks differ as much as allowed, which member may
 * claim an office, and how far ahead a counter in a message may be. */
#include "mandate.h"

/* ---- clocks that differ ---- */

/* A member with the slowest clock sends PRESENT at every interval R. Each message takes up to T_m.
 * The receiver measures the suspicion time with the fastest clock, and must still count the sender
 * as present when the next message arrives. */
static void a_member_with_the_slowest_clock_is_seen_by_one_with_the_fastest(void **state)
{
    (void)state;
    for (uint32_t drift = 0; drift < 500000; drift += 4999) {
        for (uint32_t renewal = 1; renewal <= 64; renewal++) {
            struct elect_config c;
            const uint16_t ids[] = {1, 2, 3, 4, 5, 6};
            /* T_m; if it were longer, a leader would forget a round before its answers arrive */
            uint32_t message_bound = 2 * renewal;
            assert_int_equal(elect_config_init(&c, ELECT_BULLY, ids, 6, message_bound, 0),
                             ELECT_FINE);
            assert_int_equal(elect_config_mandate(&c, 100 * renewal, renewal, drift, 1),
                             ELECT_FINE);
            double slow = 1 - drift / 1e6, fast = 1 + drift / 1e6;
            double apart = (renewal / slow + message_bound) * fast;
            double seen_for = c.duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
            assert_true(seen_for + 1e-6 >= apart);
        }
    }
}

/* Four of six voters are up, the smallest majority, so each must always see the three others. Those
 * send PRESENT at every interval R, with clocks at 0.51 times the right rate. This process's clock
 * runs at 1.49 times the right rate, so the messages arrive at intervals of 2.92 R. */
static void four_of_six_voters_always_see_a_majority(void **state)
{
    struct voter *v = begin(6, 4);
    (void)state;
    v->a.config.stable = true;
    v->a.config.max_lease = 0;
    assert_int_equal(elect_config_mandate(&v->a.config, 1000, RENEWAL, 490000, GRAIN), ELECT_FINE);
    elect_init(&v->a.config, &v->a.node, 4, ELECT_NOBODY, NULL, v->now, &v->a.out);
    v->a.node.mandate.presence.penalties = 0;
    for (uint8_t i = 1; i < 4; i++)
        says_present(v, i, SET(4));
    for (unsigned late = 0; late <= RENEWAL; late++) {
        struct voter now = *v;
        now.now += RENEWAL * 149 / 51 + late;
        hears(&now, 1, (struct elect_message){.type = ELECT_ELECTION});
        assert_rule(&now.a, CHALLENGED);
    }
}

/* ---- preemption ---- */

static bool claims(struct voter v, uint8_t leader, uint8_t own, uint8_t its)
{
    struct elect_message m = {0};
    v.a.config.preempt = true;
    v.a.node.mandate.presence.penalties = own;
    for (int i = 0; i < 2; i++) {
        struct elect_message leads = request(term(1, leader));
        leads.leading = 1;
        leads.penalty = its;
        leads.roll = SET(v.a.node.me);
        hears(&v, leader, leads);
    }
    assert_true(sends(&v, ELECT_GRANT, &m));
    return m.claims;
}

/* Two members start at about the same time, but halve their penalties at different times. */
static void penalties_that_the_next_halving_removes_move_no_office(void **state)
{
    (void)state;
    for (uint8_t both = 1; both <= 15; both++) {
        assert_false(claims(*watchful(3, 1), 2, both, both));
        assert_false(claims(*watchful(3, 1), 2, both / 2, both));
        assert_true(claims(*watchful(3, 2), 1, both, both));
        assert_true(claims(*watchful(3, 2), 1, both / 2, both));
        assert_false(claims(*watchful(3, 2), 1, both, both / 2));
    }
    assert_true(claims(*watchful(3, 1), 2, 0, 2));
    assert_true(claims(*watchful(3, 1), 2, 3, 8));
}

/* The leader has the middle rank and 3 penalties. Process 0 has fewer, but not few enough to
 * displace the leader. Process 2 may displace it. */
static void only_a_claimant_that_may_displace_the_leader_comes_before_another(void **state)
{
    struct voter *v = leader(3);
    (void)state;
    v->a.config.preempt = true;
    v->a.node.me = 1;
    v->a.node.mandate.leader.token = v->a.node.mandate.leader.term = term(1, 1);
    for (unsigned i = 0; i < ELECT_ROUNDS; i++)
        v->a.node.mandate.leader.round[i].term = term(1, 1);
    v->a.node.mandate.presence.penalties = 3;
    struct elect_message m = reply(v, ELECT_GRANT);
    m.penalty = 2;
    hears(v, 0, m);
    struct voter other = *v;
    m.penalty = 3;
    m.able = 1;
    hears(v, 2, m);
    assert_rule(&v->a, GIVES_PLACE);
    other.a.node.mandate.presence.penalty[0] = 0;
    hears(&other, 2, m);
    assert_true(elect_leads(&other.a.node, other.now));
}

static void a_candidate_has_no_office_to_give(void **state)
{
    struct voter *v = candidate(3);
    struct elect_message m = reply(v, ELECT_GRANT);
    (void)state;
    v->a.config.preempt = true;
    v->a.node.mandate.presence.penalties = 15;
    m.able = 1;
    hears(v, 1, m);
    assert_rule(&v->a, COUNTS);
    assert_int_equal(v->a.node.mandate.leader.handing, ELECT_NOT_HANDING);
}

/* ---- counters ---- */

#define FAR ((1u << 28) + 5) /* only a new process accepts a counter this far ahead */

static void a_new_member_believes_a_large_counter(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    asks(v, 2, term(FAR, 2));
    assert_granted(v);
    releases(v, 2, term(FAR, 2));
    /* no longer new, so it refuses such a leap */
    asks(v, 1, term(2 * FAR + 1, 1));
    assert_rule(&v->a, MALFORMED);
    struct voter *other = begin(3, 0);
    asks(other, 2, (elect_term)1 << 63 | 20); /* counter in the upper half of its range */
    assert_rule(&other->a, MALFORMED);
}

static void a_member_that_lost_its_state_believes_what_is_remembered(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    elect_readmit(&v->a.config, &v->a.node, 0, 5, v->now, &v->a.out);
    struct elect_message m = {.type = ELECT_REMEMBERS,
                              .round = 10,
                              .incarnation = 7,
                              .pause = FAR,
                              .membership = v->a.node.saved.membership};
    m.term = term(3, 1);
    hears(v, 1, m);
    assert_rule(&v->a, LEARNS);
    m.term = term(3 * FAR, 1);
    m.pause = 3 * FAR;
    m.membership.stamp = m.term;
    hears(v, 2, m);
    assert_rule(&v->a, WAITS_IT_OUT);
    assert_int_equal(v->a.node.mandate.seen, m.term);
    assert_int_equal(v->a.node.saved.pause, m.pause);
}

/* The grant was sent before the member lost its state. */
static void a_member_that_lost_its_state_ignores_a_late_grant(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    elect_readmit(&v->a.config, &v->a.node, 0, 5, v->now, &v->a.out);
    hears(v, 1,
          (struct elect_message){
              .type = ELECT_GRANT, .term = term(3, 0), .round = 2, .incarnation = 4});
    assert_rule(&v->a, ANSWERED_TOO_LATE);
}

/* ---- hearsay ---- */

static void a_leader_that_reports_itself_is_not_hearsay(void **state)
{
    struct voter *v = watchful(3, 0);
    struct elect_message told = {
        .type = ELECT_FOLLOWING, .term = term(1, 2), .valid_for = 30, .incarnation = 1};
    (void)state;
    told.membership = v->a.node.saved.membership;
    struct voter by_another = *v;
    hears(v, 2, told);
    assert_rule(&v->a, LEADER_TELLS);
    hears(&by_another, 1, told);
    assert_rule(&by_another.a, IS_TOLD);
    assert_int_equal(by_another.a.out.rule.b, 2);
}

int test_presence(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_member_with_the_slowest_clock_is_seen_by_one_with_the_fastest),
        TEST(four_of_six_voters_always_see_a_majority),
        TEST(penalties_that_the_next_halving_removes_move_no_office),
        TEST(only_a_claimant_that_may_displace_the_leader_comes_before_another),
        TEST(a_candidate_has_no_office_to_give),
        TEST(a_new_member_believes_a_large_counter),
        TEST(a_member_that_lost_its_state_believes_what_is_remembered),
        TEST(a_member_that_lost_its_state_ignores_a_late_grant),
        TEST(a_leader_that_reports_itself_is_not_hearsay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
