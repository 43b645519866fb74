/* Tests that every encoded message can be decoded, and that all other bytes are refused. */
#include "../support.h"

#include <string.h>

static const struct elect_config *cluster(unsigned n)
{
    static struct elect_config c;
    uint16_t ids[ELECT_MAX];
    uint8_t priority[ELECT_MAX];
    for (unsigned i = 0; i < n; i++) {
        ids[i] = (uint16_t)(i * 1000 + 3);
        /* ranks and ids are in different orders */
        priority[i] = (uint8_t)(i % 3);
    }
    assert_int_equal(elect_config_init(&c, ELECT_RING, ids, n, 1, 0), ELECT_FINE);
    elect_config_priorities(&c, priority);
    return &c;
}

static uint64_t some(struct dice *d, unsigned bits)
{
    return dice_below(d, 3) == 0 ? 0 : dice_throw(d) >> (64 - 1 - dice_below(d, bits));
}

static struct elect_message any(struct dice *d, unsigned n)
{
    elect_set all = ~(elect_set)0 >> (64 - n);
    uint8_t none = dice_below(d, 4) == 0;
    return (struct elect_message){
        .type =
            (uint8_t)(ELECT_FIRST_MESSAGE + dice_below(d, ELECT_FIRST_TIMER - ELECT_FIRST_MESSAGE)),
        .round = (uint32_t)some(d, 32),
        .seen = (uint32_t)some(d, 32),
        .what = (uint8_t)some(d, 8),
        .origin = none ? ELECT_NOBODY : (uint8_t)dice_below(d, n),
        .heir = none ? ELECT_NOBODY : (uint8_t)dice_below(d, n),
        .list = dice_throw(d) & all,
        .leading = (uint8_t)some(d, 1),
        .reason = (uint8_t)some(d, 3),
        .penalty = (uint8_t)some(d, 4),
        .able = (uint8_t)some(d, 1),
        .pause = (uint32_t)some(d, 32),
        .digest = (uint32_t)some(d, 32),
        .term = some(d, 64),
        .certificate = some(d, 64),
        .incarnation = (uint32_t)some(d, 32),
        .certified_by = (uint32_t)some(d, 32),
        .lease = (uint32_t)some(d, 32),
        .remaining = (uint32_t)some(d, 32),
        .membership = {.stamp = some(d, 64),
                       .version = (uint32_t)some(d, 32),
                       .members = dice_throw(d) & all,
                       .voters = dice_throw(d) & all,
                       .before = dice_throw(d) & all},
    };
}

/* Members with different builds must agree on these numbers. A change that breaks this test must
 * also raise SESSION_HIGHEST. */
static void message_types_have_fixed_numbers(void **state)
{
    static const uint8_t types[] = {
        ELECT_ELECTION, ELECT_OK,      ELECT_COORDINATOR, ELECT_NOTICE,    ELECT_LEADER,
        ELECT_ELECT,    ELECT_ELECTED, ELECT_ACK,         ELECT_HEARTBEAT, ELECT_PREVOTE,
        ELECT_AYE,      ELECT_REQUEST, ELECT_GRANT,       ELECT_REFUSE,    ELECT_RELEASE,
        ELECT_HAND,     ELECT_PRESENT, ELECT_FOLLOWING,   ELECT_FORGOT,    ELECT_REMEMBERS};
    (void)state;
    assert_int_equal(sizeof types, ELECT_FIRST_TIMER - ELECT_FIRST_MESSAGE);
    for (uint8_t i = 0; i < sizeof types; i++) {
        uint8_t bytes[ELECT_MAX_BYTES];
        struct elect_message m = {.type = types[i], .origin = ELECT_NOBODY, .heir = ELECT_NOBODY};
        assert_true(elect_encode(cluster(3), &m, bytes) > 0);
        assert_int_equal(bytes[0], i);
    }
    assert_int_equal(ELECT_PREVOTE, 19); /* appears in messages, in the field `what` */
}

static void an_encoded_message_is_decoded(void **state)
{
    struct dice d;
    size_t longest = 0;
    (void)state;
    dice_seed(&d, 1, DICE_LOSS);
    for (unsigned run = 0; run < 20000; run++) {
        const struct elect_config *c = cluster(run % 5 == 0 ? 64 : 1 + run % 7);
        struct elect_message m = any(&d, c->n), back;
        uint8_t bytes[ELECT_MAX_BYTES];
        size_t length = elect_encode(c, &m, bytes);
        longest = length > longest ? length : longest;
        assert_true(elect_decode(c, bytes, length, &back));
        assert_memory_equal(&m, &back, sizeof m);
        for (size_t shorter = 0; shorter < length; shorter++)
            assert_false(elect_decode(c, bytes, shorter, &back));
        bytes[length] = 0;
        assert_false(elect_decode(c, bytes, length + 1, &back));
    }
    assert_true(longest < ELECT_MAX_BYTES * 3 / 4);
}

/* If bytes can be decoded, encoding the result yields the same bytes. */
static void a_message_has_one_encoding(void **state)
{
    struct dice d;
    unsigned taken = 0;
    (void)state;
    dice_seed(&d, 2, DICE_LOSS);
    for (unsigned run = 0; run < 200000; run++) {
        const struct elect_config *c = cluster(1 + run % 7);
        struct elect_message m = any(&d, c->n);
        uint8_t bytes[ELECT_MAX_BYTES], again[ELECT_MAX_BYTES];
        /* accepted only if all processes in its sets are known */
        m.type = (uint8_t)ELECT_ELECTION;
        size_t length = elect_encode(c, &m, bytes);
        bytes[dice_below(&d, length)] ^= (uint8_t)(1 << dice_below(&d, 8));
        if (!elect_decode(c, bytes, length, &m))
            continue;
        taken++;
        assert_int_equal(elect_encode(c, &m, again), length);
        assert_memory_equal(bytes, again, length);
    }
    assert_true(taken > 1000);
}

static void ids_in_a_set_are_ascending(void **state)
{
    const struct elect_config *c = cluster(3); /* ids 3, 1003 and 2003 */
    uint8_t rising[] = {0, 0x10, 2, 3, 0xe8, 7}, same[] = {0, 0x10, 2, 3, 0};
    /* a list with id 1003 before id 3 */
    uint8_t round[] = {0,    0x10, 2,    0xeb, 7,    0x98, 0xf8, 0xff,
                       0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    uint8_t none[] = {0, 0x10, 0}, zero[] = {0, 0x10, 1, 0};
    uint8_t large[] = {0, 0x10, 2, 3, 0xff, 0xff, 3}; /* a list of ids 3 and 65538 */
    static const uint16_t ids[] = {0, 1};
    struct elect_config small;
    struct elect_message m;
    (void)state;
    assert_int_equal(elect_config_init(&small, ELECT_RING, ids, 2, 1, 0), ELECT_FINE);
    assert_true(elect_decode(&small, zero, sizeof zero, &m));
    assert_false(elect_decode(c, zero, sizeof zero, &m));
    assert_false(elect_decode(c, large, sizeof large, &m));
    assert_true(elect_decode(c, rising, sizeof rising, &m));
    assert_int_equal(__builtin_popcountll(m.list), 2);
    assert_false(elect_decode(c, same, sizeof same, &m));
    assert_false(elect_decode(c, round, sizeof round, &m));
    assert_false(elect_decode(c, none, sizeof none, &m));
}

static void a_renewal_is_short(void **state)
{
    const struct elect_config *c = cluster(3);
    struct elect_message m = {.type = ELECT_REQUEST,
                              .term = (elect_term)41 << 16 | 1003,
                              .round = 70000,
                              .list = 7,
                              .leading = 1,
                              .incarnation = 12,
                              .lease = 1000000,
                              .heir = 1,
                              .digest = 0xfedcba98,
                              .membership = {.members = 7, .voters = 7, .before = 7}};
    uint8_t bytes[ELECT_MAX_BYTES];
    (void)state;
    assert_true(elect_encode(c, &m, bytes) < 48);
}

/* Unknown processes are dropped from a set of heard processes, but refused in a membership or a
 * ring list. */
static void unknown_members_are_dropped_or_refused(void **state)
{
    struct elect_config large = *cluster(7);
    uint8_t bytes[ELECT_MAX_BYTES];
    struct elect_message m = {.type = ELECT_PRESENT, .list = 0x7f, .membership = {.members = 1}};
    m.membership.voters = m.membership.before = m.membership.members = (elect_set)1
                                                                       << elect_rank(&large, 3);
    size_t length = elect_encode(&large, &m, bytes);
    const struct elect_config *small = cluster(3);
    (void)state;
    assert_true(elect_decode(small, bytes, length, &m));
    assert_int_equal(m.list, 7);
    assert_int_equal(m.membership.members, (elect_set)1 << elect_rank(small, 3));
    m.membership.members = 0x7f;
    length = elect_encode(&large, &m, bytes);
    assert_false(elect_decode(small, bytes, length, &m));
    m = (struct elect_message){.type = ELECT_ELECTION, .round = 1, .list = 0x7f};
    length = elect_encode(&large, &m, bytes);
    assert_false(elect_decode(small, bytes, length, &m));
    m = (struct elect_message){.type = ELECT_ELECTION, .origin = elect_rank(&large, 6003)};
    length = elect_encode(&large, &m, bytes);
    assert_false(elect_decode(small, bytes, length, &m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_types_have_fixed_numbers),
        cmocka_unit_test(an_encoded_message_is_decoded),
        cmocka_unit_test(a_message_has_one_encoding),
        cmocka_unit_test(ids_in_a_set_are_ascending),
        cmocka_unit_test(a_renewal_is_short),
        cmocka_unit_test(unknown_members_are_dropped_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
