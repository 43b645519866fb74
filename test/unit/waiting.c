/* Tests when a waiting run names the leader to its user. */
#include "../support.h"

#include "../../src/run/waiting.h"

#include <stdio.h>
#include <string.h>

#define TERM (UINT64_C(5) << 16)

static struct talk packet(enum talk_word word, const char *leader, uint64_t term, const char *why)
{
    struct talk t = {.word = (uint8_t)word, .term = term, .group = "main", .node = "a"};
    snprintf(t.leader, sizeof t.leader, "%s", leader);
    snprintf(t.why, sizeof t.why, "%s", why);
    return t;
}

static void hears(struct waiting *w, enum talk_word word, const char *leader, uint64_t term,
                  const char *why)
{
    struct talk t = packet(word, leader, term, why);
    waiting_hear(w, &t);
}

static void says(struct waiting *w, int64_t now, const char *line)
{
    assert_true(waiting_next(w) <= now);
    assert_string_equal(line, waiting_due(w, now));
    assert_null(waiting_due(w, now));
}

static void each_change_is_a_line(void **state)
{
    struct waiting w = {0};
    (void)state;
    assert_true(waiting_next(&w) == INT64_MAX);
    hears(&w, TALK_WAIT, "b", TERM + 2, "");
    says(&w, 0, "waiting: b leads group main in term 5.2");
    hears(&w, TALK_NEWS, "", 0, "a hears nothing from b");
    says(&w, 0, "waiting: no leader of group main is known (a hears nothing from b)");
    hears(&w, TALK_NEWS, "c", 0, "");
    says(&w, 0, "waiting: c leads group main");
    waiting_renew(&w);
    hears(&w, TALK_WAIT, "c", TERM + 3, "a backs off");
    says(&w, 0, "waiting: c leads group main in term 5.3, and a backs off");
}

static void the_same_leader_is_no_line(void **state)
{
    struct waiting w = {0};
    (void)state;
    hears(&w, TALK_WAIT, "b", TERM + 2, "");
    assert_non_null(waiting_due(&w, 0));
    hears(&w, TALK_NEWS, "b", TERM + (1 << 16) + 2, "b reports that it leads");
    assert_null(waiting_due(&w, 0));
    hears(&w, TALK_WAIT, "b", TERM + 2, "");
    assert_null(waiting_due(&w, 0));
}

static void a_local_leader_is_a_line_only_with_a_reason_to_wait(void **state)
{
    struct waiting w = {0};
    (void)state;
    hears(&w, TALK_WAIT, "a", TERM + 1, "");
    assert_null(waiting_due(&w, 0));
    hears(&w, TALK_NEWS, "b", TERM + 2, "");
    assert_non_null(waiting_due(&w, 0));
    hears(&w, TALK_NEWS, "a", TERM + 1, "a majority has granted");
    assert_null(waiting_due(&w, 0));
    hears(&w, TALK_NEWS, "b", TERM + 2, "");
    assert_non_null(waiting_due(&w, 0));
    waiting_renew(&w);
    hears(&w, TALK_WAIT, "a", TERM + 1, "another run works");
    says(&w, 0, "waiting: a leads group main in term 5.1, and another run works");
}

static void the_rate_is_bounded_and_the_latest_state_is_shown(void **state)
{
    struct waiting w = {0};
    const int64_t start = 1000000;
    unsigned lines = 0;
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        hears(&w, TALK_NEWS, i % 2 == 0 ? "b" : "c", TERM, "it flaps");
        lines += waiting_due(&w, start) != NULL;
    }
    assert_int_equal(WAITING_BURST, lines);
    assert_true(waiting_next(&w) == start + WAITING_EVERY);
    hears(&w, TALK_NEWS, "b", TERM, "");
    assert_true(waiting_next(&w) == INT64_MAX);
    hears(&w, TALK_NEWS, "", 0, "");
    assert_null(waiting_due(&w, start + WAITING_EVERY - 1));
    says(&w, start + WAITING_EVERY, "waiting: no leader of group main is known");
    hears(&w, TALK_NEWS, "c", TERM, "");
    assert_true(waiting_next(&w) == start + 2 * WAITING_EVERY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_change_is_a_line),
        cmocka_unit_test(the_same_leader_is_no_line),
        cmocka_unit_test(a_local_leader_is_a_line_only_with_a_reason_to_wait),
        cmocka_unit_test(the_rate_is_bounded_and_the_latest_state_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
