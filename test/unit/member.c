/* Three members in one process, on real sockets, files and clocks. Times are printed, and decide
 * nothing but when to give up. */
#include "../support.h"

#include "../../src/runtime/file.h"
#include "../../src/runtime/member.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEMBERS 3
#define SECOND  1000000
#define GIVE_UP (30 * SECOND)

static struct {
    uv_loop_t loop;
    uv_timer_t look;
    char folder[32], path[MEMBERS][64];
    struct member_peer peer[MEMBERS];
    struct member_group group[2];
    struct member *member[MEMBERS];
    struct member_news news[MEMBERS][2];
    elect_term highest[2]; /* token that was ever announced */
    const char *failed[MEMBERS];
    bool (*done)(void);
    elect_time began;
} c;

static unsigned index_of(void *context) { return (unsigned)(uintptr_t)context; }

/* P1 as the members themselves answer it. */
static unsigned leaders(unsigned group)
{
    unsigned count = 0;
    for (unsigned i = 0; i < MEMBERS; i++)
        count += c.member[i] != NULL && member_status(c.member[i], group).leads;
    assert_true(count <= 1);
    return count;
}

static void announced(void *context, const struct member_news *news)
{
    unsigned i = index_of(context);
    c.news[i][news->group] = *news;
    if (news->leads) {
        assert_true(news->term > c.highest[news->group] || !news->works);
        c.highest[news->group] = news->term;
    }
    leaders(news->group);
    if (news->works) /* nothing runs under it */
        member_stopped(c.member[i], news->group);
}

static void failed(void *context, const char *why) { c.failed[index_of(context)] = why; }

static void look(uv_timer_t *timer)
{
    (void)timer;
    if (c.done() || clock_now() - c.began > GIVE_UP)
        uv_stop(&c.loop);
}

/* Until it is so. */
static elect_time wait_for(bool (*done)(void))
{
    c.done = done;
    c.began = clock_now();
    uv_timer_start(&c.look, look, 1, 1);
    uv_run(&c.loop, UV_RUN_DEFAULT);
    uv_timer_stop(&c.look);
    assert_true(done());
    return clock_now() - c.began;
}

static void start(unsigned i)
{
    char why[256] = "";
    struct member_options options = {.loop = &c.loop,
                                     .id = c.peer[i].id,
                                     .key_id = 1,
                                     .cluster = {1},
                                     .key = {2},
                                     .state = c.path[i],
                                     .peers = MEMBERS,
                                     .peer = c.peer,
                                     .groups = 2,
                                     .group = c.group,
                                     .announce = announced,
                                     .fail = failed,
                                     .context = (void *)(uintptr_t)i};
    c.failed[i] = NULL;
    c.member[i] = member_start(&options, why, sizeof why);
    assert_string_equal(why, "");
}

static void stop(unsigned i)
{
    member_stop(c.member[i]);
    c.member[i] = NULL;
    c.news[i][0].known = c.news[i][1].known = false;
}

/* All that are up follow one of them, in both groups. */
static bool all_agree(void)
{
    for (unsigned g = 0; g < 2; g++) {
        if (leaders(g) != 1)
            return false;
        for (unsigned i = 0; i < MEMBERS; i++)
            for (unsigned j = 0; j < MEMBERS; j++)
                if (c.member[i] != NULL && c.member[j] != NULL) {
                    struct member_news a = member_status(c.member[i], g);
                    struct member_news b = member_status(c.member[j], g);
                    if (!a.known || !b.known || a.leader != b.leader)
                        return false;
                }
    }
    return true;
}

static unsigned leader(void)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        if (c.member[i] != NULL && member_status(c.member[i], 0).leads)
            return i;
    return MEMBERS;
}

static bool nobody_leads(void) { return leaders(0) == 0; }

static bool somebody_leads(void) { return leaders(0) == 1; }

/* Ports that are free now; all members must know them before the first one starts. */
static void choose_ports(void)
{
    int fd[MEMBERS][2];
    for (unsigned i = 0; i < MEMBERS; i++) {
        c.peer[i].id = (uint16_t)(7 * i + 1);
        c.peer[i].links = 2;
        for (unsigned l = 0; l < 2; l++) {
            struct sockaddr_in *a = &c.peer[i].link[l].four;
            socklen_t size = sizeof *a;
            *a = (struct sockaddr_in){.sin_family = AF_INET,
                                      .sin_addr = {htonl(INADDR_LOOPBACK + l)}};
            fd[i][l] = socket(AF_INET, SOCK_DGRAM, 0);
            assert_int_equal(bind(fd[i][l], (struct sockaddr *)a, size), 0);
            assert_int_equal(getsockname(fd[i][l], (struct sockaddr *)a, &size), 0);
        }
    }
    for (unsigned i = 0; i < MEMBERS; i++)
        for (unsigned l = 0; l < 2; l++)
            close(fd[i][l]);
}

static int set_up(void **state)
{
    static struct store store;
    static struct state first;
    uint16_t ids[MEMBERS];
    int error;
    (void)state;
    memset(&c, 0, sizeof c);
    uv_loop_init(&c.loop);
    uv_timer_init(&c.loop, &c.look);
    snprintf(c.folder, sizeof c.folder, "/tmp/elect-test-XXXXXX");
    assert_non_null(mkdtemp(c.folder));
    choose_ports();
    for (unsigned i = 0; i < MEMBERS; i++) {
        ids[i] = c.peer[i].id;
        snprintf(c.path[i], sizeof c.path[i], "%s/%u", c.folder, i);
        memset(&first, 0, sizeof first);
        first.cluster[0] = 1;
        first.node = ids[i];
        assert_int_equal(file_create(c.path[i], &store, &first, &error), FILE_FINE);
    }
    for (unsigned g = 0; g < 2; g++) {
        struct elect_config *config = &c.group[g].config;
        snprintf(c.group[g].name, sizeof c.group[g].name, "group-%u", g);
        assert_int_equal(elect_config_init(config, g == 0 ? ELECT_BULLY : ELECT_RING, ids, MEMBERS,
                                           10000, 10000),
                         ELECT_FINE);
        assert_int_equal(elect_config_mandate(config, 300000, 60000, 10000, 1), ELECT_FINE);
    }
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MEMBERS; i++)
        if (c.member[i] != NULL)
            stop(i);
    uv_close((uv_handle_t *)&c.look, NULL);
    uv_run(&c.loop, UV_RUN_DEFAULT);
    for (unsigned i = 0; i < MEMBERS; i++)
        unlink(c.path[i]);
    return rmdir(c.folder) != 0 || uv_loop_close(&c.loop) != 0;
}

static void three_members_elect_lose_and_replace_a_leader(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MEMBERS; i++)
        start(i);
    printf("a leader after %.1f ms\n", (double)wait_for(all_agree) / 1000);
    elect_term token = c.highest[0];
    unsigned first = leader();
    stop(first);
    printf("another one after %.1f ms (lease 300)\n", (double)wait_for(all_agree) / 1000);
    assert_true(c.highest[0] > token);
    start(first);
    printf("back after %.1f ms\n", (double)wait_for(all_agree) / 1000);
    unsigned second = leader();
    member_resign(c.member[second], 0, ELECT_NOBODY);
    assert_int_not_equal(leader(), second);
    printf("handed over after %.1f ms", (double)wait_for(somebody_leads) / 1000);
    printf(", known to all %.1f ms later\n", (double)wait_for(all_agree) / 1000);
    assert_int_not_equal(leader(), second);
}

static void one_of_three_alone_does_not_lead(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MEMBERS; i++)
        start(i);
    wait_for(all_agree);
    unsigned last = leader();
    for (unsigned i = 0; i < MEMBERS; i++)
        if (i != last)
            stop(i);
    printf("steps down after %.1f ms\n", (double)wait_for(nobody_leads) / 1000);
    for (unsigned i = 0; i < MEMBERS; i++)
        if (i != last)
            start(i);
    wait_for(all_agree);
}

static void what_cannot_start_says_why(void **state)
{
    char why[256];
    struct member_options options = {.loop = &c.loop,
                                     .id = 4,
                                     .key_id = 1,
                                     .cluster = {1},
                                     .state = c.path[0],
                                     .peers = MEMBERS,
                                     .peer = c.peer,
                                     .groups = 2,
                                     .group = c.group,
                                     .announce = announced,
                                     .fail = failed};
    (void)state;
    assert_null(member_start(&options, why, sizeof why));
    assert_string_equal(why, "member 4 is not among the members");
    options.id = c.peer[1].id;
    assert_null(member_start(&options, why, sizeof why));
    assert_non_null(strstr(why, "it belongs to another member"));
    options.state = "/nowhere";
    assert_null(member_start(&options, why, sizeof why));
    assert_string_equal(why, "/nowhere: there is none: elect init makes it");
    start(0);
    options.id = c.peer[0].id;
    options.state = c.path[0];
    assert_null(member_start(&options, why, sizeof why));
    assert_non_null(strstr(why, "Address already in use"));
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    int next = dup(0);
    close(next);
    for (int more = 0; more < 2; more++) { /* no timer, no socket */
        none.rlim_cur = (rlim_t)(next + more);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        assert_null(member_start(&options, why, sizeof why));
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_non_null(strstr(why, "Too many open files"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(three_members_elect_lose_and_replace_a_leader, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(one_of_three_alone_does_not_lead, set_up, clean_up),
        cmocka_unit_test_setup_teardown(what_cannot_start_says_why, set_up, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
