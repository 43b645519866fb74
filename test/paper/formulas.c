/* Checks that the simulator reproduces the formulas of the literature. */
#include "../support.h"

#include <stdio.h>
#include <string.h>

static uint64_t sent(const struct world *w, enum elect_event type) { return w->books.sent[type]; }

static void must_agree_on(const struct world *w, uint32_t id)
{
    uint8_t leader = world_leader(w);
    assert_int_not_equal(leader, ELECT_NOBODY);
    assert_int_equal(w->config.id[leader], id);
    assert_int_equal(last_play()->violations, 0);
}

/* ---- bully ---- */

/* If only the old leader n is dead and process i notices, then with c = n - i, c*c+n-2 messages are
 * sent and c(c-1)+n-2 are delivered. */
static void bully_one_initiator(void **state)
{
    (void)state;
    for (unsigned n = 2; n <= 16; n++) {
        for (unsigned i = 1; i < n; i++) {
            uint64_t c = n - i;
            const struct world *w =
                hold_format("algorithm bully processes 1..%u down %u begin %u", n, n, i);
            must_agree_on(w, n - 1);
            assert_int_equal(world_total(w), c * c + n - 2);
            assert_int_equal(w->books.delivered, c * (c - 1) + n - 2);
            /* the election ends by begin + 2T for any n, even if the old leader is alive and delays
             * vary */
            assert_true(w->changed <= 2 * w->config.answer_bound);
            for (unsigned seed = 1; seed <= 5; seed++) {
                w = hold_format("processes 1..%u begin %u delay 1..9 seed %u", 4 * n, i, seed);
                must_agree_on(w, 4 * n);
                assert_true(w->changed <= 2 * w->config.answer_bound);
            }
        }
    }
}

/* The initiator i tells the i-1 lower processes, with i-1 more messages. A lower process that
 * notices later begins no election; without the option, each lower process would begin one. */
static void bully_tells_lower(void **state)
{
    (void)state;
    for (unsigned n = 2; n <= 16; n++) {
        for (unsigned i = 1; i < n; i++) {
            uint64_t c = n - i, lower = i - 1;
            const struct world *w = hold_format(
                "algorithm bully tell-lower on processes 1..%u down %u begin %u", n, n, i);
            must_agree_on(w, n - 1);
            assert_int_equal(sent(w, ELECT_NOTICE), i < n - 1 || n > 2 ? lower : 0);
            assert_int_equal(world_total(w), c * c + n - 2 + lower);
            assert_int_equal(w->books.delivered, c * (c - 1) + n - 2 + lower);
            assert_true(w->changed <= 2 * w->config.answer_bound);
        }
    }
}

/* If all begin at the same time, each of the n-1 processes has begun before a NOTICE arrives, and
 * sends a NOTICE to every lower process. */
static void bully_tells_lower_all_at_once(void **state)
{
    (void)state;
    for (unsigned n = 2; n <= 16; n++) {
        const struct world *w =
            hold_format("tell-lower on processes 1..%u down %u begin all", n, n);
        must_agree_on(w, n - 1);
        assert_int_equal(sent(w, ELECT_NOTICE), (n - 1) * (n - 2) / 2);
        assert_int_equal(world_total(w), n * n - n - 1 + (n - 1) * (n - 2) / 2);
    }
}

/* The mean over all initiators is n(2n-1)/6 + n-2. */
static void bully_mean_over_initiators(void **state)
{
    (void)state;
    for (unsigned n = 2; n <= 16; n++) {
        uint64_t total = 0;
        for (unsigned i = 1; i < n; i++) {
            total += world_total(hold_format("processes 1..%u down %u begin %u", n, n, i));
        }
        assert_int_equal(6 * total, (n - 1) * (n * (2 * n - 1) + 6 * (n - 2)));
    }
}

/* If all begin, the election costs as much as if the lowest begins: n*n-n-1 messages are sent and
 * n(n-2) are delivered. */
static void bully_all_at_once(void **state)
{
    (void)state;
    for (unsigned n = 2; n <= 16; n++) {
        const struct world *w = hold_format("processes 1..%u down %u begin all", n, n);
        must_agree_on(w, n - 1);
        assert_int_equal(world_total(w), n * n - n - 1);
        assert_int_equal(w->books.delivered, n * (n - 2));
    }
}

/* The dead processes are any set that contains the highest process. Let L be the live processes j
 * >= i. There is one ELECTION for each configured process above each process of L, |L|(|L|-1)/2
 * OKs, and one COORDINATOR for each configured process below the winner. */
static void bully_dead_sets(void **state)
{
    struct dice dice;
    (void)state;
    dice_seed(&dice, 1, DICE_SHUFFLE);
    for (int trial = 0; trial < 1000; trial++) {
        unsigned n = 2 + (unsigned)dice_below(&dice, 15);
        uint64_t dead = dice_below(&dice, (uint64_t)1 << (n - 1)) | (uint64_t)1 << (n - 1);
        uint64_t live = ~dead & (((uint64_t)1 << n) - 1);
        if (live == 0)
            continue;
        unsigned count = (unsigned)__builtin_popcountll(live), begin = 0;
        uint64_t rest = live, e = 0, l = 0;
        for (uint64_t skip = dice_below(&dice, count); skip > 0; skip--)
            rest &= rest - 1;
        begin = (unsigned)__builtin_ctzll(rest);
        unsigned winner = 63 - (unsigned)__builtin_clzll(live);
        for (unsigned j = begin; j < n; j++) {
            if (live >> j & 1) {
                e += n - 1 - j;
                l++;
            }
        }
        const struct world *w = hold_format("processes %u begin %u down %s", n, begin, list(dead));
        must_agree_on(w, winner);
        assert_int_equal(sent(w, ELECT_ELECTION), e);
        assert_int_equal(sent(w, ELECT_OK), l * (l - 1) / 2);
        assert_int_equal(sent(w, ELECT_COORDINATOR), winner);
    }
}

/* ---- rings ---- */

/* With k initiators and N live processes of n, there are 2kN messages or, with multicast,
 * k(2N-1). */
static void list_ring(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 12; n++) {
        for (unsigned k = 1; k <= n; k++) {
            for (unsigned dead = 0; dead <= 2; dead++) {
                char down[32] = "";
                if (dead > 0)
                    snprintf(down, sizeof down, "down %u..%u", n, n + dead - 1);
                const struct world *w = hold_format("algorithm ring processes %u begin 0..%u %s",
                                                    n + dead, k - 1, down);
                must_agree_on(w, n - 1);
                assert_int_equal(world_total(w), 2 * k * n);
                w = hold_format("algorithm ring form multicast processes %u begin 0..%u %s",
                                n + dead, k - 1, down);
                must_agree_on(w, n - 1);
                assert_int_equal(world_total(w), k * (2 * n - 1));
            }
        }
    }
}

static void count_numbers(void *count, const struct world *w, const struct happening *h)
{
    (void)w;
    for (unsigned i = 0; i < h->output.sends && h->what == HAPPENED_STEP; i++)
        if (h->output.send[i].message.type == ELECT_ELECTION)
            *(uint64_t *)count += (uint64_t)__builtin_popcountll(h->output.send[i].message.list);
}

/* The lists carry kN(N+1)/2 numbers. */
static void list_ring_numbers(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 16; n++) {
        for (unsigned k = 1; k <= n; k++) {
            static struct play p;
            struct experiment e;
            uint64_t count = 0;
            char words[64];
            snprintf(words, sizeof words, "algorithm ring processes %u begin 0..%u", n, k - 1);
            describe(&e, words);
            p.tell = count_numbers;
            p.listener = &count;
            experiment_play(&e, 1, &p);
            assert_int_equal(2 * count, k * n * (n + 1));
        }
    }
}

/* N*N messages are sent, however many processes begin. */
static void active_ring(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 10; n++) {
        for (unsigned begins = 1; begins < 1u << n; begins += n < 7 ? 1 : 13) {
            const struct world *w =
                hold_format("algorithm active-ring processes %u begin %s", n, list(begins));
            must_agree_on(w, n - 1);
            assert_int_equal(world_total(w), n * n);
        }
    }
}

/* With one initiator, d places before the highest in any arrangement, there are N+d ELECTIONs and N
 * ELECTEDs. */
static void chang_roberts_distance(void **state)
{
    (void)state;
    for (unsigned n = 2; n <= 16; n++) {
        for (unsigned begin = 0; begin < n; begin++) {
            for (unsigned seed = 1; seed <= 10; seed++) {
                const struct world *w = hold_format("algorithm chang-roberts processes %u begin %u "
                                                    "shuffle on seed %u",
                                                    n, begin, seed);
                const uint8_t *place = w->config.place;
                unsigned d = (place[n - 1] + n - place[begin]) % n;
                must_agree_on(w, n - 1);
                assert_int_equal(sent(w, ELECT_ELECTION), n + d);
                assert_int_equal(sent(w, ELECT_ELECTED), n);
            }
        }
    }
}

static void chang_roberts_best_and_worst(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 32; n++) {
        struct text descending;
        const struct world *w = hold_format("algorithm chang-roberts processes %u begin all", n);
        assert_int_equal(sent(w, ELECT_ELECTION), 2 * n - 1);
        text_clear(&descending);
        text_add(&descending, "algorithm chang-roberts begin all processes ");
        for (unsigned j = n; j-- > 0;) {
            text_add_number(&descending, j);
            text_add(&descending, ",");
        }
        w = hold_words(descending.bytes);
        must_agree_on(w, n - 1);
        assert_int_equal(sent(w, ELECT_ELECTION), n * (n + 1) / 2);
        assert_int_equal(sent(w, ELECT_ELECTED), n);
    }
}

static uint64_t permutations(uint32_t *values, unsigned fixed, unsigned n, uint64_t *total)
{
    if (fixed == n) {
        struct text words;
        text_clear(&words);
        text_add(&words, "algorithm chang-roberts begin all processes ");
        for (unsigned i = 0; i < n; i++) {
            text_add_number(&words, values[i]);
            text_add(&words, ",");
        }
        const struct world *w = hold_words(words.bytes);
        must_agree_on(w, n - 1);
        *total += sent(w, ELECT_ELECTION);
        return 1;
    }
    uint64_t count = 0;
    for (unsigned i = fixed; i < n; i++) {
        uint32_t v = values[fixed];
        values[fixed] = values[i];
        values[i] = v;
        count += permutations(values, fixed + 1, n, total);
        values[i] = values[fixed];
        values[fixed] = v;
    }
    return count;
}

/* The mean over all arrangements is exactly N times the harmonic number. The test enumerates all
 * arrangements. */
static void chang_roberts_mean_exact(void **state)
{
    (void)state;
    for (unsigned n = 2; n <= 7; n++) {
        uint32_t values[8];
        uint64_t total = 0, expected = 0;
        for (unsigned i = 0; i < n; i++)
            values[i] = i;
        uint64_t count = permutations(values, 0, n, &total);
        for (unsigned i = 1; i <= n; i++)
            expected += count * n / i; /* `count` is n!, which is divisible by every i */
        assert_int_equal(total, expected);
    }
}

/* A sample of arrangements with N = 1000 in the lab has the same mean within 1 %. */
static void chang_roberts_mean_sampled(void **state)
{
    struct experiment e;
    struct lab_result r;
    struct text complaint;
    double total = 0, harmonic = 0;
    const int runs = 400;
    (void)state;
    describe(&e, "algorithm chang-roberts processes 1000 begin all shuffle on");
    for (int i = 0; i < runs; i++) {
        assert_true(lab_run(&e, 1 + (uint64_t)i, NULL, &r, &complaint));
        assert_true(r.agreed);
        assert_int_equal(r.leader, 999);
        total += (double)r.sent[ELECT_ELECTION];
    }
    for (int i = 1; i <= 1000; i++)
        harmonic += 1.0 / i;
    double ratio = total / runs / (1000 * harmonic);
    assert_true(ratio > 0.99 && ratio < 1.01);
}

/* ---- recovery ---- */

/* Any process may crash and recover at any time, and all processes agree in the end. The bully and
 * the active ring need the failure detector for this agreement, because a process that recovers
 * during one of their elections may miss the outcome. */
static void a_recovery_at_any_time(void **state)
{
    const char *const algorithms[] = {"ring", "ring form multicast", "chang-roberts",
                                      "active-ring detector on", "bully detector on"};
    static struct play p;
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        for (unsigned n = 2; n <= 5; n++)
            for (unsigned begin = 0; begin < 1u << n; begin++)
                for (unsigned victim = 0; victim < n; victim++)
                    for (unsigned crash = 0; crash < 24; crash += n < 5 ? 1 : 3)
                        for (unsigned down = 1; down < 16; down += n < 4 ? 1 : 4) {
                            struct experiment e;
                            char words[128], faults[2][16];
                            if (__builtin_popcount(begin) != 1 && __builtin_popcount(begin) != 2)
                                continue;
                            snprintf(words, sizeof words, "algorithm %s processes %u begin %s",
                                     algorithms[i], n, list(begin));
                            describe(&e, words);
                            snprintf(faults[0], sizeof faults[0], "%u@%u", victim, crash + 1);
                            snprintf(faults[1], sizeof faults[1], "%u@%u", victim,
                                     crash + 1 + down);
                            e.fault[e.faults].kind = FAULT_CRASH;
                            e.fault[e.faults++].text = faults[0];
                            e.fault[e.faults].kind = FAULT_RECOVER;
                            e.fault[e.faults++].text = faults[1];
                            experiment_play(&e, 1, &p);
                            if (world_leader(&p.world) != n - 1)
                                fail_msg("%s: crash %s, recover %s", words, faults[0], faults[1]);
                        }
}

/* ---- the lab and the world count alike ---- */

static void must_equal_lab(const char *words)
{
    struct experiment e;
    struct lab_result r;
    struct text complaint;
    describe(&e, words);
    const struct world *w = hold(&e, e.setup.seed);
    assert_true(lab_run(&e, e.setup.seed, NULL, &r, &complaint));
    assert_int_equal(r.agreed, world_leader(w) != ELECT_NOBODY);
    assert_int_equal(r.leader, w->config.id[world_leader(w)]);
    assert_memory_equal(r.sent, w->books.sent, sizeof r.sent);
    assert_int_equal(r.delivered, w->books.delivered);
    assert_int_equal(r.failed_hops, w->books.failed_hops);
    if (e.setup.algorithm == ELECT_BULLY || e.setup.reliable)
        assert_int_equal(r.time, w->changed);
}

static void lab_equals_world(void **state)
{
    struct dice dice;
    (void)state;
    dice_seed(&dice, 2, DICE_SHUFFLE);
    must_equal_lab("algorithm bully processes 64 leader 63 begin 0");
    must_equal_lab("algorithm bully processes 64 leader 63 begin all");
    must_equal_lab("algorithm bully processes 9 leader 4 begin all");
    must_equal_lab("algorithm bully tell-lower on processes 64 leader 63 begin 40");
    must_equal_lab("algorithm chang-roberts processes 9 leader 8 begin 3");
    must_equal_lab("algorithm chang-roberts processes 9 leader none down 8 begin 3");
    for (int trial = 0; trial < 1500; trial++) {
        unsigned n = 1 + (unsigned)dice_below(&dice, 64);
        uint64_t everyone = ~(uint64_t)0 >> (64 - n);
        uint64_t live = dice_throw(&dice) & everyone;
        bool all = dice_below(&dice, 2) == 0;
        if (trial % 3 > 0) /* few or no processes are dead */
            live |= dice_throw(&dice) | dice_throw(&dice) | (trial % 3 == 1 ? everyone : 0);
        live &= everyone;
        if (live == 0)
            continue;
        char words[1024], dead[512] = "";
        if (live != everyone)
            snprintf(dead, sizeof dead, "down %s", list(everyone & ~live));
        snprintf(words, sizeof words, "processes %u shuffle on seed %d %s begin %s delay %d ", n,
                 trial, dead, all ? "all" : list(live & -live), 1 + trial % 3);
        size_t length = strlen(words);
        snprintf(words + length, sizeof words - length, "algorithm bully announce %s tell-lower %s",
                 trial % 2 == 0 ? "all" : "lower", trial % 5 == 0 ? "on" : "off");
        must_equal_lab(words);
        snprintf(words + length, sizeof words - length, "algorithm chang-roberts acks %s",
                 live == everyone && trial % 2 == 0 ? "off" : "on");
        must_equal_lab(words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bully_one_initiator),
        cmocka_unit_test(bully_tells_lower),
        cmocka_unit_test(bully_tells_lower_all_at_once),
        cmocka_unit_test(bully_mean_over_initiators),
        cmocka_unit_test(bully_all_at_once),
        cmocka_unit_test(bully_dead_sets),
        cmocka_unit_test(list_ring),
        cmocka_unit_test(list_ring_numbers),
        cmocka_unit_test(active_ring),
        cmocka_unit_test(chang_roberts_distance),
        cmocka_unit_test(chang_roberts_best_and_worst),
        cmocka_unit_test(chang_roberts_mean_exact),
        cmocka_unit_test(chang_roberts_mean_sampled),
        cmocka_unit_test(a_recovery_at_any_time),
        cmocka_unit_test(lab_equals_world),
    };
    return cmocka_run_group_tests_name("formulas", tests, NULL, NULL);
}
