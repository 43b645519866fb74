/* Tests three members in one process, with real sockets, files and clocks. The test prints how long
 * things take, and fails only after LIMIT seconds (set in the environment). In cases that need the
 * leader to stay, the lease is so long that even a busy machine renews it. In cases that wait for
 * the end of a lease, it is shorter, and any member may lead next. */
#include "../support.h"

#include "elect-uv.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEMBERS 3
#define GROUPS  64
#define SECOND  1000000
#define LEASE   (8 * SECOND)
#define RENEWAL (SECOND / 5)

static struct {
    uv_loop_t loop;
    uv_timer_t tick;
    char folder[32], path[MEMBERS][64];
    struct elect_peer peer[MEMBERS];
    struct elect_group group[GROUPS];
    struct elect_member *member[MEMBERS];
    struct elect_news news[MEMBERS][GROUPS];
    elect_term highest[GROUPS];
    const char *failed[MEMBERS];
    unsigned groups;
    bool readmitted, forbidden;
    elect_term stolen; /* term whose death report was sent while its leader ran, or 0 */
    uint32_t remembered;
    elect_time began, told;
    unsigned renewals;
    struct elect_testament testament[MEMBERS][2];
    elect_term watched; /* term whose RELEASEs are counted */
    unsigned releases;
    struct {
        elect_term token; /* after the last step */
        elect_time until; /* end of the office with that token */
        unsigned turns;
        elect_term ended;
        unsigned why;     /* rule of the step that ended the last office */
        bool stood_still; /* too little CPU time to renew the office */
    } office[MEMBERS];
    struct {
        unsigned count;
        uint16_t from;
        size_t length;
        uint8_t last;
        bool was[16]; /* was[b]: a note with the last byte b has arrived */
    } note[MEMBERS];
} c;

static unsigned index_of(void *context) { return (unsigned)(uintptr_t)context; }

/* Returns the number of members that claim to lead. It exceeds one only after a stolen death
 * report, until its author hears from the successor. */
static unsigned leaders(unsigned group)
{
    unsigned count = 0, deposed = 0;
    for (unsigned i = 0; i < MEMBERS; i++) {
        struct elect_news news = {0};
        if (c.member[i] != NULL)
            news = elect_member_status(c.member[i], group);
        count += news.leads;
        deposed += news.leads && group == 0 && news.term <= c.stolen &&
                   (news.term & 0xffff) == (c.stolen & 0xffff);
    }
    assert_true(count - deposed <= 1);
    return count;
}

static void announced(void *context, const struct elect_news *news)
{
    unsigned i = index_of(context);
    c.news[i][news->group] = *news;
    if (news->leads) {
        /* A leader gives its guardian the death report of a term before it requests the term, so
         * the latest one may be for the next term. */
        assert_true(news->group > 1 || c.testament[i][news->group].term >= news->term);
        assert_true(news->term > c.highest[news->group] || !news->works);
        c.highest[news->group] = news->term;
    }
    leaders(news->group);
    if (news->works) { /* no work runs, so report at once that it has stopped */
        struct elect_input in = elect_happens(ELECT_STOPPED, elect_uv_now());
        elect_member_tell(c.member[i], news->group, &in);
    }
}

static void failed(void *context, bool forbidden, const char *why)
{
    (void)forbidden;
    c.failed[index_of(context)] = why;
}

static bool gives_up(void)
{
    const char *limit = getenv("LIMIT");
    return elect_uv_now() - c.began > (limit == NULL ? 120 : strtol(limit, NULL, 10)) * SECOND;
}

static void wake(uv_timer_t *timer) { (void)timer; }

/* Waits until done() returns true. The loop does not run after that, so the result still holds. */
static elect_time wait_for(bool (*done)(void))
{
    bool is_done = false;
    c.began = elect_uv_now();
    uv_timer_start(&c.tick, wake, 1, 1);
    while (!(is_done = done()) && !gives_up()) {
        uv_run(&c.loop, UV_RUN_ONCE);
        for (unsigned i = 0; i < MEMBERS; i++)
            c.office[i].turns++;
    }
    uv_timer_stop(&c.tick);
    assert_true(is_done);
    return elect_uv_now() - c.began;
}

static void readmitted(void *context)
{
    (void)context;
    c.readmitted = true;
}

/* The loop normally makes several thousand turns per lease. A renewal needs about five. */
static void note_office(unsigned i, const struct elect_output *out)
{
    const struct elect_node *node = c.member[i] != NULL ? elect_member_node(c.member[i], 0) : NULL;
    elect_term token = node != NULL ? elect_token(node) : 0;
    elect_time until = node != NULL ? elect_until(node) : ELECT_UNSET;
    if (c.office[i].token != 0 && c.office[i].token != token) {
        c.office[i].ended = c.office[i].token;
        c.office[i].why = out->rule.number;
        c.office[i].stood_still = c.office[i].turns < 1000;
    }
    if (c.office[i].until != until)
        c.office[i].turns = 0;
    c.office[i].token = token;
    c.office[i].until = until;
}

static void stepped(void *context, unsigned group, const struct elect_input *in,
                    const struct elect_output *out)
{
    if (group == 0)
        note_office(index_of(context), out);
    c.releases += in->event == ELECT_RELEASE && in->message.term == c.watched;
    c.renewals += out->rule.number == ELECT_RULE_RENEWS;
    if (in->event == ELECT_REMEMBERS && in->message.incarnation > c.remembered)
        c.remembered = in->message.incarnation;
}

static void deposited(void *context, const struct elect_testament *t)
{
    if (t->group < 2)
        c.testament[index_of(context)][t->group] = *t;
}

/* Counts each member's notes. The third member returns every note to its sender. */
static void noted(void *context, uint16_t from, const uint8_t *bytes, size_t length)
{
    unsigned i = index_of(context);
    c.note[i].count++;
    c.note[i].from = from;
    c.note[i].length = length;
    c.note[i].last = bytes[length - 1];
    c.note[i].was[bytes[length - 1] % 16] = true;
    if (i == 2)
        elect_member_note(c.member[i], from, bytes, length);
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
                                         .groups = c.groups,
                                         .group = c.group,
                                         .announce = announced,
                                         .fail = failed,
                                         .step = stepped,
                                         .readmitted = readmitted,
                                         .deposit = deposited,
                                         .note = noted,
                                         .context = (void *)(uintptr_t)i};
}

static void start_with(unsigned i, const struct elect_member_options *options)
{
    char why[256] = "";
    c.failed[i] = NULL;
    c.member[i] = elect_member_start(options, &c.forbidden, why, sizeof why);
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
    memset(c.news[i], 0, sizeof c.news[i]);
    memset(&c.office[i], 0, sizeof c.office[i]);
}

static bool all_agree(void)
{
    for (unsigned g = 0; g < c.groups; g++) {
        if (leaders(g) != 1)
            return false;
        for (unsigned i = 0; i < MEMBERS; i++)
            for (unsigned j = 0; j < MEMBERS; j++)
                if (c.member[i] != NULL && c.member[j] != NULL) {
                    struct elect_news a = elect_member_status(c.member[i], g);
                    struct elect_news b = elect_member_status(c.member[j], g);
                    if (!a.known || !b.known || a.leader != b.leader)
                        return false;
                }
    }
    return true;
}

static unsigned leader(void)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        if (c.member[i] != NULL && elect_member_status(c.member[i], 0).leads)
            return i;
    return MEMBERS;
}

/* Returns true if the office of `term` continues, or ended for a reason that a busy machine may
 * cause: the process stalled for a lease, or a voter's larger promise made the leader continue in a
 * later term. */
static bool was_left_alone(elect_term term)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        if (c.peer[i].id == (term & 0xffff) && c.office[i].ended >= term)
            return c.office[i].why == ELECT_RULE_TAKES_OFFICE ||
                   (c.office[i].why == ELECT_RULE_MANDATE_OVER && c.office[i].stood_still);
    return true;
}

static bool no_member_leads(void) { return leaders(0) == 0; }

static bool one_member_leads(void) { return leaders(0) == 1; }

static bool is_six_here(void)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    bool is_here = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
    if (fd >= 0)
        close(fd);
    if (!is_here)
        puts("NO IPv6 HERE: both networks are IPv4");
    return is_here;
}

/* 127.0.0.1 and, if the machine has IPv6, ::1. All members must know all addresses before the first
 * one starts. */
static void choose_ports(void)
{
    bool six = is_six_here();
    uint16_t port = own_ports();
    for (unsigned i = 0; i < MEMBERS; i++) {
        c.peer[i].id = (uint16_t)(7 * i + 1);
        c.peer[i].links = 2;
        for (unsigned l = 0; l < 2; l++) {
            union elect_address *a = &c.peer[i].link[l];
            if (l == 1 && six)
                a->six =
                    (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
            else
                a->four = (struct sockaddr_in){.sin_family = AF_INET,
                                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
            port = choose_port(&a->any, port);
        }
    }
}

static void grant_for(uint32_t lease, uint32_t renewal)
{
    for (unsigned g = 0; g < GROUPS; g++) {
        c.group[g].config.max_lease = 0;
        assert_int_equal(elect_config_mandate(&c.group[g].config, lease, renewal, 10000, 1),
                         ELECT_FINE);
    }
}

static int set_up(void **state)
{
    char why[256];
    uint16_t ids[MEMBERS];
    (void)state;
    memset(&c, 0, sizeof c);
    uv_loop_init(&c.loop);
    uv_timer_init(&c.loop, &c.tick);
    snprintf(c.folder, sizeof c.folder, "/tmp/elect-test-XXXXXX");
    assert_non_null(mkdtemp(c.folder));
    choose_ports();
    c.groups = 2;
    for (unsigned i = 0; i < MEMBERS; i++) {
        ids[i] = c.peer[i].id;
        snprintf(c.path[i], sizeof c.path[i], "%s/%u", c.folder, i);
        assert_true(
            elect_member_create(c.path[i], (const uint8_t[16]){1}, ids[i], why, sizeof why));
    }
    for (unsigned g = 0; g < GROUPS; g++) {
        struct elect_config *config = &c.group[g].config;
        snprintf(c.group[g].name, sizeof c.group[g].name, "group-%u", g);
        assert_int_equal(elect_config_init(config, g % 2 == 0 ? ELECT_BULLY : ELECT_RING, ids,
                                           MEMBERS, 10000, 10000),
                         ELECT_FINE);
    }
    grant_for(LEASE, RENEWAL);
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

static void three_members_elect_lose_and_replace_a_leader(void **state)
{
    (void)state;
    grant_for(3 * SECOND, RENEWAL);
    for (unsigned i = 0; i < MEMBERS; i++)
        start(i);
    printf("a leader after %.1f ms\n", (double)wait_for(all_agree) / 1000);
    elect_term token = c.highest[0];
    unsigned first = leader();
    stop(first);
    printf("another one after %.1f ms (lease 3000)\n", (double)wait_for(all_agree) / 1000);
    assert_true(c.highest[0] > token);
    start(first);
    printf("back after %.1f ms\n", (double)wait_for(all_agree) / 1000);
    unsigned second = leader();
    token = c.highest[0];
    struct elect_input in = elect_resigns(ELECT_NOBODY, elect_uv_now());
    assert_int_equal(elect_member_tell(c.member[second], 0, &in).number, ELECT_RULE_RESIGNS);
    assert_int_not_equal(leader(), second);
    printf("handed over after %.1f ms", (double)wait_for(one_member_leads) / 1000);
    printf(", known to all %.1f ms later\n", (double)wait_for(all_agree) / 1000);
    assert_true(c.highest[0] > token); /* the same member may win again if the heir is slow */
}

static void one_of_three_alone_does_not_lead(void **state)
{
    (void)state;
    grant_for(SECOND, RENEWAL);
    for (unsigned i = 0; i < MEMBERS; i++)
        start(i);
    wait_for(all_agree);
    unsigned last = leader();
    for (unsigned i = 0; i < MEMBERS; i++)
        if (i != last)
            stop(i);
    printf("steps down after %.1f ms\n", (double)wait_for(no_member_leads) / 1000);
    for (unsigned i = 0; i < MEMBERS; i++)
        if (i != last)
            start(i);
    wait_for(all_agree);
}

static void a_member_that_cannot_start_reports_why(void **state)
{
    char why[256];
    struct elect_member_options options = options_of(0);
    options.id = 4;
    (void)state;
    assert_null(elect_member_start(&options, &c.forbidden, why, sizeof why));
    assert_string_equal(why, "the configuration does not contain member 4");
    options.id = c.peer[1].id;
    assert_null(elect_member_start(&options, &c.forbidden, why, sizeof why));
    assert_non_null(strstr(why, "it belongs to another member"));
    options.state = "/nowhere";
    assert_null(elect_member_start(&options, &c.forbidden, why, sizeof why));
    assert_string_equal(
        why, "/nowhere: no such file: create it with elect init, or with elect readmit if "
             "this member has run before");
    assert_true(c.forbidden);
    start(0);
    options.id = c.peer[0].id;
    options.state = c.path[0];
    assert_null(elect_member_start(&options, &c.forbidden, why, sizeof why));
    assert_non_null(strstr(why, "Address already in use"));
    assert_false(c.forbidden);
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    int next = dup(0);
    close(next);
    /* first no descriptor is left for the timer, then none for a socket */
    for (int more = 0; more < 2; more++) {
        none.rlim_cur = (rlim_t)(next + more);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        assert_null(elect_member_start(&options, &c.forbidden, why, sizeof why));
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_non_null(strstr(why, "Too many open files"));
    }
}

/* Messages that do not fit into one datagram are sent in several. */
static void sixty_four_groups_share_datagrams(void **state)
{
    (void)state;
    grant_for(2 * SECOND, RENEWAL);
    c.groups = GROUPS;
    for (unsigned i = 0; i < MEMBERS; i++)
        start(i);
    printf("64 leaders after %.1f ms\n", (double)wait_for(all_agree) / 1000);
    stop(leader());
    printf("64 others after %.1f ms\n", (double)wait_for(all_agree) / 1000);
}

static unsigned rounds_wanted, rounds_begin;

static bool rounds_have_passed(void)
{
    unsigned one = leader();
    if (one == MEMBERS)
        return false;
    unsigned rounds = elect_member_node(c.member[one], 0)->mandate.leader.rounds;
    rounds_begin = rounds_begin == 0 ? rounds : rounds_begin;
    return rounds >= rounds_begin + rounds_wanted;
}

static void wait_for_rounds(unsigned count)
{
    rounds_wanted = count;
    rounds_begin = 0;
    wait_for(rounds_have_passed);
}

static uint64_t packets(void)
{
    uint64_t sent = 0;
    for (unsigned i = 0; i < MEMBERS; i++)
        sent += elect_member_traffic(c.member[i]).sent;
    return sent;
}

/* The groups took office at different times, but their renewals share packets. One renewal needs
 * eight: to two members and back, on two networks. On a slow machine, each packet carries more
 * renewals, not fewer. */
static void renewals_of_all_groups_share_packets(void **state)
{
    (void)state;
    grant_for(LEASE, 60000);
    c.groups = GROUPS;
    for (unsigned i = 0; i < MEMBERS; i++)
        start(i);
    wait_for(all_agree);
    for (unsigned g = 1; g < c.groups; g++) {
        struct elect_input in = elect_resigns(ELECT_NOBODY, elect_uv_now());
        for (unsigned i = 0; i < MEMBERS; i++)
            if (elect_member_status(c.member[i], g).leads)
                elect_member_tell(c.member[i], g, &in);
        wait_for(all_agree);
    }
    wait_for_rounds(5);
    uint64_t before = packets();
    c.renewals = 0;
    wait_for_rounds(20);
    unsigned sent = (unsigned)(packets() - before);
    printf("%u packets for %u renewals\n", sent, c.renewals);
    assert_true(c.renewals > GROUPS);
    assert_true(sent < 2 * c.renewals);
}

static void groups_with_the_same_mark_are_refused(void **state)
{
    struct elect_member_options options = options_of(0);
    char why[256];
    (void)state;
    memcpy(c.group[1].name, c.group[0].name, sizeof c.group[1].name);
    assert_null(elect_member_start(&options, &c.forbidden, why, sizeof why));
    assert_string_equal(
        why, "cannot distinguish groups group-0 and group-0 on the wire: rename one of them");
}

static bool is_readmitted(void) { return c.readmitted; }

/* A member without its state could contradict its promises, so the others tell it what it
 * promised. */
static void a_member_without_its_state_is_readmitted(void **state)
{
    char why[256];
    (void)state;
    grant_for(SECOND, RENEWAL);
    struct elect_member_options options = options_of(0);
    for (unsigned i = 0; i < MEMBERS; i++)
        start(i);
    wait_for(all_agree);
    stop(0);
    options.lost = true;
    assert_null(elect_member_start(&options, &c.forbidden, why, sizeof why));
    assert_non_null(strstr(why, "exists: if it is damaged, move it away and try again"));
    unlink(c.path[0]);
    start_with(0, &options);
    printf("readmitted after %.1f ms (max-lease 2000)\n", (double)wait_for(is_readmitted) / 1000);
    /* the others have stored the readmitted member's next incarnation */
    assert_int_equal(c.remembered, ELECT_STARTS);
    stop(0);
    start(0);
    wait_for(all_agree);
    assert_int_equal(elect_member_incarnation(c.member[0]), ELECT_STARTS + 1);
}

static void tell_the_third(uint8_t last, size_t length)
{
    uint8_t bytes[ELECT_UV_NOTE + 1] = {0};
    bytes[length - 1] = last;
    c.told = elect_uv_now();
    elect_member_note(c.member[0], c.peer[2].id, bytes, length);
}

static struct {
    uint8_t last;
    size_t length;
} asked;

/* A note may be lost when a slow machine loses a session, so the test sends it again. */
static bool is_answered(void)
{
    if (c.note[0].was[asked.last])
        return true;
    if (elect_uv_now() - c.told > SECOND)
        tell_the_third(asked.last, asked.length);
    return false;
}

static void ask_the_third(uint8_t last, size_t length)
{
    asked.last = last;
    asked.length = length;
    tell_the_third(last, length);
    wait_for(is_answered);
}

static void notes_go_from_host_to_host(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MEMBERS; i++)
        start(i);
    wait_for(all_agree);
    ask_the_third(7, 1);
    ask_the_third(8, ELECT_UV_NOTE);
    assert_int_equal(c.note[0].from, c.peer[2].id);
    assert_int_equal(c.note[0].length, ELECT_UV_NOTE);
    assert_int_equal(c.note[0].last, 8);
    elect_member_note(c.member[0], c.peer[0].id, (const uint8_t *)"", 1);
    elect_member_note(c.member[0], 999, (const uint8_t *)"", 1);
    tell_the_third(9, ELECT_UV_NOTE + 1);
    ask_the_third(10, 2); /* by now every earlier note has arrived or is lost */
    assert_int_equal(c.note[2].last, 10);
    assert_true(c.note[2].was[7] && c.note[2].was[8]);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_false(c.note[i].was[0] || c.note[i].was[9]);
    assert_int_equal(c.note[1].count, 0);
}

/* A member without its state may only ask what the others remember. */
static void notes_of_a_member_without_its_state_are_ignored(void **state)
{
    (void)state;
    grant_for(SECOND, RENEWAL);
    struct elect_member_options options = options_of(0);
    for (unsigned i = 0; i < MEMBERS; i++)
        start(i);
    wait_for(all_agree);
    stop(0);
    unlink(c.path[0]);
    options.lost = true;
    start_with(0, &options);
    while (!c.readmitted) {
        tell_the_third(1, 1);
        uv_run(&c.loop, UV_RUN_ONCE);
        assert_false(gives_up());
    }
    assert_int_equal(c.note[2].count, 0);
}

static bool all_accept(void)
{
    struct elect_peer_info p;
    bool all = true;
    for (unsigned i = 0; i < MEMBERS; i++)
        for (unsigned k = 0; elect_member_peer(c.member[i], k, &p); k++)
            all = all && p.session && p.same_keys;
    return all;
}

static bool removed(void)
{
    char why[256];
    uint8_t ids[ELECT_UV_KEYS];
    bool all = true;
    for (unsigned i = 0; i < MEMBERS; i++)
        all = (elect_member_keys(c.member[i], ids) == 1 ||
               elect_member_key_remove(c.member[i], 1, false, why, sizeof why)) &&
              all;
    return all;
}

static void a_key_is_replaced_without_a_stop(void **state)
{
    struct elect_key new = {7, {8}};
    char why[256] = "";
    (void)state;
    for (unsigned i = 0; i < MEMBERS; i++)
        start(i);
    wait_for(all_agree);
    elect_term token = c.highest[0];
    uint8_t print[3][ELECT_UV_PRINT];
    assert_true(elect_member_key_install(c.member[0], &new, why, sizeof why));
    assert_true(elect_member_key_fingerprint(c.member[0], 7, print[0]));
    assert_true(elect_member_key_fingerprint(c.member[0], 1, print[1]));
    assert_true(elect_member_key_fingerprint(c.member[1], 1, print[2]));
    assert_false(elect_member_key_fingerprint(c.member[0], 9, print[0]));
    assert_memory_not_equal(print[0], print[1], ELECT_UV_PRINT);
    assert_memory_equal(print[1], print[2], ELECT_UV_PRINT);
    assert_memory_not_equal(print[0], new.key, ELECT_UV_PRINT);
    assert_false(elect_member_key_use(c.member[0], 7, why, sizeof why));
    assert_non_null(strstr(why, "does not accept key 7 yet: install it there first"));
    assert_false(elect_member_key_use(c.member[0], 9, why, sizeof why));
    for (unsigned i = 1; i < MEMBERS; i++)
        assert_true(elect_member_key_install(c.member[i], &new, why, sizeof why));
    assert_false(elect_member_key_install(c.member[0], &new, why, sizeof why));
    printf("all accept it after %.1f ms\n", (double)wait_for(all_accept) / 1000);
    assert_false(elect_member_key_remove(c.member[0], 1, true, why, sizeof why));
    assert_string_equal(why, "key 1 is in use here: use another key first");
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(elect_member_key_use(c.member[i], 7, why, sizeof why));
    printf("no member uses the old key after %.1f ms\n", (double)wait_for(removed) / 1000);
    wait_for(all_accept);
    wait_for(all_agree);
    assert_true(was_left_alone(token));
}

/* The others learn a dynamic member's address from its packets. */
static void a_member_may_have_a_dynamic_address(void **state)
{
    (void)state;
    grant_for(SECOND, RENEWAL);
    for (unsigned i = 0; i < MEMBERS; i++)
        c.peer[i].links = 1;
    c.peer[2].dynamic = true;
    memset(&c.peer[2].link, 0, sizeof c.peer[2].link);
    for (unsigned i = 0; i < MEMBERS; i++)
        start(i);
    wait_for(all_agree);
    stop(2);
    start(2);
    wait_for(all_agree);
}

static bool second_link_is_silent(void)
{
    struct elect_peer_info p;
    bool silent = true;
    for (unsigned k = 0; elect_member_peer(c.member[0], k, &p); k++)
        silent = silent && p.link[0].heard - p.link[1].heard > SECOND / 2;
    return silent;
}

static bool second_link_is_back(void)
{
    struct elect_peer_info p;
    bool back = true;
    for (unsigned k = 0; elect_member_peer(c.member[0], k, &p); k++)
        back = back && p.link[1].heard != ELECT_UNSET &&
               p.link[0].heard - p.link[1].heard < SECOND / 4;
    return back;
}

/* Two networks connect the members, as in the lecture notes, and either may fail. */
static void one_network_is_enough(void **state)
{
    union elect_address nowhere = {.any = {.sa_family = AF_UNSPEC}};
    (void)state;
    for (unsigned i = 0; i < MEMBERS; i++)
        start(i);
    wait_for(all_agree);
    wait_for(second_link_is_back);
    elect_term token = c.highest[0];
    for (unsigned i = 0; i < MEMBERS; i++)
        for (unsigned j = 0; j < MEMBERS; j++)
            elect_member_move(c.member[i], c.peer[j].id, 1, &nowhere);
    wait_for(second_link_is_silent);
    for (unsigned i = 0; i < MEMBERS; i++)
        for (unsigned j = 0; j < MEMBERS; j++)
            elect_member_move(c.member[i], c.peer[j].id, 1, &c.peer[j].link[1]);
    wait_for(second_link_is_back);
    wait_for(all_agree);
    assert_true(was_left_alone(token));
}

/* ---- death reports ---- */

/* Sends a death report from the member's sockets, as a guardian does. */
static void send_testament(const int *sockets, const struct elect_testament *t)
{
    for (unsigned i = 0; i < t->packets; i++)
        for (unsigned l = 0; l < t->packet[i].links; l++) {
            const union elect_address *to = &t->packet[i].link[l];
            socklen_t size = to->any.sa_family == AF_INET6 ? sizeof to->six : sizeof to->four;
            assert_int_equal(
                sendto(sockets[l], t->packet[i].bytes, t->packet[i].length, 0, &to->any, size),
                t->packet[i].length);
        }
}

static unsigned the_one;

static bool another_leads(void)
{
    struct elect_news news = {0};
    for (unsigned i = 0; i < MEMBERS; i++)
        if (i != the_one && c.member[i] != NULL && elect_member_status(c.member[i], 0).leads)
            news = elect_member_status(c.member[i], 0);
    return news.leads;
}

static void start_with_sockets(unsigned i, int kept[2])
{
    char why[256];
    int own[ELECT_UV_LINKS];
    struct elect_member_options options = options_of(i);
    assert_true(elect_member_bind(c.peer, MEMBERS, options.id, own, why, sizeof why));
    for (unsigned l = 0; l < 2; l++)
        kept[l] = dup(own[l]);
    options.sockets = own;
    start_with(i, &options);
}

static void the_testament_of_a_dead_leader_saves_a_lease(void **state)
{
    int sockets[MEMBERS][2];
    (void)state;
    /* one group: the leases of others would delay the test */
    c.groups = 1;
    for (unsigned i = 0; i < MEMBERS; i++)
        start_with_sockets(i, sockets[i]);
    wait_for(all_agree);
    the_one = leader();
    struct elect_testament t = c.testament[the_one][0];
    assert_int_equal(t.packets, MEMBERS - 1);
    stop(the_one);
    c.watched = t.term;
    send_testament(sockets[the_one], &t);
    printf("another one after %.1f ms (lease 8000)\n", (double)wait_for(another_leads) / 1000);
    assert_true(c.releases > 0);
    wait_for(all_agree);
    /* After the member's restart, the same death report must have no effect. */
    elect_term token = c.highest[0];
    for (unsigned l = 0; l < 2; l++)
        close(sockets[the_one][l]);
    start_with_sockets(the_one, sockets[the_one]);
    wait_for(all_agree);
    c.releases = 0;
    for (unsigned times = 0; times < 20; times++)
        send_testament(sockets[the_one], &t);
    wait_for_rounds(3); /* their packets arrive after the death reports */
    assert_int_equal(c.releases, 0);
    wait_for(all_agree);
    assert_true(was_left_alone(token));
    for (unsigned i = 0; i < MEMBERS; i++)
        for (unsigned l = 0; l < 2; l++)
            close(sockets[i][l]);
}

/* Returns true if the author of the stolen death report no longer leads, and its successor is the
 * only leader. */
static bool is_deposed(void) { return leaders(0) == 1 && c.office[leader()].token > c.stolen; }

/* Usually the heir leads next. But if this process has stalled, no member has heard another lately,
 * and there is no heir. An election follows, which the author of the death report may win. */
static void a_stolen_testament_deposes_its_author(void **state)
{
    int sockets[2];
    (void)state;
    start_with_sockets(MEMBERS - 1, sockets);
    for (unsigned i = 0; i < MEMBERS - 1; i++)
        start(i);
    wait_for(all_agree);
    while ((the_one = leader()) != MEMBERS - 1) { /* another member may have taken office first */
        struct elect_input in =
            elect_resigns(elect_rank(&c.group[0].config, c.peer[MEMBERS - 1].id), elect_uv_now());
        elect_member_tell(c.member[the_one], 0, &in);
        wait_for(all_agree);
    }
    struct elect_testament t = c.testament[the_one][0];
    elect_term token = c.office[the_one].token;
    c.stolen = t.term;
    send_testament(sockets, &t);
    printf("deposed after %.1f ms (renewal 200)\n", (double)wait_for(is_deposed) / 1000);
    assert_int_equal(c.office[the_one].ended, token);
    assert_true(c.office[the_one].why == ELECT_RULE_TESTAMENT_OF_THE_LIVING ||
                c.office[the_one].why == ELECT_RULE_CLOCKS_ARE_WRONG || was_left_alone(token));
    wait_for(all_agree);
    token = c.highest[0];
    for (unsigned times = 0; times < 20; times++)
        send_testament(sockets, &t);
    wait_for_rounds(3);
    wait_for(all_agree);
    assert_true(was_left_alone(token));
    for (unsigned l = 0; l < 2; l++)
        close(sockets[l]);
}

static struct elect_testament before;

static bool is_deposited_again(void)
{
    const struct elect_testament *t = &c.testament[the_one][0];
    return t->packets == MEMBERS - 1 &&
           memcmp(t->packet, before.packet, sizeof before.packet) != 0 && all_agree();
}

static void a_testament_is_deposited_again_for_a_member_that_restarts(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MEMBERS; i++)
        start(i);
    wait_for(all_agree);
    wait_for(all_accept);
    the_one = leader();
    unsigned other = (the_one + 1) % MEMBERS;
    stop(other);
    before = c.testament[the_one][0];
    assert_int_equal(before.packets, MEMBERS - 1);
    start(other);
    wait_for(is_deposited_again);
    assert_int_equal(c.testament[the_one][0].term, before.term);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(three_members_elect_lose_and_replace_a_leader, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(one_of_three_alone_does_not_lead, set_up, clean_up),
        cmocka_unit_test_setup_teardown(a_member_that_cannot_start_reports_why, set_up, clean_up),
        cmocka_unit_test_setup_teardown(sixty_four_groups_share_datagrams, set_up, clean_up),
        cmocka_unit_test_setup_teardown(renewals_of_all_groups_share_packets, set_up, clean_up),
        cmocka_unit_test_setup_teardown(groups_with_the_same_mark_are_refused, set_up, clean_up),
        cmocka_unit_test_setup_teardown(a_member_without_its_state_is_readmitted, set_up, clean_up),
        cmocka_unit_test_setup_teardown(notes_go_from_host_to_host, set_up, clean_up),
        cmocka_unit_test_setup_teardown(notes_of_a_member_without_its_state_are_ignored, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(a_key_is_replaced_without_a_stop, set_up, clean_up),
        cmocka_unit_test_setup_teardown(a_member_may_have_a_dynamic_address, set_up, clean_up),
        cmocka_unit_test_setup_teardown(one_network_is_enough, set_up, clean_up),
        cmocka_unit_test_setup_teardown(the_testament_of_a_dead_leader_saves_a_lease, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(a_stolen_testament_deposes_its_author, set_up, clean_up),
        cmocka_unit_test_setup_teardown(a_testament_is_deposited_again_for_a_member_that_restarts,
                                        set_up, clean_up),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
