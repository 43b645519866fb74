/* Tests how a running leader is replaced, and that elections do not disturb a leader. */
#include "mandate.h"

/* Returns the highest of n processes, in office. */
static struct voter *in_office(unsigned n)
{
    struct voter *v = begin(n, (uint8_t)(n - 1));
    happens(v, ELECT_SUSPECT);
    for (unsigned i = 0; i < n; i++)
        hears(v, (uint8_t)i,
              (struct elect_message){.type = ELECT_AYE,
                                     .term = v->a.node.mandate.candidate.asked,
                                     .round = v->a.node.mandate.candidate.prevote_round,
                                     .incarnation = 1});
    for (unsigned i = 0; i < n; i++)
        hears(v, (uint8_t)i,
              (struct elect_message){.type = ELECT_GRANT,
                                     .term = v->a.node.mandate.leader.term,
                                     .round = 2,
                                     .lease = LEASE,
                                     .incarnation = 1});
    assert_true(elect_leads(&v->a.node, v->now));
    return v;
}

static void resigns(struct voter *v, uint8_t to)
{
    struct elect_input in = elect_resigns(to, v->now);
    elect_step(&v->a.config, &v->a.node, &in, &v->a.out);
}

static void is_ordered(struct voter *v, uint8_t to, elect_term in_term)
{
    struct elect_input in = elect_ordered(to, in_term, v->now);
    elect_step(&v->a.config, &v->a.node, &in, &v->a.out);
}

static void grants_again(struct voter *v, uint8_t from, uint8_t penalty, bool able)
{
    hears(v, from,
          (struct elect_message){.type = ELECT_GRANT,
                                 .term = v->a.node.mandate.leader.term,
                                 .round = v->a.node.mandate.leader.rounds,
                                 .lease = LEASE,
                                 .incarnation = 1,
                                 .penalty = penalty,
                                 .claims = able});
}

static void an_order_is_carried_out_once_and_only_in_its_term(void **state)
{
    struct voter *v = in_office(3);
    elect_term own = elect_token(&v->a.node);
    (void)state;
    is_ordered(v, ELECT_NOBODY, own - (1 << 16));
    assert_rule(&v->a, OTHER_TERM);
    is_ordered(v, 0, own + (1 << 16));
    assert_rule(&v->a, OTHER_TERM);
    assert_true(elect_leads(&v->a.node, v->now));
    is_ordered(v, 0, own);
    assert_rule(&v->a, RESIGNS);
    /* process 0 stays the successor */
    is_ordered(v, ELECT_NOBODY, own);
    assert_rule(&v->a, RESIGNS_ALREADY);
    happens(v, ELECT_STOPPED);
    assert_true(actor_sent(&v->a, ELECT_HAND, SET(0)));
    is_ordered(v, ELECT_NOBODY, own);
    assert_rule(&v->a, HAS_NO_OFFICE);
}

static void a_leader_that_resigns_renews_until_its_work_stops(void **state)
{
    struct voter *v = in_office(3);
    struct elect_message m;
    (void)state;
    resigns(v, ELECT_NOBODY);
    assert_rule(&v->a, RESIGNS);
    assert_true(v->a.out.announced);
    assert_int_equal(v->a.out.sends, 0);
    assert_false(elect_leads(&v->a.node, v->now));
    assert_true(elect_in_office(&v->a.node, v->now));
    v->now += RENEWAL;
    happens(v, ELECT_ALARM);
    assert_true(sends(v, ELECT_REQUEST, &m));
    assert_true(m.leading);
    grants_again(v, 0, 0, false);
    grants_again(v, 1, 0, false);
    assert_true(elect_in_office(&v->a.node, 1000 + RENEWAL + OFFICE - 1));
    resigns(v, 0);
    assert_rule(&v->a, RESIGNS_ALREADY);
    happens(v, ELECT_STOPPED);
    assert_rule(&v->a, HANDS_OVER);
    assert_true(actor_sent(&v->a, ELECT_RELEASE, SET(0) | SET(2)));
    assert_true(actor_sent(&v->a, ELECT_HAND, SET(1))); /* the highest that answered */
    assert_false(elect_in_office(&v->a.node, v->now));
    grants_again(v, 0, 0, false);
    grants_again(v, 1, 0, false);
    assert_false(elect_in_office(&v->a.node, v->now));
    assert_int_equal(v->a.node.mandate.leader.token, 0);
}

static void an_office_is_handed_to_the_named_member(void **state)
{
    struct voter *v = in_office(3);
    struct elect_message m;
    (void)state;
    resigns(v, 2);
    assert_rule(&v->a, CANNOT_LEAD);
    resigns(v, 66);
    assert_rule(&v->a, CANNOT_LEAD);
    resigns(v, 0);
    happens(v, ELECT_STOPPED);
    assert_true(actor_sent(&v->a, ELECT_HAND, SET(0)));
    assert_true(sends(v, ELECT_RELEASE, &m));
    assert_int_equal(m.heir, 0);
    happens(v, ELECT_STOPPED);
    assert_rule(&v->a, NOTHING);
    resigns(v, 0);
    assert_rule(&v->a, HAS_NO_OFFICE);
}

static void an_office_is_handed_to_a_member_that_can_take_it(void **state)
{
    struct voter *v = in_office(3);
    struct elect_message boot = {.type = ELECT_REFUSE,
                                 .what = ELECT_REQUEST,
                                 .reason = ELECT_REFUSED_BOOT,
                                 .remaining = LEASE,
                                 .term = v->a.node.mandate.leader.token,
                                 .incarnation = 1};
    (void)state;
    /* process 1 is higher, but has just started and may not grant yet */
    for (unsigned i = 0; i < ELECT_ROUNDS + 1; i++) {
        v->now += RENEWAL;
        happens(v, ELECT_ALARM);
        boot.membership = v->a.node.saved.membership;
        boot.round = v->a.node.mandate.leader.rounds;
        grants_again(v, 2, 0, false);
        grants_again(v, 0, 0, false);
        hears(v, 1, boot);
    }
    resigns(v, ELECT_NOBODY);
    happens(v, ELECT_STOPPED);
    assert_true(actor_sent(&v->a, ELECT_HAND, SET(0)));
}

static void a_leader_without_a_successor_can_resign(void **state)
{
    struct voter *v = in_office(3);
    (void)state;
    v->now += suspicion(v) + 1; /* no recent answers from other processes */
    resigns(v, ELECT_NOBODY);
    happens(v, ELECT_STOPPED);
    assert_true(actor_sent(&v->a, ELECT_RELEASE, SET(3) - 1));
    assert_false(sends(v, ELECT_HAND, NULL));
}

static void an_office_that_runs_out_while_it_is_handed_over_is_over(void **state)
{
    struct voter *v = in_office(3);
    (void)state;
    resigns(v, 0);
    v->now += OFFICE;
    happens(v, ELECT_ALARM);
    assert_rule(&v->a, MANDATE_OVER);
    assert_false(sends(v, ELECT_RELEASE, NULL));
    happens(v, ELECT_STOPPED);
    assert_true(actor_sent(&v->a, ELECT_HAND, SET(0)));
}

static void says_stale(struct voter *v)
{
    hears(v, 0,
          (struct elect_message){.type = ELECT_REFUSE,
                                 .what = ELECT_REQUEST,
                                 .reason = ELECT_REFUSED_STALE,
                                 .term = v->a.node.mandate.leader.token,
                                 .incarnation = 1,
                                 .in_the_way = term(5, 0)});
}

static void a_leader_that_resigns_does_not_succeed_itself(void **state)
{
    struct voter *v = in_office(3);
    (void)state;
    resigns(v, 0);
    says_stale(v);
    assert_false(sends(v, ELECT_PREVOTE, NULL));
    v = in_office(3);
    says_stale(v);
    assert_true(sends(v, ELECT_PREVOTE, NULL));
    resigns(v, 0);
    for (uint8_t i = 0; i < 3; i++)
        hears(v, i,
              (struct elect_message){.type = ELECT_AYE,
                                     .term = v->a.node.mandate.candidate.asked,
                                     .round = v->a.node.mandate.candidate.prevote_round,
                                     .incarnation = 1});
    assert_false(sends(v, ELECT_REQUEST, NULL));
    assert_int_equal(v->a.node.saved.used, v->a.node.mandate.leader.token);
}

static void a_leader_grants_no_other_candidate_anything(void **state)
{
    struct voter *v = in_office(3);
    elect_term token = v->a.node.mandate.leader.token;
    (void)state;
    v->a.node.mandate.time[ELECT_EXPIRES] = ELECT_UNSET; /* its own voter's grant has expired */
    asks(v, 1, term(2, 1));
    assert_refused(v, HELD);
    assert_int_equal(answer(v)->remaining, OFFICE);
    assert_int_equal(answer(v)->in_the_way, token);
}

static void a_successor_asks_for_a_mandate_immediately(void **state)
{
    struct voter *v = watchful(3, 0);
    struct elect_message m;
    (void)state;
    leads_for(v, 2, term(1, 2), 1);
    hears(v, 2, (struct elect_message){.type = ELECT_HAND, .term = term(1, 2), .incarnation = 1});
    assert_rule(&v->a, CERTIFIED);
    assert_true(v->a.out.persist && v->a.out.deposit);
    assert_true(sends(v, ELECT_REQUEST, &m));
    assert_int_equal(m.certificate, term(1, 2));
    assert_int_equal(v->a.node.mandate.presence.follows, ELECT_NOBODY);
}

static void a_successor_that_never_granted_the_term_sends_a_prevote(void **state)
{
    struct voter *v = watchful(3, 0);
    (void)state;
    hears(v, 2, (struct elect_message){.type = ELECT_HAND, .term = term(1, 2), .incarnation = 1});
    assert_true(sends(v, ELECT_PREVOTE, NULL));
    has_voters(v, SET(1) | SET(2));
    struct voter *w = watchful(3, 1);
    has_voters(w, SET(0) | SET(2)); /* process 1 is not a member */
    hears(w, 2, (struct elect_message){.type = ELECT_HAND, .term = term(1, 2), .incarnation = 1});
    assert_rule(&w->a, TERM_IS_OVER);
}

static void a_late_hand_over_is_ignored(void **state)
{
    struct voter *v = watchful(3, 0);
    (void)state;
    leads_for(v, 1, term(3, 1), 2);
    hears(v, 2, (struct elect_message){.type = ELECT_HAND, .term = term(1, 2), .incarnation = 1});
    assert_rule(&v->a, TERM_IS_OVER);
    assert_int_equal(v->a.node.mandate.presence.follows, 1);
}

static void a_successor_that_works_waits_until_its_work_has_stopped(void **state)
{
    struct voter *v = in_office(3);
    (void)state;
    v->now += OFFICE;
    happens(v, ELECT_ALARM);
    assert_rule(&v->a, MANDATE_OVER);
    asks(v, 1, term(2, 1)); /* refused: the lease of its own grant still runs */
    v->now += LEASE;
    asks(v, 1, term(2, 1));
    hears(v, 1, (struct elect_message){.type = ELECT_HAND, .term = term(2, 1), .incarnation = 1});
    assert_int_equal(v->a.node.mandate.candidate.stage, ELECT_NO_CANDIDATE);
    happens(v, ELECT_STOPPED);
    assert_true(sends(v, ELECT_RELEASE, NULL));
    assert_int_equal(elect_alarm(&v->a.node), v->now);
    happens(v, ELECT_ALARM);
    assert_rule(&v->a, CERTIFIED);
}

static void a_member_that_works_takes_no_part(void **state)
{
    struct voter *v = watchful(3, 2);
    (void)state;
    v->a.node.mandate.presence.penalties = 0;
    says_present(v, 1, SET(2));
    v->a.node.mandate.leader.working = true;
    hears(v, 1, (struct elect_message){.type = ELECT_ELECTION});
    assert_rule(&v->a, STANDS_BACK);
}

static void after_a_testament_the_heir_asks_and_the_others_wait(void **state)
{
    struct voter *v = watchful(3, 1);
    (void)state;
    leads_for(v, 2, term(1, 2), 1);
    struct voter other = *v, paused = *v, removed = *v;
    releases(v, 2, term(1, 2));
    assert_rule(&v->a, CERTIFIED);
    other.a.node.mandate.presence.heir = 0;
    releases(&other, 2, term(1, 2));
    assert_rule(&other.a, OFFICE_RELEASED);
    assert_true(sends(&other, ELECT_PRESENT, NULL));
    assert_int_equal(other.a.node.mandate.time[ELECT_BEGIN], other.now + T);
    /* after a grant, the voter leaves the candidate time to take office */
    asks(&other, 0, term(2, 0));
    assert_int_equal(other.a.node.mandate.time[ELECT_BEGIN], other.now + T);
    happens(&paused, ELECT_PAUSE);
    /* the heir asks for no mandate while elections are paused */
    releases(&paused, 2, term(1, 2));
    assert_rule(&paused.a, OFFICE_RELEASED);
    has_voters(&removed, SET(0) | SET(2));
    releases(&removed, 2, term(1, 2));
    assert_false(sends(&removed, ELECT_REQUEST, NULL));
}

static void after_a_release_only_the_named_heir_asks(void **state)
{
    struct voter *v = watchful(3, 1);
    (void)state;
    leads_for(v, 2, term(1, 2), 1);
    hears(v, 2,
          (struct elect_message){
              .type = ELECT_RELEASE, .heir = 0, .term = term(1, 2), .incarnation = 1});
    assert_rule(&v->a, OFFICE_RELEASED);
}

static void a_leader_ignores_a_report_that_the_leader_has_failed(void **state)
{
    struct voter *v = in_office(3);
    (void)state;
    v->a.config.stable = true;
    leads_for(v, 2, v->a.node.mandate.leader.token, 0);
    happens(v, ELECT_SUSPECT);
    assert_rule(&v->a, LEADS_ITSELF);
    assert_int_equal(v->a.node.mandate.presence.follows, 2);
}

/* ---- preemption ---- */

static void a_leader_gives_its_place_to_the_fittest_claimant(void **state)
{
    struct voter *v = in_office(3);
    (void)state;
    v->a.node.mandate.presence.penalties = 2;
    struct voter no = *v;
    grants_again(&no, 1, 0, true);
    assert_true(elect_leads(&no.a.node, no.now));
    v->a.config.preempt = true;
    grants_again(v, 1, 0, false);
    grants_again(v, 0, 0, true); /* fitter than 2, but not the fittest */
    assert_true(elect_leads(&v->a.node, v->now));
    struct voter same = *v;
    grants_again(&same, 0, 5, false);
    grants_again(&same, 1, 2, true); /* the fittest claimant, but not fitter than 2 */
    assert_true(elect_leads(&same.a.node, same.now));
    same = *v;
    happens(&same, ELECT_PAUSE);
    grants_again(&same, 1, 0, true);
    assert_true(elect_leads(&same.a.node, same.now));
    v->a.config.stable = true;
    grants_again(v, 1, 0, true);
    assert_rule(&v->a, GIVES_PLACE);
    grants_again(v, 1, 0, true);
    assert_int_equal(v->a.out.sends, 0);
    happens(v, ELECT_STOPPED);
    assert_true(actor_sent(&v->a, ELECT_HAND, SET(1)));
    assert_int_equal(v->a.node.mandate.presence.penalties, 2); /* preemption costs no penalty */
}

static void a_fitter_follower_claims_after_it_has_seen_a_majority_long_enough(void **state)
{
    struct voter *v = watchful(3, 2);
    struct elect_message m;
    (void)state;
    v->a.config.preempt = true;
    v->a.config.preempt_after = 50;
    v->a.node.mandate.presence.penalties = 0;
    leads_for(v, 1, term(1, 1), 0);
    assert_true(sends(v, ELECT_PRESENT, NULL));
    assert_true(sends(v, ELECT_GRANT, &m) && !m.claims);
    /* the leader hears this process, which now sees a majority */
    leads_for(v, 1, term(1, 1), 0);
    v->now += 49;
    leads_for(v, 1, term(1, 1), 0);
    assert_true(sends(v, ELECT_GRANT, &m) && !m.claims);
    struct voter lower = *v;
    v->now += 1;
    leads_for(v, 1, term(1, 1), 0);
    assert_true(sends(v, ELECT_GRANT, &m) && m.claims);
    /* with a penalty, the process does not outrank this leader */
    lower.a.node.mandate.presence.penalties = 1;
    lower.now += 10;
    leads_for(&lower, 1, term(1, 1), 0);
    lower.now += 50;
    leads_for(&lower, 1, term(1, 1), 0);
    assert_true(sends(&lower, ELECT_GRANT, &m) && !m.claims);
}

/* ---- presence ---- */

static void a_member_that_misses_its_leader_waits_for_t_before_it_begins_an_election(void **state)
{
    struct voter *v = watchful(3, 2);
    (void)state;
    happens(v, ELECT_SUSPECT);
    assert_rule(&v->a, LOOKS_AROUND);
    assert_true(actor_sent(&v->a, ELECT_PRESENT, SET(0) | SET(1)));
    assert_int_equal(v->a.node.state, ELECT_NORMAL);
    says_present(v, 1, SET(2));
    /* the answer tells process 1 that this process is present */
    assert_rule(&v->a, SAYS_PRESENT);
    happens(v, ELECT_ALARM);
    assert_int_equal(v->a.node.mandate.candidate.nominated, false);
    v->now += T;
    happens(v, ELECT_ALARM);
    assert_true(sends(v, ELECT_PREVOTE, NULL));
}

static void a_majority_must_hear_the_member_and_be_heard(void **state)
{
    struct voter *v = watchful(3, 2);
    (void)state;
    happens(v, ELECT_SUSPECT);
    says_present(v, 1, 0);
    says_present(v, 0, SET(1));
    v->now += T;
    happens(v, ELECT_ALARM);
    assert_false(sends(v, ELECT_PREVOTE, NULL));
    says_present(v, 1, SET(2));
    assert_true(sends(v, ELECT_PREVOTE, NULL));
}

static void members_that_were_heard_long_ago_do_not_count(void **state)
{
    struct voter *v = watchful(3, 1);
    (void)state;
    v->a.node.mandate.presence.penalties = 0;
    says_present(v, 0, SET(1));
    v->now += suspicion(v) + 1;
    hears(v, 0, (struct elect_message){.type = ELECT_ELECTION});
    assert_rule(&v->a, STANDS_BACK);
    assert_false(sends(v, ELECT_OK, NULL));
}

static void a_follower_names_its_leader_instead_of_electing(void **state)
{
    struct voter *v = watchful(3, 1);
    struct elect_message m;
    (void)state;
    leads_for(v, 2, term(1, 2), 1);
    v->now += 10;
    hears(v, 0, (struct elect_message){.type = ELECT_ELECTION});
    assert_rule(&v->a, TELLS_LEADER);
    assert_true(sends(v, ELECT_FOLLOWING, &m));
    assert_int_equal(m.term, term(1, 2));
    assert_int_equal(m.heir, 1);
    assert_int_equal(m.valid_for, suspicion(v) - 10);
    says_present(v, 0, 0);
    assert_true(sends(v, ELECT_FOLLOWING, NULL));
    v->now += LEASE; /* after a lease the leader may have changed */
    says_present(v, 0, 0);
    assert_false(sends(v, ELECT_FOLLOWING, NULL));
}

static void a_member_that_hears_of_a_leader_waits_and_asks_again(void **state)
{
    struct voter *v = watchful(3, 0);
    struct elect_message told = {
        .type = ELECT_FOLLOWING, .term = term(1, 2), .valid_for = 30, .incarnation = 1};
    (void)state;
    told.membership = v->a.node.saved.membership;
    leads_for(v, 2, term(1, 2), 1);
    happens(v, ELECT_SUSPECT);
    hears(v, 1, told);
    assert_rule(&v->a, IS_TOLD);
    assert_int_equal(v->a.node.mandate.presence.follows, 2);
    assert_int_equal(v->a.out.sends, 0);
    says_present(v, 1, 0);
    assert_false(sends(v, ELECT_FOLLOWING, NULL));
    v->now += 31;
    happens(v, ELECT_ALARM);
    assert_true(actor_sent(&v->a, ELECT_PRESENT, SET(1) | SET(2)));
    assert_int_equal(v->a.node.mandate.presence.follows, 2);
    struct voter again = *v;
    hears(&again, 1, told);
    assert_rule(&again.a, TOLD_AGAIN);
    says_present(v, 1, SET(0));
    v->now += T;
    happens(v, ELECT_ALARM);
    assert_int_equal(v->a.node.mandate.presence.follows, ELECT_NOBODY);
    assert_int_equal(v->a.node.state, ELECT_ELECTING);
    struct voter over = again;
    releases(&over, 2, term(1, 2));
    hears(&over, 1, told);
    assert_rule(&over.a, SEES);
}

static void the_fewest_penalties_come_first(void **state)
{
    struct voter *v = watchful(3, 2);
    struct elect_message m = {
        .type = ELECT_PRESENT, .heard = SET(2), .able = 1, .penalty = 0, .incarnation = 1};
    (void)state;
    m.membership = v->a.node.saved.membership;
    assert_int_equal(v->a.node.mandate.presence.penalties, 1);
    happens(v, ELECT_SUSPECT);
    struct voter equal = *v, idle = *v;
    hears(v, 0, m);
    v->now += T;
    happens(v, ELECT_ALARM);
    assert_false(sends(v, ELECT_PREVOTE, NULL)); /* fitter, and wants an election */
    m.penalty = 1;
    hears(&equal, 0, m);
    equal.now += T;
    happens(&equal, ELECT_ALARM);
    assert_true(sends(&equal, ELECT_PREVOTE, NULL));
    m.penalty = m.able = 0;
    hears(&idle, 0, m); /* fitter, but does not want an election */
    idle.now += T;
    happens(&idle, ELECT_ALARM);
    assert_true(sends(&idle, ELECT_PREVOTE, NULL));
}

static void a_member_that_joined_a_round_of_a_ring_stays(void **state)
{
    struct voter *v = watchful(3, 2);
    struct elect_message m = {
        .type = ELECT_PRESENT, .heard = SET(2), .able = 1, .penalty = 0, .incarnation = 1};
    (void)state;
    actor_init(&v->a, ELECT_CHANG_ROBERTS, 3, 2, ELECT_NOBODY);
    assert_int_equal(elect_config_mandate(&v->a.config, LEASE, RENEWAL, DRIFT, GRAIN), ELECT_FINE);
    elect_init(&v->a.config, &v->a.node, 2, ELECT_NOBODY, NULL, v->now, &v->a.out);
    m.membership = v->a.node.saved.membership;
    happens(v, ELECT_SUSPECT);
    says_present(v, 1, SET(2));
    v->now += T;
    happens(v, ELECT_ALARM);
    assert_true(sends(v, ELECT_ELECTION, NULL));
    /* fitter, and wants an election, but too late */
    hears(v, 0, m);
    struct voter later = *v;
    struct elect_message own = {.type = ELECT_ELECTION, .round = 1};
    struct elect_input back = elect_received(1, &own, v->now);
    back.message.origin = 2;
    elect_step(&v->a.config, &v->a.node, &back, &v->a.out);
    assert_true(sends(v, ELECT_PREVOTE, NULL));
    back.message.round = 2; /* the process does not join the next round */
    back.message.origin = 1;
    elect_step(&later.a.config, &later.a.node, &back, &later.a.out);
    assert_rule(&later.a, STANDS_BACK);
}

static void penalties_are_halved(void **state)
{
    struct voter *v = in_office(3);
    (void)state;
    v->a.config.stable = true;
    v->a.node.mandate.presence.penalties = 9;
    resigns(v, 0);
    happens(v, ELECT_STOPPED);
    assert_int_equal(v->a.node.mandate.presence.penalties, 15); /* the maximum */
    unsigned expected[] = {7, 3, 1, 0};
    for (unsigned i = 0; i < 4; i++) {
        v->now = v->a.node.mandate.time[ELECT_DECAY];
        happens(v, ELECT_ALARM);
        assert_int_equal(v->a.node.mandate.presence.penalties, expected[i]);
    }
    assert_int_equal(v->a.node.mandate.time[ELECT_DECAY], ELECT_UNSET);
}

static void a_pause_spreads_is_persisted_and_prevents_elections(void **state)
{
    struct voter *v = watchful(3, 2);
    struct elect_message m = {
        .type = ELECT_PRESENT, .heard = SET(2), .pause = 3, .penalty = 1, .incarnation = 1};
    (void)state;
    m.membership = v->a.node.saved.membership;
    hears(v, 1, m);
    assert_true(v->a.out.persist && elect_paused(&v->a.node));
    happens(v, ELECT_SUSPECT);
    v->now += T;
    happens(v, ELECT_ALARM);
    assert_false(sends(v, ELECT_PREVOTE, NULL));
    hears(v, 1, (struct elect_message){.type = ELECT_ELECTION});
    hears(v, 0, (struct elect_message){.type = ELECT_ELECTION});
    assert_rule(&v->a, IS_PAUSED);
    happens(v, ELECT_PAUSE);
    assert_int_equal(v->a.node.saved.pause, 3);
    happens(v, ELECT_RESUME);
    assert_int_equal(v->a.node.saved.pause, 4);
    assert_true(sends(v, ELECT_PREVOTE, NULL));
    m.pause = 1u << 30; /* too far ahead for a process that has seen a term */
    v->a.node.mandate.seen = term(1, 1);
    v->a.node.saved.pause = 0;
    hears(v, 1, m);
    assert_rule(&v->a, MALFORMED);
}

static void a_different_configuration_is_detected(void **state)
{
    struct voter *v = watchful(3, 2);
    struct elect_message m = {.type = ELECT_PRESENT, .heard = SET(2), .incarnation = 1};
    (void)state;
    m.membership = v->a.node.saved.membership;
    hears(v, 1, m);
    assert_int_equal(v->a.node.mandate.presence.differ, SET(1));
    m.digest = v->a.config.digest;
    hears(v, 1, m);
    assert_int_equal(v->a.node.mandate.presence.differ, 0);
    struct elect_config other = v->a.config;
    other.preempt = true;
    elect_config_mandate(&other, LEASE, RENEWAL, DRIFT, GRAIN);
    assert_int_not_equal(other.digest, v->a.config.digest);
}

static void a_failed_candidacy_is_a_penalty_unless_a_lease_prevented_it(void **state)
{
    struct voter *v = watchful(3, 2);
    (void)state;
    hears(v, 1, (struct elect_message){.type = ELECT_HAND, .term = term(1, 1), .incarnation = 1});
    for (uint8_t i = 0; i < 3; i++)
        hears(v, i,
              (struct elect_message){.type = ELECT_AYE,
                                     .term = v->a.node.mandate.candidate.asked,
                                     .round = v->a.node.mandate.candidate.prevote_round,
                                     .incarnation = 1});
    assert_int_equal(v->a.node.mandate.candidate.stage, ELECT_CONFIRMING);
    struct voter held = *v;
    v->now += LEASE / 2;
    happens(v, ELECT_ALARM);
    assert_rule(&v->a, NO_MAJORITY);
    assert_int_equal(v->a.node.mandate.presence.penalties, 2);
    for (uint8_t i = 0; i < 2; i++)
        hears(&held, i,
              (struct elect_message){.type = ELECT_REFUSE,
                                     .what = ELECT_REQUEST,
                                     .reason = ELECT_REFUSED_HELD,
                                     .remaining = 9,
                                     .term = held.a.node.mandate.leader.term,
                                     .incarnation = 1});
    assert_int_equal(held.a.node.mandate.candidate.stage, ELECT_NO_CANDIDATE);
    assert_int_equal(held.a.node.mandate.presence.penalties, 1);
}

/* ---- membership ---- */

static void is_told(struct voter *v, elect_set members, elect_set voters)
{
    struct elect_input in = elect_changes(members, voters, v->now);
    elect_step(&v->a.config, &v->a.node, &in, &v->a.out);
}

static void a_leader_changes_one_voter_at_a_time(void **state)
{
    struct voter *v = in_office(5);
    const struct elect_membership *m = &v->a.node.saved.membership;
    const elect_set all = SET(5) - 1;
    (void)state;
    is_told(v, all & ~SET(0), all & ~SET(0));
    assert_rule(&v->a, CHANGE_TOO_SOON);
    v->now += 2;
    v->a.node.mandate.time[ELECT_NEXT_CHANGE] = v->now;
    is_told(v, all & ~(SET(0) | SET(1)), all & ~(SET(0) | SET(1)));
    assert_rule(&v->a, CHANGE_TOO_LARGE);
    is_told(v, all & ~SET(4), all & ~SET(4)); /* the leader itself */
    assert_rule(&v->a, CHANGE_TOO_LARGE);
    is_told(v, 0, 0);
    assert_rule(&v->a, CHANGE_TOO_LARGE);
    is_told(v, all, all | SET(5)); /* a voter that is not configured */
    assert_rule(&v->a, CHANGE_TOO_LARGE);
    is_told(v, all, all & ~SET(0)); /* a member without a vote */
    assert_rule(&v->a, CHANGE_TOO_LARGE);
    struct voter resigned = *v, other = *v, succeeds = *v;
    succeeds.a.node.mandate.leader.term += 1 << 16;
    is_told(&succeeds, all & ~SET(0), all & ~SET(0));
    assert_rule(&succeeds.a, CHANGE_TOO_SOON);
    is_told(v, all & ~SET(0), all & ~SET(0));
    assert_rule(&v->a, CHANGES_MEMBERS);
    assert_true(v->a.out.persist);
    assert_int_equal(m->version, 1);
    assert_int_equal(m->voters, all & ~SET(0));
    assert_int_equal(m->before, all);
    struct voter old = *v, again = *v;
    again.a.node.mandate.time[ELECT_NEXT_CHANGE] = again.now;
    is_told(&again, all & ~(SET(0) | SET(1)), all & ~(SET(0) | SET(1)));
    assert_rule(&again.a, CHANGE_TOO_SOON);
    old.a.node.mandate.leader.rounds--; /* grants for a round before the change */
    for (uint8_t i = 0; i < 4; i++)
        grants_again(&old, i, 0, false);
    assert_int_equal(old.a.node.saved.membership.before, all);
    grants_again(v, 1, 0, false);
    grants_again(v, 2, 0, false);
    assert_int_equal(m->before, all);
    grants_again(v, 4, 0, false);
    assert_rule(&v->a, MEMBERS_CHANGED);
    assert_int_equal(m->before, m->voters);
    is_told(v, all & ~(SET(0) | SET(1)), all & ~(SET(0) | SET(1)));
    assert_rule(&v->a, CHANGE_TOO_SOON);
    resigns(&resigned, 0);
    is_told(&resigned, all & ~SET(0), all & ~SET(0));
    assert_rule(&resigned.a, RESIGNS_ALREADY);
    other.a.node.mandate.leader.token = 0;
    is_told(&other, all & ~SET(0), all & ~SET(0));
    assert_rule(&other.a, HAS_NO_OFFICE);
}

static void is_refused(struct voter *v, struct elect_membership m)
{
    const struct elect_membership mine = v->a.node.saved.membership;
    hears(v, 1,
          (struct elect_message){
              .type = ELECT_PRESENT, .heard = SET(2), .incarnation = 1, .membership = m});
    assert_rule(&v->a, MALFORMED);
    assert_memory_equal(&mine, &v->a.node.saved.membership, sizeof mine);
}

static void an_impossible_membership_is_malformed(void **state)
{
    struct voter *v = watchful(3, 2);
    const elect_set all = SET(3) - 1;
    const elect_term now = term(1, 1);
    (void)state;
    v->a.node.mandate.seen = now;
    is_refused(v, (struct elect_membership){.stamp = now, .voters = all, .before = all});
    is_refused(v, (struct elect_membership){.stamp = now, .members = all, .before = all});
    is_refused(v, (struct elect_membership){.stamp = now, .members = all, .voters = all});
    is_refused(v, (struct elect_membership){
                      .stamp = now, .members = all, .voters = all | SET(3), .before = all});
    is_refused(v, (struct elect_membership){
                      .stamp = now, .members = all, .voters = all, .before = all | SET(3)});
    is_refused(v, (struct elect_membership){
                      .stamp = now, .members = all, .voters = SET(0) | SET(1), .before = all});
    is_refused(v, (struct elect_membership){
                      .stamp = now, .members = SET(0), .voters = SET(0), .before = all});
    is_refused(v, (struct elect_membership){
                      .stamp = term(1 << 30, 1), .members = all, .voters = all, .before = all});
}

static void the_same_version_need_not_be_the_same_membership(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = request(term(2, 2));
    (void)state;
    v->a.node.saved.membership.stamp = term(3, 1);
    m.membership = v->a.node.saved.membership;
    m.membership.stamp = term(1, 2);
    m.membership.members &= ~SET(0);
    hears(v, 2, m);
    assert_refused(v, CONFIG);
    m.membership.voters &= ~SET(0);
    hears(v, 2, m);
    assert_refused(v, CONFIG);
}

static void a_member_without_state_learns_only_from_others(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = {.type = ELECT_REMEMBERS, .round = 9, .incarnation = 7};
    struct elect_message question = {0};
    (void)state;
    elect_readmit(&v->a.config, &v->a.node, 0, 5, v->now, &v->a.out);
    m.membership = v->a.node.saved.membership;
    hears(v, 0, m);
    assert_rule(&v->a, MALFORMED);
    m.incarnation = UINT32_MAX;
    hears(v, 1, m);
    assert_rule(&v->a, MALFORMED);
    m.incarnation = 7;
    hears(v, 1, m); /* answers a question from before the restart */
    assert_rule(&v->a, NOTHING);
    m.round = 10;
    hears(v, 1, m);
    assert_rule(&v->a, LEARNS);
    struct voter longer = *v, often = *v;
    /* last incarnation of the second-to-last era, so one more era is left */
    m.incarnation = ELECT_ERA(UINT32_MAX) * ELECT_STARTS - 1;
    hears(&often, 2, m);
    assert_rule(&often.a, WAITS_IT_OUT);
    m.incarnation++; /* first incarnation of the last era */
    hears(&often, 2, m);
    assert_rule(&often.a, MALFORMED);
    m.incarnation = 7;
    hears(v, 2, m);
    assert_rule(&v->a, WAITS_IT_OUT);
    /* a tick later, all its grants from before the restart have expired */
    v->now += 2 * LEASE - 1;
    happens(v, ELECT_ALARM);
    assert_false(sends(v, ELECT_FORGOT, NULL));
    v->now += 1;
    happens(v, ELECT_ALARM);
    assert_true(sends(v, ELECT_FORGOT, &question));
    assert_int_equal(question.incarnation, ELECT_STARTS);
    hears(v, 1, m);
    assert_rule(&v->a, NOTHING);
    m.round = question.round;
    /* a later incarnation is known, so the member asks again */
    m.incarnation = ELECT_STARTS + 3;
    hears(v, 1, m);
    hears(v, 2, m);
    assert_true(sends(v, ELECT_FORGOT, &question));
    assert_int_equal(question.incarnation, 2 * ELECT_STARTS);
    hears(v, 1, m);
    hears(v, 2, m);
    assert_rule(&v->a, LEARNS);
    m.incarnation = 2 * ELECT_STARTS;
    hears(v, 1, m);
    hears(v, 2, m);
    assert_rule(&v->a, READMITTED);
    assert_int_equal(v->a.node.saved.incarnation, 2 * ELECT_STARTS);
    m.round = 10;
    m.lease = 3 * LEASE;
    hears(&longer, 2, m);
    longer.now += 3 * LEASE - 1;
    happens(&longer, ELECT_ALARM);
    assert_false(sends(&longer, ELECT_FORGOT, NULL));
    longer.now += 1;
    happens(&longer, ELECT_ALARM);
    assert_true(sends(&longer, ELECT_FORGOT, NULL));
}

/* The voters change from 0, 1 and 2 to 1 and 2. Any majority of two includes the one that answers,
 * but a majority of three may not. So one answer is enough for two voters, but not for three. */
static void a_member_without_state_learns_from_both_electorates(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = {.type = ELECT_REMEMBERS, .round = 10, .incarnation = 7};
    (void)state;
    elect_readmit(&v->a.config, &v->a.node, 0, 5, v->now, &v->a.out);
    m.membership = (struct elect_membership){.stamp = term(1, 1),
                                             .members = SET(1) | SET(2),
                                             .voters = SET(1) | SET(2),
                                             .before = 7,
                                             .version = 1};
    hears(v, 2, m);
    assert_rule(&v->a, LEARNS);
    hears(v, 1, m);
    assert_rule(&v->a, WAITS_IT_OUT);
}

static void a_member_persists_the_new_incarnation_of_a_readmitted_one(void **state)
{
    struct voter *v = begin(3, 0);
    struct elect_message m = {.type = ELECT_FORGOT, .round = 10}, answers = {0};
    (void)state;
    v->a.node.saved.met[1] = 7;
    v->a.node.saved.longest = LEASE + 5;
    hears(v, 1, m);
    assert_false(v->a.out.persist);
    struct voter told = *v;
    m.pause = 3;
    hears(&told, 1, m);
    assert_true(told.a.out.persist);
    m.pause = 0;
    assert_true(sends(v, ELECT_REMEMBERS, &answers));
    assert_int_equal(answers.incarnation, 7);
    assert_int_equal(answers.lease, LEASE + 5);
    assert_int_equal(answers.round, 10);
    m.incarnation = ELECT_STARTS;
    hears(v, 1, m);
    assert_true(v->a.out.persist);
    assert_int_equal(v->a.node.saved.met[1], ELECT_STARTS);
}

int test_handover(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_order_is_carried_out_once_and_only_in_its_term),
        TEST(a_leader_that_resigns_renews_until_its_work_stops),
        TEST(an_office_is_handed_to_the_named_member),
        TEST(an_office_is_handed_to_a_member_that_can_take_it),
        TEST(a_leader_without_a_successor_can_resign),
        TEST(an_office_that_runs_out_while_it_is_handed_over_is_over),
        TEST(a_leader_that_resigns_does_not_succeed_itself),
        TEST(a_leader_grants_no_other_candidate_anything),
        TEST(a_successor_asks_for_a_mandate_immediately),
        TEST(a_successor_that_never_granted_the_term_sends_a_prevote),
        TEST(a_late_hand_over_is_ignored),
        TEST(a_successor_that_works_waits_until_its_work_has_stopped),
        TEST(a_member_that_works_takes_no_part),
        TEST(after_a_testament_the_heir_asks_and_the_others_wait),
        TEST(after_a_release_only_the_named_heir_asks),
        TEST(a_leader_gives_its_place_to_the_fittest_claimant),
        TEST(a_fitter_follower_claims_after_it_has_seen_a_majority_long_enough),
        TEST(a_member_that_misses_its_leader_waits_for_t_before_it_begins_an_election),
        TEST(a_majority_must_hear_the_member_and_be_heard),
        TEST(members_that_were_heard_long_ago_do_not_count),
        TEST(a_follower_names_its_leader_instead_of_electing),
        TEST(a_member_that_hears_of_a_leader_waits_and_asks_again),
        TEST(the_fewest_penalties_come_first),
        TEST(a_member_that_joined_a_round_of_a_ring_stays),
        TEST(penalties_are_halved),
        TEST(a_pause_spreads_is_persisted_and_prevents_elections),
        TEST(a_different_configuration_is_detected),
        TEST(a_failed_candidacy_is_a_penalty_unless_a_lease_prevented_it),
        TEST(a_leader_ignores_a_report_that_the_leader_has_failed),
        TEST(a_leader_changes_one_voter_at_a_time),
        TEST(an_impossible_membership_is_malformed),
        TEST(the_same_version_need_not_be_the_same_membership),
        TEST(a_member_without_state_learns_only_from_others),
        TEST(a_member_without_state_learns_from_both_electorates),
        TEST(a_member_persists_the_new_incarnation_of_a_readmitted_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
