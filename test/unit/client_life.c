/* Tests when a client asks, what it does when the daemon exits or restarts, how it resigns, and how
 * it is opened. */
#include "client.h"

#include "../skip.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the descriptor ---- */

static void the_descriptor_is_readable_when_it_is_time_to_ask(void **state)
{
    (void)state;
    int fd = elect_client_fd(client);
    assert_true(readable_within(0));
    question_is_under_way();
    is_quiet(heard.stamp, SILENCE);
    struct talk t = packet(TALK_TOLD, LEASE);
    t.renewal = 20 * MS;
    send_packet(t);
    asks(0, ELECT_CLIENT_FINE);
    assert_true(readable_within(FOREVER));
    assert_true(now() >= heard.stamp + 20 * MS);
    assert_true(now() < heard.stamp + LEASE / 2);
    assert_true(elect_client_valid(&answer));
    asks(0, ELECT_CLIENT_LATE);
    daemon_hears(TALK_LEASE);
    daemon_tells(0);
    asks(0, ELECT_CLIENT_FINE);
    assert_false(readable_within(0));
    daemon_says(TALK_NEWS);
    assert_true(readable_within(0));
    assert_true(readable_within(0));
    asks(0, ELECT_CLIENT_LATE);
    daemon_hears(TALK_LEASE);
    is_quiet(heard.stamp, SILENCE);
    daemon_ends();
    assert_true(readable_within(0));
    assert_int_equal(elect_client_fd(client), fd);
}

/* If the daemon names no renewal time, or one that is too late, the client renews after half of the
 * remaining time. */
static void a_short_promise_is_renewed_in_time(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        question_is_under_way();
        struct talk t = packet(TALK_TOLD, 300 * MS);
        t.renewal = i == 0 ? 0 : UINT32_MAX;
        send_packet(t);
        if (elect_client_ask(client, 0, &answer) == ELECT_CLIENT_FINE) {
            assert_true(readable_within(FOREVER));
            assert_true(now() >= heard.stamp + 150 * MS);
        } else {
            /* on a slow machine, the deadline may pass before the answer is read */
            assert_true(now() >= heard.stamp + 300 * MS);
        }
        daemon_ends();
        daemon_starts(SOCK_SEQPACKET, 16);
    }
    question_is_under_way();
    struct talk hasty = packet(TALK_TOLD, LEASE);
    hasty.renewal = 1;
    send_packet(hasty);
    asks(0, ELECT_CLIENT_FINE);
    assert_true(readable_within(FOREVER));
    assert_true(now() >= heard.stamp + MS);
}

static void a_client_finds_a_daemon_that_comes_back(void **state)
{
    (void)state;
    is_told(LEASE);
    daemon_ends();
    assert_true(readable_within(0));
    int64_t begin = now();
    asks(0, ELECT_CLIENT_NO_DAEMON);
    is_quiet(begin, RETRY);
    assert_true(readable_within(FOREVER));
    asks(100 * MS, ELECT_CLIENT_NO_DAEMON);
    daemon_starts(SOCK_SEQPACKET, 16);
    assert_true(readable_within(FOREVER));
    is_told(LEASE);
    assert_int_equal(answer.deadline, heard.stamp + LEASE);
}

/* The daemon restarts so fast that the client does not notice until it has asked. */
static void a_client_finds_a_restarted_daemon_in_one_call(void **state)
{
    (void)state;
    question_is_under_way();
    for (unsigned i = 0; i < 2; i++) {
        daemon_ends();
        daemon_starts(SOCK_SEQPACKET, 16);
        is_told(LEASE);
    }
}

/* One call does not keep reconnecting to a process that closes each connection at once. */
static void a_process_that_hangs_up_immediately_is_not_a_daemon(void **state)
{
    _Atomic unsigned *connections =
        mmap(NULL, sizeof *connections, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_true(connections != MAP_FAILED);
    if (in_a_child())
        for (;;) {
            int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
            ++*connections;
            close(fd);
        }
    for (unsigned i = 0; i < 2; i++) {
        unsigned before = *connections;
        asks(FOREVER * MS, ELECT_CLIENT_NO_DAEMON);
        assert_in_range(*connections - before, 1, 2);
    }
    munmap((void *)connections, sizeof *connections);
}

/* A forked child has a copy of the connection, which the client's epoll must not keep reporting. */
static void forked_children_do_not_disturb_a_client(void **state)
{
    int status;
    (void)state;
    is_told(LEASE);
    if (in_a_child()) {
        daemon_ends();
        raise(SIGSTOP);
    }
    assert_int_equal(waitpid(helper, &status, WUNTRACED), helper);
    assert_true(WIFSTOPPED(status));
    daemon_ends();
    int64_t begin = now();
    asks(0, ELECT_CLIENT_NO_DAEMON);
    is_quiet(begin, RETRY);
}

static void a_client_waits_while_the_queue_of_the_daemon_is_full(void **state)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = PATH};
    int others[2];
    (void)state;
    daemon_ends();
    daemon_starts(SOCK_SEQPACKET, 1);
    for (unsigned i = 0; i < 2; i++) {
        others[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(others[i], (struct sockaddr *)&at, sizeof at), 0);
    }
    asks(0, ELECT_CLIENT_LATE);
    int64_t begin = now();
    asks(30 * MS, ELECT_CLIENT_LATE);
    assert_true(now() - begin >= 30 * MS);
    for (unsigned i = 0; i < 2; i++) {
        accept_client();
        close(others[i]);
    }
    question_is_under_way();
}

/* ---- stopping and resigning ---- */

static void a_client_reports_that_its_work_has_stopped(void **state)
{
    (void)state;
    elect_client_stopped(client); /* no daemon to report to */
    is_told(LEASE);
    elect_client_stopped(client);
    daemon_hears(TALK_EMPTY);
    assert_false(readable_within(0));
}

/* The answer was sent before the daemon learned that the work had stopped. */
static void a_client_that_has_stopped_ignores_an_earlier_answer(void **state)
{
    (void)state;
    question_is_under_way();
    struct talk told = packet(TALK_TOLD, LEASE);
    elect_client_stopped(client);
    daemon_hears(TALK_EMPTY);
    assert_true(readable_within(0));
    send_packet(told);
    asks(0, ELECT_CLIENT_LATE);
    assert_false(answer.leads);
    daemon_hears(TALK_LEASE);
    assert_int_not_equal(heard.stamp, told.stamp);
    daemon_tells(LEASE);
    asks(0, ELECT_CLIENT_FINE);
    assert_int_equal(answer.deadline, heard.stamp + LEASE);
}

/* Stamps (the times of questions) differ even in quick succession. */
static void no_two_questions_have_the_same_stamp(void **state)
{
    int64_t before = 0;
    (void)state;
    asks(0, ELECT_CLIENT_LATE);
    accept_client();
    for (unsigned i = 0; i < 1000; i++) {
        daemon_hears(TALK_LEASE);
        assert_true(heard.stamp > before);
        before = heard.stamp;
        elect_client_stopped(client);
        asks(0, ELECT_CLIENT_LATE);
        daemon_hears(TALK_EMPTY);
    }
}

static void resigns(int64_t patience, enum elect_client_error expected)
{
    enum elect_client_error error = elect_client_resign(client, patience);
    assert_string_equal(elect_client_text(error), elect_client_text(expected));
}

static void resigning_is_done_or_refused(void **state)
{
    (void)state;
    is_told(LEASE);
    resigns(0, ELECT_CLIENT_LATE);
    daemon_hears(TALK_RESIGN);
    daemon_says(TALK_NEWS);
    daemon_says(TALK_DONE);
    resigns(0, ELECT_CLIENT_FINE);
    daemon_hears_nothing();
    assert_true(readable_within(0));
    resigns(0, ELECT_CLIENT_LATE);
    daemon_hears(TALK_RESIGN);
    struct talk t = packet(TALK_REFUSED, 0);
    snprintf(t.why, sizeof t.why, "it does not lead");
    send_packet(t);
    resigns(0, ELECT_CLIENT_REFUSED);
    assert_string_equal(elect_client_why(client), PATH ": it does not lead");
}

static void resigning_does_not_swallow_answers(void **state)
{
    (void)state;
    question_is_under_way();
    struct talk told = packet(TALK_TOLD, LEASE);
    resigns(0, ELECT_CLIENT_LATE);
    daemon_hears(TALK_RESIGN);
    send_packet(told);
    daemon_says(TALK_DONE);
    resigns(0, ELECT_CLIENT_FINE);
    assert_true(readable_within(0));
    asks(0, ELECT_CLIENT_LATE);
    daemon_hears(TALK_LEASE);
}

static void an_answer_to_a_resignation_does_not_answer_a_question(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        resigns(0, ELECT_CLIENT_LATE);
        if (i == 0)
            accept_client();
        daemon_hears(TALK_RESIGN);
        asks(0, ELECT_CLIENT_LATE);
        daemon_hears(TALK_LEASE);
        daemon_says(i == 0 ? TALK_REFUSED : TALK_DONE);
        daemon_tells(LEASE);
        asks(0, ELECT_CLIENT_FINE);
    }
    asks(0, ELECT_CLIENT_LATE);
    daemon_says(TALK_REFUSED);
    asks(0, ELECT_CLIENT_REFUSED);
}

static void resigning_works_with_a_new_daemon_and_fails_without_one(void **state)
{
    (void)state;
    is_told(LEASE);
    daemon_ends();
    daemon_starts(SOCK_SEQPACKET, 16);
    resigns(0, ELECT_CLIENT_LATE);
    accept_client();
    daemon_hears(TALK_RESIGN);
    hang_up();
    resigns(0, ELECT_CLIENT_NO_DAEMON); /* the request's outcome is unknown */
    daemon_ends();
    resigns(1000 * MS, ELECT_CLIENT_NO_DAEMON);
}

/* The queue of a daemon that does not read fills up. Even then, no call may wait forever. */
static void a_full_queue_does_not_block_a_call(void **state)
{
    unsigned said = 0;
    (void)state;
    is_told(LEASE);
    while (elect_client_resign(client, 0) == ELECT_CLIENT_LATE && said < 10000) {
        bool on_its_way = elect_client_resign(client, 0) == ELECT_CLIENT_LATE;
        assert_true(on_its_way);
        daemon_says(TALK_DONE);
        if (elect_client_resign(client, 0) != ELECT_CLIENT_FINE)
            break; /* DONE without a request */
        said++;
    }
    assert_true(said > 1 && said < 10000);
    asks(20 * MS, ELECT_CLIENT_LATE);
    for (unsigned i = 0; i < said; i++)
        daemon_hears(TALK_RESIGN);
    asks(0, ELECT_CLIENT_LATE);
    daemon_hears(TALK_LEASE);
}

static void refused_questions_say_why(void **state)
{
    (void)state;
    question_is_under_way();
    struct talk t = packet(TALK_REFUSED, 0);
    snprintf(t.why, sizeof t.why, "no such group: main");
    send_packet(t);
    asks(0, ELECT_CLIENT_REFUSED);
    assert_string_equal(elect_client_why(client), PATH ": no such group: main");
    is_quiet(heard.stamp, SILENCE);
    assert_true(readable_within(FOREVER));
}

/* ---- opening ---- */

static void opens(const char *socket, const char *group, enum elect_client_error expected)
{
    struct elect_client *another = NULL;
    enum elect_client_error error = elect_client_open(&another, socket, group);
    assert_string_equal(elect_client_text(error), elect_client_text(expected));
    assert_true((another != NULL) == (error == ELECT_CLIENT_FINE));
    elect_client_close(another);
}

static void names_that_do_not_fit_are_refused(void **state)
{
    char name[200];
    (void)state;
    memset(name, 'x', sizeof name);
    name[108] = '\0';
    opens(name, "main", ELECT_CLIENT_INVALID);
    name[107] = '\0';
    opens(name, "main", ELECT_CLIENT_FINE);
    name[64] = '\0';
    opens(PATH, name, ELECT_CLIENT_INVALID);
    name[63] = '\0';
    opens(PATH, name, ELECT_CLIENT_FINE);
    opens("", "main", ELECT_CLIENT_INVALID);
    opens(PATH, NULL, ELECT_CLIENT_FINE);
}

static void make_file(const char *name)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fclose(f);
}

/* The socket folder is `run` in the test's current folder: see meson.build. */
static void the_only_socket_is_found(void **state)
{
    (void)state;
    unsetenv("ELECT_SOCKET");
    opens(NULL, "main", ELECT_CLIENT_NO_DAEMON);
    assert_int_equal(mkdir("run", 0700), 0);
    opens(NULL, "main", ELECT_CLIENT_NO_DAEMON);
    make_file("run/member-1.status");
    make_file("run/member-01.run");
    make_file("run/member-x.run");
    opens(NULL, "main", ELECT_CLIENT_NO_DAEMON);
    unlink("run/member-1.status");
    unlink("run/member-01.run");
    unlink("run/member-x.run");
    assert_int_equal(rename(PATH, "run/" PATH), 0);
    elect_client_close(client);
    assert_int_equal(elect_client_open(&client, NULL, "main"), ELECT_CLIENT_FINE);
    is_told(LEASE);
    make_file("run/member-2.run");
    opens(NULL, "main", ELECT_CLIENT_SEVERAL);
}

static void the_environment_names_the_status_socket(void **state)
{
    (void)state;
    setenv("ELECT_SOCKET", "member-1.status", 1);
    elect_client_close(client);
    assert_int_equal(elect_client_open(&client, NULL, "main"), ELECT_CLIENT_FINE);
    unsetenv("ELECT_SOCKET");
    is_told(LEASE);
    elect_client_close(client);
    assert_int_equal(elect_client_open(&client, "member-1.status", "main"), ELECT_CLIENT_FINE);
    is_told(LEASE);
}

static void the_only_group_needs_no_name(void **state)
{
    (void)state;
    elect_client_close(client);
    assert_int_equal(elect_client_open(&client, PATH, NULL), ELECT_CLIENT_FINE);
    asks(0, ELECT_CLIENT_LATE);
    accept_client();
    assert_int_equal(recv(connection, &heard, sizeof heard, 0), sizeof heard);
    assert_string_equal(heard.group, "");
    daemon_tells(LEASE);
    asks(0, ELECT_CLIENT_FINE);
    assert_string_equal(answer.group, "main");
}

static void a_user_without_access_is_refused(void **state)
{
    int status;
    (void)state;
    NEEDS_ROOT();
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(PATH, 0600), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(setuid(OTHER_USER) == 0 ? (int)elect_client_ask(client, 0, &answer) : -1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), ELECT_CLIENT_FORBIDDEN);
}

static void a_lack_of_descriptors_is_reported(void **state)
{
    struct elect_client *many[1000];
    unsigned opened = 0;
    enum elect_client_error error = ELECT_CLIENT_FINE;
    struct rlimit before, few;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (opened < 1000 && error == ELECT_CLIENT_FINE)
        error = elect_client_open(&many[opened++], PATH, "main");
    assert_int_equal(error, ELECT_CLIENT_SYSTEM);
    assert_null(many[--opened]);
    int last = dup(0); /* take the last free descriptor, if any */
    asks(0, ELECT_CLIENT_SYSTEM);
    assert_string_equal(elect_client_why(client), PATH ": Too many open files");
    if (last >= 0)
        close(last);
    while (opened > 0)
        elect_client_close(many[--opened]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    asks(0, ELECT_CLIENT_LATE);
}

static void every_error_has_its_text(void **state)
{
    (void)state;
    for (int i = 0; i < ELECT_CLIENT_ERROR_COUNT; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(elect_client_text((enum elect_client_error)i),
                                    elect_client_text((enum elect_client_error)j));
    assert_string_equal(elect_client_text(ELECT_CLIENT_ERROR_COUNT), "no such error");
    assert_string_equal(elect_client_text((enum elect_client_error) - 1), "no such error");
    elect_client_close(NULL);
}

int test_life(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_descriptor_is_readable_when_it_is_time_to_ask),
        TEST(a_short_promise_is_renewed_in_time),
        TEST(a_client_finds_a_daemon_that_comes_back),
        TEST(a_client_finds_a_restarted_daemon_in_one_call),
        TEST(a_process_that_hangs_up_immediately_is_not_a_daemon),
        TEST(forked_children_do_not_disturb_a_client),
        TEST(a_client_waits_while_the_queue_of_the_daemon_is_full),
        TEST(a_client_reports_that_its_work_has_stopped),
        TEST(a_client_that_has_stopped_ignores_an_earlier_answer),
        TEST(no_two_questions_have_the_same_stamp),
        TEST(resigning_is_done_or_refused),
        TEST(resigning_does_not_swallow_answers),
        TEST(an_answer_to_a_resignation_does_not_answer_a_question),
        TEST(resigning_works_with_a_new_daemon_and_fails_without_one),
        TEST(a_full_queue_does_not_block_a_call),
        TEST(refused_questions_say_why),
        TEST(names_that_do_not_fit_are_refused),
        TEST(the_only_socket_is_found),
        TEST(the_environment_names_the_status_socket),
        TEST(the_only_group_needs_no_name),
        TEST(a_user_without_access_is_refused),
        TEST(a_lack_of_descriptors_is_reported),
        TEST(every_error_has_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
