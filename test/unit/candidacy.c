/* Tests candidates: what they ask for, how long they wait, and what they do when they lose. Each
 * test covers one sentence of the comments in office.c. */
#include "mandate.h"

static void a_nominee_asks_before_it_raises_a_term(void **state)
{
    struct voter *v = nominee(3);
    (void)state;
    assert_false(v->a.out.persist);
    assert_int_equal(v->a.node.saved.used, 0);
    hears(v, 0, reply(v, ELECT_AYE));
    assert_int_equal(v->a.out.sends, 0);
    hears(v, 0, reply(v, ELECT_AYE)); /* a second AYE from the same voter does not count */
    assert_int_equal(v->a.out.sends, 0);
    hears(v, 1, reply(v, ELECT_AYE));
    assert_rule(&v->a, CONFIRMS);
    /* the promise is persisted before another voter is asked */
    assert_true(v->a.out.persist);
    assert_int_equal(v->a.node.saved.promised, term(1, 2));
    assert_int_equal(v->a.node.saved.used, term(1, 2));
}

static void answers_to_an_earlier_question_do_not_count(void **state)
{
    struct voter *v = nominee(3);
    struct elect_message late = reply(v, ELECT_AYE);
    (void)state;
    v->now += LEASE / 2;
    happens(v, ELECT_ALARM);
    v->now = elect_alarm(&v->a.node);
    happens(v, ELECT_ALARM);
    assert_int_equal(v->a.node.mandate.candidate.asked, late.term);
    hears(v, 0, late);
    assert_rule(&v->a, ANSWERED_TOO_LATE);
    late.type = ELECT_REFUSE;
    late.reason = ELECT_REFUSED_HELD;
    hears(v, 0, late);
    assert_rule(&v->a, ANSWERED_TOO_LATE);
    hears(v, 1, reply(v, ELECT_AYE));
    assert_rule(&v->a, COUNTS);
}

static void a_member_that_has_just_started_uses_no_term(void **state)
{
    struct voter *v = begin(3, 2);
    (void)state;
    asks(v, 1, term(1, 1));
    restart(v, 2);
    happens(v, ELECT_SUSPECT);
    hears(v, 0, reply(v, ELECT_AYE));
    hears(v, 1, reply(v, ELECT_AYE)); /* its own voter may have promised another term */
    assert_rule(&v->a, REFUSED);
    assert_int_equal(v->a.out.sends, 0);
    assert_int_equal(v->a.node.saved.used, 0);
    assert_int_equal(v->a.node.mandate.time[ELECT_RETRY], v->now + LEASE);
}

static bool sends_release(const struct voter *v)
{
    return actor_sent(&v->a, ELECT_RELEASE, SET(v->a.config.n) - 1);
}

static void a_lost_candidacy_is_released_and_tried_again_later(void **state)
{
    struct voter *v = candidate(3);
    struct elect_message no = reply(v, ELECT_REFUSE);
    (void)state;
    no.reason = ELECT_REFUSED_HELD;
    no.remaining = 40;
    hears(v, 0, no);
    assert_int_equal(v->a.out.sends, 0);
    hears(v, 1, no);
    assert_rule(&v->a, REFUSED);
    assert_true(actor_sent(&v->a, ELECT_RELEASE, SET(3) - 1));
    /* both refusals have expired by then, so a majority may grant */
    assert_int_equal(elect_alarm(&v->a.node), v->now + 40);
    v->now += 40;
    happens(v, ELECT_ALARM);
    assert_true(actor_sent(&v->a, ELECT_PREVOTE, SET(3) - 1));
}

/* When a rival's candidacy ends, its voters may grant again. The rival may be the first to ask
 * them, so this candidate backs off. */
static void a_released_candidacy_ends_the_wait_for_its_lease_with_a_back_off(void **state)
{
    struct voter *v = candidate(3);
    struct elect_message no = reply(v, ELECT_REFUSE);
    (void)state;
    no.reason = ELECT_REFUSED_HELD;
    no.remaining = 40;
    hears(v, 0, no);
    hears(v, 1, no);
    releases(v, 2, term(1, 2));
    assert_int_equal(elect_alarm(&v->a.node), v->now + 40);
    releases(v, 1, term(1, 1));
    elect_time retry = elect_alarm(&v->a.node);
    assert_in_range(retry, v->now + 1, v->now + 39);
    releases(v, 1, term(1, 1));
    assert_int_equal(elect_alarm(&v->a.node), retry);
}

static void a_released_candidacy_shortens_no_back_off(void **state)
{
    struct voter *v = candidate(3);
    (void)state;
    for (unsigned attempt = 0; attempt < 6; attempt++) {
        struct elect_message no = reply(v, ELECT_REFUSE);
        no.reason = ELECT_REFUSED_STALE;
        no.in_the_way = term(2 + attempt, 1);
        hears(v, 0, no);
        /* while CONFIRMING, one refusal does not end the candidacy */
        if (v->a.node.mandate.candidate.stage == ELECT_CONFIRMING)
            hears(v, 1, no);
        assert_rule(&v->a, REFUSED);
        elect_time retry = elect_alarm(&v->a.node);
        assert_true(retry > v->now);
        releases(v, 1, no.in_the_way);
        assert_int_equal(elect_alarm(&v->a.node), retry);
        v->now = retry;
        happens(v, ELECT_ALARM);
        assert_rule(&v->a, PREVOTES);
    }
}

static void a_released_office_ends_the_wait_of_those_who_followed_it(void **state)
{
    struct voter *v = begin(3, 2);
    struct elect_message leads = request(term(1, 1));
    (void)state;
    leads.leading = 1;
    hears(v, 1, leads);
    happens(v, ELECT_SUSPECT);
    struct elect_message no = reply(v, ELECT_REFUSE);
    no.reason = ELECT_REFUSED_HELD;
    no.remaining = 90;
    hears(v, 0, no);
    hears(v, 2, no);
    assert_rule(&v->a, REFUSED);
    v->now += 10;
    releases(v, 1, term(1, 1));
    assert_int_equal(elect_alarm(&v->a.node), v->now);
    happens(v, ELECT_ALARM);
    assert_true(actor_sent(&v->a, ELECT_PREVOTE, SET(3) - 1));
}

/* A refusal needs no disk write, so it may overtake the grants of other voters. */
static void a_larger_promise_of_one_voter_does_not_end_a_candidacy(void **state)
{
    struct voter *v = candidate(3);
    struct elect_message no = reply(v, ELECT_REFUSE);
    (void)state;
    no.reason = ELECT_REFUSED_STALE;
    no.in_the_way = term(1, 3);
    hears(v, 0, no);
    assert_rule(&v->a, COUNTS);
    assert_int_equal(v->a.out.sends, 0);
    struct voter alone = *v;
    elect_time patient = elect_alarm(&v->a.node);
    v->now++;
    hears(v, 0, no);
    assert_int_equal(elect_alarm(&v->a.node), patient);
    grants(v, 1);
    grants(v, 2);
    assert_true(elect_leads(&v->a.node, v->now));
    /* no grant for this candidacy can still be in flight */
    alone.now += elect_shortest_office(&alone.a.config);
    assert_int_equal(elect_alarm(&alone.a.node), alone.now);
    happens(&alone, ELECT_ALARM);
    assert_rule(&alone.a, NO_MAJORITY);
    assert_true(sends_release(&alone));
}

/* After a RELEASE, the voters may promise to follow another process, so late grants must not
 * count. */
static void a_released_candidacy_never_takes_office(void **state)
{
    struct voter *v = candidate(3);
    struct elect_message granted = reply(v, ELECT_GRANT), no = reply(v, ELECT_REFUSE);
    (void)state;
    no.reason = ELECT_REFUSED_STALE;
    no.in_the_way = term(1, 3);
    hears(v, 0, no);
    hears(v, 1, no);
    assert_rule(&v->a, REFUSED);
    assert_true(sends_release(v));
    for (uint8_t i = 0; i < 3; i++) {
        hears(v, i, granted);
        assert_rule(&v->a, ANSWERED_TOO_LATE);
        assert_false(elect_in_office(&v->a.node, v->now));
    }
}

/* A voter refuses a released term as closed. Another candidate may use the RELEASE as a
 * certificate, so the candidacy must end. */
static void a_closed_term_ends_its_candidacy_at_once(void **state)
{
    struct voter *v = candidate(5);
    struct elect_message no = reply(v, ELECT_REFUSE);
    (void)state;
    no.reason = ELECT_REFUSED_CLOSED;
    no.in_the_way = v->a.node.mandate.leader.term;
    hears(v, 0, no);
    assert_rule(&v->a, REFUSED);
    assert_true(sends_release(v));
}

static void a_refused_prevote_releases_nothing(void **state)
{
    struct voter *v = nominee(3);
    struct elect_message no = reply(v, ELECT_REFUSE);
    (void)state;
    no.reason = ELECT_REFUSED_STALE;
    no.in_the_way = term(7, 1);
    hears(v, 0, no);
    assert_rule(&v->a, REFUSED);
    assert_int_equal(v->a.out.sends, 0);
    v->now = elect_alarm(&v->a.node);
    happens(v, ELECT_ALARM);
    assert_int_equal(v->a.node.mandate.candidate.asked,
                     term(8, 2)); /* above the term in the refusal */
}

static void without_answers_a_candidate_gives_up(void **state)
{
    struct voter *v = candidate(3);
    (void)state;
    v->now += LEASE / 2;
    happens(v, ELECT_ALARM);
    assert_true(actor_sent(&v->a, ELECT_RELEASE, SET(3) - 1));
    assert_int_equal(v->a.node.mandate.candidate.stage, ELECT_NO_CANDIDATE);
}

int test_candidacy(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_nominee_asks_before_it_raises_a_term),
        TEST(answers_to_an_earlier_question_do_not_count),
        TEST(a_member_that_has_just_started_uses_no_term),
        TEST(a_lost_candidacy_is_released_and_tried_again_later),
        TEST(a_released_candidacy_ends_the_wait_for_its_lease_with_a_back_off),
        TEST(a_released_candidacy_shortens_no_back_off),
        TEST(a_released_office_ends_the_wait_of_those_who_followed_it),
        TEST(a_larger_promise_of_one_voter_does_not_end_a_candidacy),
        TEST(a_released_candidacy_never_takes_office),
        TEST(a_closed_term_ends_its_candidacy_at_once),
        TEST(a_refused_prevote_releases_nothing),
        TEST(without_answers_a_candidate_gives_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
