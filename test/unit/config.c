/* Tests configuration parsing and its error messages. */
#include "../support.h"

#include "../../src/daemon/keys.h"
#include "../../src/daemon/config.h"
#include "../../src/daemon/level.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ID          "id = 000102030405060708090a0b0c0d0eff\n"
#define WITH(lines) /* the lines are in section [cluster] and start at line 3 */                   \
    "[cluster]\n" ID lines "[member a]\nid = 1\naddress = 127.0.0.1:7401\n"                        \
    "[member b]\nid = 2\naddress = [::1]:7402\nrole = witness\npriority = 9\n"                     \
    "[group scheduler]\n"
#define WHOLE WITH("")

static struct config c;

static void refused(const char *text, const char *why)
{
    assert_false(config_parse(&c, "x.conf", text));
    assert_string_equal(c.complaint.bytes, why);
}

static void a_configuration_is_read(void **state)
{
    struct elect_config e;
    (void)state;
    assert_true(config_parse(&c, "x.conf", "\xef\xbb\xbf# a comment\n" WHOLE "[group b]\n"));
    assert_int_equal(c.members, 2);
    assert_int_equal(c.groups, 2);
    assert_string_equal(c.group[1], "b");
    assert_int_equal(c.cluster[15], 0xff);
    assert_int_equal(c.lease, 1000000);
    assert_int_equal(config_member(&c, "b")->peer.link[0].any.sa_family, AF_INET6);
    assert_null(config_member(&c, "c"));
    assert_int_equal(config_elect(&c, &e), ELECT_FINE);
    assert_int_equal(e.id[1], 2); /* because of its priority */
    assert_int_equal(e.members, 1);
    assert_int_equal(e.voters, 3);
    assert_int_equal(e.max_lease, 10000000);
    assert_string_equal(c.key_file, "key");
    assert_true(config_parse(&c, "/etc/elect/elect.conf", WHOLE));
    assert_string_equal(c.key_file, "/etc/elect/key");
}

static void settings_of_the_cluster(void **state)
{
    (void)state;
    assert_true(config_parse(&c, "x.conf",
                             WITH("profile = fast\nrho = 0.05%\nalgorithm = ring\n"
                                  "preempt = after 30s\nkey-file = /k\nstate-dir = /s\n")));
    assert_int_equal(c.lease, 60000);
    assert_int_equal(c.renewal, 12000);
    assert_int_equal(c.rho, 500);
    assert_int_equal(c.algorithm, ELECT_RING);
    assert_true(c.preempt);
    assert_int_equal(c.preempt_after, 30000000);
    assert_string_equal(c.key_file, "/k");
    assert_true(config_parse(&c, "x.conf", WITH("lease = 2s ; longer\nrenewal=400ms\n")));
    assert_int_equal(c.lease, 2000000);
}

/* A member that is heard once per suspicion time must never appear to be down. */
static void a_link_may_be_silent_between_renewals(void **state)
{
    static const char *const profiles[] = {"fast", "lan", "wan"};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct elect_config e;
        char text[512];
        snprintf(text, sizeof text, WITH("profile = %s\n"), profiles[i]);
        assert_true(config_parse(&c, "x.conf", text));
        assert_int_equal(config_elect(&c, &e), ELECT_FINE);
        assert_in_range(config_link_silence(&e),
                        2 * e.duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER], 10000000);
    }
}

static void the_initiator_may_tell_lower_members(void **state)
{
    struct elect_config e;
    (void)state;
    assert_true(config_parse(&c, "x.conf", WHOLE));
    assert_int_equal(config_elect(&c, &e), ELECT_FINE);
    assert_false(e.tell_lower);
    uint32_t digest = e.digest;
    assert_true(config_parse(&c, "x.conf", WITH("tell-lower = yes\n")));
    assert_int_equal(config_elect(&c, &e), ELECT_FINE);
    assert_true(e.tell_lower);
    assert_int_not_equal(e.digest, digest); /* all members must have the same setting */
    refused(WITH("tell-lower = yes\nalgorithm = ring\n"),
            "x.conf: tell-lower = yes needs algorithm = bully: change one of them");
}

static void guardians_and_hooks(void **state)
{
    (void)state;
    assert_true(config_parse(&c, "x.conf", WHOLE));
    assert_true(c.testament && c.testament_delay == 0 && c.hook_timeout == 10000000);
    assert_false(config_has_hooks(&c));
    assert_true(config_parse(&c, "x.conf",
                             WITH("testament = no\ntestament-delay = 5ms\n"
                                  "run-group = workers\non-leader = /a/b\nhook-timeout = 2s\n")));
    assert_true(!c.testament && c.testament_delay == 5000 && c.hook_timeout == 2000000);
    assert_string_equal(c.run_group, "workers");
    assert_string_equal(c.hook[HOOK_ON_LEADER], "/a/b");
    assert_true(config_has_hooks(&c));
    assert_int_equal(LEVEL_INFO, c.log_level);
    assert_true(config_parse(&c, "x.conf", WITH("log-level = error\n")));
    assert_int_equal(LEVEL_ERROR, c.log_level);
    refused(WITH("log-level = high\n"), "x.conf:3: unknown log level \"high\": one of error, "
                                        "warning, notice, info, debug");
    refused(WITH("on-leader = b\n"), "x.conf:3: not an absolute path \"b\": expected a program, "
                                     "for example /usr/local/bin/hook");
    refused(WITH("testament = maybe\n"), "x.conf:3: unknown value \"maybe\": one of no, yes");
    refused(WITH("hook-timeout = 0s\n"),
            "x.conf:3: hook-timeout \"0s\" is too short: expected for example 10s");
    refused(WITH("testament-delay = 1s\n"),
            "x.conf: testament-delay is too long: it must be shorter than lease; or set "
            "testament = no");
}

static void addresses_may_be_names(void **state)
{
    (void)state;
    assert_true(config_parse(&c, "x.conf",
                             WHOLE "[member c]\nid = 3\naddress = c.example.org:7403\n"
                                   "[member d]\nid = 4\naddress = dynamic\n"));
    assert_int_equal(c.member[2].peer.link[0].any.sa_family, AF_UNSPEC);
    assert_string_equal(c.member[2].host[0].name, "c.example.org");
    assert_int_equal(c.member[2].host[0].port, 7403);
    assert_string_equal(c.member[0].host[0].name, "");
    assert_true(c.member[3].peer.dynamic);
    refused(WHOLE "[member c]\nid = 3\naddress = dynamic\n[member d]\nid = 4\naddress = dynamic\n",
            "x.conf: member \"d\" is dynamic, as another member is, and they could not find each "
            "other: write the address of one of them");
    for (unsigned i = 0; i < 7; i++) {
        static const char *const bad[] = {":7400",          "[]:7400",       "-a:7400",
                                          "300.1.1.1:7400", "[fd00::1:7400", "a b:7400x1",
                                          "a_b.org:7400"};
        union elect_address address;
        struct config_host host;
        assert_false(config_address(bad[i], &address, &host));
    }
}

#define LONG "a-name-of-sixty-three-letters-is-the-longest-that-a-name-may-be"

static void names_may_be_long(void **state)
{
    (void)state;
    assert_int_equal(strlen(LONG), 63);
    assert_true(config_parse(&c, "x.conf",
                             WHOLE "[member " LONG "]\nid = 3\naddress = 127.0.0.1:7403\n"
                                   "priority = 3\n[group " LONG "]\n"));
    assert_int_equal(config_member(&c, LONG)->peer.id, 3);
    assert_int_equal(config_member(&c, LONG)->priority, 3);
    assert_string_equal(c.group[1], LONG);
    refused("[member " LONG "x]\nid = 1\n",
            "x.conf:1: not a name \"" LONG
            "x\": expected 1 to 63 letters, digits, dots, dashes or underscores");
    refused("[@0]\nid = 1\n",
            "x.conf:1: unknown section \"@0\": one of cluster, member NAME, group NAME");
}

static void paths_of_state_files_and_sockets(void **state)
{
    char path[CONFIG_FILE];
    (void)state;
    assert_true(config_parse(&c, "/etc/elect/elect.conf", WHOLE));
    config_state_path(&c, 2, path);
    assert_string_equal(path, "/var/lib/elect/member-2.state");
    config_socket_path(&c, 2, "admin", path);
    assert_string_equal(path, "/run/elect/member-2.admin");
    assert_true(config_parse(&c, "demo/elect.conf", WITH("state-dir = state\n")));
    config_socket_path(&c, 1, "status", path);
    assert_string_equal(path, "demo/state/member-1.status");
    assert_string_equal(c.key_file, "demo/key");
    assert_true(config_parse(&c, "demo/elect.conf", WITH("run-dir = /r\n")));
    config_socket_path(&c, 1, "status", path);
    assert_string_equal(path, "/r/member-1.status");
    config_state_path(&c, 1, path);
    assert_string_equal(path, "/var/lib/elect/member-1.state");
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void files_of_conf_d_come_last(void **state)
{
    char folder[] = "/tmp/elect-test-XXXXXX", sub[64], path[64], want[160];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(sub, sizeof sub, "%s/conf.d", folder);
    snprintf(path, sizeof path, "%s/elect.conf", folder);
    assert_int_equal(mkdir(sub, 0700), 0);
    write_file(folder, "elect.conf", WHOLE);
    write_file(sub, "20.conf", "[cluster]\nlease = 2s\n[group scheduler]\n");
    write_file(sub, "10.conf", "[cluster]\nrenewal = 300ms\n[member a]\npriority = 7\n");
    write_file(sub, "30.conf.bak", "nonsense\n");
    assert_true(config_load(&c, path));
    assert_int_equal(c.lease, 2000000);
    assert_int_equal(c.renewal, 300000);
    assert_int_equal(c.member[0].priority, 7);
    write_file(sub, "30.conf", "[cluster]\nlease = 3s\n");
    assert_false(config_load(&c, path));
    snprintf(want, sizeof want, "%s/30.conf:2: key \"lease\" is set twice: remove one of them",
             sub);
    assert_string_equal(c.complaint.bytes, want);
    write_file(sub, "30.conf", "[cluster]\n\nlaese = 2s\n");
    assert_false(config_load(&c, path));
    snprintf(want, sizeof want, "%s/30.conf:3: unknown key \"laese\": did you mean lease?", sub);
    assert_string_equal(c.complaint.bytes, want);
    static const char *const files[] = {"conf.d/10.conf",
                                        "conf.d/20.conf",
                                        "conf.d/30.conf",
                                        "conf.d/30.conf.bak",
                                        "conf.d",
                                        "elect.conf",
                                        ""};
    for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(want, sizeof want, "%s/%s", folder, files[i]);
        assert_int_equal(remove(want), 0);
    }
    assert_false(config_load(&c, path));
    snprintf(want, sizeof want, "%s: No such file or directory", path);
    assert_string_equal(c.complaint.bytes, want);
}

static void the_example_is_valid(void **state)
{
    static struct text example;
    (void)state;
    text_clear(&example);
    config_example(&example);
    assert_true(config_parse(&c, "x.conf", example.bytes));
    assert_int_equal(c.members, 3);
    assert_string_equal(c.group[0], "main");
}

static void the_first_mistake_is_reported_with_its_line(void **state)
{
    (void)state;
    refused("[cluster]\nlaese = 1s\n", "x.conf:2: unknown key \"laese\": did you mean lease?");
    refused("[cluster]\nlease = 1\n",
            "x.conf:2: not a duration \"1\": expected for example 200ms, 1s or 2m");
    refused("[cluster]\n\nlease = 99999m\n",
            "x.conf:3: not a duration \"99999m\": expected for example 200ms, 1s or 2m");
    refused("[cluster]\nid = 12\n",
            "x.conf:2: not a cluster id \"12\": expected 32 hexadecimal digits");
    refused("[clutser]\nid = 12\n", "x.conf:1: unknown section \"clutser\": did you mean cluster?");
    refused("[member a/b]\nid = 1\n",
            "x.conf:1: not a name \"a/b\": expected 1 to 63 letters, digits, dots, "
            "dashes or underscores");
    refused("[member a]\naddress = 10.0.0.1\n",
            "x.conf:2: not an address \"10.0.0.1\": expected for example 10.0.0.1:7400, "
            "[fd00::1]:7400 or a.example.org:7400");
    refused("[member a]\naddress = 10.0.0.1:0\n",
            "x.conf:2: not an address \"10.0.0.1:0\": expected for example 10.0.0.1:7400, "
            "[fd00::1]:7400 or a.example.org:7400");
    refused("[member a]\nid = 65536\n", "x.conf:2: not a number \"65536\": expected 0 to 65535");
    refused("[member a]\nrole = king\n",
            "x.conf:2: unknown role \"king\": one of member, witness, observer");
    refused("[cluster]\npreempt = perhaps\n",
            "x.conf:2: unknown value \"perhaps\": expected no, yes or for example after 30s");
    refused("[cluster]\nrho = 60%\n",
            "x.conf:2: not a percentage \"60%\": expected for example 1% or 0.05%, below 50%");
    refused("[group g]\nlease = 1s\n", "x.conf:2: key \"lease\" belongs in the section [cluster]");
    refused("[member w]\nlead-only-with-runner = yes\n",
            "x.conf:2: key \"lead-only-with-runner\" belongs in a section [group NAME]");
    refused("[group g]\nlead-only-with-runner = maybe\n",
            "x.conf:2: unknown value \"maybe\": one of no, yes");
    refused("[cluster]\n\x1b[31mid\x07 = 1\n",
            "x.conf:2: unknown key \"?[31mid?\": one of id, key-file, "
            "state-dir, run-dir, profile, lease, renewal, max-lease, delay, rho, "
            "algorithm, tell-lower, mandate, preempt, testament, testament-delay, run-group, "
            "pre-leader, "
            "on-leader, on-follower, on-leader-change, hook-timeout, log-level");
    refused("[cluster]\nnonsense\n",
            "x.conf:2: not a key and a value: expected for example lease = 1s");
}

/* A second value would silently replace the first. */
static void nothing_is_set_twice(void **state)
{
    (void)state;
    refused(WITH("lease = 2s\nlease = 3s\n"),
            "x.conf:4: key \"lease\" is set twice: remove one of them");
    refused(WITH("id = 000102030405060708090a0b0c0d0eff\n"),
            "x.conf:3: key \"id\" is set twice: remove one of them");
    refused("[member a]\nid = 1\nid = 1\n",
            "x.conf:3: key \"id\" is set twice: remove one of them");
    refused(
        WHOLE "[cluster]\nlease = 3s\n",
        "x.conf:12: section \"cluster\" is repeated in this file: put its keys into one section");
    refused(WHOLE "[member a]\n", "x.conf:12: section \"member a\" is repeated in this file: put "
                                  "its keys into one section");
    refused(WHOLE "[group scheduler]\n", "x.conf:12: section \"group scheduler\" is repeated in "
                                         "this file: put its keys into one section");
    refused("lease = 3s\n[cluster]\n",
            "x.conf:1: a line before the first section: expected a section, for example [cluster]");
}

static void an_address_belongs_to_one_member(void **state)
{
    static const struct {
        const char *address, *why;
    } bad[] = {
        {"0.0.0.0:7400",
         " is a wildcard: write the address at which the other members reach this one"},
        {"[::]:7400",
         " is a wildcard: write the address at which the other members reach this one"},
        {"224.0.0.251:7400", " is a multicast address: write the member's own address"},
        {"[ff02::1]:7400", " is a multicast address: write the member's own address"},
        {"[::ffff:10.0.0.1]:7400",
         " is an IPv4 address in IPv6 notation: write it as an IPv4 address"},
        {"[fe80::1]:7400",
         " is a link-local address, which needs an interface: write a routable address"},
        {"0.1.2.3:7400", " is reserved: write the member's own address"},
        {"240.0.0.1:7400", " is reserved: write the member's own address"},
        {"255.255.255.255:7400", " is the broadcast address: write the member's own address"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128], why[256];
        snprintf(text, sizeof text, "[member a]\naddress = %s\n", bad[i].address);
        snprintf(why, sizeof why, "x.conf:2: address \"%s\"%s", bad[i].address, bad[i].why);
        refused(text, why);
    }
}

static void missing_and_inconsistent_values_are_reported(void **state)
{
    (void)state;
    refused("", "x.conf: [cluster] has no id: copy elect.conf from another member, or remove "
                "this file and run elect init --new-cluster");
    refused("[cluster]\n" ID, "x.conf: no section [member NAME]: add one for each member");
    refused("[cluster]\n" ID "[member a]\nid = 1\naddress = 127.0.0.1:1\n",
            "x.conf: no section [group NAME]: add one for each group");
    refused("[cluster]\n" ID "[group g]\n[member a]\nid = 1\n",
            "x.conf: member \"a\" has no address");
    refused("[cluster]\n" ID "[group g]\n[member a]\naddress = 127.0.0.1:1\n",
            "x.conf: member \"a\" has no id");
    refused(WHOLE "[member c]\nid = 1\naddress = 127.0.0.1:9\n",
            "x.conf: member \"c\" has the id of another member");
    refused(
        WHOLE "[member c]\nid = 3\naddress = 127.0.0.1:9, 127.0.0.2:9\n",
        "x.conf: member \"c\" has more or fewer addresses than the first member: expected one for "
        "each link");
    refused(WITH("lease = 20s\n"), "x.conf: lease is too long: it is at most max-lease, which must "
                                   "be raised first, on all members");
    refused(WITH("delay = 0ms\n"), "x.conf: delay is out of range: it must be more than 0 and at "
                                   "most 1s");
    refused(WITH("renewal = 0ms\n"), "x.conf: renewal is too short: it must be more than 0, and at "
                                     "least 3/4 of delay");
    refused(WITH("lease = 100ms\nrenewal = 20ms\n"),
            "x.conf: lease is too short: with a delay of 20 ms and rho 1% it must be at least "
            "163234us");
    /* the message names the shortest lease that is accepted */
    refused(WITH("lease = 163233us\nrenewal = 20ms\n"),
            "x.conf: lease is too short: with a delay of 20 ms and rho 1% it must be at least "
            "163234us");
    assert_true(config_parse(&c, "x.conf", WITH("lease = 163234us\nrenewal = 20ms\n")));
    refused(WITH("rho = 40%\nlease = 373ms\nrenewal = 20ms\n"),
            "x.conf: lease is too short: with a delay of 20 ms and rho 40% it must be at least "
            "373336us");
    assert_true(config_parse(&c, "x.conf", WITH("rho = 40%\nlease = 373336us\nrenewal = 20ms\n")));
    refused(WITH("mandate = none\n"),
            "x.conf: member \"b\" has a role that needs a mandate: remove the role");
    refused(WITH("mandate = perhaps\n"),
            "x.conf:3: unknown mandate \"perhaps\": one of none, majority");
    refused(WITH("renewal = 500ms\n"),
            "x.conf: renewal is too long: it must fit three times into the lease");
    refused("[cluster]\n" ID
            "[group g]\n[member a]\nid = 1\naddress = 127.0.0.1:1\nrole = witness\n",
            "x.conf: no member may lead: at least one must have role = member");
}

static void a_new_key_has_a_number_of_its_own(void **state)
{
    static const struct {
        uint8_t count, used[2], next;
    } cases[] = {
        {0, {0, 0}, 1}, {1, {1, 0}, 2}, {2, {7, 3}, 8}, {1, {255, 0}, 0}, {2, {0, 255}, 1}};
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct keys k = {.count = cases[i].count};
        struct elect_key drawn;
        for (unsigned j = 0; j < k.count; j++)
            k.key[j].id = cases[i].used[j];
        keys_draw(&k, &drawn);
        assert_int_equal(drawn.id, cases[i].next);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configuration_is_read),
        cmocka_unit_test(settings_of_the_cluster),
        cmocka_unit_test(a_link_may_be_silent_between_renewals),
        cmocka_unit_test(the_initiator_may_tell_lower_members),
        cmocka_unit_test(guardians_and_hooks),
        cmocka_unit_test(addresses_may_be_names),
        cmocka_unit_test(names_may_be_long),
        cmocka_unit_test(paths_of_state_files_and_sockets),
        cmocka_unit_test(files_of_conf_d_come_last),
        cmocka_unit_test(the_example_is_valid),
        cmocka_unit_test(the_first_mistake_is_reported_with_its_line),
        cmocka_unit_test(nothing_is_set_twice),
        cmocka_unit_test(an_address_belongs_to_one_member),
        cmocka_unit_test(missing_and_inconsistent_values_are_reported),
        cmocka_unit_test(a_new_key_has_a_number_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
