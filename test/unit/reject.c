/* Tests, on real sockets, which packets a member rejects, and what it reports about the senders. */
#include "../support.h"

#include "elect-uv.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEMBERS  3
#define SECOND   1000000
#define PATIENT  (120 * SECOND)
#define STRANGER 99 /* not a member's id */

static struct {
    uv_loop_t loop;
    uv_timer_t tick;
    char folder[32], path[MEMBERS][64];
    struct elect_peer peer[MEMBERS];
    struct elect_group group;
    struct elect_member *member[MEMBERS];
} c;

static void announced(void *context, const struct elect_news *news)
{
    (void)context;
    (void)news;
}

static void failed(void *context, bool forbidden, const char *why)
{
    (void)context;
    (void)forbidden;
    fail_msg("%s", why);
}

static void wake(uv_timer_t *timer) { (void)timer; }

static void wait_for(bool (*done)(void))
{
    elect_time began = elect_uv_now();
    bool is_done = false;
    uv_timer_start(&c.tick, wake, 10, 10);
    while (!(is_done = done()) && elect_uv_now() - began < PATIENT)
        uv_run(&c.loop, UV_RUN_ONCE);
    uv_timer_stop(&c.tick);
    assert_true(is_done);
}

static struct elect_member_options options_of(unsigned i)
{
    return (struct elect_member_options){.loop = &c.loop,
                                         .id = c.peer[i].id,
                                         .keys = 1,
                                         .cluster = {1},
                                         .key = {{1, {2}}},
                                         .state = c.path[i],
                                         .peers = MEMBERS,
                                         .peer = c.peer,
                                         .groups = 1,
                                         .group = &c.group,
                                         .announce = announced,
                                         .fail = failed};
}

static void start_with(unsigned i, const struct elect_member_options *options)
{
    char why[256] = "";
    bool forbidden;
    c.member[i] = elect_member_start(options, &forbidden, why, sizeof why);
    assert_string_equal(why, "");
}

static void start(unsigned i)
{
    struct elect_member_options options = options_of(i);
    start_with(i, &options);
}

static void stop(unsigned i)
{
    elect_member_stop(c.member[i]);
    c.member[i] = NULL;
}

static int set_up(void **state)
{
    static const uint16_t ids[MEMBERS] = {1, 8, 15};
    char why[256];
    uint16_t port = own_ports();
    (void)state;
    memset(&c, 0, sizeof c);
    uv_loop_init(&c.loop);
    uv_timer_init(&c.loop, &c.tick);
    snprintf(c.folder, sizeof c.folder, "/tmp/elect-test-XXXXXX");
    assert_non_null(mkdtemp(c.folder));
    for (unsigned i = 0; i < MEMBERS; i++) {
        c.peer[i] = (struct elect_peer){.id = ids[i], .links = 1};
        c.peer[i].link[0].four =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        port = choose_port(&c.peer[i].link[0].any, port);
        snprintf(c.path[i], sizeof c.path[i], "%s/%u", c.folder, i);
        assert_true(
            elect_member_create(c.path[i], (const uint8_t[16]){1}, ids[i], why, sizeof why));
    }
    snprintf(c.group.name, sizeof c.group.name, "main");
    assert_int_equal(elect_config_init(&c.group.config, ELECT_BULLY, ids, MEMBERS, 10000, 10000),
                     ELECT_FINE);
    assert_int_equal(elect_config_mandate(&c.group.config, SECOND, SECOND / 5, 10000, 1),
                     ELECT_FINE);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MEMBERS; i++)
        if (c.member[i] != NULL)
            stop(i);
    uv_close((uv_handle_t *)&c.tick, NULL);
    uv_run(&c.loop, UV_RUN_DEFAULT);
    for (unsigned i = 0; i < MEMBERS; i++)
        unlink(c.path[i]);
    return rmdir(c.folder) != 0 || uv_loop_close(&c.loop) != 0;
}

static struct elect_rejected rejected(unsigned by, unsigned whom)
{
    struct elect_peer_info p;
    unsigned k = 0;
    while (elect_member_peer(c.member[by], k, &p) && p.id != c.peer[whom].id)
        k++;
    assert_int_equal(p.id, c.peer[whom].id);
    return p.rejected;
}

static bool both_name_the_key(void)
{
    return rejected(0, 2).reason == ELECT_REJECTED_KEY &&
           rejected(1, 2).reason == ELECT_REJECTED_KEY &&
           rejected(2, 0).reason == ELECT_REJECTED_KEY &&
           rejected(2, 1).reason == ELECT_REJECTED_KEY;
}

static bool all_are_accepted(void)
{
    struct elect_peer_info p;
    bool all = true;
    for (unsigned i = 0; i < MEMBERS; i++)
        for (unsigned k = 0; elect_member_peer(c.member[i], k, &p); k++)
            all = all && p.session && p.rejected.reason == ELECT_REJECTED_NONE;
    return all;
}

static void a_wrong_key_is_reported_on_both_sides(void **state)
{
    struct elect_member_options other = options_of(2);
    (void)state;
    other.key[0].key[0] ^= 1;
    start(0);
    start(1);
    start_with(2, &other);
    wait_for(both_name_the_key);
    assert_true(rejected(0, 2).count >= 4);
    assert_int_equal(rejected(0, 1).reason, ELECT_REJECTED_NONE);
    stop(2);
    start(2);
    wait_for(all_are_accepted);
}

static bool first_names_the_address(void)
{
    return rejected(0, 2).reason == ELECT_REJECTED_ADDRESS;
}

static void an_unknown_address_is_reported(void **state)
{
    struct elect_peer elsewhere[MEMBERS];
    struct elect_member_options other = options_of(2);
    (void)state;
    memcpy(elsewhere, c.peer, sizeof elsewhere);
    (void)choose_port(&elsewhere[2].link[0].any, 1 + ntohs(c.peer[2].link[0].four.sin_port));
    other.peer = elsewhere;
    start(0);
    start(1);
    start_with(2, &other);
    wait_for(first_names_the_address);
    assert_string_equal(elect_uv_rejection(rejected(0, 2).reason), "unknown address");
}

static int foreign; /* a socket at the third member's address */

static void send_to_first(const void *bytes, size_t length)
{
    const union elect_address *to = &c.peer[0].link[0];
    assert_int_equal(sendto(foreign, bytes, length, 0, &to->any, sizeof to->four), length);
}

static bool first_names_the_protocol(void)
{
    static const char other[64] = "GET / HTTP/1.1\r\nHost: elect\r\n\r\n";
    send_to_first(other, sizeof other);
    return rejected(0, 2).reason == ELECT_REJECTED_PROTOCOL;
}

/* Sends a HELLO forged in the name of this member. */
static void send_forged_hello(uint8_t as)
{
    uint8_t forged[160] = "ELE1\1\1";
    forged[6] = as;
    forged[8] = (uint8_t)c.peer[0].id;
    forged[10] = sizeof forged;
    forged[12] = 1;
    send_to_first(forged, sizeof forged);
}

static void send_forged_hellos(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        send_forged_hello((uint8_t)c.peer[2].id);
}

/* Forged HELLOs are read only at a limited rate, and sessions with other members continue. */
static void a_flood_of_hellos_is_sampled(void)
{
    elect_time began = elect_uv_now();
    uint64_t before = elect_member_traffic(c.member[0]).taken;
    for (unsigned i = 0; i < 500; i++) {
        send_forged_hellos(100);
        uv_run(&c.loop, UV_RUN_NOWAIT);
    }
    uint64_t taken = elect_member_traffic(c.member[0]).taken - before;
    uint64_t seconds = (uint64_t)(elect_uv_now() - began) / SECOND + 2;
    printf("%llu of 50000 forged HELLOs are taken\n", (unsigned long long)taken);
    assert_true(taken < seconds * 1000);
}

static void another_protocol_is_reported_and_a_flood_is_sampled(void **state)
{
    (void)state;
    foreign = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(bind(foreign, &c.peer[2].link[0].any, sizeof c.peer[2].link[0].four), 0);
    start(0);
    start(1);
    wait_for(first_names_the_protocol);
    a_flood_of_hellos_is_sampled();
    assert_int_equal(rejected(0, 1).reason, ELECT_REJECTED_NONE);
    close(foreign);
    start(2);
    wait_for(all_are_accepted);
}

/* A flood from an unknown address does not hide packets from a member's address. */
static bool key_is_named_in_a_flood(void)
{
    for (unsigned i = 0; i < 100; i++)
        send_forged_hello((uint8_t)(i % 2 == 0 ? c.peer[2].id : STRANGER));
    return rejected(0, 2).reason == ELECT_REJECTED_KEY;
}

static void a_flood_of_strangers_does_not_hide_a_wrong_key(void **state)
{
    struct elect_member_options other = options_of(2);
    uint16_t id;
    (void)state;
    other.key[0].key[0] ^= 1;
    foreign = socket(AF_INET, SOCK_DGRAM, 0);
    start(0);
    start(1);
    start_with(2, &other);
    wait_for(key_is_named_in_a_flood);
    assert_int_equal(elect_member_stranger(c.member[0], &id).reason, ELECT_REJECTED_NONE);
    close(foreign);
}

static uint64_t taken_before;

static bool a_stranger_is_sampled(void)
{
    send_forged_hellos(1);
    return elect_member_traffic(c.member[0]).taken > taken_before;
}

/* The filter against a flood is removed after a second, even if a packet passes it after that
 * second, but before the member's alarm. */
static void sampling_resumes_after_a_flood(void **state)
{
    int known = socket(AF_INET, SOCK_DGRAM, 0), strange = socket(AF_INET, SOCK_DGRAM, 0);
    (void)state;
    assert_int_equal(bind(known, &c.peer[2].link[0].any, sizeof c.peer[2].link[0].four), 0);
    start(0);
    foreign = strange;
    send_forged_hellos(100);
    for (unsigned i = 0; i < 10; i++)
        uv_run(&c.loop, UV_RUN_NOWAIT);
    foreign = known;
    send_forged_hellos(1);
    usleep(SECOND + SECOND / 10); /* the packet reaches the socket before the alarm is due */
    for (unsigned i = 0; i < 10; i++)
        uv_run(&c.loop, UV_RUN_NOWAIT);
    foreign = strange;
    taken_before = elect_member_traffic(c.member[0]).taken;
    wait_for(a_stranger_is_sampled);
    close(known);
    close(strange);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wrong_key_is_reported_on_both_sides, set_up, clean_up),
        cmocka_unit_test_setup_teardown(an_unknown_address_is_reported, set_up, clean_up),
        cmocka_unit_test_setup_teardown(another_protocol_is_reported_and_a_flood_is_sampled, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(a_flood_of_strangers_does_not_hide_a_wrong_key, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(sampling_resumes_after_a_flood, set_up, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
