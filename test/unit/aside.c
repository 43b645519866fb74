/* Tests a member that stands aside: it votes, but does not try to lead (presence.c, handover.c and
 * voter.c). */
#include "mandate.h"

static struct elect_message hand(elect_term e)
{
    return (struct elect_message){.type = ELECT_HAND, .term = e, .incarnation = 1};
}

static void resigns(struct voter *v, uint8_t to)
{
    struct elect_input in = elect_resigns(to, v->now);
    elect_step(&v->a.config, &v->a.node, &in, &v->a.out);
}

static void grants_aside(struct voter *v, uint8_t from, bool aside)
{
    struct elect_message m = reply(v, ELECT_GRANT);
    m.aside = aside;
    hears(v, from, m);
}

/* Returns process 0 of three after leader 2 has handed its office over to it. */
static struct voter *heir(void)
{
    struct voter *v = watchful(3, 0);
    leads_for(v, 2, term(1, 2), 0);
    hears(v, 2, hand(term(1, 2)));
    assert_rule(&v->a, CERTIFIED);
    return v;
}

static void a_member_that_stands_aside_votes_and_takes_no_part(void **state)
{
    struct voter *v = watchful(3, 2);
    struct elect_message m = {0};
    (void)state;
    v->a.node.mandate.presence.penalties = 0;
    says_present(v, 1, SET(2));
    happens(v, ELECT_ASIDE);
    assert_rule(&v->a, STANDS_ASIDE);
    assert_int_equal(elect_aside(&v->a.node), SET(2));
    hears(v, 1, (struct elect_message){.type = ELECT_ELECTION});
    assert_rule(&v->a, IS_ASIDE);
    assert_false(sends(v, ELECT_OK, NULL));
    says_present(v, 0, 0);
    assert_true(sends(v, ELECT_PRESENT, &m));
    assert_true(m.aside && !m.able);
    struct voter votes = *v;
    asks(&votes, 1, term(1, 1));
    assert_true(sends(&votes, ELECT_GRANT, &m));
    assert_true(m.aside);
    happens(v, ELECT_READY);
    assert_int_equal(elect_aside(&v->a.node), 0);
    hears(v, 1, (struct elect_message){.type = ELECT_ELECTION});
    assert_true(sends(v, ELECT_OK, NULL));
}

static void without_stable_elections_no_member_stands_aside(void **state)
{
    struct voter *v = begin(3, 2);
    (void)state;
    happens(v, ELECT_ASIDE);
    assert_rule(&v->a, NOTHING);
    assert_int_equal(elect_aside(&v->a.node), 0);
}

static void a_member_that_has_lost_its_state_can_be_told(void **state)
{
    struct voter *v = watchful(3, 0);
    (void)state;
    elect_readmit(&v->a.config, &v->a.node, 0, 5, v->now, &v->a.out);
    happens(v, ELECT_ASIDE);
    assert_rule(&v->a, STANDS_ASIDE);
    assert_int_equal(elect_aside(&v->a.node), SET(0));
    happens(v, ELECT_READY);
    assert_int_equal(elect_aside(&v->a.node), 0);
}

static void a_leader_names_no_successor_that_stands_aside(void **state)
{
    struct voter *v = leader(3);
    struct elect_message m = {0};
    (void)state;
    assert_int_equal(elect_successor(&v->a.config, &v->a.node, v->now), 1);
    assert_int_equal(elect_successor(&v->a.config, &v->a.node, v->now + LEASE), ELECT_NOBODY);
    grants_aside(v, 1, true);
    assert_int_equal(elect_aside(&v->a.node), SET(1));
    assert_int_equal(elect_successor(&v->a.config, &v->a.node, v->now), 0);
    resigns(v, 1);
    assert_rule(&v->a, SUCCESSOR_ASIDE);
    assert_true(elect_leads(&v->a.node, v->now));
    struct voter alone = *v;
    grants_aside(&alone, 0, true);
    assert_int_equal(elect_successor(&alone.a.config, &alone.a.node, alone.now), ELECT_NOBODY);
    resigns(v, 0);
    assert_rule(&v->a, RESIGNS);
    grants_aside(v, 1, false);
    /* the successor stands aside while the leader's work is still stopping */
    grants_aside(v, 0, true);
    happens(v, ELECT_STOPPED);
    assert_true(sends(v, ELECT_HAND, &m));
    assert_int_equal(m.heir, 1);
}

static void only_a_leader_with_a_mandate_has_a_successor(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 3, 2, 2);
    assert_int_equal(elect_successor(&a.config, &a.node, 0), ELECT_NOBODY);
}

static void a_member_that_stands_aside_declines_an_office(void **state)
{
    struct voter *v = watchful(3, 0);
    (void)state;
    happens(v, ELECT_ASIDE);
    struct voter stranger = *v;
    hears(&stranger, 2, hand(term(1, 2)));
    assert_rule(&stranger.a, DECLINES);
    leads_for(v, 2, term(1, 2), 0);
    struct voter testament = *v;
    hears(v, 2, hand(term(1, 2)));
    assert_rule(&v->a, DECLINES);
    assert_false(sends(v, ELECT_REQUEST, NULL) || sends(v, ELECT_PREVOTE, NULL));
    assert_true(sends(v, ELECT_PRESENT, NULL));
    assert_int_equal(v->a.node.mandate.presence.follows, ELECT_NOBODY);
    releases(&testament, 2, term(1, 2));
    assert_rule(&testament.a, OFFICE_RELEASED);
    assert_false(sends(&testament, ELECT_REQUEST, NULL));
}

static void a_candidate_that_is_told_to_stand_aside_withdraws(void **state)
{
    struct voter *v = heir();
    struct elect_message m = {0};
    (void)state;
    struct elect_message late = reply(v, ELECT_GRANT);
    happens(v, ELECT_ASIDE);
    assert_rule(&v->a, STANDS_ASIDE);
    assert_true(sends(v, ELECT_RELEASE, &m));
    assert_int_equal(m.term, term(2, 0));
    hears(v, 0, late);
    hears(v, 1, late);
    assert_rule(&v->a, ANSWERED_TOO_LATE);
    assert_int_equal(elect_token(&v->a.node), 0);
    v->now += LEASE;
    happens(v, ELECT_ALARM);
    assert_false(sends(v, ELECT_REQUEST, NULL) || sends(v, ELECT_PREVOTE, NULL));
}

static void a_leader_that_is_told_to_stand_aside_keeps_its_office_and_gets_no_other(void **state)
{
    struct voter *v = heir();
    (void)state;
    grants(v, 0);
    grants(v, 1);
    assert_rule(&v->a, TAKES_OFFICE);
    happens(v, ELECT_ASIDE);
    assert_rule(&v->a, STANDS_ASIDE);
    assert_true(elect_leads(&v->a.node, v->now));
    v->now += RENEWAL;
    happens(v, ELECT_ALARM);
    assert_true(sends(v, ELECT_REQUEST, NULL));
    resigns(v, ELECT_NOBODY);
    happens(v, ELECT_STOPPED);
    assert_true(sends(v, ELECT_HAND, NULL));
    for (unsigned i = 0; i < 10; i++) {
        v->now += RENEWAL;
        says_present(v, 1, SET(0));
        happens(v, ELECT_ALARM);
        assert_false(sends(v, ELECT_ELECTION, NULL) || sends(v, ELECT_PREVOTE, NULL) ||
                     sends(v, ELECT_REQUEST, NULL));
    }
}

static void a_member_that_stands_aside_is_not_fitter_than_another(void **state)
{
    (void)state;
    for (unsigned aside = 0; aside < 2; aside++) {
        struct voter *v = watchful(3, 1);
        v->a.node.mandate.presence.penalties = 5;
        hears(v, 2,
              (struct elect_message){.type = ELECT_PRESENT,
                                     .heard = SET(1),
                                     .incarnation = 1,
                                     .membership = v->a.node.saved.membership,
                                     .able = 1,
                                     .aside = aside});
        hears(v, 0, (struct elect_message){.type = ELECT_ELECTION});
        assert_int_equal(sends(v, ELECT_OK, NULL), aside);
    }
}

static void a_member_that_stands_aside_claims_no_office(void **state)
{
    struct voter *v = watchful(3, 2);
    struct elect_message m = {0};
    (void)state;
    v->a.config.preempt = true;
    v->a.node.mandate.presence.penalties = 0;
    for (unsigned aside = 2; aside-- > 0;) {
        happens(v, aside ? ELECT_ASIDE : ELECT_READY);
        leads_for(v, 1, term(1, 1), 0);
        leads_for(v, 1, term(1, 1), 0);
        assert_true(sends(v, ELECT_GRANT, &m));
        assert_int_equal(m.claims, !aside);
    }
}

int test_aside(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_member_that_stands_aside_votes_and_takes_no_part),
        TEST(without_stable_elections_no_member_stands_aside),
        TEST(a_member_that_has_lost_its_state_can_be_told),
        TEST(a_leader_names_no_successor_that_stands_aside),
        TEST(only_a_leader_with_a_mandate_has_a_successor),
        TEST(a_member_that_stands_aside_declines_an_office),
        TEST(a_candidate_that_is_told_to_stand_aside_withdraws),
        TEST(a_leader_that_is_told_to_stand_aside_keeps_its_office_and_gets_no_other),
        TEST(a_member_that_stands_aside_is_not_fitter_than_another),
        TEST(a_member_that_stands_aside_claims_no_office),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
