#include "client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

char folder[64];
int listener = -1, connection = -1;
struct talk heard;
struct elect_client *client;
struct elect_client_answer answer;
pid_t helper;

int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- the daemon ---- */

void daemon_starts(int type, int backlog)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = PATH};
    unlink(PATH);
    listener = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, backlog), 0);
}

void hang_up(void)
{
    if (connection >= 0)
        close(connection);
    connection = -1;
}

void daemon_ends(void)
{
    hang_up();
    if (listener >= 0)
        close(listener);
    listener = -1;
}

void accept_client(void)
{
    hang_up();
    connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(connection >= 0);
}

void daemon_hears(enum talk_word word)
{
    assert_int_equal(recv(connection, &heard, sizeof heard, 0), sizeof heard);
    assert_int_equal(heard.magic, TALK_MAGIC);
    assert_int_equal(heard.word, word);
    assert_string_equal(heard.group, "main");
}

void daemon_hears_nothing(void)
{
    assert_int_equal(recv(connection, &heard, sizeof heard, 0), -1);
    assert_int_equal(errno, EAGAIN);
}

struct talk packet(enum talk_word word, int64_t left)
{
    struct talk t = {.magic = TALK_MAGIC,
                     .word = (uint8_t)word,
                     .stamp = heard.stamp,
                     .left = left,
                     .term = 65537,
                     .lease = LEASE,
                     .renewal = RENEWAL,
                     .group = "main",
                     .node = "a",
                     .leader = "b"};
    return t;
}

void send_bytes(const void *bytes, size_t length)
{
    assert_int_equal(send(connection, bytes, length, MSG_NOSIGNAL), length);
}

void send_packet(struct talk t) { send_bytes(&t, sizeof t); }

void daemon_says(enum talk_word word) { send_packet(packet(word, 0)); }

void daemon_tells(int64_t left) { send_packet(packet(TALK_TOLD, left)); }

/* ---- the client ---- */

void asks(int64_t patience, enum elect_client_error expected)
{
    enum elect_client_error error = elect_client_ask(client, patience, &answer);
    assert_string_equal(elect_client_text(error), elect_client_text(expected));
}

bool readable_within(int milliseconds)
{
    struct pollfd poll_it = {.fd = elect_client_fd(client), .events = POLLIN};
    return poll(&poll_it, 1, milliseconds) == 1;
}

void is_quiet(int64_t since, int64_t pause)
{
    bool is_readable = readable_within(0);
    assert_true(!is_readable || now() >= since + pause);
}

void question_is_under_way(void)
{
    asks(0, ELECT_CLIENT_LATE);
    accept_client();
    daemon_hears(TALK_LEASE);
}

void is_told(int64_t left)
{
    question_is_under_way();
    daemon_tells(left);
    asks(0, ELECT_CLIENT_FINE);
}

int enter(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/elect-client-XXXXXX");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    memset(&answer, 0, sizeof answer);
    daemon_starts(SOCK_SEQPACKET, 16);
    return elect_client_open(&client, PATH, "main") == ELECT_CLIENT_FINE ? 0 : -1;
}

int leave(void **state)
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

bool in_a_child(void)
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

int main(void) { return test_answers() + test_life(); }
