/* Tests the functions that a host needs besides elect_step(): accessors, death reports and saved
 * state. */
#include "mandate.h"

static void an_office_has_a_token_and_an_end(void **state)
{
    struct voter *v = candidate(3);
    (void)state;
    assert_int_equal(elect_token(&v->a.node), 0);
    assert_int_equal(elect_until(&v->a.node), ELECT_UNSET);
    assert_false(elect_must_stop(&v->a.node));
    v = leader(3);
    assert_int_equal(elect_token(&v->a.node), term(1, 2));
    assert_int_equal(elect_until(&v->a.node), v->now + OFFICE);
    assert_false(elect_must_stop(&v->a.node));
    struct voter resigns = *v;
    struct elect_input in = elect_resigns(ELECT_NOBODY, v->now);
    elect_step(&resigns.a.config, &resigns.a.node, &in, &resigns.a.out);
    assert_true(elect_must_stop(&resigns.a.node));
    assert_int_equal(elect_token(&resigns.a.node), term(1, 2));
    v->now += OFFICE;
    happens(v, ELECT_ALARM);
    assert_int_equal(elect_token(&v->a.node), 0);
    assert_int_equal(elect_until(&v->a.node), ELECT_UNSET);
    assert_true(elect_must_stop(&v->a.node));
    happens(v, ELECT_STOPPED);
    assert_false(elect_must_stop(&v->a.node));
}

static void a_testament_ends_the_term_of_a_dead_member(void **state)
{
    struct voter *v = leader(3);
    struct voter dead = *v;
    struct elect_saved *saved = &dead.a.node.saved;
    (void)state;
    v = begin(3, 0);
    asks(v, 2, saved->used);
    assert_granted(v);
    struct elect_message m = elect_testament(&v->a.config, 2, saved->used, saved->incarnation);
    hears(v, 2, m);
    assert_rule(&v->a, TERM_IS_OVER);
    /* a death report ends the wait for the lease */
    asks(v, 1, term(2, 1));
    assert_granted(v);
}

/* The old configuration has ids 10, 20 and 30. The new one adds id 5, so all other ranks grow by
 * one. */
static void saved_state_follows_its_numbers_to_other_ranks(void **state)
{
    const uint16_t before[] = {10, 20, 30}, now[] = {5, 30, 20, 10};
    struct elect_config config;
    struct elect_saved saved = {.promised = term(7, 2), .used = term(3, 1), .incarnation = 4};
    uint16_t unknown = 0;
    (void)state;
    saved.membership = (struct elect_membership){
        .stamp = term(7, 2), .members = SET(0) | SET(1), .voters = 7, .before = 6, .version = 3};
    saved.closed[0] = (elect_term)2 << 16 | 10;
    saved.met[2] = 9;
    assert_int_equal(elect_config_init(&config, ELECT_BULLY, now, 4, 1, 0), ELECT_FINE);
    struct elect_saved moved = saved;
    assert_true(elect_saved_translate(&config, before, 3, &moved, &unknown));
    assert_int_equal(moved.membership.members, SET(1) | SET(2));
    assert_int_equal(moved.membership.voters, SET(1) | SET(2) | SET(3));
    assert_int_equal(moved.membership.before, SET(2) | SET(3));
    assert_int_equal(moved.membership.version, 3);
    assert_int_equal(moved.closed[1], saved.closed[0]);
    assert_int_equal(moved.closed[0], 0);
    assert_int_equal(moved.met[3], 9);
    assert_int_equal(moved.met[2], 0);
    assert_int_equal(moved.promised, saved.promised);
    assert_int_equal(moved.incarnation, saved.incarnation);
    assert_true(elect_saved_translate(&config, config.id, 4, &moved, &unknown));
    assert_int_equal(moved.membership.voters, SET(1) | SET(2) | SET(3));
}

static void a_membership_with_an_unknown_number_is_not_translated(void **state)
{
    const uint16_t before[] = {10, 20, 30}, now[] = {10, 20};
    struct elect_config config;
    struct elect_saved saved = {.membership = {.members = 3, .voters = 7, .before = 3}}, same;
    uint16_t unknown = 0;
    (void)state;
    memcpy(&same, &saved, sizeof same);
    assert_int_equal(elect_config_init(&config, ELECT_BULLY, now, 2, 1, 0), ELECT_FINE);
    assert_false(elect_saved_translate(&config, before, 3, &saved, &unknown));
    assert_int_equal(unknown, 30);
    assert_memory_equal(&saved, &same, sizeof same);
    saved.membership.voters = 3; /* `before` lists a process that is not configured */
    saved.membership.before = 7;
    assert_false(elect_saved_translate(&config, before, 3, &saved, &unknown));
    assert_false(elect_saved_translate(&config, before, 2, &saved, &unknown));
    saved.membership = (struct elect_membership){.members = 7, .voters = 3, .before = 3};
    assert_false(elect_saved_translate(&config, before, 3, &saved, &unknown));
    assert_int_equal(unknown, 30);
    saved.membership.members = saved.membership.before = 3;
    saved.met[2] = 9;
    assert_true(elect_saved_translate(&config, before, 3, &saved, &unknown));
    assert_int_equal(saved.met[2], 0);
}

static void the_largest_cluster_is_translated(void **state)
{
    uint16_t id[ELECT_MAX], unknown;
    struct elect_config config;
    struct elect_saved saved = {.membership = {.members = SET(63), .voters = ~0ull, .before = 1}};
    (void)state;
    for (uint16_t i = 0; i < ELECT_MAX; i++)
        id[i] = i;
    assert_int_equal(elect_config_init(&config, ELECT_BULLY, id, ELECT_MAX, 1, 0), ELECT_FINE);
    assert_true(elect_saved_translate(&config, id, ELECT_MAX, &saved, &unknown));
    assert_true(saved.membership.members == SET(63) && saved.membership.voters == ~0ull);
}

int test_embed(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_office_has_a_token_and_an_end),
        TEST(a_testament_ends_the_term_of_a_dead_member),
        TEST(saved_state_follows_its_numbers_to_other_ranks),
        TEST(a_membership_with_an_unknown_number_is_not_translated),
        TEST(the_largest_cluster_is_translated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
