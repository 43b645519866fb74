/* Tests when work is told to stop, when it is killed, and how all its descendants are found. */
#include "../support.h"

#include "../../src/run/deadline.h"
#include "../../src/run/tree.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000

static struct deadline begun(int64_t until)
{
    struct deadline d;
    char why[512] = "";
    assert_true(
        deadline_begin(&d, 979 * MS, 200 * MS, 529 * MS, DEADLINE_DEFAULT, why, sizeof why));
    d.until = until;
    return d;
}

static void the_defaults_fit_the_lease(void **state)
{
    static const struct {
        int64_t lease, renewal, grace, margin;
    } rows[] = {{980 * MS, 200 * MS, 265 * MS, 50 * MS},
                {60 * MS, 12 * MS, 13 * MS, 10 * MS}, /* the profile `fast` */
                {300 * MS, 100 * MS, 25 * MS, 50 * MS},
                {294 * MS, 80 * MS, 42500, 49 * MS}};
    struct deadline d;
    char why[512];
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(deadline_begin(&d, rows[i].lease, rows[i].renewal, DEADLINE_DEFAULT,
                                   DEADLINE_DEFAULT, why, sizeof why));
        assert_int_equal(d.grace, rows[i].grace);
        assert_int_equal(d.margin, rows[i].margin);
        assert_int_equal(2 * d.grace + d.margin, rows[i].lease - 2 * rows[i].renewal);
        assert_false(deadline_may_start(&d, 0));
    }
}

static void a_grace_that_does_not_fit_is_refused(void **state)
{
    struct deadline d;
    char why[512];
    (void)state;
    assert_true(deadline_begin(&d, 979 * MS, 200 * MS, 529 * MS, 50 * MS, why, sizeof why));
    assert_false(deadline_begin(&d, 979 * MS, 200 * MS, 529 * MS + 1, 50 * MS, why, sizeof why));
    assert_false(
        deadline_begin(&d, 979 * MS, 200 * MS, 530 * MS, DEADLINE_DEFAULT, why, sizeof why));
    assert_string_equal(why, "grace 530 ms + kill margin 50 ms exceed the leader's lease "
                             "979 ms - 2 x renewal 200 ms = 579 ms: reduce -k or --kill-margin, "
                             "or configure a longer lease");
    assert_false(
        deadline_begin(&d, 979 * MS, 200 * MS, DEADLINE_DEFAULT, 580 * MS, why, sizeof why));
    assert_true(
        deadline_begin(&d, 979 * MS, 200 * MS, DEADLINE_DEFAULT, 579 * MS, why, sizeof why));
    assert_int_equal(d.grace, 0);
    /* no time is left for a grace period */
    assert_false(
        deadline_begin(&d, 20 * MS, 10 * MS, DEADLINE_DEFAULT, DEADLINE_DEFAULT, why, sizeof why));
}

static void only_a_later_deadline_counts(void **state)
{
    (void)state;
    assert_int_equal(deadline_extended(0, 1000, 500, 600), 1500);
    assert_int_equal(deadline_extended(1500, 900, 500, 600), 1500);
    assert_int_equal(deadline_extended(1500, 1001, 500, 600), 1501);
    assert_int_equal(deadline_extended(1500, 2000, 0, 600), 1500);
    assert_int_equal(deadline_extended(1500, 2000, -1, 600), 1500);
    assert_int_equal(deadline_extended(1500, 2000, INT64_MIN, 600), 1500);
    /* 601 exceeds the lease of 600 */
    assert_int_equal(deadline_extended(1500, 2000, 601, 600), 1500);
    assert_int_equal(deadline_extended(1500, 2000, INT64_MAX, 600), 1500);
    assert_int_equal(deadline_extended(1500, 2000, 600, 600), 2600);
}

static void an_office_that_is_not_renewed(void **state)
{
    struct deadline d = begun(2000 * MS);
    (void)state;
    assert_int_equal(deadline_term(&d), (2000 - 529 - 50) * MS);
    assert_int_equal(deadline_kill(&d), 1950 * MS);
    assert_int_equal(deadline_guard(&d), 1975 * MS);
    assert_true(deadline_may_start(&d, deadline_term(&d) - 1));
    assert_false(deadline_may_start(&d, deadline_term(&d)));
    deadline_stop(&d, deadline_term(&d));
    assert_int_equal(deadline_kill(&d), 1950 * MS);
    assert_int_equal(deadline_term(&d), DEADLINE_NEVER);
    deadline_stop(&d, 1800 * MS);
    assert_int_equal(deadline_kill(&d), 1950 * MS);
}

static void work_that_is_told_late(void **state)
{
    struct deadline d = begun(2000 * MS);
    (void)state;
    deadline_stop(&d, 1900 * MS);
    assert_int_equal(deadline_kill(&d), 1950 * MS);
    assert_int_equal(deadline_guard(&d), 1975 * MS);
}

static void an_office_that_is_handed_over(void **state)
{
    struct deadline d = begun(2000 * MS);
    (void)state;
    deadline_stop(&d, 1100 * MS);
    assert_false(deadline_may_start(&d, 1100 * MS));
    assert_int_equal(deadline_kill(&d), 1629 * MS);
    assert_int_equal(deadline_guard(&d), 1654 * MS);
    d.until = 1500 * MS;
    assert_int_equal(deadline_kill(&d), 1450 * MS);
    d.until = 9000 * MS;
    assert_int_equal(deadline_kill(&d), 1629 * MS);
}

static void an_office_that_is_lost(void **state)
{
    struct deadline d = begun(2000 * MS);
    (void)state;
    deadline_lost(&d, 1100 * MS);
    assert_int_equal(deadline_kill(&d), 1100 * MS);
    assert_int_equal(deadline_guard(&d), 1125 * MS);
    d = begun(2000 * MS);
    deadline_stop(&d, 1100 * MS);
    deadline_lost(&d, 1200 * MS);
    assert_true(deadline_kill(&d) <= 1200 * MS);
}

/* ---- the tree ---- */

struct reaped {
    unsigned count;
    pid_t last;
};

static void count(void *context, pid_t child, int status)
{
    struct reaped *r = context;
    (void)status;
    r->count++;
    r->last = child;
}

/* Forks a child, and a grandchild with a session of its own. Both wait to be killed. */
static pid_t grow(pid_t *below)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pid_t inner = fork();
        if (inner == 0) {
            setsid();
            inner = getpid();
            if (write(ends[1], &inner, sizeof inner) != sizeof inner)
                _exit(1);
        }
        for (;;)
            pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], below, sizeof *below), sizeof *below);
    close(ends[0]);
    return child;
}

static void children_are_found_in_both_ways(void **state)
{
    pid_t below, list[8], scanned[8], child = grow(&below);
    struct reaped r = {0};
    const struct tree t = {0};
    (void)state;
    assert_int_equal(tree_children(getpid(), list, 8), 1);
    assert_int_equal(list[0], child);
    assert_int_equal(tree_children_by_parent(getpid(), scanned, 8), 1);
    assert_int_equal(scanned[0], child);
    assert_int_equal(tree_children(child, list, 8), 1);
    assert_int_equal(list[0], below);
    assert_int_equal(tree_children_by_parent(child, scanned, 8), 1);
    assert_int_equal(scanned[0], below);
    tree_kill(&t, count, &r);
    assert_int_equal(tree_children(getpid(), list, 8), 0);
    assert_int_equal(kill(below, 0), -1);
}

static void orphans_are_killed_too(void **state)
{
    pid_t below, child = grow(&below);
    struct reaped r = {0};
    const struct tree t = {0};
    (void)state;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(kill(below, 0), 0);
    tree_kill(&t, count, &r);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.last, below);
    assert_false(tree_reap(count, &r));
}

static char state_of(pid_t pid)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_non_null(fgets(line, sizeof line, in));
    fclose(in);
    return strrchr(line, ')')[2];
}

static void all_descendants_stop_and_continue(void **state)
{
    pid_t below, child = grow(&below);
    struct reaped r = {0};
    const struct tree t = {0};
    (void)state;
    tree_stop(&t);
    /* until the kernel has stopped both */
    while (state_of(child) != 'T' || state_of(below) != 'T')
        sched_yield();
    tree_continue(&t);
    assert_int_not_equal(state_of(child), 'T');
    assert_int_not_equal(state_of(below), 'T');
    tree_stop(&t);
    tree_kill(&t, count, &r);
    assert_int_equal(r.count, 2);
}

/* The killer spares another program's process group, even if it is in the same session and a
 * descendant has joined it. */
static void foreign_groups_survive(void **state)
{
    int ends[2];
    pid_t stranger;
    struct reaped r = {0};
    const struct tree t = {0};
    char joined;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    stranger = fork();
    assert_true(stranger >= 0);
    if (stranger == 0)
        for (;;)
            pause();
    assert_int_equal(setpgid(stranger, stranger), 0);
    pid_t killer = fork();
    assert_true(killer >= 0);
    if (killer == 0) {
        pid_t descendant = fork();
        if (descendant == 0) {
            setpgid(0, stranger);
            if (write(ends[1], "j", 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
        if (read(ends[0], &joined, 1) != 1)
            _exit(1);
        tree_kill(&t, count, &r);
        _exit(r.count == 1 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(killer, &status, 0), killer);
    assert_int_equal(status, 0);
    assert_int_equal(waitpid(stranger, &status, WNOHANG), 0);
    tree_kill(&t, count, &r);
    close(ends[0]);
    close(ends[1]);
}

static int adopt(void **state)
{
    (void)state;
    return tree_adopt() ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_fit_the_lease),
        cmocka_unit_test(a_grace_that_does_not_fit_is_refused),
        cmocka_unit_test(only_a_later_deadline_counts),
        cmocka_unit_test(an_office_that_is_not_renewed),
        cmocka_unit_test(work_that_is_told_late),
        cmocka_unit_test(an_office_that_is_handed_over),
        cmocka_unit_test(an_office_that_is_lost),
        cmocka_unit_test(children_are_found_in_both_ways),
        cmocka_unit_test(orphans_are_killed_too),
        cmocka_unit_test(all_descendants_stop_and_continue),
        cmocka_unit_test(foreign_groups_survive),
    };
    return cmocka_run_group_tests(tests, adopt, NULL);
}
