/*
 * The rules of the lecture notes: one test for each sentence, and one for each gap in the rules
 * that had to be closed. Each test drives a single process step by step. Ranks are 0 ... n-1,
 * numbers are 0, 10, 20, ...
 */
#include "../support.h"

#define NOBODY ELECT_NOBODY

static struct elect_message says(enum elect_event type)
{
    return (struct elect_message){.type = (uint8_t)type};
}

static struct elect_message number(enum elect_event type, uint8_t origin, uint32_t round)
{
    return (struct elect_message){.type = (uint8_t)type, .origin = origin, .round = round};
}

static struct elect_message listed(enum elect_event type, uint8_t origin, elect_set set,
                                   uint32_t round)
{
    return (struct elect_message){
        .type = (uint8_t)type, .origin = origin, .list = set, .round = round};
}

static struct elect_message ack(enum elect_event what, uint8_t origin, uint32_t round,
                                uint32_t seen)
{
    return (struct elect_message){
        .type = ELECT_ACK, .what = (uint8_t)what, .origin = origin, .round = round, .seen = seen};
}

/* ---- bully ---- */

static void a_process_that_notices_sends_election_to_all_higher(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 2, 4);
    actor_happens(&a, ELECT_SUSPECT);
    assert_rule(&a, SUSPECTS);
    assert_int_equal(a.out.sends, 1);
    assert_true(actor_sent(&a, ELECT_ELECTION, SET(3) | SET(4)));
    assert_true(actor_starts(&a, ELECT_ANSWER_TIMER));
    assert_int_equal(a.node.state, ELECT_ELECTING);
    assert_int_equal(a.node.leader, ELECT_NOBODY);
}

static void if_no_one_responds_it_wins_and_tells_everybody_below(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 2, 4);
    actor_happens(&a, ELECT_SUSPECT);
    actor_happens(&a, ELECT_ANSWER_TIMER);
    assert_rule(&a, NOBODY_ANSWERED);
    assert_true(actor_sent(&a, ELECT_COORDINATOR, SET(0) | SET(1)));
    assert_true(a.out.announced);
    assert_true(elect_leads(&a.node, 0));
}

static void an_ok_ends_my_part(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 2, 4);
    actor_happens(&a, ELECT_SUSPECT);
    actor_hears(&a, 3, says(ELECT_OK));
    assert_rule(&a, STEPS_BACK);
    assert_int_equal(a.out.sends, 0);
    assert_true(actor_stops(&a, ELECT_ANSWER_TIMER));
    assert_int_equal(a.node.state, ELECT_WAITING);
    actor_hears(&a, 4, says(ELECT_OK));
    assert_rule(&a, WAITS_ALREADY);
    actor_happens(&a, ELECT_ANSWER_TIMER); /* the timer fires although it was stopped */
    assert_rule(&a, NOTHING);
    assert_int_equal(a.node.state, ELECT_WAITING);
}

static void an_election_from_below_is_answered_ok_and_starts_one(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 3, 4);
    actor_hears(&a, 1, says(ELECT_ELECTION));
    assert_rule(&a, CHALLENGED);
    assert_int_equal(a.out.sends, 2);
    assert_true(actor_sent(&a, ELECT_OK, SET(1)));
    assert_true(actor_sent(&a, ELECT_ELECTION, SET(4)));
}

static void an_election_starts_one_only_if_none_is_held_already(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 2, 4);
    actor_happens(&a, ELECT_SUSPECT);
    actor_hears(&a, 1, says(ELECT_ELECTION));
    assert_rule(&a, ANSWERS);
    assert_int_equal(a.out.sends, 1);
    assert_int_equal(a.out.start, 0); /* the timers continue */
    actor_hears(&a, 4, says(ELECT_OK));
    actor_hears(&a, 0, says(ELECT_ELECTION)); /* a waiting process also holds an election */
    assert_rule(&a, ANSWERS);
    assert_int_equal(a.out.sends, 1);
}

static void an_election_starts_none_if_one_was_held_within_the_last_two_T(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 2, NOBODY);
    actor_happens(&a, ELECT_SUSPECT);
    actor_hears(&a, 4, says(ELECT_COORDINATOR));
    actor_hears(&a, 1, says(ELECT_ELECTION));
    assert_rule(&a, HELD_ONE);
    assert_int_equal(a.out.sends, 1);
    actor_happens(&a, ELECT_DEADLINE_TIMER);
    assert_rule(&a, NOTHING);
    actor_hears(&a, 1, says(ELECT_ELECTION));
    assert_rule(&a, CHALLENGED);
}

static void a_deadline_that_runs_out_first_begins_again(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 2, NOBODY);
    actor_happens(&a, ELECT_SUSPECT);
    actor_happens(&a,
                  ELECT_DEADLINE_TIMER); /* the host is late with both timers, in the wrong order */
    assert_rule(&a, NO_COORDINATOR);
    assert_true(actor_starts(&a, ELECT_DEADLINE_TIMER));
    assert_true(actor_starts(&a, ELECT_ANSWER_TIMER));
}

static void the_highest_wins_without_asking(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 4, NOBODY);
    actor_hears(&a, 1, says(ELECT_ELECTION));
    assert_rule(&a, NOBODY_HIGHER);
    assert_true(actor_sent(&a, ELECT_OK, SET(1)));
    assert_true(actor_sent(&a, ELECT_COORDINATOR, SET(0) | SET(1) | SET(2) | SET(3)));
    assert_true(elect_leads(&a.node, 0));
}

static void a_leader_answers_ok_and_coordinator_to_that_sender_alone(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 4, 4);
    actor_hears(&a, 1, says(ELECT_ELECTION));
    assert_rule(&a, LEADER_ANSWERS);
    assert_true(actor_sent(&a, ELECT_OK, SET(1)));
    assert_true(actor_sent(&a, ELECT_COORDINATOR, SET(1)));
    assert_false(a.out.announced);
}

static void a_process_that_gets_a_coordinator_from_above_follows_it(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 1, NOBODY);
    actor_happens(&a, ELECT_SUSPECT);
    actor_hears(&a, 3, says(ELECT_COORDINATOR));
    assert_rule(&a, FOLLOWS);
    assert_int_equal(a.node.leader, 3);
    assert_true(a.out.announced);
    assert_true(actor_stops(&a, ELECT_ANSWER_TIMER));
    actor_hears(&a, 4, says(ELECT_OK));
    assert_rule(&a, OK_TOO_LATE);
    assert_int_equal(a.node.leader, 3);
}

static void a_process_that_was_down_holds_an_election(void **state)
{
    struct actor a;
    (void)state;
    for (int algorithm = 0; algorithm < ELECT_ALGORITHM_COUNT; algorithm++) {
        actor_init(&a, (enum elect_algorithm)algorithm, 5, 2, NOBODY);
        actor_happens(&a, ELECT_START);
        assert_rule(&a, STARTED);
        assert_int_equal(a.node.state, ELECT_ELECTING);
        assert_int_equal(a.out.sends, 1);
    }
}

static void the_highest_that_was_down_takes_the_lead_immediately(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 4, NOBODY);
    actor_happens(&a, ELECT_START);
    assert_rule(&a, NOBODY_HIGHER);
    assert_true(elect_leads(&a.node, 0));
}

static void the_biggest_always_wins_a_lower_announcer_is_challenged(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 3, 4);
    actor_hears(&a, 2, says(ELECT_COORDINATOR));
    assert_rule(&a, LOWER_LEADS);
    assert_true(actor_sent(&a, ELECT_ELECTION, SET(4)));
    actor_hears(&a, 2, says(ELECT_COORDINATOR)); /* the process already holds an election */
    assert_rule(&a, ELECTION_IS_ON);
    assert_int_equal(a.out.sends, 0);
}

static void a_live_leader_repeats_its_coordinator_to_a_lower_announcer(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 4, 4);
    actor_hears(&a, 2, says(ELECT_COORDINATOR));
    assert_rule(&a, TELLS_LOWER);
    assert_int_equal(a.out.sends, 1);
    assert_true(actor_sent(&a, ELECT_COORDINATOR, SET(2)));
    assert_true(elect_leads(&a.node, 0));
}

static void the_deadline_is_two_T_after_the_beginning(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 5, 2, 4);
    assert_int_equal(a.config.duration[ELECT_DEADLINE_TIMER - ELECT_FIRST_TIMER],
                     2 * a.config.duration[ELECT_ANSWER_TIMER - ELECT_FIRST_TIMER]);
    actor_happens(&a, ELECT_SUSPECT);
    /* the deadline starts with the election, not with the first OK */
    assert_true(actor_starts(&a, ELECT_DEADLINE_TIMER));
    actor_hears(&a, 3, says(ELECT_OK));
    assert_false(actor_starts(&a, ELECT_DEADLINE_TIMER));
    assert_false(actor_stops(&a, ELECT_DEADLINE_TIMER));
    actor_happens(&a, ELECT_DEADLINE_TIMER);
    assert_rule(&a, NO_COORDINATOR);
    assert_true(actor_sent(&a, ELECT_ELECTION, SET(3) | SET(4)));
}

static void t_is_a_question_and_an_answer(void **state)
{
    struct elect_config c;
    (void)state;
    assert_int_equal(elect_config_init(&c, ELECT_BULLY, (uint16_t[]){1, 2}, 2, 5, 3), ELECT_FINE);
    assert_int_equal(c.answer_bound, 2 * 5 + 3);
}

/* ---- all rings ---- */

static const enum elect_algorithm rings[] = {ELECT_RING, ELECT_ACTIVE_RING, ELECT_CHANG_ROBERTS};
static const enum elect_event first_message[] = {ELECT_ELECTION, ELECT_ELECT, ELECT_ELECTION};

static void a_process_that_notices_sends_to_its_successor(void **state)
{
    struct actor a;
    (void)state;
    for (int i = 0; i < 3; i++) {
        actor_init(&a, rings[i], 4, 3, 2);
        actor_happens(&a, ELECT_SUSPECT);
        assert_rule(&a, SUSPECTS);
        /* process 0 is the successor of the highest process */
        assert_true(actor_sent(&a, first_message[i], SET(0)));
        assert_true(actor_starts(&a, ELECT_HOP_TIMER));
        assert_true(actor_starts(&a, ELECT_RING_TIMER));
    }
}

static void if_the_successor_is_down_the_sender_goes_on_to_the_next(void **state)
{
    struct actor a;
    (void)state;
    for (int i = 0; i < 3; i++) {
        actor_init(&a, rings[i], 4, 0, 3);
        actor_happens(&a, ELECT_SUSPECT);
        actor_happens(&a, ELECT_HOP_TIMER);
        assert_rule(&a, HOP_FAILED);
        assert_true(actor_sent(&a, first_message[i], SET(2)));
        actor_happens(&a, ELECT_HOP_TIMER);
        actor_happens(&a, ELECT_HOP_TIMER);
        assert_true(actor_sent(&a, first_message[i], SET(0))); /* a ring of one process */
    }
}

static void a_silent_successor_is_remembered_until_it_is_heard(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_CHANG_ROBERTS, 4, 0, 3);
    actor_happens(&a, ELECT_SUSPECT);
    actor_happens(&a, ELECT_HOP_TIMER); /* 1 is silent */
    actor_hears(&a, 2, ack(ELECT_ELECTION, 0, 1, 0));
    actor_hears(&a, 3, number(ELECT_ELECTION, 2, 1));
    /* the process remembers that process 1 is silent */
    assert_true(actor_sent(&a, ELECT_ELECTION, SET(2)));
    actor_hears(&a, 2, ack(ELECT_ELECTION, 2, 1, 0));
    actor_hears(&a, 1, ack(ELECT_ELECTION, 0, 1, 0)); /* process 1 is late, but alive */
    assert_rule(&a, LATE_ACK);
    actor_hears(&a, 3, number(ELECT_ELECTION, 3, 1));
    assert_true(actor_sent(&a, ELECT_ELECTION, SET(1)));
}

static void one_message_at_a_time_in_order(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_ACTIVE_RING, 4, 0, 3);
    actor_hears(&a, 3, number(ELECT_ELECT, 2, 1));
    assert_true(actor_sent(&a, ELECT_ELECT, SET(1)));
    /* the process sends its own number first */
    assert_int_equal(a.out.send[a.out.sends - 1].message.origin, 0);
    assert_int_equal(a.node.queued, 2);
    /* this ACK is for a message that was not sent yet */
    actor_hears(&a, 1, ack(ELECT_ELECT, 2, 1, 0));
    assert_rule(&a, LATE_ACK);
    actor_hears(&a, 1, ack(ELECT_ELECT, 0, 1, 0));
    assert_rule(&a, ACKED);
    assert_int_equal(a.out.send[0].message.origin, 2); /* the other number follows */
}

static void a_hop_is_acknowledged(void **state)
{
    struct actor a;
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct elect_message m = number(first_message[i], 2, 1);
        m.list = rings[i] == ELECT_RING ? SET(2) : 0;
        actor_init(&a, rings[i], 4, 0, 3);
        actor_hears(&a, 3, m);
        assert_true(actor_sent(&a, ELECT_ACK, SET(3)));
        assert_int_equal(a.out.send[0].message.origin, 2);
        assert_int_equal(a.out.send[0].message.what, first_message[i]);
    }
}

static void no_outcome_within_the_ring_time_means_a_new_round(void **state)
{
    struct actor a;
    (void)state;
    for (int i = 0; i < 3; i++) {
        actor_init(&a, rings[i], 4, 1, 3);
        actor_happens(&a, ELECT_SUSPECT);
        assert_int_equal(a.node.saved.round, 1);
        actor_happens(&a, ELECT_RING_TIMER);
        assert_rule(&a, RING_TIMEOUT);
        assert_int_equal(a.node.saved.round, 2);
        assert_int_equal(a.out.send[0].message.round, 2);
        assert_true(actor_starts(&a, ELECT_RING_TIMER));
    }
}

static void a_message_of_a_round_that_is_over_is_dropped(void **state)
{
    struct actor a;
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct elect_message m = number(first_message[i], 3, 2);
        m.list = rings[i] == ELECT_RING ? SET(3) : 0;
        actor_init(&a, rings[i], 4, 1, NOBODY);
        actor_hears(&a, 0, m);
        m.round = 1;
        actor_hears(&a, 0, m);
        assert_rule(&a, ROUND_IS_OVER);
        assert_int_equal(a.out.sends, 1);
        /* the later election will also reach process 0 */
        assert_int_equal(a.out.send[0].message.seen, 0);
    }
}

static void a_sender_in_an_early_round_is_told_of_a_decided_one(void **state)
{
    struct actor a;
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct elect_message m = number(first_message[i], 0, 1);
        m.list = rings[i] == ELECT_RING ? SET(0) : 0;
        actor_init(&a, rings[i], 4, 1, NOBODY);
        actor_hears(&a, 3, number(ELECT_HEARTBEAT, 3, 2));
        actor_hears(&a, 0, m);
        assert_rule(&a, TELLS_ROUND);
        assert_int_equal(a.out.send[0].message.seen, 2);
        m.round = 2; /* process 0 was down when round 2 was decided */
        actor_hears(&a, 0, m);
        assert_int_equal(a.out.send[0].message.seen, rings[i] == ELECT_RING ? 0 : 2);
        actor_init(&a, rings[i], 4, 0, NOBODY);
        a.node.saved.round = 1;
        actor_happens(&a, ELECT_START);
        actor_hears(&a, 1, ack(first_message[i], 0, 2, 2));
        assert_rule(&a, BEHIND);
        assert_int_equal(a.node.saved.round, 3);
    }
}

static void the_round_survives_a_crash(void **state)
{
    struct actor a;
    (void)state;
    for (int i = 0; i < 3; i++) {
        actor_init(&a, rings[i], 4, 1, NOBODY);
        elect_init(&a.config, &a.node, 1, NOBODY, &(struct elect_saved){.round = 7}, 0, &a.out);
        actor_happens(&a, ELECT_START);
        assert_int_equal(a.node.saved.round, 8);
        assert_true(a.out.persist); /* the process persists the round before it sends anything */
        actor_hears(&a, 2, ack(first_message[i], 1, 8, 0));
        assert_false(a.out.persist);
    }
}

static void of_two_outcomes_in_a_round_the_higher_counts(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_CHANG_ROBERTS, 4, 0, NOBODY);
    actor_hears(&a, 3, number(ELECT_ELECTED, 2, 1));
    assert_rule(&a, ELECTED_FOLLOWS);
    actor_hears(&a, 3, number(ELECT_ELECTED, 3, 1));
    assert_rule(&a, ELECTED_FOLLOWS);
    actor_hears(&a, 3, number(ELECT_ELECTED, 2, 1));
    assert_rule(&a, DECIDED_BEFORE);
    assert_int_equal(a.node.leader, 3);
    actor_init(&a, ELECT_RING, 4, 0, NOBODY);
    actor_hears(&a, 3, listed(ELECT_COORDINATOR, 3, SET(0) | SET(3), 1));
    actor_hears(&a, 3, listed(ELECT_COORDINATOR, 2, SET(0) | SET(2), 1));
    assert_rule(&a, OUTRANKED);
    assert_int_equal(a.node.leader, 3);
    /* the announcement is passed on although it changes nothing */
    assert_int_equal(a.node.queued, 2);
}

static void a_process_that_is_behind_begins_again_in_a_later_round(void **state)
{
    struct actor a;
    (void)state;
    for (int i = 0; i < 3; i++) {
        actor_init(&a, rings[i], 4, 1, NOBODY);
        actor_happens(&a, ELECT_START);
        actor_hears(&a, 2, ack(first_message[i], 1, 1, 7));
        assert_rule(&a, BEHIND);
        assert_int_equal(a.node.saved.round, 8);
        assert_int_equal(a.out.send[0].message.round, 8);
    }
}

static void a_higher_round_is_adopted_and_clears_the_participant(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_CHANG_ROBERTS, 4, 2, NOBODY);
    actor_happens(&a, ELECT_SUSPECT);
    actor_hears(&a, 1, number(ELECT_ELECTION, 0, 5));
    assert_rule(&a, REPLACES_LOWER); /* the process does not participate in this round yet */
    assert_int_equal(a.node.saved.round, 5);
    assert_true(actor_starts(&a, ELECT_RING_TIMER));
    assert_int_equal(a.node.queued, 1);
}

/* ---- ring with a list ---- */

static void each_process_adds_its_number_and_passes_the_list_on(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_RING, 4, 1, 3);
    actor_hears(&a, 0, listed(ELECT_ELECTION, 0, SET(0), 1));
    assert_rule(&a, APPENDS);
    assert_true(actor_sent(&a, ELECT_ELECTION, SET(2)));
    assert_int_equal(a.out.send[1].message.list, SET(0) | SET(1));
    assert_int_equal(a.out.send[1].message.origin, 0);
    /* the network has duplicated the message */
    actor_hears(&a, 0, listed(ELECT_ELECTION, 0, SET(0), 1));
    assert_rule(&a, PASSED_ON_BEFORE);
    assert_int_equal(a.out.sends, 1);
}

static void when_the_list_is_back_the_highest_on_it_is_announced(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_RING, 4, 0, 3);
    actor_happens(&a, ELECT_SUSPECT);
    actor_hears(&a, 1, ack(ELECT_ELECTION, 0, 1, 0));
    actor_hears(&a, 2, listed(ELECT_ELECTION, 0, SET(0) | SET(1) | SET(2), 1));
    assert_rule(&a, LIST_BACK);
    assert_int_equal(a.node.leader, 2);
    assert_true(actor_sent(&a, ELECT_COORDINATOR, SET(1)));
    actor_hears(&a, 2, listed(ELECT_ELECTION, 0, SET(0) | SET(1) | SET(2), 1));
    assert_rule(&a, ANNOUNCED_BEFORE);
    actor_hears(&a, 1, ack(ELECT_COORDINATOR, 0, 1, 0));
    actor_hears(&a, 2, listed(ELECT_COORDINATOR, 0, SET(0) | SET(1) | SET(2), 1));
    assert_rule(&a, ANNOUNCEMENT_BACK);
}

static void or_the_result_is_multicast_to_all_on_the_list(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_RING, 4, 0, 3);
    a.config.form = ELECT_MULTICAST;
    actor_happens(&a, ELECT_SUSPECT);
    actor_hears(&a, 2, listed(ELECT_ELECTION, 0, SET(0) | SET(1) | SET(2), 1));
    assert_rule(&a, LIST_BACK);
    assert_true(actor_sent(&a, ELECT_LEADER, SET(1) | SET(2)));
    actor_hears(&a, 2, listed(ELECT_ELECTION, 0, SET(0) | SET(1) | SET(2), 1));
    assert_rule(&a, ANNOUNCED_BEFORE);
    actor_init(&a, ELECT_RING, 4, 2, 3);
    actor_hears(&a, 0, listed(ELECT_LEADER, 0, SET(0) | SET(1) | SET(2), 1));
    assert_rule(&a, IS_HIGHEST);
    assert_true(elect_leads(&a.node, 0));
    assert_int_equal(a.out.sends, 0); /* a multicast result is neither passed on nor acknowledged */
}

static void an_orphaned_list_is_adopted(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_RING, 4, 1, 3);
    actor_hears(&a, 0, listed(ELECT_ELECTION, 0, SET(0), 1));
    actor_hears(&a, 2, ack(ELECT_ELECTION, 0, 1, 0));
    actor_hears(&a, 2, listed(ELECT_ELECTION, 0, SET(0) | SET(1) | SET(2), 1));
    assert_rule(&a, ORPHAN);
    assert_true(actor_sent(&a, ELECT_COORDINATOR, SET(2)));
    assert_int_equal(a.out.send[1].message.origin, 1);
}

static void the_members_of_the_announcement_are_the_new_ring(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_RING, 5, 0, 4);
    actor_hears(&a, 3, listed(ELECT_COORDINATOR, 3, SET(0) | SET(2) | SET(3), 1));
    assert_rule(&a, ACCEPTS);
    assert_true(actor_sent(&a, ELECT_COORDINATOR, SET(2))); /* process 1 is not on the list */
}

static void an_announcement_is_passed_on_once(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_RING, 4, 1, NOBODY);
    actor_hears(&a, 0, listed(ELECT_COORDINATOR, 0, SET(0) | SET(1) | SET(2), 1));
    assert_rule(&a, ACCEPTS);
    actor_hears(&a, 0, listed(ELECT_COORDINATOR, 0, SET(0) | SET(1) | SET(2), 1));
    assert_rule(&a, PASSED_ON_BEFORE);
}

static void a_higher_process_that_was_left_out_begins_again(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_RING, 4, 3, NOBODY);
    actor_hears(&a, 2, listed(ELECT_COORDINATOR, 0, SET(0) | SET(1) | SET(2), 1));
    assert_rule(&a, LOWER_ANNOUNCED);
    assert_int_equal(a.node.saved.round, 2);
    actor_init(&a, ELECT_CHANG_ROBERTS, 4, 3, NOBODY);
    actor_hears(&a, 1, number(ELECT_ELECTED, 2, 1));
    assert_rule(&a, LOWER_ANNOUNCED);
    assert_int_equal(a.node.saved.round, 2);
}

/* ---- ring with an active list ---- */

static void the_first_number_seen_makes_it_send_its_own_then_that_one(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_ACTIVE_RING, 4, 1, NOBODY);
    actor_hears(&a, 0, number(ELECT_ELECT, 0, 1));
    assert_rule(&a, JOINS);
    assert_int_equal(a.node.queue[0].origin, 1);
    assert_int_equal(a.node.queue[1].origin, 0);
    assert_int_equal(a.node.active, SET(0) | SET(1));
}

static void another_number_is_added_and_passed_on_once(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_ACTIVE_RING, 4, 1, NOBODY);
    actor_hears(&a, 0, number(ELECT_ELECT, 0, 1));
    actor_hears(&a, 0, number(ELECT_ELECT, 3, 1));
    assert_rule(&a, ADDS);
    assert_int_equal(a.node.queued, 3);
    actor_hears(&a, 0, number(ELECT_ELECT, 3, 1));
    assert_rule(&a, KNOWS);
    assert_int_equal(a.node.queued, 3);
}

static void when_its_own_number_is_back_each_process_decides_alone(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_ACTIVE_RING, 4, 1, NOBODY);
    actor_hears(&a, 0, number(ELECT_ELECT, 3, 1));
    actor_hears(&a, 0, number(ELECT_ELECT, 1, 1));
    assert_rule(&a, DECIDES);
    assert_int_equal(a.node.leader, 3);
    assert_int_equal(a.node.active, 0);
    actor_hears(&a, 0, number(ELECT_ELECT, 2, 1));
    assert_rule(&a, DECIDED_BEFORE);
    actor_init(&a, ELECT_ACTIVE_RING, 4, 3, NOBODY);
    actor_hears(&a, 2, number(ELECT_ELECT, 1, 1));
    actor_hears(&a, 2, number(ELECT_ELECT, 3, 1));
    assert_rule(&a, DECIDES_ITSELF);
    assert_true(elect_leads(&a.node, 0));
}

static void a_number_from_before_the_restart_begins_a_new_round(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_ACTIVE_RING, 4, 1, NOBODY);
    actor_hears(&a, 0, number(ELECT_ELECT, 1, 4));
    assert_rule(&a, FORGOTTEN);
    assert_int_equal(a.node.saved.round, 5);
    actor_init(&a, ELECT_CHANG_ROBERTS, 4, 1, NOBODY);
    actor_hears(&a, 0, number(ELECT_ELECTED, 1, 4));
    assert_rule(&a, FORGOTTEN);
    assert_int_equal(a.node.saved.round, 5);
}

/* ---- Chang & Roberts ---- */

static void a_higher_number_is_passed_on(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_CHANG_ROBERTS, 4, 1, NOBODY);
    actor_hears(&a, 0, number(ELECT_ELECTION, 3, 1));
    assert_rule(&a, PASSES_HIGHER);
    assert_true(actor_sent(&a, ELECT_ELECTION, SET(2)));
    assert_int_equal(a.node.state, ELECT_ELECTING);
    /* this number would circle forever if process 3 were dead */
    actor_hears(&a, 0, number(ELECT_ELECTION, 3, 1));
    assert_rule(&a, PASSED_ON_BEFORE);
}

static void a_lower_number_is_replaced_once_and_swallowed_afterwards(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_CHANG_ROBERTS, 4, 2, NOBODY);
    actor_hears(&a, 1, number(ELECT_ELECTION, 1, 1));
    assert_rule(&a, REPLACES_LOWER);
    assert_int_equal(a.out.send[1].message.origin, 2);
    actor_hears(&a, 1, number(ELECT_ELECTION, 0, 1));
    assert_rule(&a, SWALLOWS_LOWER);
    assert_int_equal(a.out.sends, 1);
}

static void a_process_that_gets_its_own_number_back_leads_and_announces_it(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_CHANG_ROBERTS, 4, 2, NOBODY);
    actor_happens(&a, ELECT_SUSPECT);
    actor_hears(&a, 3, ack(ELECT_ELECTION, 2, 1, 0));
    actor_hears(&a, 1, number(ELECT_ELECTION, 2, 1));
    assert_rule(&a, OWN_NUMBER_BACK);
    assert_true(elect_leads(&a.node, 0));
    assert_true(actor_sent(&a, ELECT_ELECTED, SET(3)));
    actor_hears(&a, 1, number(ELECT_ELECTION, 0, 1));
    assert_rule(&a, DECIDED_BEFORE);
    actor_hears(&a, 1, number(ELECT_ELECTED, 2, 1));
    assert_rule(&a, ELECTED_BACK);
}

static void elected_clears_the_participant_and_goes_round(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_CHANG_ROBERTS, 4, 1, NOBODY);
    actor_hears(&a, 0, number(ELECT_ELECTION, 3, 1));
    actor_hears(&a, 2, ack(ELECT_ELECTION, 3, 1, 0));
    actor_hears(&a, 0, number(ELECT_ELECTED, 3, 1));
    assert_rule(&a, ELECTED_FOLLOWS);
    assert_int_equal(a.node.state, ELECT_NORMAL);
    assert_int_equal(a.node.leader, 3);
    assert_true(actor_sent(&a, ELECT_ELECTED, SET(2)));
    assert_true(actor_stops(&a, ELECT_RING_TIMER));
    actor_hears(&a, 0, number(ELECT_ELECTED, 3, 1));
    assert_rule(&a, DECIDED_BEFORE);
}

/* ---- failure detection ---- */

static void watched(struct actor *a, enum elect_algorithm algorithm, uint8_t me, uint8_t leader)
{
    actor_init(a, algorithm, 4, me, leader);
    a->config.detector = true;
    elect_init(&a->config, &a->node, me, leader, NULL, 0, &a->out);
}

static void the_leader_sends_heartbeats(void **state)
{
    struct actor a;
    (void)state;
    watched(&a, ELECT_BULLY, 3, 3);
    assert_true(actor_starts(&a, ELECT_HEARTBEAT_TIMER));
    actor_happens(&a, ELECT_HEARTBEAT_TIMER);
    assert_rule(&a, BEATS);
    assert_true(actor_sent(&a, ELECT_HEARTBEAT, SET(0) | SET(1) | SET(2)));
    assert_true(actor_starts(&a, ELECT_HEARTBEAT_TIMER));
    actor_happens(&a, ELECT_SUSPECT);
    assert_rule(&a, LEADS_ITSELF);
}

static void silence_of_the_leader_is_suspected(void **state)
{
    struct actor a;
    (void)state;
    watched(&a, ELECT_BULLY, 1, 3);
    assert_true(actor_starts(&a, ELECT_SUSPICION_TIMER));
    actor_hears(&a, 3, says(ELECT_HEARTBEAT));
    assert_rule(&a, HEARD_LEADER);
    assert_true(actor_starts(&a, ELECT_SUSPICION_TIMER));
    actor_happens(&a, ELECT_SUSPICION_TIMER);
    assert_rule(&a, SUSPECTS);
    assert_true(actor_stops(&a, ELECT_SUSPICION_TIMER));
    actor_happens(&a, ELECT_SUSPECT);
    assert_rule(&a, ALREADY_ELECTING);
}

static void a_missing_leader_is_noticed_too(void **state)
{
    struct actor a;
    (void)state;
    watched(&a, ELECT_RING, 1, NOBODY);
    assert_true(actor_starts(&a, ELECT_SUSPICION_TIMER));
    actor_happens(&a, ELECT_SUSPICION_TIMER);
    assert_rule(&a, NO_LEADER);
}

static void a_lost_announcement_is_repaired_by_a_heartbeat(void **state)
{
    struct actor a;
    (void)state;
    watched(&a, ELECT_CHANG_ROBERTS, 1, NOBODY);
    actor_happens(&a, ELECT_SUSPECT);
    actor_hears(&a, 3, number(ELECT_HEARTBEAT, 3, 1));
    assert_rule(&a, FOLLOWS_HEARTBEAT);
    assert_int_equal(a.node.leader, 3);
    assert_true(actor_stops(&a, ELECT_RING_TIMER));
    assert_true(actor_starts(&a, ELECT_SUSPICION_TIMER));
}

static void a_heartbeat_teaches_the_round(void **state)
{
    struct actor a;
    (void)state;
    watched(&a, ELECT_CHANG_ROBERTS, 1, 2);
    actor_hears(&a, 3, number(ELECT_HEARTBEAT, 3, 6));
    assert_rule(&a, FOLLOWS_HEARTBEAT);
    assert_int_equal(a.node.saved.round, 6);
    actor_hears(&a, 2, number(ELECT_HEARTBEAT, 2, 5));
    assert_rule(&a, EARLIER_REIGN);
    actor_hears(&a, 2, number(ELECT_HEARTBEAT, 2, 6));
    assert_rule(&a, STILL_FOLLOWS);
    assert_int_equal(a.node.leader, 3);
}

static void a_lower_leader_is_challenged(void **state)
{
    struct actor a;
    (void)state;
    watched(&a, ELECT_RING, 2, 3);
    actor_hears(&a, 1, number(ELECT_HEARTBEAT, 1, 4));
    assert_rule(&a, LOWER_LEADS);
    assert_int_equal(a.node.saved.round, 5);
    actor_hears(&a, 1, number(ELECT_HEARTBEAT, 1, 5));
    assert_rule(&a, ELECTION_IS_ON);
}

static void a_leader_tells_a_lower_leader(void **state)
{
    struct actor a;
    (void)state;
    watched(&a, ELECT_BULLY, 3, 3);
    actor_hears(&a, 1, says(ELECT_HEARTBEAT));
    assert_rule(&a, TELLS_LOWER);
    assert_true(actor_sent(&a, ELECT_HEARTBEAT, SET(1)));
    watched(&a, ELECT_RING, 3, 3);
    actor_hears(&a, 1, number(ELECT_HEARTBEAT, 1, 4)); /* process 1 would ignore an earlier round */
    assert_rule(&a, LOWER_LEADS);
}

static void a_deposed_leader_stops_its_heartbeats(void **state)
{
    struct actor a;
    (void)state;
    watched(&a, ELECT_BULLY, 2, 2);
    actor_hears(&a, 3, says(ELECT_COORDINATOR));
    assert_rule(&a, FOLLOWS);
    assert_true(actor_stops(&a, ELECT_HEARTBEAT_TIMER));
    assert_true(actor_starts(&a, ELECT_SUSPICION_TIMER));
    actor_happens(&a, ELECT_HEARTBEAT_TIMER);
    assert_int_equal(a.out.sends, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_notices_sends_election_to_all_higher),
        cmocka_unit_test(if_no_one_responds_it_wins_and_tells_everybody_below),
        cmocka_unit_test(an_ok_ends_my_part),
        cmocka_unit_test(an_election_from_below_is_answered_ok_and_starts_one),
        cmocka_unit_test(an_election_starts_one_only_if_none_is_held_already),
        cmocka_unit_test(an_election_starts_none_if_one_was_held_within_the_last_two_T),
        cmocka_unit_test(a_deadline_that_runs_out_first_begins_again),
        cmocka_unit_test(the_highest_wins_without_asking),
        cmocka_unit_test(a_leader_answers_ok_and_coordinator_to_that_sender_alone),
        cmocka_unit_test(a_process_that_gets_a_coordinator_from_above_follows_it),
        cmocka_unit_test(a_process_that_was_down_holds_an_election),
        cmocka_unit_test(the_highest_that_was_down_takes_the_lead_immediately),
        cmocka_unit_test(the_biggest_always_wins_a_lower_announcer_is_challenged),
        cmocka_unit_test(a_live_leader_repeats_its_coordinator_to_a_lower_announcer),
        cmocka_unit_test(the_deadline_is_two_T_after_the_beginning),
        cmocka_unit_test(t_is_a_question_and_an_answer),
        cmocka_unit_test(a_process_that_notices_sends_to_its_successor),
        cmocka_unit_test(if_the_successor_is_down_the_sender_goes_on_to_the_next),
        cmocka_unit_test(a_silent_successor_is_remembered_until_it_is_heard),
        cmocka_unit_test(one_message_at_a_time_in_order),
        cmocka_unit_test(a_hop_is_acknowledged),
        cmocka_unit_test(no_outcome_within_the_ring_time_means_a_new_round),
        cmocka_unit_test(a_message_of_a_round_that_is_over_is_dropped),
        cmocka_unit_test(a_sender_in_an_early_round_is_told_of_a_decided_one),
        cmocka_unit_test(the_round_survives_a_crash),
        cmocka_unit_test(of_two_outcomes_in_a_round_the_higher_counts),
        cmocka_unit_test(a_process_that_is_behind_begins_again_in_a_later_round),
        cmocka_unit_test(a_higher_round_is_adopted_and_clears_the_participant),
        cmocka_unit_test(each_process_adds_its_number_and_passes_the_list_on),
        cmocka_unit_test(when_the_list_is_back_the_highest_on_it_is_announced),
        cmocka_unit_test(or_the_result_is_multicast_to_all_on_the_list),
        cmocka_unit_test(an_orphaned_list_is_adopted),
        cmocka_unit_test(the_members_of_the_announcement_are_the_new_ring),
        cmocka_unit_test(an_announcement_is_passed_on_once),
        cmocka_unit_test(a_higher_process_that_was_left_out_begins_again),
        cmocka_unit_test(the_first_number_seen_makes_it_send_its_own_then_that_one),
        cmocka_unit_test(another_number_is_added_and_passed_on_once),
        cmocka_unit_test(when_its_own_number_is_back_each_process_decides_alone),
        cmocka_unit_test(a_number_from_before_the_restart_begins_a_new_round),
        cmocka_unit_test(a_higher_number_is_passed_on),
        cmocka_unit_test(a_lower_number_is_replaced_once_and_swallowed_afterwards),
        cmocka_unit_test(a_process_that_gets_its_own_number_back_leads_and_announces_it),
        cmocka_unit_test(elected_clears_the_participant_and_goes_round),
        cmocka_unit_test(the_leader_sends_heartbeats),
        cmocka_unit_test(silence_of_the_leader_is_suspected),
        cmocka_unit_test(a_missing_leader_is_noticed_too),
        cmocka_unit_test(a_lost_announcement_is_repaired_by_a_heartbeat),
        cmocka_unit_test(a_heartbeat_teaches_the_round),
        cmocka_unit_test(a_lower_leader_is_challenged),
        cmocka_unit_test(a_leader_tells_a_lower_leader),
        cmocka_unit_test(a_deposed_leader_stops_its_heartbeats),
    };
    return cmocka_run_group_tests_name("notes", tests, NULL, NULL);
}
