/* The clock and the sockets of a member in a libuv loop. */
#include "../support.h"

#include "../../src/runtime/clock.h"
#include "../../src/runtime/net.h"

#include <arpa/inet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONG 3600000000 /* microseconds */

/* ---- the clock ---- */

static struct {
    uv_loop_t loop;
    struct alarm_clock clock;
    unsigned rings;
    elect_time again; /* ELECT_UNSET: ring() does not set the clock */
    uv_poll_t poll;
    int ends[2]; /* of a pipe */
} c;

static void ring(void *context)
{
    (void)context;
    c.rings++;
    if (c.again != ELECT_UNSET)
        clock_set(&c.clock, c.again);
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
    return clock_open(&c.clock, &c.loop);
}

static int close_clock(void **state)
{
    (void)state;
    clock_close(&c.clock, NULL);
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
    clock_set(&c.clock, elect_uv_now()); /* a time that is over */
    assert_true(is_readable(c.clock.fd, -1));
    turn(10);
    assert_int_equal(c.rings, 1);
    assert_false(is_readable(c.clock.fd, 0)); /* or the loop would turn without end */
    c.again = elect_uv_now() + LONG;
    clock_set(&c.clock, elect_uv_now() + 1000);
    assert_true(is_readable(c.clock.fd, -1));
    turn(10);
    assert_int_equal(c.rings, 2);
    assert_false(is_readable(c.clock.fd, 0));
    clock_set(&c.clock, ELECT_UNSET);
    c.again = ELECT_UNSET;
    clock_set(&c.clock, 1);
    assert_true(is_readable(c.clock.fd, -1));
    clock_set(&c.clock, ELECT_UNSET); /* it is disarmed before the loop looks */
    turn(10);
    assert_int_equal(c.rings, 2);
}

static void sets_the_clock(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    clock_set(&c.clock, elect_uv_now() + LONG);
    uv_poll_stop(poll);
}

/* libuv has both events from one epoll_wait(): the second one is out of date. */
static void a_clock_that_was_set_again_meanwhile_does_not_ring(void **state)
{
    (void)state;
    uv_poll_start(&c.poll, UV_READABLE, sets_the_clock);
    turn(1);
    assert_int_equal(write(c.ends[1], "", 1), 1); /* ready first, so that it is told first */
    clock_set(&c.clock, elect_uv_now());
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

/* The first byte of each packet that is there, in their order. */
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
        net_send(&n, i % 2, i == 1 ? &bad : &here, bytes, sizeof bytes); /* bad: to port 0 */
    }
    assert_int_equal(received(in, first), 0);
    net_flush(&n);
    assert_int_equal(received(in, first), 3);
    assert_memory_equal(first, ((uint8_t[]){0, 2, 3}), 3); /* link by link */
    assert_int_equal(n.traffic.sent, 3);
    assert_int_equal(n.traffic.sent_bytes, 3 * sizeof bytes);
    net_flush(&n);
    assert_int_equal(received(in, first), 0); /* once */
    for (unsigned i = 0; i < NET_QUEUE + 1; i++) {
        bytes[0] = (uint8_t)i;
        net_send(&n, 0, &here, bytes, sizeof bytes);
    }
    assert_int_equal(received(in, first), NET_QUEUE); /* a full queue does not wait */
    net_flush(&n);
    assert_int_equal(received(in, first), 1);
    assert_int_equal(first[0], NET_QUEUE);
    close(in);
    close(n.fd[0]);
    close(n.fd[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_clock_rings_once_for_each_time_that_it_is_set, open_clock,
                                        close_clock),
        cmocka_unit_test_setup_teardown(a_clock_that_was_set_again_meanwhile_does_not_ring,
                                        open_clock, close_clock),
        cmocka_unit_test(packets_wait_for_a_flush_and_a_bad_one_stops_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
