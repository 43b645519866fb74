/* Tests each rule of the sessions. */
#include "session.h"

static void three_packets_make_a_session(void **state)
{
    struct pair *p = acquainted();
    (void)state;
    /* three HELLOs open the session: one with a nonce, one that returns it and adds a second, and
     * one that returns the second. Two DATA packets follow. */
    assert_int_equal(p->packets, 3 + 2);
    assert_true(sessions_lives(&p->s[0], 0, p->now) && sessions_lives(&p->s[1], 0, p->now));
    assert_false(greet(p, 0));
    p->now += SECOND; /* silence for a suspicion time */
    assert_true(greet(p, 0));
    assert_true(talk(p, 0) && talk(p, 1));
}

static void a_packet_is_accepted_once_and_in_any_order(void **state)
{
    static uint8_t sent[SESSION_WINDOW + 2][SEAL_MAX_PACKET];
    struct pair *p = acquainted();
    size_t length = 0;
    (void)state;
    for (unsigned i = 0; i < SESSION_WINDOW + 2; i++)
        length = sessions_seal(&p->s[0], 0, words, sizeof words, sent[i]);
    sessions_take(&p->s[1], p->now, 0, sent[SESSION_WINDOW], length, &p->e);
    assert_int_equal(p->e.news, SESSION_DATA);
    for (unsigned i = 1; i < SESSION_WINDOW; i++) {
        sessions_take(&p->s[1], p->now, 0, sent[i], length, &p->e);
        assert_int_equal(p->e.news, SESSION_DATA);
        sessions_take(&p->s[1], p->now, 0, sent[i], length, &p->e);
        assert_int_equal(p->e.news, SESSION_HEARD);
        assert_int_equal(p->e.length, 0);
    }
    sessions_take(&p->s[1], p->now, 0, sent[0], length, &p->e);
    assert_int_equal(p->e.news, SESSION_NOTHING);
    sessions_take(&p->s[1], p->now, 0, sent[SESSION_WINDOW + 1], length, &p->e);
    assert_int_equal(p->e.news, SESSION_DATA);
    sessions_take(&p->s[0], p->now, 0, sent[3], length, &p->e);
    assert_int_equal(p->e.news, SESSION_NOTHING);
}

static void two_packets_renew_a_session(void **state)
{
    struct pair *p = acquainted();
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        p->now += 2 * SECOND;
        p->packets = 0;
        assert_true(greet(p, i % 3 == 0));
        assert_int_equal(p->packets, 2);
        assert_true(sessions_lives(&p->s[0], 0, p->now) && sessions_lives(&p->s[1], 0, p->now));
    }
}

/* Returns true if the packet shows that the link works. */
static bool shows(struct pair *p, unsigned link, const uint8_t *bytes, size_t length)
{
    sessions_turn(&p->s[1]);
    sessions_take(&p->s[1], p->now, link, bytes, length, &p->e);
    return p->e.later;
}

static void a_repeated_packet_does_not_show_that_a_link_works(void **state)
{
    struct pair *p = acquainted();
    uint8_t first[SEAL_MAX_PACKET], second[SEAL_MAX_PACKET], hello[SEAL_MAX_PACKET];
    (void)state;
    size_t length = sessions_seal(&p->s[0], 0, words, sizeof words, first);
    sessions_seal(&p->s[0], 0, words, sizeof words, second);
    assert_true(shows(p, 0, first, length) && p->e.news == SESSION_DATA);
    /* the same packet again, but on another link */
    assert_true(shows(p, 1, first, length) && p->e.news == SESSION_HEARD);
    for (unsigned link = 0; link <= SESSION_LINKS; link++)
        assert_false(shows(p, link, first, length) && link < 2);
    assert_true(shows(p, 1, second, length) && p->e.newest);
    assert_true(shows(p, 0, second, length) && !p->e.newest);
    assert_false(shows(p, 0, first, length) || shows(p, 1, second, length));
    p->now += SECOND;
    /* the next HELLO contains the receiver's nonce, so it is recent */
    p->s[0].peer[0].plainly = true;
    length = sessions_hello(&p->s[0], 0, p->now, hello);
    assert_true(shows(p, 1, hello, length) && p->e.newest);
    assert_true(shows(p, 0, hello, length) && !p->e.newest);
    assert_false(shows(p, 0, hello, length) || shows(p, 1, hello, length));
    p->now += SECOND; /* the next HELLO lacks the nonce, so it may be old */
    length = sessions_hello(&p->s[0], 0, p->now, hello);
    assert_false(shows(p, 0, hello, length));
    assert_int_equal(p->e.news, SESSION_ANSWERED);
}

/* If a memory image is resumed twice, two processes encrypt with the same key and counter. */
static void no_nonce_is_used_for_two_contents(void **state)
{
    static struct sessions twin;
    struct pair *p = acquainted();
    uint8_t out[3][SEAL_MAX_PACKET], other[sizeof words] = "sword";
    (void)state;
    twin = p->s[0];
    size_t length = sessions_seal(&p->s[0], 0, words, sizeof words, out[0]);
    assert_int_equal(sessions_seal(&twin, 0, other, sizeof other, out[1]), length);
    const size_t salt = SEAL_HEAD - SEAL_SALT;
    assert_memory_equal(out[0], out[1], salt);
    assert_memory_not_equal(out[0] + salt, out[1] + salt, SEAL_SALT);
    sessions_seal(&p->s[0], 0, words, sizeof words, out[2]);
    assert_memory_not_equal(out[0] + salt, out[2] + salt, SEAL_SALT);
    uint8_t secret[SEAL_KEY];
    memcpy(secret, p->s[0].secret, SEAL_KEY);
    begin(p, 0, 2, 2);
    assert_memory_not_equal(secret, p->s[0].secret, SEAL_KEY);
}

static void a_restart_ends_earlier_sessions(void **state)
{
    struct pair *p = acquainted();
    uint8_t old[SEAL_MAX_PACKET], late[SEAL_MAX_PACKET];
    (void)state;
    size_t length = sessions_seal(&p->s[0], 0, words, sizeof words, old);
    sessions_seal(&p->s[1], 0, words, sizeof words, late);
    begin(p, 0, 2, 2);
    p->now += SECOND / 10;
    greet(p, 0);
    assert_true(talk(p, 0) && talk(p, 1));
    sessions_take(&p->s[1], p->now, 0, old, length, &p->e);
    assert_int_equal(p->e.news, SESSION_NOTHING);
    sessions_take(&p->s[0], p->now, 0, late, length, &p->e);
    assert_int_equal(p->e.news, SESSION_NOTHING);
}

static void a_member_that_is_rolled_back_or_cloned_must_stop(void **state)
{
    struct pair *p = acquainted();
    (void)state;
    p->s[0].sequence = 9;
    assert_true(talk(p, 0));
    begin(p, 0, 2, 5);
    p->now += SECOND;
    greet(p, 0);
    assert_int_equal(p->e.news, SESSION_MUST_STOP);
    assert_int_equal(p->e.why, SESSION_ROLLBACK);
    begin(p, 0, 2, 10);
    p->now += SECOND;
    greet(p, 0);
    assert_true(talk(p, 0) && talk(p, 1));
}

/* Starts a copy of a member that has been silent for this long. Returns why the copy is refused. */
static enum session_refusal refused_after(uint64_t silence)
{
    struct pair *p = acquainted();
    p->now += silence;
    p->s[1].peer[0].rejected = 0;
    begin(p, 0, 1, 1); /* same incarnation, but another boot id */
    greet(p, 0);
    assert_int_equal(p->e.news, SESSION_MUST_STOP);
    return (enum session_refusal)p->e.why;
}

static void a_copy_of_a_running_member_is_a_clone_and_of_a_silent_one_a_rollback(void **state)
{
    (void)state;
    assert_int_equal(refused_after(SECOND / 10), SESSION_CLONE);
    assert_int_equal(refused_after(10 * SECOND), SESSION_ROLLBACK);
}

static void a_member_without_its_state_may_ask_and_comes_back_in_a_new_era(void **state)
{
    struct pair *p = acquainted();
    (void)state;
    p->s[0].sequence = 9;
    assert_true(talk(p, 0) && !p->e.lost);
    begin_lost(p, 0);
    p->now += SECOND;
    greet(p, 0);
    assert_true(talk(p, 0));
    assert_true(p->e.lost);
    uint8_t out[SEAL_MAX_PACKET];
    assert_false(talk(p, 1)); /* addressed to the member before its restart */
    deliver(p, 0, out, sessions_seal_lost(&p->s[1], 0, words, sizeof words, out));
    assert_int_equal(p->e.news, SESSION_DATA);
    /* still the earlier incarnation */
    assert_int_equal(p->s[1].peer[0].known.incarnation, 1);
    begin(p, 0, ELECT_STARTS, 1);
    p->now += SECOND;
    greet(p, 0);
    assert_true(talk(p, 0) && !p->e.lost);
    assert_int_equal(p->s[1].peer[0].known.incarnation, ELECT_STARTS);
}

static void the_later_of_two_lives_without_state_counts(void **state)
{
    struct pair *p = acquainted();
    uint8_t first[SEAL_MAX_PACKET], word[SEAL_MAX_PACKET];
    (void)state;
    begin_lost(p, 0);
    greet(p, 0);
    memcpy(p->s[0].peer[0].hello[0].heard, p->s[1].key[0].nonce, SEAL_NONCE);
    p->s[0].peer[0].plainly = true; /* send the other end's nonce in the next HELLO */
    size_t length = sessions_hello(&p->s[0], 0, p->now += SECOND, first);
    deliver(p, 1, first, length);
    size_t size = sessions_seal(&p->s[0], 0, words, sizeof words, word);
    deliver(p, 1, word, size);
    assert_true(p->e.news == SESSION_DATA && p->e.lost);
    p->now += SECOND;
    begin_lost(p, 0);
    greet(p, 0);
    assert_true(talk(p, 0) && p->e.lost);
    sessions_take(&p->s[1], p->now, 0, first, length, &p->e);
    assert_int_equal(p->e.news, SESSION_NOTHING);
    sessions_take(&p->s[1], p->now, 0, word, size, &p->e);
    assert_int_equal(p->e.news, SESSION_NOTHING);
    assert_true(talk(p, 0));
    begin_lost(p, 0); /* same start time, so neither run is later */
    p->now += SECOND;
    greet(p, 0);
    assert_false(talk(p, 0));
}

/* ---- keys ---- */

static const uint8_t next[SEAL_KEY] = {77};

/* Returns two ends with the same two keys, installed in a different order. */
static struct pair *with_two_keys(void)
{
    struct pair *p = acquainted();
    sessions_add_key(&p->s[0], 1, 2, next);
    sessions_add_key(&p->s[1], 1, 2, next);
    sessions_use(&p->s[1], 1);
    sessions_remove_key(&p->s[1], 0);
    sessions_add_key(&p->s[1], 0, 1, key);
    for (unsigned i = 0; i < 4; i++) {
        p->now += SECOND;
        greet(p, i & 1);
    }
    return p;
}

/* Returns the id of the key that this end uses for DATA, or 0 if the DATA does not arrive. */
static uint8_t talks_with(struct pair *p, unsigned i)
{
    uint8_t out[SEAL_MAX_PACKET];
    size_t length = sessions_seal(&p->s[i], 0, words, sizeof words, out);
    deliver(p, 1 - i, out, length);
    return length > 0 && p->e.news == SESSION_DATA ? out[5] : 0;
}

static void a_key_is_replaced_without_a_stop(void **state)
{
    struct pair *p = acquainted();
    (void)state;
    sessions_add_key(&p->s[0], 1, 2, next);
    assert_true(greet(p, 0));
    assert_false(sessions_accepts(&p->s[0], 0, 1));
    sessions_use(&p->s[0], 1);
    p->now += SECOND;
    greet(p, 0);
    assert_true(talks_with(p, 0) == 1 && talks_with(p, 1) == 1);
    sessions_add_key(&p->s[1], 1, 2, next);
    uint8_t old[SEAL_MAX_PACKET];
    size_t length = sessions_seal(&p->s[1], 0, words, sizeof words, old);
    greet(p, 1);
    assert_true(sessions_accepts(&p->s[0], 0, 1) && sessions_accepts(&p->s[1], 0, 1));
    for (unsigned i = 0; i < 2; i++) {
        p->now += SECOND;
        greet(p, 0);
    }
    assert_true(talks_with(p, 0) == 2 && talks_with(p, 1) != 0);
    deliver(p, 0, old, length);
    assert_int_equal(p->e.news, SESSION_DATA);
    sessions_use(&p->s[1], 1);
    assert_int_equal(talks_with(p, 1), 2);
    sessions_remove_key(&p->s[0], 0);
    sessions_remove_key(&p->s[1], 0);
    assert_true(talks_with(p, 0) == 2 && talks_with(p, 1) == 2);
    deliver(p, 0, old, length);
    assert_int_equal(p->e.news, SESSION_NOTHING);
}

static void keys_have_no_order(void **state)
{
    struct pair *p = with_two_keys();
    (void)state;
    for (uint8_t round = 0; round < 6; round++) { /* each end switches keys in every round */
        sessions_use(&p->s[0], round & 1);
        sessions_use(&p->s[1], round & 1);
        for (unsigned i = 0; i < 4; i++) {
            p->now += SECOND / 2;
            greet(p, i & 1);
            assert_true(talks_with(p, 0) != 0 && talks_with(p, 1) != 0);
        }
        assert_true(talks_with(p, 0) == 1 + (round & 1) && talks_with(p, 1) == 1 + (round & 1));
        assert_false(greet(p, 0) || greet(p, 1));
    }
}

static void two_members_that_use_different_keys_need_few_hellos(void **state)
{
    struct pair *p = with_two_keys();
    unsigned hellos = 0;
    (void)state;
    sessions_use(&p->s[1], 1);
    sessions_use(&p->s[0], 0);
    for (unsigned i = 0; i < 200; i++) { /* ten seconds of simulated time */
        p->now += SECOND / 20;
        hellos += greet(p, 0);
        hellos += greet(p, 1);
        assert_true(talks_with(p, 0) != 0 && talks_with(p, 1) != 0);
    }
    assert_true(hellos <= 2 * 2 * 10);
    assert_true(sessions_speaks_with(&p->s[1], 0, 0, p->now));
    assert_false(sessions_speaks_with(&p->s[1], 0, 1, p->now));
    assert_true(sessions_speaks_with(&p->s[0], 0, 1, p->now));
    assert_false(sessions_speaks_with(&p->s[0], 0, 1, p->now + SECOND));
}

/* Followers exchange no DATA, but their key still counts as in use. */
static void a_key_under_which_a_peer_asks_is_in_use(void **state)
{
    struct pair *p = with_two_keys();
    (void)state;
    sessions_use(&p->s[0], 1);
    sessions_use(&p->s[1], 1);
    for (unsigned round = 0; round < 4; round++) {
        p->now += SECOND;
        greet(p, round & 1);
    }
    sessions_use(&p->s[0], 0);
    for (unsigned round = 0; round < 2; round++) {
        p->now += SECOND / 5;
        greet(p, 0);
    }
    assert_true(sessions_speaks_with(&p->s[1], 0, 0, p->now));
    assert_false(sessions_speaks_with(&p->s[1], 0, 1, p->now));
    assert_true(sessions_speaks_with(&p->s[0], 0, 1, p->now));
}

static void a_key_that_the_peer_removed_is_not_used(void **state)
{
    struct pair *p = with_two_keys();
    (void)state;
    sessions_use(&p->s[0], 0);
    for (unsigned i = 0; i < 4; i++) {
        p->now += SECOND / 2;
        greet(p, i & 1);
        assert_true(talk(p, 0) && talk(p, 1));
    }
    sessions_remove_key(&p->s[1], 0);
    for (unsigned i = 0; i < 4; i++) {
        p->now += SECOND / 2;
        greet(p, 0);
        greet(p, 1);
        talk(p, 1);
    }
    assert_int_equal(talks_with(p, 0), 2);
    assert_false(sessions_accepts(&p->s[0], 0, 0));
    sessions_add_key(&p->s[1], 0, 1, key);
    for (unsigned i = 0; i < 4; i++) {
        p->now += SECOND / 2;
        greet(p, 0);
        greet(p, 1);
    }
    assert_int_equal(talks_with(p, 0), 1);
    assert_true(sessions_accepts(&p->s[0], 0, 0));
}

/* The last of the three opening packets is lost, so the other end has no session under the new
 * key. */
static void nothing_is_sent_in_a_session_that_the_peer_may_lack(void **state)
{
    struct pair *p = acquainted();
    uint8_t out[SEAL_MAX_PACKET];
    (void)state;
    sessions_add_key(&p->s[0], 1, 2, next);
    sessions_add_key(&p->s[1], 1, 2, next);
    sessions_use(&p->s[0], 1);
    p->s[0].peer[0].plainly = false; /* no nonce in the next HELLO */
    size_t length = sessions_hello(&p->s[0], 0, p->now += SECOND, out);
    sessions_take(&p->s[1], p->now, 0, out, length, &p->e);
    length = p->e.answer_length;
    memcpy(out, p->e.answer, length);
    sessions_take(&p->s[0], p->now, 0, out, length, &p->e);
    assert_int_equal(p->e.news, SESSION_OPENED);
    assert_int_equal(talks_with(p, 0), 1);
    p->now += SECOND;
    greet(p, 0);
    assert_int_equal(talks_with(p, 0), 2);
}

static void a_new_life_ends_the_former_sessions_under_every_key(void **state)
{
    struct pair *p = with_two_keys();
    uint8_t old[SEAL_MAX_PACKET];
    (void)state;
    sessions_use(&p->s[0], 1);
    p->now += SECOND;
    greet(p, 0);
    size_t length = sessions_seal(&p->s[0], 0, words, sizeof words, old);
    assert_int_equal(old[5], 2);
    begin(p, 0, 2, 2);
    p->now += SECOND;
    greet(p, 0);
    assert_int_equal(talks_with(p, 0), 1);
    deliver(p, 1, old, length);
    assert_int_equal(p->e.news, SESSION_NOTHING);
}

static void a_key_that_is_installed_again_is_a_later_one(void **state)
{
    struct pair *p = with_two_keys();
    uint8_t late[SEAL_MAX_PACKET], out[SEAL_MAX_PACKET];
    (void)state;
    sessions_use(&p->s[0], 1);
    p->s[0].peer[0].plainly = true; /* send the other end's nonce in the next HELLO */
    size_t length = sessions_hello(&p->s[0], 0, p->now += SECOND, late);
    deliver(p, 1, late, length);
    assert_int_equal(talks_with(p, 0), 2);
    /* like a memory image that is resumed a second time */
    struct sessions twin = p->s[0];
    sessions_use(&p->s[0], 0);
    sessions_remove_key(&p->s[0], 1);
    sessions_add_key(&p->s[0], 1, 2, next);
    sessions_use(&p->s[0], 1);
    for (unsigned i = 0; i < 2; i++) {
        p->now += SECOND;
        greet(p, 0);
    }
    assert_int_equal(talks_with(p, 0), 2);
    deliver(p, 1, late, length);
    assert_int_equal(p->e.news, SESSION_NOTHING);
    assert_int_equal(talks_with(p, 0), 2);
    sessions_use(&twin, 0);
    sessions_remove_key(&twin, 1);
    sessions_add_key(&twin, 1, 2, next);
    sessions_use(&twin, 1);
    memcpy(twin.peer[0].hello[1].heard, p->s[1].key[1].nonce, SEAL_NONCE);
    twin.peer[0].plainly = true;
    length = sessions_hello(&twin, 0, p->now += SECOND, out);
    sessions_take(&p->s[1], p->now, 0, out, length, &p->e);
    assert_int_equal(p->e.news, SESSION_REFUSED);
    assert_int_equal(p->e.why, SESSION_CLONE);
    assert_int_equal(talks_with(p, 0), 2);
}

static void a_hello_that_is_repeated_does_nothing(void **state)
{
    struct pair *p = acquainted();
    uint8_t old[SEAL_MAX_PACKET];
    (void)state;
    p->s[0].peer[0].plainly = true;
    size_t length = sessions_hello(&p->s[0], 0, p->now += SECOND, old);
    deliver(p, 1, old, length);
    assert_true(sessions_lives(&p->s[1], 0, p->now));
    sessions_add_key(&p->s[0], 1, 2, next);
    sessions_add_key(&p->s[1], 1, 2, next);
    p->now += SECOND;
    greet(p, 0);
    assert_true(sessions_accepts(&p->s[1], 0, 1));
    p->now += SECOND;
    assert_false(sessions_lives(&p->s[1], 0, p->now));
    deliver(p, 1, old, length);
    assert_true(p->e.news == SESSION_HEARD && p->e.answer_length == 0);
    assert_false(sessions_lives(&p->s[1], 0, p->now));
    assert_true(sessions_accepts(&p->s[1], 0, 1));
}

/* A HELLO sent before the peer heard of the new keys does not confirm them. */
static void a_peer_is_told_of_new_keys_until_it_knows_them(void **state)
{
    struct pair *p = acquainted();
    uint8_t out[SEAL_MAX_PACKET];
    (void)state;
    p->s[1].peer[0].plainly = true;
    size_t length = sessions_hello(&p->s[1], 0, p->now += SECOND, out);
    sessions_add_key(&p->s[0], 1, 2, next);
    sessions_take(&p->s[0], p->now, 0, out, length, &p->e);
    assert_int_equal(p->e.news, SESSION_ANSWERED);
    assert_true(sessions_hello(&p->s[0], 0, p->now, out) > 0);
    p->now = sessions_next(&p->s[0], 0);
    assert_true(greet(p, 0));
    sessions_add_key(&p->s[1], 1, 2, next);
    assert_true(sessions_accepts(&p->s[1], 0, 1));
    assert_false(greet(p, 0));
    p->now = sessions_next(&p->s[0], 0) - 1;
    assert_false(greet(p, 0));
    p->now++;
    assert_true(greet(p, 0));
}

static void members_speak_the_highest_common_protocol_or_none(void **state)
{
    struct pair *p = acquainted();
    struct seal_end a = {1, 1, key}, b = {2, 1, key};
    uint8_t one[SEAL_KEY], two[SEAL_KEY];
    (void)state;
    p->now += SECOND;
    begin(p, 0, 2, 2);
    p->s[0].lowest = SESSION_HIGHEST + 1;
    p->s[0].highest = SESSION_HIGHEST + 2;
    greet(p, 0);
    assert_int_equal(p->e.news, SESSION_REFUSED);
    assert_string_equal(session_refusal_text((enum session_refusal)p->e.why),
                        "speaks no common protocol");
    assert_false(talk(p, 0));
    assert_int_equal(p->s[1].peer[0].known.incarnation, 1);
    begin(p, 1, 2, 2);
    p->s[1].highest = SESSION_HIGHEST + 1;
    p->now += SECOND;
    greet(p, 1);
    assert_true(talk(p, 0) && talk(p, 1));
    seal_session_key(one, key, &a, &b, 1);
    seal_session_key(two, key, &a, &b, 2);
    assert_memory_not_equal(one, two, SEAL_KEY);
}

/* Each turn of the loop handles a limited number of HELLOs, including forged ones. */
static void hellos_get_a_bounded_part_of_a_turn(void **state)
{
    struct pair *p = acquainted();
    uint8_t good[SEAL_MAX_PACKET], bad[SEAL_MAX_PACKET];
    (void)state;
    size_t length = sessions_hello(&p->s[0], 0, p->now += 5 * SECOND, good);
    memcpy(bad, good, length);
    bad[length - 1] ^= 1;
    for (unsigned i = 0; i < SESSION_HELLOS; i++)
        sessions_take(&p->s[1], p->now, 0, bad, length, &p->e);
    sessions_take(&p->s[1], p->now, 0, good, length, &p->e);
    assert_int_equal(p->e.news, SESSION_NOTHING);
    size_t size = sessions_seal(&p->s[0], 0, words, sizeof words, bad);
    sessions_take(&p->s[1], p->now, 0, bad, size, &p->e);
    assert_int_equal(p->e.news, SESSION_DATA);
    sessions_turn(&p->s[1]);
    sessions_take(&p->s[1], p->now, 0, good, length, &p->e);
    assert_int_equal(p->e.news, SESSION_ANSWERED);
}

static void a_testament_is_opened_by_its_receiver_alone_and_only_until_the_next_life(void **state)
{
    struct pair *p = acquainted();
    uint8_t will[SEAL_MAX_PACKET];
    (void)state;
    size_t length = sessions_testament(&p->s[0], 0, 1, words, sizeof words, will);
    deliver(p, 1, will, length);
    assert_int_equal(p->e.news, SESSION_TESTAMENT);
    assert_memory_equal(p->e.content, words, sizeof words);
    deliver(p, 1, will, length);
    assert_int_equal(p->e.news, SESSION_TESTAMENT);
    deliver(p, 0, will, length);
    assert_int_equal(p->e.news, SESSION_NOTHING);
    will[4] = PACKET_DATA;
    deliver(p, 1, will, length);
    assert_int_equal(p->e.news, SESSION_NOTHING);
    will[4] = PACKET_TESTAMENT;
    begin(p, 0, 2, 2);
    p->now += SECOND / 10;
    greet(p, 0);
    assert_true(talk(p, 0));
    deliver(p, 1, will, length);
    assert_int_equal(p->e.news, SESSION_NOTHING);
}

static void every_tag_that_may_come_in_is_known_to_the_filter(void **state)
{
    struct pair *p = acquainted();
    uint32_t tags[SESSION_PEERS * SESSION_TAGS];
    uint8_t out[SEAL_MAX_PACKET];
    struct packet head;
    (void)state;
    unsigned count = sessions_tags(&p->s[1], tags, sizeof tags / sizeof tags[0]), found = 0;
    size_t length = sessions_seal(&p->s[0], 0, words, sizeof words, out);
    assert_true(seal_head(out, length, &head));
    for (unsigned i = 0; i < count; i++)
        found += tags[i] == head.tag;
    length = sessions_testament(&p->s[0], 0, 1, words, sizeof words, out);
    assert_true(seal_head(out, length, &head));
    for (unsigned i = 0; i < count; i++)
        found += tags[i] == head.tag;
    p->now += 5 * SECOND;
    for (unsigned hellos = 0; hellos < 2; hellos++) { /* with and without a nonce */
        length = sessions_hello(&p->s[0], 0, p->now += SECOND, out);
        assert_true(seal_head(out, length, &head));
        for (unsigned i = 0; i < count; i++)
            found += tags[i] == head.tag;
    }
    assert_int_equal(found, 4);
}

/* If an attacker repeats a packet from before a member's restart, the receiver only reports it,
 * once a second. */
static void a_repeated_former_life_is_reported_once_a_second(void **state)
{
    struct pair *p = acquainted();
    uint8_t old[SEAL_MAX_PACKET];
    unsigned told = 0;
    (void)state;
    p->now += 2 * SECOND;
    p->s[0].peer[0].plainly = true; /* send the other end's nonce in the next HELLO */
    size_t length = sessions_hello(&p->s[0], 0, p->now, old);
    begin(p, 0, 2, 2);
    greet(p, 0);
    assert_true(talk(p, 0) && talk(p, 1));
    for (unsigned i = 0; i < 1000; i++) {
        sessions_turn(&p->s[1]);
        sessions_take(&p->s[1], p->now += SECOND / 1000, 0, old, length, &p->e);
        told += p->e.news == SESSION_REFUSED;
    }
    assert_true(told >= 1 && told <= 2);
    assert_true(talk(p, 0) && talk(p, 1));
}

static void a_key_under_which_a_peer_only_answers_is_not_in_use(void **state)
{
    struct pair *p = acquainted();
    (void)state;
    sessions_add_key(&p->s[0], 1, 2, next);
    sessions_add_key(&p->s[1], 1, 2, next);
    assert_int_equal(talks_with(p, 1), 1);
    sessions_use(&p->s[0], 1);
    p->now += 1;
    greet(p, 0);
    assert_true(sessions_speaks_with(&p->s[0], 0, 0, p->now));
    assert_false(sessions_speaks_with(&p->s[0], 0, 1, p->now));
}

/* Only some copies of a repeated HELLO are answered. */
static void answers_have_a_budget(void **state)
{
    struct pair *p = acquainted();
    uint8_t out[SEAL_MAX_PACKET];
    unsigned answers = 0;
    (void)state;
    p->now += 5 * SECOND;
    p->s[0].peer[0].plainly = false; /* no nonce in the next HELLO, so it may be of any age */
    size_t length = sessions_hello(&p->s[0], 0, p->now, out);
    for (unsigned i = 0; i < 1000; i++) {
        sessions_turn(&p->s[1]);
        sessions_take(&p->s[1], p->now += SECOND / 1000, 0, out, length, &p->e);
        answers += p->e.answer_length > 0;
    }
    assert_true(answers > 0 && answers <= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_packets_make_a_session),
        cmocka_unit_test(a_packet_is_accepted_once_and_in_any_order),
        cmocka_unit_test(two_packets_renew_a_session),
        cmocka_unit_test(a_repeated_packet_does_not_show_that_a_link_works),
        cmocka_unit_test(no_nonce_is_used_for_two_contents),
        cmocka_unit_test(a_restart_ends_earlier_sessions),
        cmocka_unit_test(a_member_that_is_rolled_back_or_cloned_must_stop),
        cmocka_unit_test(a_copy_of_a_running_member_is_a_clone_and_of_a_silent_one_a_rollback),
        cmocka_unit_test(a_member_without_its_state_may_ask_and_comes_back_in_a_new_era),
        cmocka_unit_test(the_later_of_two_lives_without_state_counts),
        cmocka_unit_test(a_key_is_replaced_without_a_stop),
        cmocka_unit_test(keys_have_no_order),
        cmocka_unit_test(two_members_that_use_different_keys_need_few_hellos),
        cmocka_unit_test(a_key_under_which_a_peer_asks_is_in_use),
        cmocka_unit_test(a_key_that_the_peer_removed_is_not_used),
        cmocka_unit_test(nothing_is_sent_in_a_session_that_the_peer_may_lack),
        cmocka_unit_test(a_new_life_ends_the_former_sessions_under_every_key),
        cmocka_unit_test(a_key_that_is_installed_again_is_a_later_one),
        cmocka_unit_test(a_hello_that_is_repeated_does_nothing),
        cmocka_unit_test(a_peer_is_told_of_new_keys_until_it_knows_them),
        cmocka_unit_test(members_speak_the_highest_common_protocol_or_none),
        cmocka_unit_test(hellos_get_a_bounded_part_of_a_turn),
        cmocka_unit_test(a_testament_is_opened_by_its_receiver_alone_and_only_until_the_next_life),
        cmocka_unit_test(every_tag_that_may_come_in_is_known_to_the_filter),
        cmocka_unit_test(answers_have_a_budget),
        cmocka_unit_test(a_repeated_former_life_is_reported_once_a_second),
        cmocka_unit_test(a_key_under_which_a_peer_only_answers_is_not_in_use),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
