/* Tests the model: random numbers, lists of numbers, the order of events, links and scenarios. */
#include "../../src/base/parse.h"
#include "../support.h"

#include "../../src/model/narrate.h"
#include "../../src/model/scenario_write.h"
#include "../../src/sim/storm.h"
#include "../../src/words/words.h"

#include <string.h>

/* ---- dice ---- */

/* xoshiro256** from a known state */
static void dice_return_the_published_sequence(void **state)
{
    struct dice d = {{1, 2, 3, 4}};
    const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(dice_throw(&d), expected[i]);
}

static void dice_are_fair_and_independent(void **state)
{
    struct dice a, b;
    uint64_t faces[6] = {0}, equal = 0;
    (void)state;
    dice_seed(&a, 1, DICE_DELAY);
    dice_seed(&b, 1, DICE_LOSS);
    for (int i = 0; i < 60000; i++) {
        faces[dice_below(&a, 6)]++;
        equal += dice_throw(&a) == dice_throw(&b);
    }
    for (int i = 0; i < 6; i++)
        assert_in_range(faces[i], 9700, 10300);
    assert_int_equal(equal, 0);
    assert_false(dice_chance(&a, 0));
    assert_true(dice_chance(&a, DICE_CERTAIN));
}

/* ---- numbers and words ---- */

static bool parses(const char *s, struct numbers *n)
{
    struct text complaint;
    text_clear(&complaint);
    return numbers_parse(n, s, &complaint);
}

static void numbers_are_read_as_people_write_them(void **state)
{
    struct numbers n;
    uint32_t value, twice;
    (void)state;
    assert_true(parses("0..7", &n));
    assert_int_equal(n.count, 8);
    assert_true(parses("3,32, 5 80..82", &n));
    const uint32_t expected[] = {3, 32, 5, 80, 81, 82};
    unsigned i = 0;
    for (struct numbers_place at = NUMBERS_START; numbers_next(&n, &at, &value);)
        assert_int_equal(value, expected[i++]);
    assert_int_equal(i, 6);
    assert_true(numbers_have(&n, 81));
    assert_false(numbers_have(&n, 83));
    assert_false(numbers_repeat(&n, &twice));
    assert_true(parses("1..5,4", &n));
    assert_true(numbers_repeat(&n, &twice));
    assert_int_equal(twice, 4);
    assert_true(parses("", &n));
    assert_int_equal(n.count, 0);
    const char *const bad[] = {"x", "1..", "5..1", "1-2", "4294967296", "1...2", "-1", "1.5"};
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(parses(bad[i], &n));
}

static void probabilities_are_exact(void **state)
{
    uint32_t parts;
    (void)state;
    assert_true(parse_probability("0.05", &parts));
    assert_int_equal(parts, 50000000);
    assert_true(parse_probability(".5", &parts));
    assert_int_equal(parts, 500000000);
    assert_true(parse_probability("1", &parts));
    assert_int_equal(parts, DICE_CERTAIN);
    assert_true(parse_probability("0", &parts));
    assert_false(parse_probability("1.1", &parts));
    assert_false(parse_probability("2", &parts));
    assert_false(parse_probability("-0.1", &parts));
    assert_false(parse_probability("a", &parts));
    assert_false(parse_probability("0.1x", &parts));
    assert_false(parse_probability("0.1234567891", &parts));
}

static void the_nearest_word_is_found(void **state)
{
    const char *const words[] = {"bully", "ring", "active-ring", "chang-roberts"};
    (void)state;
    assert_string_equal(choice_nearest("buly", 4, words, 4), "bully");
    assert_string_equal(choice_nearest("chang-robert", 12, words, 4), "chang-roberts");
    assert_string_equal(choice_nearest("activering", 10, words, 4), "active-ring");
    assert_null(choice_nearest("paxos", 5, words, 4));
    /* two swapped neighbours are one edit, so "main" is nearer than "mine" */
    const char *const near[] = {"mine", "main"}, *const switches[] = {"off", "on"};
    assert_string_equal(choice_nearest("mian", 4, near, 2), "main");
    assert_string_equal(choice_nearest("amin", 4, near + 1, 1), "main");
    assert_string_equal(choice_nearest("fof", 3, switches, 2), "off");
    assert_null(choice_nearest("no", 2, switches, 2));
}

static void text_that_does_not_fit_is_cut_off(void **state)
{
    static struct text t;
    (void)state;
    text_clear(&t);
    for (int i = 0; i < 5000; i++)
        text_add_number(&t, 18446744073709551615u);
    assert_int_equal(t.length, TEXT_MAX - 1);
    assert_int_equal(strlen(t.bytes), t.length);
}

/* ---- the world ---- */

static void tell_order(void *order, const struct world *w, const struct happening *h)
{
    struct text *t = order;
    if (w->now != 2)
        return;
    if (h->what == HAPPENED_FAULT)
        text_add(t, "fault ");
    else if (h->what == HAPPENED_STEP && h->input.event >= ELECT_FIRST_TIMER)
        text_add(t, "timer ");
    else
        text_add(t, "message ");
}

/* At equal times, faults come first, then messages in the order of sending, then timers. */
static void events_at_equal_times_have_an_order(void **state)
{
    static struct play p;
    struct experiment e;
    struct text order;
    (void)state;
    describe(&e, "algorithm bully processes 3 down 2 begin 0,1");
    e.fault[e.faults].kind = FAULT_CRASH;
    e.fault[e.faults++].text = "0@2";
    text_clear(&order);
    p.tell = tell_order;
    p.listener = &order;
    experiment_play(&e, 1, &p);
    assert_string_equal(order.bytes, "fault message timer ");
}

/* The heap returns messages in the order of arrival. */
static void links_keep_the_order_unless_reorder_is_on(void **state)
{
    static struct world w;
    (void)state;
    for (int reorder = 0; reorder < 2; reorder++) {
        struct elect_config c;
        struct weather weather = {.delay_min = 1, .delay_max = 9, .reorder = reorder != 0};
        struct happening h;
        uint64_t overtaken = 0;
        assert_int_equal(elect_config_init(&c, ELECT_BULLY, (uint16_t[]){1, 2}, 2, 9, 0),
                         ELECT_FINE);
        c.detector = true;
        world_init(&w, &c, &weather, 5, 1);
        for (int i = 0; i < 300; i++) {
            if (world_timer_runs(&w, 1, ELECT_HEARTBEAT_TIMER))
                world_fire(&w, 1, ELECT_HEARTBEAT_TIMER, &h);
        }
        uint32_t last = 0;
        while (w.flights > 0) {
            overtaken += w.flight[0].order < last;
            last = w.flight[0].order;
            world_lose(&w, 0, &h);
        }
        assert_true(reorder ? overtaken > 0 : overtaken == 0);
    }
}

static void a_full_network_loses_further_messages(void **state)
{
    static struct world w;
    struct elect_config c;
    struct weather weather = {.delay_min = 1, .delay_max = 1};
    struct happening h;
    (void)state;
    assert_int_equal(elect_config_init(&c, ELECT_BULLY, (uint16_t[]){1, 2}, 2, 1, 0), ELECT_FINE);
    c.detector = true;
    world_init(&w, &c, &weather, 5, 1);
    for (int i = 0; i < WORLD_MAX_FLIGHTS + 10; i++)
        world_fire(&w, 1, ELECT_HEARTBEAT_TIMER, &h);
    assert_int_equal(w.flights, WORLD_MAX_FLIGHTS);
    assert_true(world_next(&w, WORLD_FOREVER, &h));
}

static void a_seed_determines_the_history(void **state)
{
    static struct world first;
    struct experiment e;
    (void)state;
    describe(&e, "algorithm ring processes 6 begin all loss 0.2 duplicate 0.1 delay 1..5 "
                 "reorder on crash-rate 0.3");
    first = *hold(&e, 7);
    const struct world *second = hold(&e, 7);
    assert_memory_equal(&first.books, &second->books, sizeof first.books);
    assert_memory_equal(first.node, second->node, 6 * sizeof first.node[0]);
    assert_int_equal(first.now, second->now);
    second = hold(&e, 8);
    assert_memory_not_equal(&first.books, &second->books, sizeof first.books);
}

static void a_world_can_be_copied(void **state)
{
    static struct play a, b;
    struct experiment e;
    (void)state;
    describe(&e, "algorithm bully processes 5 down 4 begin 0");
    experiment_play(&e, 1, &a);
    b = a;
    struct fault crash = {.kind = FAULT_CRASH, .rank = 3};
    struct happening h;
    world_fault(&b.world, &crash, &h);
    play_suspect(&b, 0);
    play_run(&b, WORLD_FOREVER);
    assert_int_equal(world_leader(&a.world), 3);
    assert_int_equal(world_leader(&b.world), 2);
}

/* ---- scenario files ---- */

static void must_complain(const char *text, unsigned line, const char *about)
{
    static struct scenario s;
    static struct play p;
    struct text complaint;
    unsigned at = 0;
    if (scenario_parse(&s, text, &complaint, &at) && scenario_play(&s, &p, &complaint, &at))
        fail_msg("accepted: %s", text);
    if (strstr(complaint.bytes, about) == NULL || at != line)
        fail_msg("line %u: \"%s\", expected line %u: \"%s\"", at, complaint.bytes, line, about);
}

static void scenarios_complain_with_line_and_remedy(void **state)
{
    (void)state;
    must_complain("", 0, "no step");
    must_complain("processes 3\n", 1, "no step");
    must_complain("processes 3\nmark 2\n", 2, "expected: mark, without arguments");
    must_complain("processes 3\npause 2\n", 2, "expected a process and ticks");
    must_complain("processes 3\npause 2 -1\n", 2, "expected a process and ticks");
    must_complain("processes 3\npause 7 1\n", 2, "7 is not in the cluster");
    must_complain("processes 3\nclock 2 1000000\n", 2, "below a million");
    must_complain("processes 3\none-way 2\n", 2, "two parts");
    must_complain("procesess 3\nsuspect 0\n", 1, "did you mean processes?");
    must_complain("processes 3\n\nsuspekt 0\n", 3, "did you mean suspect?");
    must_complain("algorithm buly\n", 1, "did you mean bully?");
    must_complain("processes\n", 1, "a value is missing");
    must_complain("run\n", 1, "no processes");
    must_complain("processes 0\n", 1, "the cluster is empty");
    must_complain("processes 1,2,1\n", 1, "1 is listed twice");
    must_complain("processes 70000..70001\nrun\n", 2, "out of range");
    must_complain("processes 65\nrun\n", 2, "at most 64");
    must_complain("processes 3\ndown 5\nrun\n", 3, "5 is down but not in the cluster");
    must_complain("processes 2\ndown 0..1\nrun\n", 3, "every process is down");
    must_complain("processes 3\nsuspect 7\n", 2, "7 is not in the cluster");
    must_complain("processes 3\ndown 1\nsuspect 1\n", 3, "1 is down");
    must_complain("processes 3\nsuspect\n", 2, "expected: suspect ID");
    must_complain("processes 3\nsuspect x\n", 2, "found \"x\"");
    must_complain("processes 3\nrun till 5\n", 2, "run until TIME");
    must_complain("processes 3\nrun until x\n", 2, "run until TIME");
    must_complain("processes 3\nsuspect 0\nloss 0.5\n", 3, "settings come before");
    must_complain("processes 3\ncrash 7\n", 2, "7 is not in the cluster");
    must_complain("processes 3\ncrash 1\ncrash 1\n", 3, "1 is down already");
    must_complain("processes 3\nrecover 1\n", 2, "1 is not down");
    must_complain("processes 3\ncrash 1 at 5\ncrash 1 at 6\n", 3, "1 is down already");
    must_complain("processes 3\ncrash 1 at x\n", 2, "\"x\" is not a time");
    must_complain("processes 3\nrun until 9\ncrash 1 at 5\n", 3, "this time is already past");
    must_complain("processes 3\ncut 0 1\n", 2, "two parts");
    must_complain("processes 3\ncut 0 1 / 1 2\n", 2, "both sides");
    must_complain("processes 3\ncut 0 / 7\n", 2, "7 is not in the cluster");
    must_complain("processes 3\ncut 0 / \n", 2, "empty part");
    must_complain("processes 3\nheal 5\n", 2, "is not a time");
    must_complain("processes 3\ndeliver 0 > 1 ELECTION\n", 2, "no such message");
    must_complain("processes 3\nlose 0 > 1 ELECTIN\n", 2, "did you mean ELECTION?");
    must_complain("processes 3\nlose ELECTION\n", 2, "such as 4 > 5 ELECTION");
    must_complain("processes 3\nfire 0 answer\n", 2, "0 has no such timer");
    must_complain("processes 3\nfire 0 anwser\n", 2, "did you mean answer?");
    must_complain("algorithm ring\nannounce all\nprocesses 3\nrun\n", 4,
                  "announce needs the bully algorithm");
    must_complain("form multicast\nprocesses 3\nrun\n", 3, "form needs the ring algorithm");
    must_complain("delay 0\n", 1, "is not a delay");
    must_complain("delay 5..2\n", 1, "is not a delay");
    must_complain("detector maybe\n", 1, "unknown \"maybe\"");
    must_complain("leader x\n", 1, "neither a process nor none");
    must_complain("processes 3\nleader 9\nrun\n", 3, "9 leads but is not in the cluster");
}

static void every_step_by_hand_works(void **state)
{
    static struct scenario s;
    static struct play p;
    struct text complaint;
    unsigned line;
    (void)state;
    const char *text = "processes 0..2   # a comment\r\n"
                       "  down 2\n"
                       "suspect 0\n"
                       "duplicate 0>1 ELECTION\n"
                       "lose 0 > 2 ELECTION\n"
                       "deliver 0 > 1 ELECTION\n"
                       "recover 2 at 9\n"
                       "cut 0 / 1 at 20\n"
                       "heal at 30\n"
                       "fire 0 answer\n"
                       "run until 40\n"
                       "----\n"
                       "whatever\n";
    assert_true(scenario_parse(&s, text, &complaint, &line));
    assert_true(s.expects);
    assert_string_equal(text + s.expected_offset, "whatever\n");
    assert_int_equal(s.steps, 9);
    assert_true(scenario_play(&s, &p, &complaint, &line));
    assert_int_equal(p.world.now, 40);
    assert_int_equal(world_leader(&p.world), 2);
    assert_int_equal(p.world.books.sent[ELECT_ELECTION], 3);
}

static void take_line(void *text, const char *line) { text_add(text, line); }

/* Parses the scenario that the test has written, which must be valid. */
static const struct scenario *read_back(const struct text *written, unsigned steps)
{
    static struct scenario s;
    struct text complaint;
    unsigned line;
    if (!scenario_parse(&s, written->bytes, &complaint, &line))
        fail_msg("line %u: %s: %s", line, complaint.bytes, written->bytes);
    assert_int_equal(s.steps, steps);
    return &s;
}

static void write_settings(const struct scenario_writer *w, struct text *t)
{
    static const uint8_t priority[4] = {0, 7, 0, 255};
    text_clear(t);
    scenario_write_comment(w, "four processes");
    scenario_write_set(w, SETTING_PROCESSES, 0xf);
    scenario_write_set(w, SETTING_DOWN, 0);
    scenario_write_set(w, SETTING_WITNESSES, 0x5);
    scenario_write_priorities(w, priority, 4);
    scenario_write_setting(w, SETTING_MANDATE, "majority");
    scenario_write_number(w, SETTING_LEASE, 1000);
    scenario_write_number(w, SETTING_RENEWAL, 200);
    scenario_write_drift(w, 1050);
}

static void written_settings_are_read_back(void **state)
{
    static const uint16_t id[] = {2, 3, 5, 40000};
    static const char separators[] = {' ', ','};
    struct text t;
    (void)state;
    for (unsigned i = 0; i < sizeof separators; i++) {
        const struct scenario_writer w = {id, separators[i], take_line, &t};
        write_settings(&w, &t);
        scenario_write_verb(&w, VERB_SUSPECT, 3);
        const struct scenario *s = read_back(&t, 1);
        assert_int_equal(s->config.n, 4);
        assert_int_equal(elect_rank(&s->config, 3) == ELECT_NOBODY, false);
        assert_int_equal(__builtin_popcountll(s->config.voters & ~s->config.members), 2);
        assert_int_equal(s->setup.priorities, 2);
        assert_int_equal(s->config.lease, 1000);
        assert_int_equal(s->config.renewal, 200);
        assert_int_equal(s->config.drift, 1050);
    }
}

/* "processes 40000" means 40000 processes, so a single process is written as 40000..40000. */
static void a_single_process_is_written_as_a_range(void **state)
{
    static const uint16_t id[] = {2, 3, 5, 40000};
    struct text t;
    const struct scenario_writer w = {id, ' ', take_line, &t};
    (void)state;
    text_clear(&t);
    scenario_write_set(&w, SETTING_PROCESSES, 8);
    scenario_write_verb(&w, VERB_SUSPECT, 3);
    const struct scenario *s = read_back(&t, 1);
    assert_int_equal(s->config.n, 1);
    assert_int_equal(s->config.id[0], 40000);
}

static void written_faults_are_read_back(void **state)
{
    static const uint16_t id[] = {2, 3, 5, 40000};
    struct text t;
    const struct scenario_writer w = {id, ' ', take_line, &t};
    (void)state;
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++) {
        enum setup_form form = setup_fault_form((enum fault_kind)kind);
        struct fault f = {.kind = (uint8_t)kind, .rank = 1, .time = 70};
        if (kind == FAULT_CALM) /* a setting in scenario files, not a fault */
            continue;
        if (form == SETUP_PARTS)
            f = (struct fault){.kind = (uint8_t)kind, .time = 70, .parts = 2, .part = {1, 0xe}};
        f.amount = form == SETUP_TRANSFER ? 40000 : form == SETUP_TIME ? ELECT_EXPIRES : 900;
        f.amount = kind == FAULT_RATE ? -900 : f.amount;
        text_clear(&t);
        scenario_write_set(&w, SETTING_PROCESSES, 0xf);
        scenario_write_setting(&w, SETTING_MANDATE, "majority");
        scenario_write_number(&w, SETTING_LEASE, 1000);
        scenario_write_fault(&w, &f);
        bool by_hand = form == SETUP_COUNTER || form == SETUP_TIME;
        if (!by_hand)
            scenario_write_fault_at(&w, &f);
        const struct scenario *s = read_back(&t, by_hand ? 1 : 2);
        for (unsigned i = 0; i < s->steps; i++) {
            const struct fault *read = &s->step[i].fault;
            bool of_all = form == SETUP_NOTHING || form == SETUP_PARTS || form == SETUP_LEASE;
            assert_int_equal(read->kind, kind);
            assert_int_equal(read->rank, of_all ? 0 : 1);
            assert_int_equal(read->parts, f.parts);
            assert_int_equal(read->part[1], f.part[1]);
            assert_int_equal(read->time, i == 0 ? 0 : 70);
            if (form != SETUP_NOTHING && form != SETUP_PROCESS && form != SETUP_PARTS)
                assert_int_equal(read->amount, f.amount);
        }
    }
}

static void written_steps_are_read_back(void **state)
{
    static const uint16_t id[] = {2, 3, 5, 40000};
    struct text t;
    const struct scenario_writer w = {id, ' ', take_line, &t};
    (void)state;
    write_settings(&w, &t);
    scenario_write_verb(&w, VERB_ALARM, 0);
    scenario_write_verb(&w, VERB_STOPPED, 1);
    scenario_write_verb(&w, VERB_ASSENT, 2);
    scenario_write_message(&w, VERB_LOSE, 0, 3, "HEARTBEAT");
    scenario_write_fire(&w, 3, ELECT_SUSPICION_TIMER);
    scenario_write_refuse(&w, 1, SCENARIO_CLOSED, 12);
    scenario_write_run_until(&w, 50);
    scenario_write_wait(&w, 60);
    scenario_write_mark(&w);
    scenario_write_check(&w, PROPERTY_ONE_LEADER);
    const struct step *step = read_back(&t, 10)->step;
    assert_int_equal(step[0].verb, VERB_ALARM);
    assert_int_equal(step[3].verb, VERB_LOSE);
    assert_int_equal(step[3].event, ELECT_HEARTBEAT);
    assert_int_equal(step[4].event, ELECT_SUSPICION_TIMER);
    assert_int_equal(step[5].event, SCENARIO_CLOSED);
    assert_int_equal(step[5].time, 12);
    assert_true(step[6].timed);
    assert_int_equal(step[6].time, 50);
    assert_int_equal(step[7].time, 60);
    assert_int_equal(step[8].verb, VERB_MARK);
    assert_int_equal(step[9].event, PROPERTY_ONE_LEADER);
}

/* ---- properties ---- */

static void the_violated_property_is_named(void **state)
{
    static struct play p;
    struct experiment e;
    struct violation v;
    (void)state;
    describe(&e, "algorithm bully processes 4 begin 0");
    experiment_play(&e, 1, &p);
    assert_false(property_broken_at_rest(&p.world, &v));
    p.world.node[1].leader = 1;
    assert_true(property_broken_at_rest(&p.world, &v));
    assert_string_equal(property_name(v.property), "highest-wins");
    assert_string_equal(v.text, "1 leads although it is lower than 3");
    p.world.node[1].leader = ELECT_NOBODY;
    assert_true(property_broken_at_rest(&p.world, &v));
    assert_string_equal(property_name(v.property), "agreement");
    p.world.node[1].state = ELECT_WAITING;
    assert_true(property_broken_at_rest(&p.world, &v));
    assert_string_equal(property_name(v.property), "no-stuck-participant");
    p.world.node[1].state = ELECT_NORMAL;
    /* processes in a disturbed world need not agree */
    p.world.disturbed = true;
    assert_false(property_broken_at_rest(&p.world, &v));
}

/* A seed's storm must not depend on earlier seeds, because --replay plays one seed alone. */
static void a_seed_determines_the_storms(void **state)
{
    static struct play play;
    static const uint16_t ids[] = {0, 1, 2};
    struct elect_config c;
    struct storm_report fresh = {0}, late = {.events = 12345, .storms = 7, .time = 99};
    (void)state;
    elect_config_init(&c, ELECT_BULLY, ids, 3, 5, 0);
    assert_int_equal(elect_config_mandate(&c, 1000, 200, 10000, 1), ELECT_FINE);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        uint64_t events = late.events - fresh.events, offices = late.offices - fresh.offices;
        storm_run(&c, STORM_WITHIN, seed, 300000, &play, NULL, &fresh);
        storm_run(&c, STORM_WITHIN, seed, 300000, &play, NULL, &late);
        assert_int_equal(late.events - fresh.events, events);
        assert_int_equal(late.offices - fresh.offices, offices);
    }
    assert_true(fresh.offices > 20);
}

static void a_malformed_message_can_be_described(void **state)
{
    const uint16_t ids[] = {3, 5, 9};
    struct elect_config c;
    struct words w = {.config = &c};
    struct text t;
    (void)state;
    for (unsigned algorithm = 0; algorithm < ELECT_ALGORITHM_COUNT; algorithm++) {
        elect_config_init(&c, (enum elect_algorithm)algorithm, ids, 3, 1, 0);
        for (unsigned type = ELECT_FIRST_MESSAGE; type < ELECT_FIRST_TIMER; type++)
            for (unsigned odd = 0; odd < 256; odd++) {
                struct elect_message m = {.type = (uint8_t)type,
                                          .reason = (uint8_t)odd,
                                          .origin = (uint8_t)odd,
                                          .what = (uint8_t)odd,
                                          .heir = (uint8_t)odd,
                                          .term = UINT64_MAX,
                                          .certificate = UINT64_MAX,
                                          .list = odd % 2 == 0 ? 0 : ~(elect_set)0};
                text_clear(&t);
                words_message(&w, &m, &t);
                words_exactly(&w, &m, &t);
                for (unsigned rule = 0; rule < ELECT_RULE_COUNT; rule++)
                    words_rule(&w, 0, &(struct elect_rule){(uint8_t)rule, (uint8_t)odd, 0xff}, &m,
                               &t);
                assert_true(t.length > 0);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_malformed_message_can_be_described),
        cmocka_unit_test(dice_return_the_published_sequence),
        cmocka_unit_test(dice_are_fair_and_independent),
        cmocka_unit_test(numbers_are_read_as_people_write_them),
        cmocka_unit_test(probabilities_are_exact),
        cmocka_unit_test(the_nearest_word_is_found),
        cmocka_unit_test(text_that_does_not_fit_is_cut_off),
        cmocka_unit_test(events_at_equal_times_have_an_order),
        cmocka_unit_test(links_keep_the_order_unless_reorder_is_on),
        cmocka_unit_test(a_full_network_loses_further_messages),
        cmocka_unit_test(a_seed_determines_the_history),
        cmocka_unit_test(a_seed_determines_the_storms),
        cmocka_unit_test(a_world_can_be_copied),
        cmocka_unit_test(scenarios_complain_with_line_and_remedy),
        cmocka_unit_test(every_step_by_hand_works),
        cmocka_unit_test(written_settings_are_read_back),
        cmocka_unit_test(a_single_process_is_written_as_a_range),
        cmocka_unit_test(written_faults_are_read_back),
        cmocka_unit_test(written_steps_are_read_back),
        cmocka_unit_test(the_violated_property_is_named),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
