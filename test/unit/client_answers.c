/* Tests how a client handles valid, invalid, late and missing answers. */
#include "client.h"

#include "../skip.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- answers ---- */

static void an_answer_counts_from_the_question(void **state)
{
    int64_t before = now();
    (void)state;
    question_is_under_way();
    assert_true(heard.stamp >= before && heard.stamp <= now());
    daemon_tells(LEASE / 2);
    assert_true(readable_within(FOREVER));
    asks(0, ELECT_CLIENT_FINE);
    assert_true(answer.leads);
    assert_true(elect_client_valid(&answer));
    assert_int_equal(answer.deadline, heard.stamp + LEASE / 2);
    assert_int_equal(answer.token, 65537);
    assert_string_equal(answer.group, "main");
    assert_string_equal(answer.node, "a");
    assert_string_equal(answer.leader, "b");
    int64_t left = elect_client_left(&answer);
    assert_true(left > 0 && left <= LEASE / 2);
}

static void a_member_that_does_not_lead_has_no_token(void **state)
{
    (void)state;
    is_told(0);
    assert_false(answer.leads);
    assert_false(elect_client_valid(&answer));
    assert_int_equal(answer.token, 0);
    assert_int_equal(answer.deadline, 0);
    assert_int_equal(elect_client_left(&answer), 0);
    assert_string_equal(answer.leader, "b");
    /* another member leads, so the client waits for news before it asks again */
    assert_false(readable_within(20));
    answer.deadline = INT64_MAX;
    assert_false(elect_client_valid(&answer));
}

static void a_deadline_passes_by_itself(void **state)
{
    (void)state;
    int64_t before;
    is_told(LEASE);
    answer.deadline = now() + 20 * MS;
    while (before = now(), elect_client_valid(&answer))
        assert_true(before < answer.deadline);
    assert_true(now() >= answer.deadline);
    assert_true(answer.leads); /* `leads` stays true, so programs must check the deadline */
    assert_int_equal(elect_client_left(&answer), 0);
}

static void a_promise_is_never_longer_than_a_lease(void **state)
{
    (void)state;
    is_told(INT64_MAX);
    assert_int_equal(answer.deadline, heard.stamp + LEASE);
}

static void a_negative_promise_counts_as_none(void **state)
{
    (void)state;
    is_told(-1);
    assert_false(answer.leads);
    asks(0, ELECT_CLIENT_LATE);
    daemon_hears(TALK_LEASE);
    daemon_tells(INT64_MIN);
    asks(0, ELECT_CLIENT_FINE);
    assert_false(answer.leads);
    assert_int_equal(answer.deadline, 0);
}

static void a_client_can_ask_for_less_than_a_lease(void **state)
{
    (void)state;
    question_is_under_way();
    assert_int_equal(heard.left, 0);
    daemon_tells(0);
    asks(0, ELECT_CLIENT_FINE);
    elect_client_span(client, 100 * MS);
    asks(0, ELECT_CLIENT_LATE);
    daemon_hears(TALK_LEASE);
    assert_int_equal(heard.left, 100 * MS);
    daemon_tells(0);
    asks(0, ELECT_CLIENT_FINE);
    elect_client_span(client, -1);
    asks(0, ELECT_CLIENT_LATE);
    daemon_hears(TALK_LEASE);
    assert_int_equal(heard.left, 0);
}

static void a_promise_outlives_the_daemon(void **state)
{
    (void)state;
    is_told(LEASE);
    struct elect_client_answer before = answer;
    daemon_ends();
    asks(0, ELECT_CLIENT_NO_DAEMON);
    assert_memory_equal(&answer, &before, sizeof before);
    assert_string_equal(elect_client_why(client),
                        PATH ": no daemon runs here: start it with elect daemon");
}

/* ---- late answers ---- */

static void no_call_exceeds_its_patience(void **state)
{
    (void)state;
    int64_t begin = now();
    asks(30 * MS, ELECT_CLIENT_LATE);
    assert_true(now() - begin >= 30 * MS);
    assert_true(now() - begin < FOREVER * MS);
    assert_int_equal(elect_client_ask(client, -1, &answer), ELECT_CLIENT_INVALID);
    assert_int_equal(elect_client_resign(client, -1), ELECT_CLIENT_INVALID);
}

static void a_late_promise_is_valid(void **state)
{
    (void)state;
    question_is_under_way();
    asks(5 * MS, ELECT_CLIENT_LATE);
    daemon_hears_nothing();
    daemon_tells(LEASE);
    asks(5 * MS, ELECT_CLIENT_FINE);
    assert_int_equal(answer.deadline, heard.stamp + LEASE);
}

static void a_question_is_repeated_after_a_late_no(void **state)
{
    (void)state;
    question_is_under_way();
    daemon_tells(0);
    asks(5 * MS, ELECT_CLIENT_LATE);
    int64_t first = heard.stamp;
    daemon_hears(TALK_LEASE);
    assert_true(heard.stamp > first);
    daemon_tells(LEASE);
    asks(5 * MS, ELECT_CLIENT_FINE);
    assert_int_equal(answer.deadline, heard.stamp + LEASE);
}

static void a_question_is_repeated_after_an_expired_promise(void **state)
{
    (void)state;
    question_is_under_way();
    while (now() <= heard.stamp + 1)
        ;
    daemon_tells(1);
    asks(0, ELECT_CLIENT_LATE);
    assert_false(answer.leads);
    daemon_hears(TALK_LEASE);
    daemon_tells(LEASE);
    asks(0, ELECT_CLIENT_FINE);
    assert_true(elect_client_valid(&answer));
}

static void an_unanswered_question_is_repeated(void **state)
{
    (void)state;
    question_is_under_way();
    struct talk late = packet(TALK_TOLD, LEASE);
    is_quiet(heard.stamp, SILENCE);
    assert_true(readable_within(FOREVER));
    assert_true(now() - heard.stamp >= SILENCE);
    asks(0, ELECT_CLIENT_LATE);
    daemon_hears(TALK_LEASE);
    assert_true(heard.stamp > late.stamp);
    send_packet(late);
    daemon_tells(0);
    asks(0, ELECT_CLIENT_FINE);
    assert_false(answer.leads);
}

/* A lost answer delays the call by a second, not until its timeout. */
static void an_unanswered_question_is_repeated_in_one_call(void **state)
{
    (void)state;
    if (in_a_child()) {
        accept_client();
        for (unsigned i = 0; i < 2; i++) {
            struct pollfd poll_it = {.fd = connection, .events = POLLIN};
            poll(&poll_it, 1, FOREVER);
            daemon_hears(TALK_LEASE);
        }
        daemon_tells(LEASE);
        pause();
    }
    int64_t begin = now();
    asks(FOREVER * MS, ELECT_CLIENT_FINE);
    assert_true(answer.deadline - LEASE >= begin + SILENCE);
}

static void ignore(int number) { (void)number; }

static void signals_do_not_shorten_a_call(void **state)
{
    struct sigaction quiet = {.sa_handler = ignore}, before;
    struct itimerval often = {{0, MS}, {0, MS}}, never = {0};
    (void)state;
    sigaction(SIGALRM, &quiet, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    int64_t begin = now();
    enum elect_client_error error = elect_client_ask(client, 30 * MS, &answer);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    assert_int_equal(error, ELECT_CLIENT_LATE);
    assert_true(now() - begin >= 30 * MS);
}

/* ---- invalid answers ---- */

static struct talk altered(unsigned how)
{
    struct talk t = packet(TALK_TOLD, LEASE);
    switch (how) {
    case 0: t.magic = 0x52454c45; break;
    case 1: t.word = TALK_WORD_COUNT; break;
    case 2: t.word = TALK_GO; break; /* sent only to runs */
    case 3: t.word = TALK_LEASE; break;
    case 4: t.lease = 0; break;
    case 5: t.term = 0; break;
    case 6: snprintf(t.group, sizeof t.group, "other"); break;
    case 7: memset(t.node, 'x', sizeof t.node); break;
    case 8: memset(t.leader, 'x', sizeof t.leader); break;
    case 9: memset(t.group, 'x', sizeof t.group); break;
    case 10: memset(t.why, 'x', sizeof t.why); break;
    case 11: t.leader[0] = '\x1b'; break;
    case 12: t.node[0] = '\x7f'; break;
    default: fail();
    }
    return t;
}

static void an_invalid_packet_ends_the_connection(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 13; how++) {
        char byte;
        question_is_under_way();
        send_packet(altered(how));
        asks(0, ELECT_CLIENT_NONSENSE);
        assert_false(answer.leads);
        assert_int_equal(recv(connection, &byte, 1, 0), 0);
    }
}

static void packets_of_another_size_end_the_connection(void **state)
{
    struct talk t[2];
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        static const size_t sizes[] = {1, sizeof t[0] - 1, sizeof t[0] + 1};
        question_is_under_way();
        t[0] = packet(TALK_TOLD, LEASE);
        send_bytes(t, sizes[i]);
        asks(0, ELECT_CLIENT_NONSENSE);
        assert_false(answer.leads);
    }
    question_is_under_way();
    send_bytes(t, 0); /* looks like the end of the connection */
    asks(0, ELECT_CLIENT_LATE);
    accept_client();
    daemon_hears(TALK_LEASE);
    assert_false(answer.leads);
}

static void answers_with_other_stamps_are_ignored(void **state)
{
    (void)state;
    question_is_under_way();
    for (int i = 0; i < 4; i++) {
        struct talk t = packet(TALK_TOLD, LEASE);
        t.stamp = i == 0 ? t.stamp + 1 : i == 1 ? t.stamp - 1 : i == 2 ? INT64_MAX : 0;
        send_packet(t);
    }
    asks(0, ELECT_CLIENT_LATE);
    assert_false(answer.leads);
    daemon_tells(LEASE);
    daemon_tells(LEASE);
    asks(0, ELECT_CLIENT_FINE);
    assert_true(answer.leads);
    asks(0, ELECT_CLIENT_LATE);
}

static void endless_news_do_not_block_a_call(void **state)
{
    (void)state;
    if (in_a_child()) {
        accept_client();
        struct talk t = packet(TALK_NEWS, 0);
        for (;;)
            send(connection, &t, sizeof t, MSG_NOSIGNAL);
    }
    int64_t begin = now();
    asks(50 * MS, ELECT_CLIENT_LATE);
    assert_true(now() - begin >= 50 * MS);
    for (unsigned i = 0; i < 100; i++)
        asks(0, ELECT_CLIENT_LATE);
    assert_int_equal(elect_client_resign(client, 50 * MS), ELECT_CLIENT_LATE);
    assert_true(now() - begin < FOREVER * MS);
}

/* A call that must not wait reads only a limited number of packets. Here, more than that come
 * before the answer. */
static void a_call_reads_a_bounded_number_of_packets(void **state)
{
    int room = 1 << 22;
    (void)state;
    question_is_under_way();
    if (setsockopt(connection, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) != 0)
        SKIP_CASE("needs root");
    for (unsigned i = 0; i < 300; i++)
        daemon_says(TALK_NEWS);
    daemon_tells(LEASE);
    asks(0, ELECT_CLIENT_LATE);
    assert_true(readable_within(0));
    asks(0, ELECT_CLIENT_FINE);
    for (unsigned i = 0; i < 300; i++)
        daemon_says(TALK_NEWS);
    daemon_says(TALK_DONE);
    assert_int_equal(elect_client_resign(client, 0), ELECT_CLIENT_LATE);
    assert_int_equal(elect_client_resign(client, 0), ELECT_CLIENT_FINE);
}

static void a_stream_socket_is_refused(void **state)
{
    (void)state;
    daemon_ends();
    daemon_starts(SOCK_STREAM, 1);
    asks(0, ELECT_CLIENT_NONSENSE);
}

int test_answers(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_counts_from_the_question),
        TEST(a_member_that_does_not_lead_has_no_token),
        TEST(a_deadline_passes_by_itself),
        TEST(a_promise_is_never_longer_than_a_lease),
        TEST(a_negative_promise_counts_as_none),
        TEST(a_client_can_ask_for_less_than_a_lease),
        TEST(a_promise_outlives_the_daemon),
        TEST(no_call_exceeds_its_patience),
        TEST(a_late_promise_is_valid),
        TEST(a_question_is_repeated_after_a_late_no),
        TEST(a_question_is_repeated_after_an_expired_promise),
        TEST(an_unanswered_question_is_repeated),
        TEST(an_unanswered_question_is_repeated_in_one_call),
        TEST(signals_do_not_shorten_a_call),
        TEST(an_invalid_packet_ends_the_connection),
        TEST(packets_of_another_size_end_the_connection),
        TEST(answers_with_other_stamps_are_ignored),
        TEST(endless_news_do_not_block_a_call),
        TEST(a_call_reads_a_bounded_number_of_packets),
        TEST(a_stream_socket_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
