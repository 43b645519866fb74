/* Tests what a voter grants and refuses. Each test covers one sentence of docs/guarantees.md or of
 * the comments in voter.c. */
#include "mandate.h"

static void a_free_voter_persists_its_promise_before_it_grants(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    asks(v, 2, term(1, 2));
    assert_granted(v);
    assert_true(v->a.out.persist);
    assert_int_equal(v->a.node.saved.promised, term(1, 2));
    assert_int_equal(v->a.node.saved.longest, LEASE);
    asks(v, 2, term(1, 2));
    assert_granted(v);
    assert_false(v->a.out.persist);
}

static void no_other_candidate_is_granted_while_the_lease_runs(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    asks(v, 2, term(1, 2));
    v->now += LEASE - 1;
    asks(v, 1, term(2, 1));
    assert_refused(v, HELD);
    assert_int_equal(answer(v)->remaining, 1);
    assert_int_equal(answer(v)->in_the_way, term(1, 2));
    /* a refusal does not raise the promise */
    assert_int_equal(v->a.node.saved.promised, term(1, 2));
    v->now++;
    asks(v, 1, term(2, 1));
    assert_granted(v);
}

static void a_smaller_term_is_stale(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    asks(v, 2, term(2, 2));
    v->now += LEASE;
    asks(v, 1, term(1, 1));
    assert_refused(v, STALE);
    assert_int_equal(answer(v)->in_the_way, term(2, 2));
}

static void only_its_owner_may_use_a_term(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    asks(v, 1, term(1, 2));
    assert_rule(&v->a, MALFORMED);
    asks(v, 2, (elect_term)1 << 16 | 7); /* no process 7 */
    assert_rule(&v->a, MALFORMED);
    hears(v, 1, (struct elect_message){.type = ELECT_RELEASE, .term = term(1, 2)});
    assert_rule(&v->a, MALFORMED);
}

static void an_impossible_term_is_malformed(void **state)
{
    struct voter *v = begin(3, 2);
    (void)state;
    asks(v, 1, UINT64_MAX << 16 | 10);
    assert_rule(&v->a, MALFORMED);
    asks(v, 0, 0); /* counters begin at 1 */
    assert_rule(&v->a, MALFORMED);
    asks(v, 77, term(1, 1));
    assert_rule(&v->a, MALFORMED);
    happens(v, ELECT_SUSPECT);
    struct elect_message m = {.type = ELECT_REFUSE,
                              .what = ELECT_PREVOTE,
                              .reason = ELECT_REFUSED_STALE,
                              .term = v->a.node.mandate.candidate.asked,
                              .incarnation = v->a.node.saved.incarnation,
                              .certificate = UINT64_MAX};
    hears(v, 0, m);
    assert_rule(&v->a, MALFORMED);
    m.certificate = 0;
    m.reason = ELECT_REFUSAL_COUNT;
    hears(v, 0, m);
    assert_rule(&v->a, MALFORMED);
    assert_int_equal(v->a.node.mandate.seen, 0);
}

static void another_membership_or_too_long_a_lease_is_refused(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = request(term(1, 2));
    (void)state;
    m.membership = v->a.node.saved.membership;
    m.membership.version = 1;
    hears(v, 2, m);
    assert_refused(v, CONFIG);
    m = request(term(1, 2));
    v->a.config.max_lease = LEASE - 1;
    hears(v, 2, m);
    assert_refused(v, CONFIG);
    v->a.config.max_lease = LEASE;
    hears(v, 2, m);
    assert_granted(v);
    m.lease = 0;
    hears(v, 2, m);
    assert_refused(v, CONFIG);
}

static void the_longest_lease_has_the_longest_decay_time(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    v->a.config.decay = v->a.config.max_lease = 0;
    assert_int_equal(elect_config_mandate(&v->a.config, 1000000000, RENEWAL, DRIFT, GRAIN),
                     ELECT_FINE);
    assert_int_equal(v->a.config.decay, UINT32_MAX);
}

static void another_incarnation_of_the_holder_is_a_clone(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = request(term(1, 2));
    (void)state;
    hears(v, 2, m);
    m.incarnation = 2;
    hears(v, 2, m);
    assert_refused(v, CONFIG);
    /* a new term: the holder may have restarted, and must wait like any other process */
    m.term = term(2, 2);
    hears(v, 2, m);
    assert_refused(v, HELD);
}

static void a_release_ends_its_own_grant_and_no_other(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    asks(v, 2, term(2, 2));
    releases(v, 1, term(3, 1));
    asks(v, 1, term(4, 1));
    assert_refused(v, HELD);
    releases(v, 2, term(1, 2));
    asks(v, 1, term(4, 1));
    assert_refused(v, HELD);
    releases(v, 2, term(2, 2));
    asks(v, 2, term(2, 2)); /* a late renewal of the released term */
    assert_refused(v, CLOSED);
    asks(v, 1, term(4, 1));
    assert_granted(v);
}

static void a_closed_term_closes_no_term_of_another_owner(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    releases(v, 1, term(9, 1));
    asks(v, 2, term(1, 2));
    assert_granted(v);
}

static void a_shorter_lease_does_not_shorten_a_grant(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = request(term(1, 2));
    (void)state;
    hears(v, 2, m);
    m.lease = LEASE / 2;
    hears(v, 2, m);
    assert_granted(v);
    v->now += LEASE - 1;
    asks(v, 1, term(2, 1));
    assert_refused(v, HELD);
}

static void a_restarted_voter_waits_for_the_longest_lease(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = request(term(1, 2));
    (void)state;
    m.lease = 2 * LEASE;
    hears(v, 2, m);
    restart(v, 0);
    assert_true(v->a.out.persist);
    assert_int_equal(v->a.node.saved.incarnation, 2);
    v->now += 2 * LEASE - 1;
    asks(v, 1, term(2, 1));
    assert_refused(v, BOOT);
    assert_int_equal(answer(v)->remaining, 1);
    asks(v, 2, term(2, 2));
    assert_refused(v, BOOT);
    /* after a restart, only the last promised term is granted at first, because its office may
     * continue */
    asks(v, 2, term(1, 2));
    assert_granted(v);
    v->now += 3 * LEASE;
    happens(v, ELECT_ALARM);
    asks(v, 1, term(2, 1));
    assert_granted(v);
}

static void the_guard_ends_with_what_it_protects(void **state)
{
    struct voter *v = begin(3, 0);
    (void)state;
    asks(v, 2, term(1, 2));
    restart(v, 0);
    releases(v, 1, term(7, 1));
    asks(v, 1, term(8, 1));
    assert_refused(v, BOOT);
    releases(v, 2, term(1, 2));
    asks(v, 1, term(8, 1));
    assert_granted(v);
}

static void the_guard_is_as_long_as_the_longest_lease_granted_since(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = request(term(1, 2));
    (void)state;
    m.lease = 2 * LEASE;
    hears(v, 2, m);
    restart(v, 0);
    v->now += 2 * LEASE;
    asks(v, 1, term(2, 1));
    happens(v, ELECT_ALARM);
    assert_int_equal(v->a.node.saved.longest, LEASE);
    assert_true(v->a.out.persist);
}

static void a_prevote_is_answered_and_changes_nothing(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = request(term(1, 2));
    (void)state;
    m.type = ELECT_PREVOTE;
    hears(v, 2, m);
    struct elect_node before = v->a.node;
    hears(v, 2, m);
    assert_int_equal(answer(v)->type, ELECT_AYE);
    assert_memory_equal(&before, &v->a.node, sizeof before);
    asks(v, 1, term(5, 1));
    before = v->a.node;
    m.certificate = term(5, 1);
    m.certified_by = 1;
    m.term = term(6, 2);
    hears(v, 2, m);
    assert_int_equal(answer(v)->type, ELECT_AYE);
    m.certificate = 0;
    hears(v, 2, m);
    assert_refused(v, HELD);
    assert_memory_equal(&before, &v->a.node, sizeof before);
}

static void a_certificate_frees_the_voter(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = request(term(2, 2));
    (void)state;
    struct elect_message first = request(term(1, 1));
    first.incarnation = ELECT_STARTS + 3;
    hears(v, 1, first);
    m.certificate = (elect_term)9 << 16 | 7; /* no process 7 */
    hears(v, 2, m);
    assert_refused(v, HELD);
    m.certificate = term(1, 1);
    m.membership = v->a.node.saved.membership;
    m.membership.version = 1; /* wrong membership, so the certificate is ignored */
    hears(v, 2, m);
    assert_refused(v, CONFIG);
    m.membership.version = 0;
    struct voter certified = *v;
    m.certified_by = 4;
    /* process 1 has lost its state since the RELEASE, so it may use the term again */
    hears(v, 2, m);
    assert_refused(v, HELD);
    m.certified_by = ELECT_STARTS + 2; /* a mere restart does not void the certificate */
    hears(&certified, 2, m);
    assert_granted(&certified);
}

/* A readmitted member may reuse a term that no other member remembers. Messages sent before it lost
 * its state must not affect that term. */
static void messages_of_a_former_life_do_not_concern_the_present_one(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = request(term(1, 1));
    (void)state;
    hears(v, 1, m);
    v->now += LEASE;
    m.incarnation = ELECT_STARTS;
    hears(v, 1, m);
    assert_granted(v);
    assert_true(v->a.out.persist);
    assert_int_equal(v->a.node.saved.met[1], ELECT_STARTS);
    struct voter guarded = *v, restarted = *v;
    releases(v, 1, term(1, 1)); /* sent by incarnation 1 */
    assert_rule(&v->a, FORMER_LIFE);
    hears(v, 1, (struct elect_message){.type = ELECT_HAND, .term = term(1, 1), .incarnation = 1});
    assert_rule(&v->a, FORMER_LIFE);
    asks(v, 2, term(2, 2));
    assert_refused(v, HELD);
    restart(&guarded, 0);
    releases(&guarded, 1, term(1, 1));
    asks(&guarded, 2, term(2, 2));
    assert_refused(&guarded, BOOT);
    restarted.a.node.saved.met[1]++;
    hears(&restarted, 1,
          (struct elect_message){.type = ELECT_RELEASE,
                                 .heir = ELECT_NOBODY,
                                 .term = term(1, 1),
                                 .incarnation = ELECT_STARTS});
    asks(&restarted, 2, term(2, 2));
    assert_granted(&restarted);
}

static void only_a_process_that_reports_that_it_leads_is_followed(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = request(term(1, 2));
    (void)state;
    hears(v, 2, m);
    assert_int_equal(v->a.node.mandate.presence.follows, ELECT_NOBODY);
    m.leading = 1;
    hears(v, 2, m);
    assert_int_equal(v->a.node.mandate.presence.follows, 2);
    assert_true(v->a.out.announced);
    assert_true(actor_starts(&v->a, ELECT_SUSPICION_TIMER));
    releases(v, 2, term(1, 2));
    assert_int_equal(v->a.node.mandate.presence.follows, ELECT_NOBODY);
}

static void an_observer_follows_and_does_not_vote(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = request(term(1, 2));
    (void)state;
    has_voters(v, SET(1) | SET(2));
    m.leading = 1;
    hears(v, 2, m);
    assert_int_equal(v->a.out.sends, 0);
    assert_int_equal(v->a.node.mandate.presence.follows, 2);
    struct elect_message later = request(term(3, 1)), earlier = request(term(2, 2));
    hears(v, 1, later); /* a candidate, not a leader */
    assert_int_equal(v->a.node.mandate.presence.follows, 2);
    later.leading = earlier.leading = 1;
    later.membership = v->a.node.saved.membership;
    later.membership.stamp = 0;
    later.membership.version = 1;
    hears(v, 1, later); /* a leader with a wrong membership */
    assert_refused(v, CONFIG);
    assert_int_equal(v->a.node.mandate.presence.follows, 2);
    later.membership.stamp = later.term;
    later.membership.version = 0;
    hears(v, 1, later);
    hears(v, 2, earlier);
    assert_rule(&v->a, EARLIER_REIGN);
    assert_int_equal(v->a.node.mandate.presence.follows, 1);
    m.leading = 0;
    m.type = ELECT_PREVOTE;
    hears(v, 2, m);
    assert_int_equal(v->a.out.sends, 0);
    happens(v, ELECT_SUSPECT);
    assert_int_equal(v->a.out.sends, 0);
}

int test_voter(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_free_voter_persists_its_promise_before_it_grants),
        TEST(no_other_candidate_is_granted_while_the_lease_runs),
        TEST(a_smaller_term_is_stale),
        TEST(only_its_owner_may_use_a_term),
        TEST(an_impossible_term_is_malformed),
        TEST(another_membership_or_too_long_a_lease_is_refused),
        TEST(the_longest_lease_has_the_longest_decay_time),
        TEST(another_incarnation_of_the_holder_is_a_clone),
        TEST(a_release_ends_its_own_grant_and_no_other),
        TEST(a_closed_term_closes_no_term_of_another_owner),
        TEST(a_shorter_lease_does_not_shorten_a_grant),
        TEST(a_restarted_voter_waits_for_the_longest_lease),
        TEST(the_guard_ends_with_what_it_protects),
        TEST(the_guard_is_as_long_as_the_longest_lease_granted_since),
        TEST(a_prevote_is_answered_and_changes_nothing),
        TEST(a_certificate_frees_the_voter),
        TEST(messages_of_a_former_life_do_not_concern_the_present_one),
        TEST(only_a_process_that_reports_that_it_leads_is_followed),
        TEST(an_observer_follows_and_does_not_vote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
