/* Tests rule 12 of session.h: whatever counter was forged with the key, the two ends hear each
 * other again. */
#include "session.h"

/* Delivers DATA to member 1, forged with the key in the name of member 0. */
static enum session_news forge(struct pair *p, uint64_t counter)
{
    const struct session *n = &p->s[1].peer[0].now.with[0];
    uint8_t out[SEAL_MAX_PACKET], content[SESSION_HEADER] = {0};
    struct packet head = {PACKET_DATA, 1, 10, 11, n->take_tag, counter};
    size_t length =
        seal_write(&head, p->s[0].secret, n->take, p->s[1].cluster, content, sizeof content, out);
    sessions_take(&p->s[1], p->now, 0, out, length, &p->e);
    return (enum session_news)p->e.news;
}

static uint64_t highest_taken(const struct pair *p) { return p->s[1].peer[0].now.with[0].top; }

/* Lets the members exchange packets up to four times, until member 1 hears member 0. A member that
 * misses DATA sends a HELLO. */
static bool is_heard_again(struct pair *p)
{
    bool hears = false;
    for (unsigned i = 0; i < 4 && !hears; i++) {
        hears = talk(p, 0);
        p->now += 2 * SECOND;
        greet(p, 1);
    }
    return hears;
}

static void no_forged_counter_cuts_off_a_pair(void **state)
{
    struct pair *p = acquainted();
    uint8_t before[SEAL_MAX_PACKET];
    (void)state;
    size_t length = sessions_seal(&p->s[0], 0, words, sizeof words, before);
    deliver(p, 1, before, length);
    assert_int_equal(p->e.news, SESSION_DATA);
    assert_int_equal(forge(p, UINT64_MAX), SESSION_NOTHING);
    assert_int_equal(forge(p, UINT64_MAX - SESSION_WINDOW / 2), SESSION_NOTHING);
    assert_int_equal(forge(p, highest_taken(p) + SESSION_LEAP + 1), SESSION_NOTHING);
    assert_true(talk(p, 0));
    for (uint64_t leap = SESSION_WINDOW + 1; leap < SESSION_LEAP; leap *= 1024) {
        assert_int_equal(forge(p, highest_taken(p) + leap), SESSION_DATA);
        assert_true(is_heard_again(p));
        assert_true(talk(p, 0) && talk(p, 1));
        deliver(p, 1, before, length);
        assert_int_not_equal(p->e.news, SESSION_DATA);
    }
    /* one HELLO is enough, however often the counter has leapt */
    for (unsigned leaps = 1; leaps <= 1024; leaps *= 4) {
        for (unsigned i = 0; i < leaps; i++)
            assert_int_equal(forge(p, highest_taken(p) + SESSION_LEAP), SESSION_DATA);
        assert_true(is_heard_again(p));
        assert_true(talk(p, 0) && talk(p, 1));
        deliver(p, 1, before, length);
        assert_int_not_equal(p->e.news, SESSION_DATA);
    }
    struct session_peer *it = &p->s[1].peer[0];
    it->next_hello = 0;
    it->plainly = true;
    assert_true(greet(p, 1)); /* the last missed DATA causes one HELLO */
    it->next_hello = 0;
    assert_false(greet(p, 1));
}

/* Delivers a HELLO to member 0, forged with the key in the name of member 1. It claims `taken` as
 * the last HELLO and `top` as the highest DATA counter from member 0. */
static void forge_hello(struct pair *p, uint64_t number, uint64_t taken, uint64_t top)
{
    struct sessions forger = p->s[1];
    struct session_peer *to = &forger.peer[0];
    uint8_t out[SEAL_MAX_PACKET];
    to->numbered = number - 1;
    to->now.hellos = taken;
    to->now.with[0].top = top;
    to->now.with[0].out_of_step = true;
    to->next_hello = 0;
    to->plainly = true; /* send the nonce */
    size_t length = sessions_hello(&forger, 0, p->now, out);
    assert_true(length > 0);
    sessions_turn(&p->s[0]);
    sessions_take(&p->s[0], p->now, 0, out, length, &p->e);
}

/* Lets the members exchange packets up to eight times. Returns true once each end hears the other,
 * knows the other's keys, and has counted a new HELLO. */
static bool recovers(struct pair *p)
{
    bool fine = false;
    for (unsigned i = 0; i < 8 && !fine; i++) {
        fine = talk(p, 0);
        fine = talk(p, 1) && fine && p->s[0].peer[0].owed == 0 && p->s[1].peer[0].owed == 0 &&
               p->s[0].peer[0].digest == p->s[1].digest && p->s[1].peer[0].digest == p->s[0].digest;
        p->now += 2 * SECOND;
        greet(p, 0);
        greet(p, 1);
    }
    return fine;
}

static void no_forged_hello_cuts_off_a_pair(void **state)
{
    const uint64_t far[] = {0, 1, SESSION_LEAP, SESSION_LEAP + 1, UINT64_MAX / 2, UINT64_MAX - 1};
    const unsigned count = sizeof far / sizeof far[0];
    (void)state;
    for (unsigned i = 0; i < count * count * count; i++) {
        struct pair *p = acquainted();
        uint64_t number = far[i % count], taken = far[i / count % count];
        uint64_t top = far[i / count / count];
        uint8_t before[SEAL_MAX_PACKET];
        size_t length = sessions_seal(&p->s[0], 0, words, sizeof words, before);
        deliver(p, 1, before, length);
        for (unsigned times = 0; times < 3; times++)
            forge_hello(p, p->s[0].peer[0].now.hellos + (number > 0 ? number : 1), taken, top);
        sessions_configure(&p->s[0], 5, SECOND);
        sessions_configure(&p->s[1], 6, SECOND);
        assert_true(recovers(p));
        assert_true(talk(p, 0) && talk(p, 1));
        deliver(p, 1, before, length);
        assert_int_not_equal(p->e.news, SESSION_DATA);
    }
}

/* 2^24 forged packets use up the counters of a session. */
static void at_the_end_of_the_counters_no_packet_is_accepted_twice(void **state)
{
    struct pair *p = acquainted();
    uint8_t near[SEAL_MAX_PACKET];
    (void)state;
    p->s[1].peer[0].now.with[0].top = p->s[0].peer[0].now.with[0].sent = UINT64_MAX - 8;
    size_t length = sessions_seal(&p->s[0], 0, words, sizeof words, near);
    deliver(p, 1, near, length);
    assert_int_equal(p->e.news, SESSION_DATA);
    assert_int_equal(forge(p, UINT64_MAX), SESSION_DATA);
    deliver(p, 1, near, length);
    assert_int_equal(p->e.news, SESSION_HEARD);
    /* after 6 packets, the counter wraps to 0, which is too far behind */
    for (unsigned i = 0; i < 10; i++)
        assert_true(talk(p, 0) == (i < 6));
    assert_int_equal(forge(p, UINT64_MAX), SESSION_HEARD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_forged_counter_cuts_off_a_pair),
        cmocka_unit_test(no_forged_hello_cuts_off_a_pair),
        cmocka_unit_test(at_the_end_of_the_counters_no_packet_is_accepted_twice),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
