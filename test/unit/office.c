/* Tests candidates' requests, how long a leader leads, and when it must stop. Each test covers one
 * sentence of docs/guarantees.md or of the comments in office.c. */
#include "mandate.h"

static void a_majority_counts_voters_not_grants(void **state)
{
    struct voter *v = candidate(5);
    (void)state;
    for (int i = 0; i < 9; i++)
        grants(v, 0);
    grants(v, 1);
    assert_false(elect_leads(&v->a.node, v->now));
    grants(v, 4);
    assert_true(elect_leads(&v->a.node, v->now));
}

static void the_own_vote_counts_only_when_it_is_granted(void **state)
{
    struct voter *v = candidate(3);
    (void)state;
    grants(v, 0);
    assert_false(elect_leads(&v->a.node, v->now));
}

static void a_grant_of_an_observer_does_not_count(void **state)
{
    struct voter *v = candidate(5);
    (void)state;
    has_voters(v, SET(2) | SET(3) | SET(4));
    grants(v, 0);
    grants(v, 1);
    grants(v, 2);
    assert_false(elect_leads(&v->a.node, v->now));
    grants(v, 3);
    assert_true(elect_leads(&v->a.node, v->now));
}

static void an_office_lasts_from_the_sending_of_its_round(void **state)
{
    struct voter *v = candidate(3);
    (void)state;
    v->now += 50;
    grants(v, 0);
    grants(v, 1);
    assert_true(elect_leads(&v->a.node, 1000 + OFFICE - 1));
    assert_false(elect_leads(&v->a.node, 1000 + OFFICE));
}

static void a_renewal_counts_from_the_round_that_is_granted(void **state)
{
    struct voter *v = leader(3);
    struct elect_message first;
    (void)state;
    v->now = 1020;
    happens(v, ELECT_ALARM);
    first = reply(v, ELECT_GRANT);
    v->now = 1040;
    happens(v, ELECT_ALARM);
    hears(v, 0, first);
    hears(v, 1, first);
    assert_rule(&v->a, RENEWED);
    assert_true(elect_leads(&v->a.node, 1020 + OFFICE - 1));
    assert_false(elect_leads(&v->a.node, 1020 + OFFICE));
}

static void grants_of_different_rounds_do_not_make_a_majority(void **state)
{
    struct voter *v = leader(3);
    (void)state;
    v->now = 1020;
    happens(v, ELECT_ALARM);
    grants(v, 0);
    v->now = 1040;
    happens(v, ELECT_ALARM);
    grants(v, 1);
    assert_false(elect_leads(&v->a.node, 1000 + OFFICE));
}

static void grants_that_come_too_late_make_no_leader(void **state)
{
    struct voter *v = candidate(3);
    (void)state;
    v->now += OFFICE;
    grants(v, 0);
    grants(v, 1);
    assert_false(elect_leads(&v->a.node, v->now));
    assert_int_equal(v->a.node.mandate.leader.token, 0);
}

static void answers_to_an_earlier_life_do_not_count(void **state)
{
    struct voter *v = nominee(3);
    struct elect_message late = reply(v, ELECT_AYE);
    (void)state;
    restart(v, 2);
    /* after the restart, the same message with the same term */
    happens(v, ELECT_SUSPECT);
    hears(v, 2, reply(v, ELECT_AYE));
    assert_int_equal(v->a.node.mandate.candidate.asked, late.term);
    assert_int_equal(v->a.node.mandate.candidate.prevote_round, late.round);
    hears(v, 0, late);
    assert_rule(&v->a, ANSWERED_TOO_LATE);
    assert_int_equal(v->a.node.mandate.candidate.stage, ELECT_PREVOTING);
    late.incarnation = 3; /* an incarnation that the process never had */
    hears(v, 0, late);
    assert_rule(&v->a, MALFORMED);
}

static void an_office_ends_in_time_whatever_event_comes(void **state)
{
    struct voter *v = leader(3);
    elect_term token = v->a.node.mandate.leader.token;
    struct elect_message late;
    (void)state;
    v->now = 1020;
    happens(v, ELECT_ALARM);
    late = reply(v, ELECT_GRANT);
    v->now = 1000 + OFFICE;
    hears(v, 0, late);
    assert_rule(&v->a, MANDATE_OVER);
    hears(v, 1, late); /* in time, this grant would have extended the office */
    assert_int_equal(v->a.node.mandate.leader.token, 0);
    assert_false(elect_leads(&v->a.node, v->now));
    assert_int_equal(v->a.out.sends, 0);
    late = request(token);
    late.leading = 1;
    hears(v, 2, late);
    assert_int_equal(v->a.node.mandate.presence.follows, ELECT_NOBODY);
    happens(v, ELECT_STOPPED);
    assert_true(actor_sent(&v->a, ELECT_RELEASE, SET(3) - 1));
    assert_int_equal(answer(v)->term, token);
}

static void a_new_office_has_a_new_term(void **state)
{
    struct voter *v = leader(3);
    elect_term token = v->a.node.mandate.leader.token;
    (void)state;
    v->now = 1000 + OFFICE;
    happens(v, ELECT_ALARM);
    happens(v, ELECT_STOPPED);
    happens(v, ELECT_SUSPECT);
    hears(v, 0, reply(v, ELECT_AYE));
    hears(v, 1, reply(v, ELECT_AYE));
    assert_rule(&v->a, CONFIRMS);
    assert_int_equal(v->a.node.mandate.leader.term, token + (1 << 16));
    assert_int_equal(v->a.node.saved.used, token + (1 << 16));
}

static void a_leader_succeeds_itself_and_keeps_its_office_meanwhile(void **state)
{
    struct voter *v = leader(3);
    elect_term token = v->a.node.mandate.leader.token;
    struct elect_message stale = reply(v, ELECT_REFUSE);
    (void)state;
    stale.reason = ELECT_REFUSED_STALE;
    stale.in_the_way = term(4, 1);
    hears(v, 0, stale);
    assert_rule(&v->a, SUCCEEDS_ITSELF);
    assert_true(elect_leads(&v->a.node, v->now));
    hears(v, 0, reply(v, ELECT_AYE));
    hears(v, 1, reply(v, ELECT_AYE));
    assert_rule(&v->a, CONFIRMS);
    assert_int_equal(v->a.node.mandate.leader.token,
                     token); /* until a majority grants the new term */
    v->now += LEASE / 2;
    happens(v, ELECT_ALARM);
    assert_int_equal(v->a.node.mandate.candidate.stage, ELECT_NO_CANDIDATE);
    /* a leader never releases a term while it leads */
    for (unsigned i = 0; i < v->a.out.sends; i++)
        assert_int_not_equal(v->a.out.send[i].message.type, ELECT_RELEASE);
    assert_true(elect_leads(&v->a.node, v->now));
}

static void a_leader_whose_term_was_closed_steps_down_immediately(void **state)
{
    struct voter *v = leader(3);
    struct elect_message closed = reply(v, ELECT_REFUSE);
    (void)state;
    closed.reason = ELECT_REFUSED_CLOSED;
    hears(v, 0, closed);
    assert_rule(&v->a, TESTAMENT_OF_THE_LIVING);
    assert_false(elect_leads(&v->a.node, v->now));
}

static void a_majority_that_promised_a_larger_term_shows_that_clocks_are_wrong(void **state)
{
    struct voter *v = leader(3);
    struct elect_message stale = reply(v, ELECT_REFUSE);
    (void)state;
    stale.reason = ELECT_REFUSED_STALE;
    stale.in_the_way = term(4, 1);
    hears(v, 0, stale);
    hears(v, 1, stale);
    assert_rule(&v->a, CLOCKS_ARE_WRONG);
    assert_false(elect_leads(&v->a.node, v->now));
}

static void a_certificate_makes_a_prevote_unnecessary(void **state)
{
    struct voter *v = begin(3, 2);
    struct elect_message m = request(term(1, 1));
    (void)state;
    m.leading = 1;
    hears(v, 1, m);
    releases(v, 1, term(1, 1));
    assert_true(actor_sent(&v->a, ELECT_REQUEST, SET(3) - 1));
    for (unsigned i = 0; i < v->a.out.sends; i++)
        if (v->a.out.send[i].message.type == ELECT_REQUEST)
            assert_int_equal(v->a.out.send[i].message.certificate, term(1, 1));
}

static void the_arithmetic_of_a_lease_is_checked(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_config c = v->a.config; /* T is 2 in this configuration */
    (void)state;
    assert_int_equal(elect_config_mandate(&c, 5, 1, DRIFT, 1), ELECT_LEASE_TOO_SHORT);
    assert_int_equal(elect_config_mandate(&c, 100, 33, DRIFT, 1), ELECT_RENEWAL_TOO_LONG);
    assert_int_equal(elect_config_mandate(&c, 100, 32, DRIFT, 1), ELECT_FINE);
    assert_int_equal(elect_config_mandate(&c, 100, 0, DRIFT, 1), ELECT_RENEWAL_TOO_LONG);
    assert_int_equal(elect_config_mandate(&c, 100, 10, 500000, 1), ELECT_DRIFT_TOO_LARGE);
    assert_int_equal(elect_config_mandate(&c, 100, 10, DRIFT, 0), ELECT_LEASE_TOO_SHORT);
    assert_int_equal(elect_config_mandate(&c, UINT32_MAX, 10, DRIFT, 1), ELECT_TOO_LONG);
    c.answer_bound = 41; /* longer than four rounds at intervals of 10 */
    assert_int_equal(elect_config_mandate(&c, 100, 10, DRIFT, 1), ELECT_RENEWAL_TOO_SHORT);
    assert_int_equal(elect_config_mandate(&c, 100, 11, DRIFT, 1), ELECT_FINE);
    c.processing_bound = 20; /* the lease must leave time for two more writes of 20 */
    assert_int_equal(elect_config_mandate(&c, 100, 11, DRIFT, 1), ELECT_LEASE_TOO_SHORT);
    c = v->a.config;
    c.voters = SET(0) | SET(1);
    assert_int_equal(elect_config_mandate(&c, 100, 10, DRIFT, 1), ELECT_NO_SUCH_ROLE);
    c.members = 0;
    assert_int_equal(elect_config_mandate(&c, 100, 10, DRIFT, 1), ELECT_NO_SUCH_ROLE);
    c.members = SET(0);
    c.voters = SET(0) | SET(3);
    assert_int_equal(elect_config_mandate(&c, 100, 10, DRIFT, 1), ELECT_NO_SUCH_ROLE);
}

/* Returns a leader that asks for a larger term than the one a voter has reported. */
static struct voter *succeeds_itself(void)
{
    struct voter *v = leader(3);
    v->now += RENEWAL;
    happens(v, ELECT_ALARM);
    assert_rule(&v->a, RENEWS);
    struct elect_message stale = reply(v, ELECT_REFUSE);
    stale.reason = ELECT_REFUSED_STALE;
    stale.in_the_way = term(4, 1);
    hears(v, 0, stale);
    hears(v, 0, reply(v, ELECT_AYE));
    hears(v, 1, reply(v, ELECT_AYE));
    assert_rule(&v->a, CONFIRMS);
    assert_int_equal(v->a.node.mandate.leader.term, term(5, 2));
    return v;
}

static void a_succession_ends_with_its_office(void **state)
{
    struct voter *v = succeeds_itself();
    struct elect_message late = reply(v, ELECT_GRANT);
    (void)state;
    v->now = v->a.node.mandate.time[ELECT_UNTIL];
    happens(v, ELECT_ALARM);
    hears(v, 0, late);
    hears(v, 1, late);
    assert_rule(&v->a, ANSWERED_TOO_LATE);
    assert_false(elect_leads(&v->a.node, v->now));
}

static void a_leader_that_succeeds_itself_does_not_renew_its_old_term(void **state)
{
    struct voter *v = succeeds_itself();
    struct elect_message old = reply(v, ELECT_GRANT);
    elect_time until = v->a.node.mandate.time[ELECT_UNTIL];
    (void)state;
    old.term = v->a.node.mandate.leader.token;
    v->now += RENEWAL;
    for (old.round = 1; old.round < 9; old.round++) {
        hears(v, 0, old);
        hears(v, 1, old);
    }
    assert_int_equal(v->a.node.mandate.time[ELECT_UNTIL], until);
    assert_int_equal(v->a.node.mandate.leader.token, old.term);
}

static void a_failed_succession_is_not_tried_again(void **state)
{
    struct voter *v = succeeds_itself();
    struct elect_message stale = reply(v, ELECT_REFUSE);
    (void)state;
    v->now += LEASE / 2;
    happens(v, ELECT_ALARM);
    stale.reason = ELECT_REFUSED_STALE;
    stale.term = v->a.node.mandate.leader.token;
    stale.in_the_way = term(6, 1);
    hears(v, 0, stale);
    assert_int_equal(v->a.out.sends, 0);
    v->now = elect_alarm(&v->a.node);
    happens(v, ELECT_ALARM);
    assert_rule(&v->a, MANDATE_OVER);
}

static void a_leader_requests_its_succession_once_per_renewal(void **state)
{
    struct voter *v = leader(3);
    struct elect_message stale = reply(v, ELECT_REFUSE), no;
    (void)state;
    stale.reason = ELECT_REFUSED_STALE;
    /* the leader's own larger term, so no sign of a wrong clock */
    stale.in_the_way = term(4, 2);
    hears(v, 0, stale);
    no = reply(v, ELECT_REFUSE);
    no.reason = ELECT_REFUSED_STALE;
    no.in_the_way = term(7, 1);
    hears(v, 0, no);
    hears(v, 1, stale);
    assert_rule(&v->a, COUNTS);
    assert_int_equal(v->a.out.sends, 0);
    assert_true(elect_leads(&v->a.node, v->now));
    v->now += RENEWAL;
    hears(v, 1, stale);
    assert_rule(&v->a, SUCCEEDS_ITSELF);
}

static void an_office_lasts_for_the_requested_lease(void **state)
{
    struct voter *v = candidate(3);
    struct elect_message grant = reply(v, ELECT_GRANT);
    (void)state;
    v->a.config.lease = 3 * LEASE;
    hears(v, 0, grant);
    hears(v, 1, grant);
    assert_int_equal(v->a.node.mandate.time[ELECT_UNTIL], v->now + OFFICE);
    assert_true(actor_sent(&v->a, ELECT_REQUEST, SET(3) - 1));
    assert_int_equal(v->a.out.send[0].message.leading, 1);
    assert_int_equal(v->a.out.send[0].message.lease, 3 * LEASE);
}

static void a_longer_lease_of_the_same_term_is_persisted(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = request(term(1, 2));
    (void)state;
    hears(v, 2, m);
    m.lease = 2 * LEASE;
    hears(v, 2, m);
    assert_granted(v);
    assert_true(v->a.out.persist);
    assert_int_equal(v->a.node.saved.longest, 2 * LEASE);
}

static void only_the_end_of_the_promised_term_ends_the_guard(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    asks(v, 2, term(2, 2));
    restart(v, 0);
    releases(v, 2, term(1, 2));
    asks(v, 1, term(3, 1));
    assert_refused(v, BOOT);
    releases(v, 2, term(2, 2));
    asks(v, 1, term(3, 1));
    assert_granted(v);
}

static void a_member_is_not_a_candidate_while_its_work_continues(void **state)
{
    struct voter *v = leader(3);
    (void)state;
    v->now = v->a.node.mandate.time[ELECT_UNTIL];
    happens(v, ELECT_SUSPECT);
    assert_true(v->a.node.mandate.candidate.nominated);
    assert_false(actor_sent(&v->a, ELECT_PREVOTE, SET(3) - 1));
    happens(v, ELECT_STOPPED);
    assert_true(actor_sent(&v->a, ELECT_RELEASE, SET(3) - 1));
    happens(v, ELECT_STOPPED);
    assert_rule(&v->a, NOTHING);
    happens(v, ELECT_ALARM);
    assert_true(actor_sent(&v->a, ELECT_PREVOTE, SET(3) - 1));
}

static void a_term_that_was_used_is_never_used_again(void **state)
{
    struct voter *v = begin(3, 2);
    (void)state;
    v->a.node.saved.used = term(7, 2); /* its own voter has promised a smaller term */
    restart(v, 2);
    happens(v, ELECT_SUSPECT);
    assert_int_equal(v->a.node.mandate.candidate.asked, term(8, 2));
}

static void witnesses_own_no_terms_and_observers_do_not_count(void **state)
{
    struct voter *v = begin(5, 4);
    (void)state;
    has_voters(v, SET(2) | SET(3) | SET(4));
    v->a.node.saved.membership.members = SET(3) | SET(4);
    asks(v, 2, term(1, 2));
    assert_refused(v, CONFIG);
    happens(v, ELECT_SUSPECT);
    struct elect_message no = reply(v, ELECT_REFUSE);
    no.reason = ELECT_REFUSED_HELD;
    no.remaining = 40;
    hears(v, 2, no);
    no.remaining = 70;
    hears(v, 3, no);
    assert_rule(&v->a, REFUSED);
    /* when a majority, including the candidate's own voter, may grant again */
    assert_int_equal(elect_alarm(&v->a.node), v->now + 40);
}

static void a_renewal_is_two_messages_for_each_other_and_no_write(void **state)
{
    enum { N = 5, RENEWALS = 20 };
    static struct world w;
    struct weather calm = {.delay_min = 1, .delay_max = 1};
    struct happening h;
    struct voter *v = begin(N, 0);
    unsigned messages = 0, writes = 0;
    (void)state;
    world_init(&w, &v->a.config, &calm, 1, ELECT_NOBODY);
    world_suspect(&w, N - 1, &h);
    while (world_next(&w, 10 * LEASE, &h) && w.now < 2 * LEASE)
        ;
    assert_true(world_leads(&w, N - 1));
    uint64_t end = w.now + RENEWALS * RENEWAL;
    while (world_next(&w, end, &h)) {
        writes += h.output.persist;
        for (unsigned i = 0; i < h.output.sends; i++)
            messages += (unsigned)__builtin_popcountll(h.output.send[i].to & ~SET(h.rank));
    }
    assert_int_equal(messages, RENEWALS * 2 * (N - 1));
    assert_int_equal(writes, 0);
}

/* Process 0 of three is a candidate. One voter cannot grant for a long time, and the other has
 * promised a larger term. In whichever order they answer, a majority may grant the next attempt. */
static void a_candidate_waits_only_until_a_majority_may_grant(void **state)
{
    (void)state;
    for (uint8_t holds = 1; holds <= 2; holds++) {
        struct voter *v = begin(3, 0);
        happens(v, ELECT_SUSPECT);
        happens(v, ELECT_ANSWER_TIMER);
        struct elect_message no = reply(v, ELECT_REFUSE);
        no.reason = ELECT_REFUSED_HELD;
        no.remaining = 90;
        hears(v, holds, no);
        no.reason = ELECT_REFUSED_STALE;
        no.remaining = 0;
        hears(v, (uint8_t)(3 - holds), no);
        assert_rule(&v->a, REFUSED);
        assert_true(elect_alarm(&v->a.node) < v->now + 90);
    }
}

/* One voter is silent, and the other refuses. The candidate asks again when the refusal ends,
 * counted from the answer and not from the end of the candidacy. */
static void a_refusal_lasts_from_the_time_of_the_answer(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    happens(v, ELECT_SUSPECT);
    happens(v, ELECT_ANSWER_TIMER);
    struct elect_message no = reply(v, ELECT_REFUSE);
    elect_time asked = v->now, patience = 2 * (elect_time)v->a.config.answer_bound;
    /* short, because the answer to a PREVOTE needs no disk write */
    assert_int_equal(elect_alarm(&v->a.node), asked + patience);
    v->now += 1;
    no.reason = ELECT_REFUSED_HELD;
    no.remaining = 40;
    hears(v, 1, no);
    v->now = asked + patience;
    happens(v, ELECT_ALARM);
    assert_rule(&v->a, NO_MAJORITY);
    assert_int_equal(elect_alarm(&v->a.node), asked + 1 + 40);
}

/* elect verify clears the start of a candidacy, so that equal situations have equal bytes. The
 * candidate then waits as long as the refusal says. */
static void a_candidate_without_a_start_waits_for_the_whole_refusal(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    happens(v, ELECT_SUSPECT);
    happens(v, ELECT_ANSWER_TIMER);
    struct elect_message no = reply(v, ELECT_REFUSE);
    v->a.node.mandate.time[ELECT_STANDS] = ELECT_UNSET;
    no.reason = ELECT_REFUSED_HELD;
    no.remaining = 40;
    hears(v, 1, no);
    hears(v, 2, no);
    assert_rule(&v->a, REFUSED);
    assert_int_equal(elect_alarm(&v->a.node), v->now + 40);
}

static void a_grant_for_another_lease_does_not_count(void **state)
{
    struct voter *v = candidate(3);
    struct elect_message other = reply(v, ELECT_GRANT);
    (void)state;
    other.lease = LEASE - 1;
    hears(v, 0, other);
    assert_rule(&v->a, ANSWERED_TOO_LATE);
    hears(v, 1, other);
    hears(v, 2, other);
    assert_false(elect_leads(&v->a.node, v->now));
}

/* A leader's own RELEASE may reach it late, and must not make it its own successor. */
static void a_leader_that_hears_its_own_release_inherits_nothing(void **state)
{
    struct voter *v = leader(3);
    elect_term token = elect_token(&v->a.node);
    (void)state;
    leads_for(v, 2, token, ELECT_NOBODY);
    assert_int_equal(v->a.node.mandate.presence.follows, 2);
    releases(v, 2, token);
    assert_rule(&v->a, TERM_IS_OVER);
    assert_int_equal(v->a.node.mandate.candidate.certificate, 0);
}

/* If no voter answers within 2T, the configured T may be too short. */
static void a_candidate_waits_longer_at_every_attempt(void **state)
{
    struct voter *v = begin(3, 0);
    elect_time waits = 2 * (elect_time)v->a.config.answer_bound;
    (void)state;
    happens(v, ELECT_SUSPECT);
    happens(v, ELECT_ANSWER_TIMER);
    for (unsigned attempt = 0; attempt < 4; attempt++, waits *= 2) {
        assert_rule(&v->a, PREVOTES);
        elect_time most = waits < LEASE / 2 ? waits : LEASE / 2;
        assert_int_equal(v->a.node.mandate.time[ELECT_GIVE_UP], v->now + most);
        v->now += most;
        happens(v, ELECT_ALARM);
        assert_rule(&v->a, NO_MAJORITY);
        v->now = v->a.node.mandate.time[ELECT_RETRY];
        happens(v, ELECT_ALARM);
    }
}

static void a_candidate_waits_for_half_a_lease_at_most(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    v->a.config.answer_bound = LEASE;
    happens(v, ELECT_SUSPECT);
    happens(v, ELECT_ANSWER_TIMER);
    assert_rule(&v->a, PREVOTES);
    assert_int_equal(elect_alarm(&v->a.node), v->now + LEASE / 2);
}

static void a_new_configuration_does_not_prolong_a_refusal(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    happens(v, ELECT_SUSPECT);
    happens(v, ELECT_ANSWER_TIMER);
    struct elect_message no = reply(v, ELECT_REFUSE);
    elect_time asked = v->now;
    v->a.config.answer_bound /= 2;
    no.reason = ELECT_REFUSED_HELD;
    no.remaining = 1;
    hears(v, 1, no);
    hears(v, 2, no);
    assert_rule(&v->a, REFUSED);
    assert_int_equal(elect_alarm(&v->a.node), asked + 1);
}

static void a_voter_that_does_not_answer_is_not_free(void **state)
{
    struct voter *v = begin(3, 1);
    (void)state;
    happens(v, ELECT_SUSPECT);
    happens(v, ELECT_ANSWER_TIMER);
    struct elect_message no = reply(v, ELECT_REFUSE);
    no.reason = ELECT_REFUSED_HELD;
    no.remaining = 14;
    hears(v, 1, no);
    no.remaining = 15;
    hears(v, 0, no);
    assert_rule(&v->a, REFUSED);
    assert_int_equal(elect_alarm(&v->a.node), v->now + 15);
}

static void a_grant_replaces_an_earlier_refusal_of_the_voter(void **state)
{
    struct voter *v = candidate(5);
    struct elect_message no = reply(v, ELECT_REFUSE);
    (void)state;
    no.reason = ELECT_REFUSED_HELD;
    hears(v, 0, no);
    hears(v, 1, no);
    v->now += RENEWAL;
    happens(v, ELECT_ALARM);
    grants(v, 0);
    grants(v, 1);
    no.round = v->a.node.mandate.leader.rounds;
    hears(v, 2, no);
    assert_rule(&v->a, COUNTS);
    grants(v, 3);
    assert_rule(&v->a, TAKES_OFFICE);
}

static void of_two_leaders_the_one_with_the_smaller_term_gives_way(void **state)
{
    struct voter *v = leader(3);
    struct elect_message other = request(v->a.node.mandate.leader.token + (1 << 16) - 10);
    (void)state;
    hears(v, 1, other); /* a candidate, not a leader */
    assert_true(elect_leads(&v->a.node, v->now));
    other.leading = 1;
    struct voter smaller = *v;
    smaller.a.node.mandate.leader.token += 2 << 16;
    hears(&smaller, 1, other);
    assert_true(elect_leads(&smaller.a.node, smaller.now));
    /* process 1 leads in an earlier term and asks for a larger one */
    other.membership = v->a.node.saved.membership;
    other.membership.stamp = v->a.node.mandate.leader.token - 1;
    struct voter asked = *v, removed = *v;
    hears(&asked, 1, other);
    assert_true(elect_leads(&asked.a.node, asked.now));
    has_voters(&removed, SET(0) | SET(1));
    other.membership.members = other.membership.voters = other.membership.before = SET(0) | SET(1);
    hears(&removed, 1, other);
    assert_true(elect_leads(&removed.a.node, removed.now));
    other.membership = v->a.node.saved.membership;
    other.membership.stamp = other.term;
    hears(v, 1, other);
    assert_rule(&v->a, CLOCKS_ARE_WRONG);
    assert_false(elect_leads(&v->a.node, v->now));
    /* work counts as running until the host reports STOPPED */
    assert_true(v->a.node.mandate.leader.working);
    assert_refused(v, HELD);
}

static void all_times_move_together(void **state)
{
    struct voter *v = leader(3);
    (void)state;
    elect_shift(&v->a.node, -1000);
    assert_true(elect_leads(&v->a.node, OFFICE - 1));
    assert_false(elect_leads(&v->a.node, OFFICE));
    assert_int_equal(elect_alarm(&v->a.node), RENEWAL);
    assert_int_equal(v->a.node.mandate.time[ELECT_GUARD], ELECT_UNSET);
}

/* ---- any input ---- */

static struct elect_input any_input(struct dice *d, const struct voter *v, unsigned n)
{
    struct elect_input in = {.event = (uint8_t)dice_below(d, ELECT_EVENT_COUNT),
                             .from = (uint8_t)dice_below(d, n),
                             .now = v->now};
    struct elect_message *m = &in.message;
    const struct elect_mandate *own = &v->a.node.mandate;
    bool about_me = dice_below(d, 2) == 0, right = dice_below(d, 4) > 0;
    m->type = right ? in.event : (uint8_t)dice_throw(d);
    m->origin = right ? in.from : (uint8_t)dice_throw(d);
    if (right && about_me && own->candidate.stage != ELECT_NO_CANDIDATE)
        m->type = in.event = own->candidate.stage == ELECT_PREVOTING ? ELECT_AYE : ELECT_GRANT;
    m->what = dice_below(d, 2) == 0 ? ELECT_PREVOTE : ELECT_REQUEST;
    m->term = term(1 + (unsigned)dice_below(d, 6), about_me ? v->a.node.me : in.from);
    if (about_me && right)
        m->term = dice_below(d, 2) == 0 ? own->leader.term : own->candidate.asked;
    m->in_the_way =
        dice_below(d, 3) == 0 ? term((unsigned)dice_below(d, 8), (unsigned)dice_below(d, n)) : 0;
    m->round = right ? own->leader.rounds - (uint32_t)dice_below(d, 3) : (uint32_t)dice_throw(d);
    m->incarnation = right ? v->a.node.saved.incarnation : (uint32_t)dice_throw(d);
    m->lease = right ? v->a.config.lease : (uint32_t)dice_throw(d);
    m->leading = dice_below(d, 2) == 0;
    m->reason = (uint8_t)dice_below(d, right ? ELECT_REFUSAL_COUNT : 256);
    m->remaining = (uint32_t)dice_below(d, 200);
    return in;
}

/* elect_step() never fails, and promises are kept, whatever arrives. */
static void any_input_may_come_in(void **state)
{
    struct dice d;
    unsigned offices = 0;
    (void)state;
    dice_seed(&d, 5, DICE_LOSS);
    for (int run = 0; run < 300; run++) {
        unsigned n = 1 + (unsigned)dice_below(&d, 6);
        uint8_t me = (uint8_t)dice_below(&d, n);
        struct voter *v = begin(n, me);
        for (int i = 0; i < 3000; i++) {
            struct elect_input in = any_input(&d, v, n);
            struct elect_saved before = v->a.node.saved;
            bool led = elect_leads(&v->a.node, v->now);
            elect_step(&v->a.config, &v->a.node, &in, &v->a.out);
            assert_true(v->a.out.sends <= ELECT_MAX_SENDS);
            for (unsigned k = 0; k < v->a.out.sends; k++)
                assert_int_equal(v->a.out.send[k].to & ~(~(elect_set)0 >> (64 - n)), 0);
            assert_true(v->a.node.saved.promised >= before.promised);
            assert_true(v->a.node.saved.used >= before.used);
            assert_true(v->a.out.persist || (v->a.node.saved.promised == before.promised &&
                                             v->a.node.saved.used == before.used));
            offices += !led && elect_leads(&v->a.node, v->now);
            v->now += (elect_time)dice_below(&d, 8);
            if (dice_below(&d, 500) == 0)
                restart(v, me);
        }
    }
    /* fail if too few offices occurred to test anything */
    assert_true(offices > 100);
}

int test_office(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_majority_counts_voters_not_grants),
        TEST(the_own_vote_counts_only_when_it_is_granted),
        TEST(a_grant_of_an_observer_does_not_count),
        TEST(an_office_lasts_from_the_sending_of_its_round),
        TEST(a_renewal_counts_from_the_round_that_is_granted),
        TEST(grants_of_different_rounds_do_not_make_a_majority),
        TEST(grants_that_come_too_late_make_no_leader),
        TEST(answers_to_an_earlier_life_do_not_count),
        TEST(an_office_ends_in_time_whatever_event_comes),
        TEST(a_new_office_has_a_new_term),
        TEST(a_leader_succeeds_itself_and_keeps_its_office_meanwhile),
        TEST(a_leader_whose_term_was_closed_steps_down_immediately),
        TEST(a_majority_that_promised_a_larger_term_shows_that_clocks_are_wrong),
        TEST(a_certificate_makes_a_prevote_unnecessary),
        TEST(the_arithmetic_of_a_lease_is_checked),
        TEST(a_succession_ends_with_its_office),
        TEST(a_leader_that_succeeds_itself_does_not_renew_its_old_term),
        TEST(a_failed_succession_is_not_tried_again),
        TEST(a_leader_requests_its_succession_once_per_renewal),
        TEST(an_office_lasts_for_the_requested_lease),
        TEST(a_longer_lease_of_the_same_term_is_persisted),
        TEST(only_the_end_of_the_promised_term_ends_the_guard),
        TEST(a_member_is_not_a_candidate_while_its_work_continues),
        TEST(a_term_that_was_used_is_never_used_again),
        TEST(witnesses_own_no_terms_and_observers_do_not_count),
        TEST(a_renewal_is_two_messages_for_each_other_and_no_write),
        TEST(a_candidate_waits_only_until_a_majority_may_grant),
        TEST(a_refusal_lasts_from_the_time_of_the_answer),
        TEST(a_candidate_without_a_start_waits_for_the_whole_refusal),
        TEST(a_grant_for_another_lease_does_not_count),
        TEST(a_leader_that_hears_its_own_release_inherits_nothing),
        TEST(a_candidate_waits_longer_at_every_attempt),
        TEST(a_candidate_waits_for_half_a_lease_at_most),
        TEST(a_new_configuration_does_not_prolong_a_refusal),
        TEST(a_voter_that_does_not_answer_is_not_free),
        TEST(a_grant_replaces_an_earlier_refusal_of_the_voter),
        TEST(of_two_leaders_the_one_with_the_smaller_term_gives_way),
        TEST(all_times_move_together),
        TEST(any_input_may_come_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
