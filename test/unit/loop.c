/* Tests the clock and the sockets of a member in a libuv loop. */
#include "../support.h"

#include "../../src/runtime/alarm.h"
#include "../../src/runtime/net.h"
#include "../../src/runtime/session.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONG 3600000000 /* microseconds */

/* ---- the clock ---- */

static struct {
    uv_loop_t loop;
    struct alarm clock;
    unsigned rings;
    elect_time again; /* ring() sets the clock to this, unless ELECT_UNSET */
    uv_poll_t poll;
    int ends[2];
} c;

static void ring(void *context)
{
    (void)context;
    c.rings++;
    if (c.again != ELECT_UNSET)
        alarm_set(&c.clock, c.again);
}

static void broken(void *context, int error)
{
    (void)context;
    fail_msg("the timer has failed: %s", strerror(error));
}

static int open_clock(void **state)
{
    (void)state;
    memset(&c, 0, sizeof c);
    c.again = ELECT_UNSET;
    c.clock.ring = ring;
    c.clock.broken = broken;
    uv_loop_init(&c.loop);
    assert_int_equal(pipe(c.ends), 0);
    uv_poll_init(&c.loop, &c.poll, c.ends[0]);
    return alarm_open(&c.clock, &c.loop);
}

static int close_clock(void **state)
{
    (void)state;
    alarm_close(&c.clock, NULL);
    uv_close((uv_handle_t *)&c.poll, NULL);
    uv_run(&c.loop, UV_RUN_DEFAULT);
    close(c.ends[0]);
    close(c.ends[1]);
    return uv_loop_close(&c.loop);
}

static void turn(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        uv_run(&c.loop, UV_RUN_NOWAIT);
}

static bool is_readable(int fd, int milliseconds)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, milliseconds) == 1;
}

static void a_clock_rings_once_for_each_time_that_it_is_set(void **state)
{
    (void)state;
    turn(3);
    assert_int_equal(c.rings, 0);
    alarm_set(&c.clock, elect_uv_now());
    assert_true(is_readable(c.clock.fd, -1));
    turn(10);
    assert_int_equal(c.rings, 1);
    /* a descriptor that stays readable would keep the loop awake */
    assert_false(is_readable(c.clock.fd, 0));
    c.again = elect_uv_now() + LONG;
    alarm_set(&c.clock, elect_uv_now() + 1000);
    assert_true(is_readable(c.clock.fd, -1));
    turn(10);
    assert_int_equal(c.rings, 2);
    assert_false(is_readable(c.clock.fd, 0));
    alarm_set(&c.clock, ELECT_UNSET);
    c.again = ELECT_UNSET;
    alarm_set(&c.clock, 1);
    assert_true(is_readable(c.clock.fd, -1));
    alarm_set(&c.clock, ELECT_UNSET);
    turn(10);
    assert_int_equal(c.rings, 2);
}

static void sets_the_clock(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    alarm_set(&c.clock, elect_uv_now() + LONG);
    uv_poll_stop(poll);
}

/* libuv gets two events from one epoll_wait(). The second is out of date when it is handled. */
static void a_clock_that_is_set_to_a_later_time_does_not_ring_early(void **state)
{
    (void)state;
    uv_poll_start(&c.poll, UV_READABLE, sets_the_clock);
    turn(1);
    /* ready first, so libuv reports it first */
    assert_int_equal(write(c.ends[1], "", 1), 1);
    alarm_set(&c.clock, elect_uv_now());
    assert_true(is_readable(c.clock.fd, -1));
    turn(10);
    assert_int_equal(c.rings, 0);
    assert_true(c.clock.set > elect_uv_now());
}

/* ---- the sockets ---- */

static int socket_at(union elect_address *here)
{
    socklen_t length = sizeof here->four;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    here->four = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    assert_int_equal(bind(fd, &here->any, length), 0);
    assert_int_equal(getsockname(fd, &here->any, &length), 0);
    return fd;
}

/* Receives all waiting packets and stores the first byte of each, in order. Returns their
 * number. */
static size_t received(int fd, uint8_t first[2 * NET_QUEUE])
{
    uint8_t bytes[SEAL_MAX_PACKET];
    size_t count = 0;
    while (count < 2 * NET_QUEUE && recv(fd, bytes, sizeof bytes, 0) > 0)
        first[count++] = bytes[0];
    return count;
}

static void packets_wait_for_a_flush_and_a_bad_one_stops_no_other(void **state)
{
    static struct net n;
    union elect_address here, own[2], bad = {.any = {.sa_family = AF_INET}};
    int in = socket_at(&here);
    uint8_t first[2 * NET_QUEUE], bytes[40] = {0};
    (void)state;
    n = (struct net){.fd = {socket_at(&own[0]), socket_at(&own[1])}, .links = 2};
    for (unsigned i = 0; i < 4; i++) {
        bytes[0] = (uint8_t)i;
        /* port 0 is invalid */
        net_send(&n, i % 2, i == 1 ? &bad : &here, bytes, sizeof bytes);
    }
    assert_int_equal(received(in, first), 0);
    net_flush(&n);
    assert_int_equal(received(in, first), 3);
    assert_memory_equal(first, ((uint8_t[]){0, 2, 3}), 3);
    assert_int_equal(n.traffic.sent, 3);
    assert_int_equal(n.traffic.sent_bytes, 3 * sizeof bytes);
    net_flush(&n);
    assert_int_equal(received(in, first), 0);
    for (unsigned i = 0; i < NET_QUEUE + 1; i++) {
        bytes[0] = (uint8_t)i;
        net_send(&n, 0, &here, bytes, sizeof bytes);
    }
    assert_int_equal(received(in, first), NET_QUEUE);
    net_flush(&n);
    assert_int_equal(received(in, first), 1);
    assert_int_equal(first[0], NET_QUEUE);
    close(in);
    close(n.fd[0]);
    close(n.fd[1]);
}

/* ---- a member with a dynamic peer; the test acts as that peer and as an attacker ---- */

#define ME  1
#define IT  2
#define KEY ((uint8_t[SEAL_KEY]){2})

static struct {
    uv_loop_t loop;
    char folder[32], path[64];
    struct elect_peer peer[2];
    struct elect_group group;
    struct elect_member *member;
    struct sessions s; /* the dynamic peer */
    int home, away;    /* the peer's socket, and the attacker's */
    union elect_address at_home, at_away;
} d;

static void draw(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    randombytes_buf(bytes, length);
}

static void announced(void *context, const struct elect_news *news)
{
    (void)context;
    (void)news;
}

static void failed(void *context, bool forbidden, const char *why)
{
    (void)context;
    (void)forbidden;
    fail_msg("the member stops: %s", why);
}

static struct elect_member_options dynamic_options(void)
{
    return (struct elect_member_options){.loop = &d.loop,
                                         .id = ME,
                                         .keys = 1,
                                         .cluster = {1},
                                         .key = {{1, {2}}},
                                         .state = d.path,
                                         .peers = 2,
                                         .peer = d.peer,
                                         .groups = 1,
                                         .group = &d.group,
                                         .announce = announced,
                                         .fail = failed};
}

static int begin_dynamic(void **state)
{
    char why[256] = "";
    bool forbidden;
    (void)state;
    memset(&d, 0, sizeof d);
    uv_loop_init(&d.loop);
    snprintf(d.folder, sizeof d.folder, "/tmp/elect-test-XXXXXX");
    assert_non_null(mkdtemp(d.folder));
    snprintf(d.path, sizeof d.path, "%s/state", d.folder);
    assert_true(elect_member_create(d.path, (const uint8_t[16]){1}, ME, why, sizeof why));
    d.peer[0] = (struct elect_peer){.id = ME, .links = 1};
    d.peer[1] = (struct elect_peer){.id = IT, .links = 1, .dynamic = true};
    d.peer[0].link[0].four =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    choose_port(&d.peer[0].link[0].any, own_ports());
    d.home = socket_at(&d.at_home);
    d.away = socket_at(&d.at_away);
    snprintf(d.group.name, sizeof d.group.name, "main");
    assert_int_equal(elect_config_init(&d.group.config, ELECT_BULLY, (const uint16_t[]){ME, IT}, 2,
                                       10000, 10000),
                     ELECT_FINE);
    assert_int_equal(elect_config_mandate(&d.group.config, 300000, 60000, 10000, 1), ELECT_FINE);
    struct elect_member_options options = dynamic_options();
    d.member = elect_member_start(&options, &forbidden, why, sizeof why);
    assert_string_equal(why, "");
    d.s.id = IT;
    d.s.cluster[0] = 1;
    d.s.incarnation = 1;
    d.s.sequence = 1;
    d.s.suspicion = LONG;
    d.s.draw = draw;
    sessions_begin(&d.s);
    sessions_add_key(&d.s, 0, 1, KEY);
    sessions_add_peer(&d.s, ME, &(struct session_memory){0});
    return 0;
}

static int end_dynamic(void **state)
{
    (void)state;
    elect_member_stop(d.member);
    uv_run(&d.loop, UV_RUN_DEFAULT);
    close(d.home);
    close(d.away);
    unlink(d.path);
    return rmdir(d.folder) != 0 || uv_loop_close(&d.loop) != 0;
}

static void send_from(int fd, const uint8_t *bytes, size_t length)
{
    const union elect_address *to = &d.peer[0].link[0];
    assert_int_equal(sendto(fd, bytes, length, 0, &to->any, sizeof to->four), length);
}

/* Runs the loop for this long on the member's clock. A timer of the member wakes it. */
static void wait(elect_time time)
{
    for (elect_time end = elect_uv_now() + time; elect_uv_now() < end;)
        uv_run(&d.loop, UV_RUN_ONCE);
}

static struct elect_link_info link_to_it(void)
{
    struct elect_peer_info p;
    assert_true(elect_member_peer(d.member, 0, &p));
    return p.link[0];
}

static bool is_at(const union elect_address *address)
{
    union elect_address is = link_to_it().address;
    return net_same(&is, address);
}

/* Sends a packet from one socket and, unless `second` is -1, also from the other. */
static void say_from(int first, int second)
{
    uint8_t out[SEAL_MAX_PACKET];
    size_t length = sessions_seal(&d.s, 0, KEY, 0, out);
    uint64_t taken = elect_member_traffic(d.member).taken + 1 + (second >= 0);
    send_from(first, out, length);
    if (second >= 0)
        send_from(second, out, length);
    while (elect_member_traffic(d.member).taken < taken)
        uv_run(&d.loop, UV_RUN_ONCE);
}

/* Runs the loop until both ends have a session and no packet is in flight. */
static void meet(void)
{
    static struct session_event e;
    uint8_t bytes[SEAL_MAX_PACKET];
    struct elect_peer_info p = {0};
    while (!p.session || !sessions_lives(&d.s, 0, (uint64_t)elect_uv_now())) {
        size_t length = sessions_hello(&d.s, 0, (uint64_t)elect_uv_now(), bytes);
        if (length > 0)
            send_from(d.home, bytes, length);
        uv_run(&d.loop, UV_RUN_ONCE);
        for (ssize_t got; (got = recv(d.home, bytes, sizeof bytes, 0)) > 0;) {
            sessions_turn(&d.s);
            sessions_take(&d.s, (uint64_t)elect_uv_now(), 0, bytes, (size_t)got, &e);
            if (e.answer_length > 0)
                send_from(d.home, e.answer, e.answer_length);
        }
        elect_member_peer(d.member, 0, &p);
    }
    for (unsigned i = 0; i < 3; i++)
        uv_run(&d.loop, UV_RUN_NOWAIT);
}

static void a_relay_cannot_move_a_peer_that_is_heard_and_a_moved_peer_is_found(void **state)
{
    elect_time suspicion = d.group.config.duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
    (void)state;
    meet();
    assert_true(is_at(&d.at_home));
    for (unsigned i = 0; i < 3; i++) {
        say_from(d.away, d.home);
        assert_true(is_at(&d.at_home));
        wait(suspicion);
    }
    elect_time heard = link_to_it().heard;
    for (unsigned i = 0; i < 2; i++) {
        say_from(d.away, -1);
        wait(suspicion);
    }
    assert_true(is_at(&d.at_home));
    assert_true(link_to_it().heard == heard);
    /* a packet from the known address makes the member drop the new one */
    say_from(d.away, d.home);
    assert_true(link_to_it().heard > heard);
    for (unsigned i = 0; i < 10; i++)
        say_from(d.away, -1);
    wait(suspicion);
    say_from(d.away, -1);
    /* packets have long come only from the new address */
    assert_true(is_at(&d.at_away));
    heard = link_to_it().heard;
    wait(1);
    say_from(d.away, -1);
    assert_true(link_to_it().heard > heard);
}

/* Returns which of the two sockets gets the next packet to the peer. */
#define HOME 1
#define AWAY 2

static unsigned reached(void)
{
    uint8_t first[2 * NET_QUEUE];
    while (received(d.home, first) + received(d.away, first) > 0)
        continue; /* discard earlier packets */
    elect_member_note(d.member, IT, KEY, 1);
    size_t home = received(d.home, first), away = received(d.away, first);
    /* a new address may be false, so it gets no more packets than the known one */
    assert_true(home <= 1 && away <= 1);
    return (home > 0 ? HOME : 0) | (away > 0 ? AWAY : 0);
}

static void a_peer_that_may_have_moved_gets_each_packet_at_both_addresses(void **state)
{
    elect_time suspicion = d.group.config.duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
    elect_time began;
    unsigned at;
    (void)state;
    meet();
    assert_int_equal(reached(), HOME);
    /* repeat if the machine was so slow that the member may have dropped the new address */
    do {
        began = elect_uv_now();
        say_from(d.away, d.home);
        assert_int_equal(reached(), HOME);
        say_from(d.away, -1);
        at = reached();
    } while (elect_uv_now() - began >= suspicion);
    assert_int_equal(at, HOME | AWAY);
    assert_true(is_at(&d.at_home));
    wait(suspicion); /* a false address gets packets only for this long */
    assert_int_equal(reached(), HOME);
    for (unsigned i = 0; i < 5; i++)
        say_from(d.away, -1);
    wait(suspicion);
    say_from(d.away, -1);
    assert_true(is_at(&d.at_away));
    assert_int_equal(reached(), AWAY);
}

static void is_not_bound(const struct elect_peer peers[2], const char *expected)
{
    char why[256];
    int own[ELECT_UV_LINKS];
    assert_false(elect_member_bind(peers, 2, 1, own, why, sizeof why));
    assert_string_equal(why, expected);
}

static void a_bind_that_fails_is_explained(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    struct elect_peer peers[] = {{.id = 1, .links = 1}, {.id = 2, .links = 1}};
    char taken[128];
    (void)state;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    peers[0].link[0].four = peers[1].link[0].four = at;
    snprintf(taken, sizeof taken,
             "cannot bind 127.0.0.1:%u: Address already in use: end the process that uses it, or "
             "choose another port",
             ntohs(at.sin_port));
    is_not_bound(peers, taken);
    close(fd);
    peers[0].link[0].four.sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1 */
    peers[0].link[0].four.sin_port = htons(7400);
    is_not_bound(peers, "cannot bind 192.0.2.1:7400: Cannot assign requested address: correct the "
                        "address, or give it to this machine");
    struct rlimit before, none = {0};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none.rlim_max = before.rlim_max;
    peers[0].link[0] = (union elect_address){.any.sa_family = AF_UNSPEC};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    is_not_bound(peers,
                 "cannot bind 0.0.0.0:0: Too many open files: raise the limit of open files");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* Restarts the member while no file may grow, so that it cannot write its state file. */
static void a_state_file_that_cannot_be_written_is_named(void **state)
{
    char why[256], expected[256];
    bool forbidden = true;
    struct rlimit before, none = {0};
    (void)state;
    elect_member_stop(d.member);
    uv_run(&d.loop, UV_RUN_DEFAULT);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    struct elect_member_options options = dynamic_options();
    assert_null(elect_member_start(&options, &forbidden, why, sizeof why));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    snprintf(expected, sizeof expected, "%s: File too large", d.path);
    assert_string_equal(why, expected);
    assert_false(forbidden);
    d.member = elect_member_start(&options, &forbidden, why, sizeof why);
    assert_non_null(d.member);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_clock_rings_once_for_each_time_that_it_is_set, open_clock,
                                        close_clock),
        cmocka_unit_test_setup_teardown(a_clock_that_is_set_to_a_later_time_does_not_ring_early,
                                        open_clock, close_clock),
        cmocka_unit_test(packets_wait_for_a_flush_and_a_bad_one_stops_no_other),
        cmocka_unit_test_setup_teardown(
            a_relay_cannot_move_a_peer_that_is_heard_and_a_moved_peer_is_found, begin_dynamic,
            end_dynamic),
        cmocka_unit_test_setup_teardown(
            a_peer_that_may_have_moved_gets_each_packet_at_both_addresses, begin_dynamic,
            end_dynamic),
        cmocka_unit_test(a_bind_that_fails_is_explained),
        cmocka_unit_test_setup_teardown(a_state_file_that_cannot_be_written_is_named, begin_dynamic,
                                        end_dynamic),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
