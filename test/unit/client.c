/* What a client makes of what a daemon says, or does not say: the daemon here is this test, which
 * answers by hand between two calls that do not wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/client/talk.h"
#include "elect-client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATH     "member-1.run"
#define MS       1000    /* microseconds */
#define LEASE    1000000 /* of the daemon here */
#define FOREVER  60000   /* milliseconds, for what takes one second at most */
#define SOMEBODY 12345

static char folder[64];
static int listener = -1, connection = -1;
static struct talk heard;
static struct elect_client *client;
static struct elect_client_answer answer;
static pid_t helper;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- the daemon ---- */

static void daemon_starts(int type, int backlog)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = PATH};
    unlink(PATH);
    listener = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, backlog), 0);
}

static void hang_up(void)
{
    if (connection >= 0)
        close(connection);
    connection = -1;
}

static void daemon_ends(void)
{
    hang_up();
    if (listener >= 0)
        close(listener);
    listener = -1;
}

static void accept_client(void)
{
    hang_up();
    connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(connection >= 0);
}

static void daemon_hears(enum talk_word word)
{
    assert_int_equal(recv(connection, &heard, sizeof heard, 0), sizeof heard);
    assert_int_equal(heard.magic, TALK_MAGIC);
    assert_int_equal(heard.word, word);
    assert_string_equal(heard.group, "main");
}

static void daemon_hears_nothing(void)
{
    assert_int_equal(recv(connection, &heard, sizeof heard, 0), -1);
    assert_int_equal(errno, EAGAIN);
}

static struct talk packet(enum talk_word word, int64_t left)
{
    struct talk t = {.magic = TALK_MAGIC,
                     .word = (uint8_t)word,
                     .stamp = heard.stamp,
                     .left = left,
                     .term = 65537,
                     .lease = LEASE,
                     .renewal = 200 * MS,
                     .group = "main",
                     .node = "a",
                     .leader = "b"};
    return t;
}

static void send_bytes(const void *bytes, size_t length)
{
    assert_int_equal(send(connection, bytes, length, MSG_NOSIGNAL), length);
}

static void send_packet(struct talk t) { send_bytes(&t, sizeof t); }

static void daemon_says(enum talk_word word) { send_packet(packet(word, 0)); }

static void daemon_tells(int64_t left) { send_packet(packet(TALK_TOLD, left)); }

/* ---- the client ---- */

static void asks(int64_t patience, enum elect_client_error expected)
{
    enum elect_client_error error = elect_client_ask(client, patience, &answer);
    assert_string_equal(elect_client_text(error), elect_client_text(expected));
}

static bool readable_within(int milliseconds)
{
    struct pollfd poll_it = {.fd = elect_client_fd(client), .events = POLLIN};
    return poll(&poll_it, 1, milliseconds) == 1;
}

/* Asked, and not answered yet. */
static void question_is_under_way(void)
{
    asks(0, ELECT_CLIENT_LATE);
    accept_client();
    daemon_hears(TALK_LEASE);
}

static void is_told(int64_t left)
{
    question_is_under_way();
    daemon_tells(left);
    asks(0, ELECT_CLIENT_FINE);
}

static int enter(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/elect-client-XXXXXX");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    memset(&answer, 0, sizeof answer);
    daemon_starts(SOCK_SEQPACKET, 16);
    return elect_client_open(&client, PATH, "main") == ELECT_CLIENT_FINE ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    if (helper > 0) {
        kill(helper, SIGKILL);
        waitpid(helper, NULL, 0);
    }
    helper = 0;
    elect_client_close(client);
    client = NULL;
    daemon_ends();
    for (unsigned i = 0; i < 3; i++) {
        static const char *const names[] = {PATH, "run/member-1.run", "run/member-2.run"};
        unlink(names[i]);
    }
    rmdir("run");
    return chdir("/") != 0 || rmdir(folder) != 0 ? -1 : 0;
}

/* In a process of its own, which lives on until the test is over. */
static bool in_a_child(void)
{
    pid_t parent = getpid();
    helper = fork();
    if (helper == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
    }
    return helper == 0;
}

/* ---- answers ---- */

static void an_answer_counts_from_the_question(void **state)
{
    int64_t before = now();
    (void)state;
    question_is_under_way();
    assert_true(heard.stamp >= before && heard.stamp <= now());
    daemon_tells(500 * MS);
    assert_true(readable_within(FOREVER));
    asks(0, ELECT_CLIENT_FINE);
    assert_true(answer.leads);
    assert_true(elect_client_valid(&answer));
    assert_int_equal(answer.deadline, heard.stamp + 500 * MS);
    assert_int_equal(answer.token, 65537);
    assert_string_equal(answer.group, "main");
    assert_string_equal(answer.node, "a");
    assert_string_equal(answer.leader, "b");
    int64_t left = elect_client_left(&answer);
    assert_true(left > 0 && left <= 500 * MS);
}

static void who_does_not_lead_has_no_token(void **state)
{
    (void)state;
    is_told(0);
    assert_false(answer.leads);
    assert_false(elect_client_valid(&answer));
    assert_int_equal(answer.token, 0);
    assert_int_equal(answer.deadline, 0);
    assert_int_equal(elect_client_left(&answer), 0);
    assert_string_equal(answer.leader, "b");
    assert_false(readable_within(20)); /* nothing is to be done until there are news */
    answer.deadline = INT64_MAX;
    assert_false(elect_client_valid(&answer));
}

static void a_deadline_passes_by_itself(void **state)
{
    (void)state;
    is_told(20 * MS);
    while (elect_client_valid(&answer))
        assert_true(now() - answer.deadline < 1000 * MS);
    assert_true(now() >= answer.deadline);
    assert_true(answer.leads); /* which is why nobody looks at that alone */
    assert_int_equal(elect_client_left(&answer), 0);
}

static void nobody_has_more_than_a_lease(void **state)
{
    (void)state;
    is_told(INT64_MAX);
    assert_int_equal(answer.deadline, heard.stamp + LEASE);
}

static void what_was_promised_outlives_the_daemon(void **state)
{
    (void)state;
    is_told(LEASE);
    struct elect_client_answer before = answer;
    daemon_ends();
    asks(0, ELECT_CLIENT_NO_DAEMON);
    assert_memory_equal(&answer, &before, sizeof before);
    assert_string_equal(elect_client_why(client),
                        PATH ": no daemon runs here: elect daemon starts it");
}

/* ---- late answers ---- */

static void no_call_takes_longer_than_it_may(void **state)
{
    (void)state;
    int64_t begin = now();
    asks(30 * MS, ELECT_CLIENT_LATE);
    assert_true(now() - begin >= 30 * MS);
    assert_true(now() - begin < 5000 * MS); /* a busy machine */
    assert_int_equal(elect_client_ask(client, -1, &answer), ELECT_CLIENT_INVALID);
    assert_int_equal(elect_client_resign(client, -1), ELECT_CLIENT_INVALID);
}

static void a_late_promise_is_a_promise(void **state)
{
    (void)state;
    question_is_under_way();
    asks(5 * MS, ELECT_CLIENT_LATE);
    daemon_hears_nothing(); /* one question is enough */
    daemon_tells(LEASE);
    asks(5 * MS, ELECT_CLIENT_FINE);
    assert_int_equal(answer.deadline, heard.stamp + LEASE);
}

static void a_late_no_is_asked_again(void **state)
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

static void a_promise_that_is_over_is_asked_again(void **state)
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

static void silence_is_asked_again(void **state)
{
    (void)state;
    question_is_under_way();
    struct talk late = packet(TALK_TOLD, LEASE);
    assert_false(readable_within(0));
    assert_true(readable_within(FOREVER));
    assert_true(now() - heard.stamp >= LEASE);
    asks(0, ELECT_CLIENT_LATE);
    daemon_hears(TALK_LEASE);
    assert_true(heard.stamp > late.stamp);
    send_packet(late); /* its time is over, and nobody waits for it */
    daemon_tells(0);
    asks(0, ELECT_CLIENT_FINE);
    assert_false(answer.leads);
}

/* Within one call, too: an answer that was lost costs a second, not the whole patience. */
static void silence_is_asked_again_in_one_call(void **state)
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
    asks(30000 * MS, ELECT_CLIENT_FINE);
    assert_true(answer.deadline - LEASE >= begin + 1000 * MS);
}

static void ignore(int number) { (void)number; }

static void signals_do_not_cut_it_short(void **state)
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

/* ---- lies ---- */

static struct talk altered(unsigned how)
{
    struct talk t = packet(TALK_TOLD, LEASE);
    switch (how) {
    case 0: t.magic = 0x52454c45; break;
    case 1: t.word = TALK_WORD_COUNT; break;
    case 2: t.word = TALK_GO; break; /* not for a client */
    case 3: t.word = TALK_LEASE; break;
    case 4: t.left = -1; break;
    case 5: t.left = INT64_MIN; break;
    case 6: t.lease = 0; break;
    case 7: t.term = 0; break;
    case 8: snprintf(t.group, sizeof t.group, "other"); break;
    case 9: memset(t.node, 'x', sizeof t.node); break;
    case 10: memset(t.leader, 'x', sizeof t.leader); break;
    case 11: memset(t.group, 'x', sizeof t.group); break;
    case 12: memset(t.why, 'x', sizeof t.why); break;
    case 13: t.leader[0] = '\x1b'; break;
    case 14: t.node[0] = '\x7f'; break;
    default: fail();
    }
    return t;
}

static void nonsense_ends_the_conversation(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 15; how++) {
        char byte;
        question_is_under_way();
        send_packet(altered(how));
        asks(0, ELECT_CLIENT_NONSENSE);
        assert_false(answer.leads);
        assert_int_equal(recv(connection, &byte, 1, 0), 0); /* it has hung up */
    }
}

static void packets_have_one_size(void **state)
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
    send_bytes(t, 0); /* cannot be told from an end */
    asks(0, ELECT_CLIENT_LATE);
    accept_client();
    daemon_hears(TALK_LEASE);
    assert_false(answer.leads);
}

static void foreign_stamps_answer_nothing(void **state)
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
    daemon_tells(LEASE); /* and once is enough */
    asks(0, ELECT_CLIENT_FINE);
    assert_true(answer.leads);
    asks(0, ELECT_CLIENT_LATE);
}

static void news_without_end_do_not_hold_it(void **state)
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
    assert_true(now() - begin < 10000 * MS);
}

/* How many packets are read in a call that must not wait is bounded: the answer is behind more. */
static void news_are_not_read_for_ever(void **state)
{
    int room = 1 << 22;
    (void)state;
    question_is_under_way();
    if (setsockopt(connection, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) != 0) {
        print_message("only root has room for so many packets: skipped\n");
        skip();
    }
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

static void another_kind_of_socket(void **state)
{
    (void)state;
    daemon_ends();
    daemon_starts(SOCK_STREAM, 1);
    asks(0, ELECT_CLIENT_NONSENSE);
}

/* ---- the descriptor ---- */

static void it_is_readable_when_it_is_time_to_ask(void **state)
{
    (void)state;
    int fd = elect_client_fd(client);
    assert_true(readable_within(0)); /* nothing was asked yet */
    question_is_under_way();
    assert_false(readable_within(0));
    struct talk t = packet(TALK_TOLD, 60 * LEASE);
    t.lease = 60 * LEASE;
    t.renewal = 20 * MS;
    send_packet(t);
    asks(0, ELECT_CLIENT_FINE);
    assert_true(readable_within(FOREVER));
    assert_true(now() >= heard.stamp + 20 * MS); /* renewed as often as the daemon's own */
    assert_true(now() < heard.stamp + 20 * LEASE);
    assert_true(elect_client_valid(&answer));
    asks(0, ELECT_CLIENT_LATE);
    daemon_hears(TALK_LEASE);
    daemon_tells(0);
    asks(0, ELECT_CLIENT_FINE);
    assert_false(readable_within(0));
    daemon_says(TALK_NEWS);
    assert_true(readable_within(0));
    assert_true(readable_within(0)); /* until it is asked */
    asks(0, ELECT_CLIENT_LATE);
    assert_false(readable_within(0));
    daemon_hears(TALK_LEASE);
    daemon_ends();
    assert_true(readable_within(0));
    assert_int_equal(elect_client_fd(client), fd);
}

/* Half of what is left, if the daemon says nothing useful of renewals. */
static void a_short_promise_is_renewed_in_time(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        question_is_under_way();
        struct talk t = packet(TALK_TOLD, 300 * MS);
        t.renewal = i == 0 ? 0 : UINT32_MAX;
        send_packet(t);
        asks(0, ELECT_CLIENT_FINE);
        assert_true(readable_within(FOREVER));
        assert_true(now() >= heard.stamp + 150 * MS);
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

static void a_daemon_that_comes_back_is_met(void **state)
{
    (void)state;
    is_told(LEASE);
    daemon_ends();
    assert_true(readable_within(0));
    asks(0, ELECT_CLIENT_NO_DAEMON);
    assert_false(readable_within(0)); /* it looks again, not at once but soon */
    assert_true(readable_within(900));
    asks(100 * MS, ELECT_CLIENT_NO_DAEMON);
    daemon_starts(SOCK_SEQPACKET, 16);
    assert_true(readable_within(FOREVER));
    is_told(LEASE);
    assert_int_equal(answer.deadline, heard.stamp + LEASE);
}

/* Nothing was noticed: neither while a question was under way, nor before one. */
static void a_daemon_that_was_restarted_is_met_in_one_call(void **state)
{
    (void)state;
    question_is_under_way();
    for (unsigned i = 0; i < 2; i++) {
        daemon_ends();
        daemon_starts(SOCK_SEQPACKET, 16);
        is_told(LEASE);
    }
}

/* A door that is shut at once is not tried again and again in one call. */
static void whoever_hangs_up_at_once_is_no_daemon(void **state)
{
    (void)state;
    if (in_a_child())
        for (;;)
            close(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
    asks(1000 * MS, ELECT_CLIENT_NO_DAEMON);
    int64_t begin = now();
    asks(1000 * MS, ELECT_CLIENT_NO_DAEMON);
    assert_true(now() - begin < 900 * MS);
}

/* A copy of the connection in a child would be watched for ever, and says that it has ended. */
static void forked_children_do_not_disturb(void **state)
{
    int status;
    (void)state;
    is_told(LEASE);
    if (in_a_child()) {
        daemon_ends(); /* of that it keeps nothing */
        raise(SIGSTOP);
    }
    assert_int_equal(waitpid(helper, &status, WUNTRACED), helper);
    assert_true(WIFSTOPPED(status));
    daemon_ends();
    asks(0, ELECT_CLIENT_NO_DAEMON);
    assert_false(readable_within(0));
}

static void a_queue_before_the_door(void **state)
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
    for (unsigned i = 0; i < 2; i++) {
        accept_client();
        close(others[i]);
    }
    question_is_under_way();
}

/* ---- resigning ---- */

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
    resigns(0, ELECT_CLIENT_FINE); /* of the one that was said */
    daemon_hears_nothing();
    assert_true(readable_within(0)); /* news were heard on the way: ask */
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

static void an_answer_to_a_resignation_is_none_to_a_question(void **state)
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

static void resigning_meets_a_new_daemon_and_no_daemon(void **state)
{
    (void)state;
    is_told(LEASE);
    daemon_ends();
    daemon_starts(SOCK_SEQPACKET, 16);
    resigns(0, ELECT_CLIENT_LATE);
    accept_client();
    daemon_hears(TALK_RESIGN);
    hang_up();
    resigns(0, ELECT_CLIENT_NO_DAEMON); /* what came of it nobody can say */
    daemon_ends();
    resigns(1000 * MS, ELECT_CLIENT_NO_DAEMON);
}

/* A daemon that does not read: the queue is full some time, and then nothing waits for ever. */
static void a_full_queue_is_late(void **state)
{
    unsigned said = 0;
    (void)state;
    is_told(LEASE);
    while (elect_client_resign(client, 0) == ELECT_CLIENT_LATE && said < 10000) {
        bool on_its_way = elect_client_resign(client, 0) == ELECT_CLIENT_LATE;
        assert_true(on_its_way);
        daemon_says(TALK_DONE);
        if (elect_client_resign(client, 0) != ELECT_CLIENT_FINE)
            break; /* the DONE came to one that was never said */
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
    assert_false(readable_within(0));
    assert_true(readable_within(FOREVER)); /* it may be made */
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

static void names_that_do_not_fit(void **state)
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

/* The folder of sockets is `run` below where this test is, see meson.build. */
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

static void not_everybody_may_ask(void **state)
{
    int status;
    (void)state;
    if (geteuid() != 0) {
        print_message("only root can be somebody else: skipped\n");
        skip();
    }
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(PATH, 0600), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(setuid(SOMEBODY) == 0 ? (int)elect_client_ask(client, 0, &answer) : -1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), ELECT_CLIENT_FORBIDDEN);
}

static void no_descriptor_is_left(void **state)
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
    int last = dup(0); /* one may be left over */
    asks(0, ELECT_CLIENT_SYSTEM);
    assert_string_equal(elect_client_why(client), PATH ": Too many open files");
    if (last >= 0)
        close(last);
    while (opened > 0)
        elect_client_close(many[--opened]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    asks(0, ELECT_CLIENT_LATE); /* and goes on when there are some */
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_counts_from_the_question),
        TEST(who_does_not_lead_has_no_token),
        TEST(a_deadline_passes_by_itself),
        TEST(nobody_has_more_than_a_lease),
        TEST(what_was_promised_outlives_the_daemon),
        TEST(no_call_takes_longer_than_it_may),
        TEST(a_late_promise_is_a_promise),
        TEST(a_late_no_is_asked_again),
        TEST(a_promise_that_is_over_is_asked_again),
        TEST(silence_is_asked_again),
        TEST(silence_is_asked_again_in_one_call),
        TEST(signals_do_not_cut_it_short),
        TEST(nonsense_ends_the_conversation),
        TEST(packets_have_one_size),
        TEST(foreign_stamps_answer_nothing),
        TEST(news_without_end_do_not_hold_it),
        TEST(news_are_not_read_for_ever),
        TEST(another_kind_of_socket),
        TEST(it_is_readable_when_it_is_time_to_ask),
        TEST(a_short_promise_is_renewed_in_time),
        TEST(a_daemon_that_comes_back_is_met),
        TEST(a_daemon_that_was_restarted_is_met_in_one_call),
        TEST(whoever_hangs_up_at_once_is_no_daemon),
        TEST(forked_children_do_not_disturb),
        TEST(a_queue_before_the_door),
        TEST(resigning_is_done_or_refused),
        TEST(resigning_does_not_swallow_answers),
        TEST(an_answer_to_a_resignation_is_none_to_a_question),
        TEST(resigning_meets_a_new_daemon_and_no_daemon),
        TEST(a_full_queue_is_late),
        TEST(refused_questions_say_why),
        TEST(names_that_do_not_fit),
        TEST(the_only_socket_is_found),
        TEST(the_environment_names_the_status_socket),
        TEST(the_only_group_needs_no_name),
        TEST(not_everybody_may_ask),
        TEST(no_descriptor_is_left),
        TEST(every_error_has_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
