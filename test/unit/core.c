/* Tests the library interface: elect_step() with any input, copies of nodes, and bounds on the
 * output. */
#include "../support.h"

#include <string.h>

static uint64_t bytes_from(struct dice *d, unsigned bits)
{
    return dice_below(d, (uint64_t)1 << bits);
}

static struct elect_input random_input(struct dice *d, unsigned n)
{
    struct elect_input in = {.event = (uint8_t)dice_below(d, ELECT_EVENT_COUNT + 1),
                             .from = (uint8_t)dice_below(d, n)};
    struct elect_message *m = &in.message;
    bool wild = dice_below(d, 8) == 0;
    m->type = wild ? (uint8_t)bytes_from(d, 8) : in.event;
    m->what = (uint8_t)(wild ? bytes_from(d, 8) : bytes_from(d, 4));
    m->origin = (uint8_t)(wild ? bytes_from(d, 8) : dice_below(d, n));
    m->round = (uint32_t)(wild ? dice_throw(d) : dice_below(d, 8));
    m->seen = (uint32_t)(wild ? dice_throw(d) : m->round + dice_below(d, 2));
    m->list = dice_throw(d) & dice_throw(d);
    if (!wild)
        m->list =
            dice_below(d, 2) == 0 ? 0 : (m->list | SET(m->origin)) & (~(elect_set)0 >> (64 - n));
    if (wild)
        in.from = (uint8_t)bytes_from(d, 8);
    return in;
}

/* Adds a mandate's fields. Terms and incarnations are small, so that some equal those of the
 * process. */
static void add_mandate(struct dice *d, const struct elect_config *c, const struct elect_node *node,
                        struct elect_input *in)
{
    struct elect_message *m = &in->message;
    bool wild = dice_below(d, 8) == 0, answer = dice_below(d, 2) == 0;
    uint8_t owner = answer ? node->me : in->from % c->n;
    m->term = wild ? dice_throw(d) : (dice_below(d, 9) << 16 | c->id[owner]);
    m->certificate = wild ? dice_throw(d) : (dice_below(d, 9) << 16 | c->id[dice_below(d, c->n)]);
    m->origin = wild ? m->origin : in->from;
    m->round = (uint32_t)dice_below(d, 9);
    m->incarnation = (uint32_t)(wild ? dice_throw(d) : 1 + dice_below(d, 2));
    m->leading = (uint8_t)bytes_from(d, 1);
    m->able = (uint8_t)bytes_from(d, 1);
    m->reason = (uint8_t)bytes_from(d, 3);
    m->heir = (uint8_t)(wild ? bytes_from(d, 8) : dice_below(d, c->n));
    m->penalty = (uint8_t)(wild ? bytes_from(d, 8) : dice_below(d, 3));
    m->pause = (uint32_t)(wild ? dice_throw(d) : node->saved.pause + (dice_below(d, 8) == 0));
    m->lease = (uint32_t)(wild ? dice_throw(d) : c->lease);
    m->remaining = (uint32_t)(wild ? dice_throw(d) : dice_below(d, c->lease));
    m->membership = node->saved.membership;
    uint64_t *field[] = {&m->membership.members, &m->membership.voters, &m->membership.before,
                         &m->membership.stamp};
    if (wild || dice_below(d, 4) == 0)
        *field[dice_below(d, 4)] ^= wild ? dice_throw(d) : SET(dice_below(d, 8));
    m->membership.version += dice_below(d, 8) == 0;
}

static void check_output(const struct elect_config *c, const struct elect_node *node,
                         const struct elect_output *out)
{
    assert_true(out->sends <= ELECT_MAX_SENDS);
    assert_int_equal(out->start & out->stop, 0);
    assert_true(out->rule.number < ELECT_RULE_COUNT);
    for (unsigned i = 0; i < out->sends; i++) {
        assert_true(out->send[i].to != 0);
        assert_int_equal(out->send[i].to & ~elect_everyone(c), 0);
        assert_true(out->send[i].message.origin < c->n);
    }
    assert_true(node->leader == ELECT_NOBODY || node->leader < c->n);
    assert_true(node->queued <= ELECT_MAX_QUEUE);
}

static void any_input_may_come_in(void **state)
{
    struct dice dice;
    (void)state;
    dice_seed(&dice, 3, DICE_LOSS);
    for (int run = 0; run < 400; run++) {
        struct actor a;
        unsigned n = 1 + (unsigned)dice_below(&dice, run % 4 == 0 ? 64 : 6);
        actor_init(&a, (enum elect_algorithm)(run % ELECT_ALGORITHM_COUNT), n,
                   (uint8_t)dice_below(&dice, n), ELECT_NOBODY);
        a.config.detector = dice_below(&dice, 2);
        a.config.form = (uint8_t)dice_below(&dice, 2);
        a.config.announce = (uint8_t)dice_below(&dice, 2);
        a.config.tell_lower = dice_below(&dice, 4) == 0;
        for (int i = 0; i < 2000; i++) {
            struct elect_input in = random_input(&dice, n);
            elect_step(&a.config, &a.node, &in, &a.out);
            check_output(&a.config, &a.node, &a.out);
        }
    }
}

static void any_input_may_come_in_under_a_mandate(void **state)
{
    struct dice dice;
    (void)state;
    dice_seed(&dice, 4, DICE_LOSS);
    for (int run = 0; run < 800; run++) {
        struct actor a;
        unsigned n = 1 + (unsigned)dice_below(&dice, run % 4 == 0 ? 64 : 6);
        uint8_t me = (uint8_t)dice_below(&dice, n);
        elect_time now = 1000;
        actor_init(&a, (enum elect_algorithm)(run % ELECT_ALGORITHM_COUNT), n, me, ELECT_NOBODY);
        a.config.stable = dice_below(&dice, 4) != 0;
        a.config.preempt = dice_below(&dice, 2) != 0;
        if (n > 1 && dice_below(&dice, 2) == 0)
            a.config.members = a.config.voters &= ~SET(dice_below(&dice, n));
        assert_int_equal(elect_config_mandate(&a.config, 1000, 200, 10000, 1), ELECT_FINE);
        elect_init(&a.config, &a.node, me, ELECT_NOBODY, NULL, now, &a.out);
        if (run % 5 == 0)
            elect_readmit(&a.config, &a.node, me, 1, now, &a.out);
        for (int i = 0; i < 2000; i++) {
            struct elect_input in = random_input(&dice, n);
            add_mandate(&dice, &a.config, &a.node, &in);
            now += (elect_time)dice_below(&dice, 20);
            in.now = now;
            elect_step(&a.config, &a.node, &in, &a.out);
            check_output(&a.config, &a.node, &a.out);
        }
    }
}

static void refused(enum elect_algorithm algorithm, uint8_t me, uint8_t from,
                    struct elect_message m)
{
    struct actor a;
    struct elect_node before;
    actor_init(&a, algorithm, 4, me, ELECT_NOBODY);
    before = a.node;
    actor_hears(&a, from, m);
    assert_rule(&a, MALFORMED);
    assert_int_equal(a.out.sends, 0);
    assert_memory_equal(&before, &a.node, sizeof before);
}

/* A message that no correct process sends is refused and changes nothing. */
static void forged_messages_are_refused(void **state)
{
    (void)state;
    const struct elect_message election = {.type = ELECT_ELECTION}, ok = {.type = ELECT_OK};
    const struct elect_message coordinator = {.type = ELECT_COORDINATOR};
    refused(ELECT_BULLY, 1, 2, election);    /* from a higher process */
    refused(ELECT_BULLY, 2, 1, ok);          /* from a lower process */
    refused(ELECT_BULLY, 2, 2, coordinator); /* from itself */
    refused(ELECT_BULLY, 2, 9, coordinator); /* from an unknown process */
    refused(ELECT_BULLY, 2, 3, (struct elect_message){.type = ELECT_OK, .round = 1});
    refused(ELECT_BULLY, 2, 3, (struct elect_message){.type = ELECT_ELECTED, .round = 1});
    refused(ELECT_BULLY, 2, 3, (struct elect_message){.type = ELECT_ACK, .what = ELECT_OK});
    refused(ELECT_BULLY, 2, 2, (struct elect_message){.type = ELECT_HEARTBEAT});
    refused(ELECT_BULLY, 2, 3, (struct elect_message){.type = ELECT_HEARTBEAT, .round = 3});
    refused(ELECT_RING, 2, 1, election); /* without a round number */
    refused(ELECT_RING, 2, 1, (struct elect_message){.type = ELECT_ELECTION, .round = 1});
    refused(ELECT_RING, 2, 1,
            (struct elect_message){.type = ELECT_ELECTION, .round = 1, .list = SET(0) | SET(63)});
    refused(ELECT_RING, 2, 1,
            (struct elect_message){.type = ELECT_LEADER, .round = 1, .list = SET(0) | SET(1)});
    refused(ELECT_RING, 2, 2,
            (struct elect_message){.type = ELECT_LEADER, .round = 1, .origin = 2, .list = SET(2)});
    refused(ELECT_RING, 2, 1, (struct elect_message){.type = ELECT_ACK, .what = ELECT_LEADER});
    refused(ELECT_CHANG_ROBERTS, 2, 1,
            (struct elect_message){.type = ELECT_ELECTION, .round = 1, .origin = 4});
    refused(ELECT_CHANG_ROBERTS, 2, 1,
            (struct elect_message){.type = ELECT_ELECTION, .round = 1, .list = 1});
    refused(ELECT_CHANG_ROBERTS, 2, 1,
            (struct elect_message){.type = ELECT_ELECTION, .round = UINT32_MAX});
    refused(ELECT_CHANG_ROBERTS, 2, 1,
            (struct elect_message){
                .type = ELECT_ACK, .what = ELECT_ELECTION, .round = 2, .seen = UINT32_MAX});
    refused(ELECT_CHANG_ROBERTS, 2, 1, (struct elect_message){.type = ELECT_ACK, .what = 228});
    refused(
        ELECT_CHANG_ROBERTS, 2, 1,
        (struct elect_message){.type = ELECT_ACK, .what = ELECT_ELECTION, .round = 2, .seen = 1});
}

static void a_mislabelled_message_is_refused(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 4, 2, ELECT_NOBODY);
    struct elect_input in = {.event = ELECT_OK, .from = 3, .message = {.type = ELECT_COORDINATOR}};
    elect_step(&a.config, &a.node, &in, &a.out);
    assert_rule(&a, MALFORMED);
    in.event = ELECT_EVENT_COUNT;
    elect_step(&a.config, &a.node, &in, &a.out);
    assert_rule(&a, NOTHING);
}

/* A node depends only on its inputs, and not on the previous content of its memory. */
static void equal_histories_give_equal_bytes(void **state)
{
    struct dice dice;
    struct actor a, b;
    (void)state;
    for (int algorithm = 0; algorithm < ELECT_ALGORITHM_COUNT; algorithm++) {
        memset(&a, 0xaa, sizeof a);
        memset(&b, 0x55, sizeof b);
        actor_init(&a, (enum elect_algorithm)algorithm, 5, 2, ELECT_NOBODY);
        actor_init(&b, (enum elect_algorithm)algorithm, 5, 2, ELECT_NOBODY);
        dice_seed(&dice, 4, DICE_LOSS);
        for (int i = 0; i < 5000; i++) {
            struct elect_input in = random_input(&dice, 5);
            elect_step(&a.config, &a.node, &in, &a.out);
            elect_step(&b.config, &b.node, &in, &b.out);
            assert_memory_equal(&a.node, &b.node, sizeof a.node);
        }
    }
}

/* A full queue of a ring link drops its oldest message. The ring timer repairs the loss. */
static void a_full_queue_drops_the_oldest(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_RING, 64, 0, ELECT_NOBODY);
    for (unsigned head = 1; head < 64; head++) {
        actor_hears(
            &a, 63,
            (struct elect_message){
                .type = ELECT_ELECTION, .origin = (uint8_t)head, .round = 1, .list = SET(head)});
        assert_rule(&a, APPENDS);
    }
    assert_int_equal(a.node.queued, 63);
    for (unsigned announcer = 1; announcer < 4; announcer++)
        actor_hears(&a, 63,
                    (struct elect_message){.type = ELECT_COORDINATOR,
                                           .origin = (uint8_t)announcer,
                                           .round = 1,
                                           .list = SET(announcer) | SET(63)});
    assert_int_equal(a.node.queued, ELECT_MAX_QUEUE);
    assert_int_equal(a.node.queue[0].origin, 3);
    assert_int_equal(a.node.queue[ELECT_MAX_QUEUE - 1].type, ELECT_COORDINATOR);
    assert_int_equal(a.out.send[a.out.sends - 1].message.origin, 3);
}

static void a_configuration_is_checked(void **state)
{
    struct elect_config c;
    uint16_t ids[65];
    (void)state;
    for (unsigned i = 0; i < 65; i++)
        ids[i] = (uint16_t)i;
    assert_int_equal(elect_config_init(&c, ELECT_BULLY, ids, 0, 1, 0), ELECT_EMPTY);
    assert_int_equal(elect_config_init(&c, ELECT_BULLY, ids, 65, 1, 0), ELECT_TOO_MANY);
    assert_int_equal(elect_config_init(&c, ELECT_ALGORITHM_COUNT, ids, 3, 1, 0),
                     ELECT_UNKNOWN_ALGORITHM);
    assert_int_equal(elect_config_init(&c, ELECT_BULLY, ids, 64, 1, 0), ELECT_FINE);
    assert_int_equal(elect_config_init(&c, ELECT_BULLY, ids, 3, 0, 0), ELECT_TOO_LONG);
    assert_int_equal(elect_config_init(&c, ELECT_BULLY, ids, 3, 2000000, 0), ELECT_TOO_LONG);
    assert_int_equal(elect_config_init(&c, ELECT_BULLY, ids, 3, 1, 2000000), ELECT_TOO_LONG);
    ids[2] = 0;
    assert_int_equal(elect_config_init(&c, ELECT_BULLY, ids, 3, 1, 0), ELECT_TWICE);
}

static void ranks_follow_numbers_and_the_ring_the_order_given(void **state)
{
    struct elect_config c;
    const uint16_t ids[] = {3, 32, 5, 80, 6, 12};
    const uint8_t ring[] = {0, 4, 1, 5, 2, 3};
    (void)state;
    assert_int_equal(elect_config_init(&c, ELECT_RING, ids, 6, 1, 0), ELECT_FINE);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(c.ring[i], ring[i]);
        assert_int_equal(c.place[ring[i]], i);
        assert_int_equal(c.id[ring[i]], ids[i]);
        assert_int_equal(elect_rank(&c, ids[i]), ring[i]);
    }
    assert_int_equal(elect_rank(&c, 7), ELECT_NOBODY);
    /* the ring timer lasts T_ring = 2n(T_m+T_p) + (n-1)T */
    assert_int_equal(c.duration[ELECT_RING_TIMER - ELECT_FIRST_TIMER], 2 * 6 + 5 * 2);
    assert_true(c.duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER] >
                c.duration[ELECT_RING_TIMER - ELECT_FIRST_TIMER]);
}

static void every_event_algorithm_and_rule_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < ELECT_RULE_COUNT; i++) {
        assert_true(strlen(elect_rule_name((enum elect_rule_number)i)) > 0);
        assert_true(strlen(elect_rule_text((enum elect_rule_number)i)) > 0);
    }
    assert_string_equal(elect_event_name(ELECT_COORDINATOR), "COORDINATOR");
    assert_string_equal(elect_event_name(ELECT_SUSPICION_TIMER), "suspicion");
    for (int i = 0; i < ELECT_ALGORITHM_COUNT; i++)
        assert_true(strlen(elect_algorithm_text((enum elect_algorithm)i)) > 0);
    assert_string_equal(elect_algorithm_name(ELECT_ACTIVE_RING), "active-ring");
}

static void a_term_has_a_text(void **state)
{
    char text[ELECT_TERM_TEXT];
    (void)state;
    assert_string_equal(elect_term_text(0, text), "0.0");
    assert_string_equal(elect_term_text(elect_term_make(5, 1), text), "5.1");
    assert_string_equal(elect_term_text(elect_term_make(1020, ELECT_MAX_ID), text), "1020.65535");
    assert_string_equal(elect_term_text(UINT64_MAX, text), "281474976710655.65535");
    assert_int_equal(elect_term_counter(elect_term_make(1020, 7)), 1020);
    assert_int_equal(elect_term_owner(elect_term_make(1020, 7)), 7);
}

static void without_a_mandate_the_winner_of_an_election_leads(void **state)
{
    struct actor a;
    (void)state;
    actor_init(&a, ELECT_BULLY, 3, 1, 1);
    assert_true(elect_leads(&a.node, 0));
    a.node.state = ELECT_ELECTING;
    assert_false(elect_leads(&a.node, 0));
    a.node.state = ELECT_NORMAL;
    a.node.leader = 2;
    assert_false(elect_leads(&a.node, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_input_may_come_in),
        cmocka_unit_test(any_input_may_come_in_under_a_mandate),
        cmocka_unit_test(forged_messages_are_refused),
        cmocka_unit_test(a_mislabelled_message_is_refused),
        cmocka_unit_test(equal_histories_give_equal_bytes),
        cmocka_unit_test(a_full_queue_drops_the_oldest),
        cmocka_unit_test(a_configuration_is_checked),
        cmocka_unit_test(ranks_follow_numbers_and_the_ring_the_order_given),
        cmocka_unit_test(every_event_algorithm_and_rule_has_a_name),
        cmocka_unit_test(a_term_has_a_text),
        cmocka_unit_test(without_a_mandate_the_winner_of_an_election_leads),
    };
    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
