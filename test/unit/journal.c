/* Tests the log and the history against local users who cause many entries, and the limits on how
 * often these users may start work or cause a resignation. */
#include "../support.h"

#include "../../src/daemon/journal.h"
#include "../../src/daemon/pace.h"

#include <stdio.h>
#include <string.h>

#define FLOOD  5000
#define SECOND 1000000

static struct journal j;
static unsigned shown, summed;

static void count(void *context, const struct journal_entry *e)
{
    (void)context;
    shown++;
    summed += e->repeated > 0;
}

static int begin(void **state)
{
    (void)state;
    memset(&j, 0, sizeof j);
    journal_begin(&j, &(struct journal_options){.quiet = true}, "a");
    j.written = count;
    shown = summed = 0;
    return 0;
}

static void write_entry(enum journal_event event, const char *group, const char *text)
{
    struct journal_entry e = {.event = (uint8_t)event};
    snprintf(e.group, sizeof e.group, "%s", group);
    snprintf(e.text, sizeof e.text, "%s", text);
    journal_write(&j, &e);
}

static void turn(const char *group, unsigned pid)
{
    char text[JOURNAL_TEXT];
    snprintf(text, sizeof text, "elect run (pid %u) starts its work", pid);
    write_entry(JOURNAL_WORK, group, text);
    write_entry(JOURNAL_WORK, group, "all work has stopped");
}

static void turns_of_work_replace_nothing_else(void **state)
{
    struct journal_cursor c = {0};
    const struct journal_entry *e;
    unsigned others = 0, work = 0;
    uint64_t last = 0;
    char group[8];
    (void)state;
    write_entry(JOURNAL_LEADS, "main", "became leader in term 1.1");
    for (unsigned i = 0; i < FLOOD; i++) {
        snprintf(group, sizeof group, "g%u", i % 64);
        turn(group, i * 7919 % 100000);
    }
    write_entry(JOURNAL_STOPPED_LEADING, "main", "stopped leading");
    while ((e = journal_next(&j, &c)) != NULL) {
        assert_true(e->number > last);
        last = e->number;
        others += e->event != JOURNAL_WORK;
        work += e->event == JOURNAL_WORK;
    }
    assert_int_equal(2, others);
    assert_int_equal(JOURNAL_WORK_ENTRIES, work);
}

static void every_turn_is_counted(void **state)
{
    struct journal_cursor c = {0};
    const struct journal_entry *e;
    uint64_t work = 0;
    (void)state;
    for (unsigned i = 0; i < FLOOD; i++)
        turn("main", i * 7919 % 100000);
    while ((e = journal_next(&j, &c)) != NULL)
        work += 1 + e->repeated;
    assert_int_equal(2 * FLOOD, work);
}

static void repetitions_are_summed_up(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FLOOD; i++)
        turn("main", i);
    assert_int_equal(2 * JOURNAL_SHOWN, shown);
    journal_sum_up(&j, false);
    assert_int_equal(0, summed);
    journal_sum_up(&j, true);
    journal_sum_up(&j, true);
    assert_int_equal(2, summed);
    assert_int_equal(2 * JOURNAL_SHOWN + 2, shown);
}

static void a_sum_reports_the_number(void **state)
{
    struct journal_cursor c = {0};
    const struct journal_entry *e, *last = NULL;
    (void)state;
    for (unsigned i = 0; i < JOURNAL_SHOWN + 3; i++)
        write_entry(JOURNAL_WORK, "main", "all work has stopped");
    while ((e = journal_next(&j, &c)) != NULL)
        last = e;
    assert_int_equal(3, last->repeated);
    json_t *o = journal_json(&j, last);
    assert_string_equal("all work has stopped (and 3 similar entries within 60 s)",
                        json_string_value(json_object_get(o, "text")));
    assert_int_equal(3, json_integer_value(json_object_get(o, "repeated")));
    json_decref(o);
}

static void only_the_same_is_a_repetition(void **state)
{
    char text[JOURNAL_TEXT], group[8];
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        snprintf(group, sizeof group, "g%u", i);
        write_entry(JOURNAL_WORK, group, "all work has stopped");
        snprintf(text, sizeof text, "%.*s: its work", (int)i, "abcdefghijklmnopqrstuvw");
        write_entry(JOURNAL_WORK, "main", text);
        write_entry(JOURNAL_ADMIN, "main", "key 7 is used");
    }
    assert_int_equal(60, shown);
}

/* Entries of the same kind count as repetitions, whatever words of a user they contain. */
static void words_of_users_are_not_compared(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FLOOD; i++) {
        struct journal_entry e = {.event = JOURNAL_WORK, .kind = i % 2 == 0 ? "starts" : "ended"};
        snprintf(e.text, sizeof e.text, "starts its work: %.*s", (int)(i % 20),
                 "abcdefghijklmnopqrst");
        snprintf(e.cause, sizeof e.cause, "%.*s", (int)(i / 20 % 20), "abcdefghijklmnopqrst");
        journal_write(&j, &e);
    }
    assert_int_equal(2 * JOURNAL_SHOWN, shown);
}

static void each_user_is_shown(void **state)
{
    (void)state;
    for (uid_t user = 1; user <= 3; user++)
        for (unsigned i = 0; i < JOURNAL_SHOWN + 1; i++)
            journal_write(&j, &(struct journal_entry){
                                  .event = JOURNAL_WORK, .user = user, .text = "starts its work"});
    assert_int_equal(3 * JOURNAL_SHOWN, shown);
}

/* When the table is full, a new entry replaces an old one, whose repetitions are still reported. */
static void a_full_ring_sums_up(void **state)
{
    char text[JOURNAL_TEXT];
    (void)state;
    for (unsigned i = 0; i < JOURNAL_SHOWN + 1; i++)
        write_entry(JOURNAL_WORK, "main", "all work has stopped");
    for (unsigned i = 0; i < JOURNAL_WORK_ENTRIES; i++) {
        snprintf(
            text, sizeof text, "%.*s", (int)i + 1,
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
        write_entry(JOURNAL_WORK, "main", text);
    }
    assert_int_equal(1, summed);
}

/* ---- how often ---- */

static void a_burst_is_followed_by_single_turns(void **state)
{
    struct pace p = {0};
    elect_time now = 1000 * (elect_time)SECOND;
    (void)state;
    for (unsigned i = 0; i < PACE_BURST; i++) {
        assert_int_equal(now, pace_next(&p, 7, 1, now));
        pace_take(&p, 7, 1, now);
    }
    for (unsigned i = 0; i < 3 * PACE_BURST; i++) {
        assert_int_equal(now + PACE_PERIOD, pace_next(&p, 7, 1, now));
        assert_int_equal(now, pace_next(&p, 8, 1, now));
        now += PACE_PERIOD;
        assert_int_equal(now, pace_next(&p, 7, 1, now));
        pace_take(&p, 7, 1, now);
    }
    /* idle for long enough for another burst */
    now += (elect_time)PACE_BURST * PACE_PERIOD;
    for (unsigned i = 0; i < PACE_BURST; i++) {
        assert_int_equal(now, pace_next(&p, 7, 1, now));
        pace_take(&p, 7, 1, now);
    }
    assert_true(pace_next(&p, 7, 1, now) > now);
}

/* Several bursts in a row do not change the user's long-term rate. */
static void bursts_of_several_groups(void **state)
{
    struct pace p = {0};
    elect_time now = 1000 * (elect_time)SECOND;
    (void)state;
    for (unsigned i = 0; i < 3 * PACE_BURST; i++) {
        assert_int_equal(now, pace_next(&p, 7, 3, now));
        pace_take(&p, 7, 1, now);
    }
    assert_int_equal(now + PACE_PERIOD, pace_next(&p, 7, 3, now));
}

static void a_resignation_costs_twice_as_much_each_time(void **state)
{
    struct pace p = {0};
    elect_time now = 1000000000;
    (void)state;
    for (unsigned i = 0; i < 8; i++, now += 1000000) {
        assert_int_equal(PACE_RESIGN << (i < PACE_DOUBLE ? i : PACE_DOUBLE),
                         pace_resign(&p, 7, now));
        pace_take(&p, 7, 1, now);
    }
    assert_int_equal(PACE_RESIGN, pace_resign(&p, 8, now));
    now += PACE_CALM;
    assert_int_equal(PACE_RESIGN, pace_resign(&p, 7, now));
}

static void other_users_do_not_shorten_a_wait(void **state)
{
    struct pace p = {0};
    elect_time now = 1000 * (elect_time)SECOND;
    (void)state;
    for (unsigned i = 0; i < PACE_BURST; i++)
        pace_take(&p, 7, 1, now);
    for (uid_t user = 100; user < 100 + 3 * PACE_USERS; user++)
        pace_take(&p, user, 1, now);
    assert_int_equal(now + PACE_PERIOD, pace_next(&p, 7, 1, now));
    for (unsigned i = 0; i < PACE_BURST; i++) /* root's id is 0, as in an empty entry */
        pace_take(&p, 0, 1, now);
    assert_int_equal(now + PACE_PERIOD, pace_next(&p, 0, 1, now));
    for (uid_t user = 1000; user < 1000 + PACE_USERS; user++)
        pace_take(&p, user, 2 * PACE_BURST, now);
    assert_int_equal(now, pace_next(&p, 7777, 1, now));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(turns_of_work_replace_nothing_else, begin),
        cmocka_unit_test_setup(every_turn_is_counted, begin),
        cmocka_unit_test_setup(repetitions_are_summed_up, begin),
        cmocka_unit_test_setup(a_sum_reports_the_number, begin),
        cmocka_unit_test_setup(only_the_same_is_a_repetition, begin),
        cmocka_unit_test_setup(words_of_users_are_not_compared, begin),
        cmocka_unit_test_setup(each_user_is_shown, begin),
        cmocka_unit_test_setup(a_full_ring_sums_up, begin),
        cmocka_unit_test(a_burst_is_followed_by_single_turns),
        cmocka_unit_test(a_resignation_costs_twice_as_much_each_time),
        cmocka_unit_test(bursts_of_several_groups),
        cmocka_unit_test(other_users_do_not_shorten_a_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
