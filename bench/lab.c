/*
 * Measures the speed of the lab with Chang & Roberts on a shuffled ring where all processes start
 * an election. The baseline is a bare loop with the same algorithm hard-coded and the same
 * structures for messages and nodes. Prints medians of several trials. Speeds depend on the
 * machine: compare only the ratios.
 *
 *     bench_lab [PROCESSES [TRIALS]]
 */
#include "../src/sim/lab_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the bare loop ---- */

struct bare {
    struct lab_node *node;
    struct lab_bucket bucket[LAB_MAX_DELAY + 1];
    uint64_t *last_due;
    struct dice dice;
    uint32_t n, buckets, delay_max, slot;
    uint64_t now, flights, messages;
};

static inline void bare_post(struct bare *b, uint32_t place, uint32_t value, unsigned type)
{
    uint64_t due = b->now + 1;
    if (b->last_due != NULL) {
        due = b->now + 1 + dice_below(&b->dice, b->delay_max);
        if (due < b->last_due[place])
            due = b->last_due[place];
        b->last_due[place] = due;
    }
    uint32_t slot = b->slot + (uint32_t)(due - b->now);
    struct lab_bucket *bucket = &b->bucket[slot < b->buckets ? slot : slot - b->buckets];
    if (bucket->count == bucket->room) {
        bucket->room += bucket->room / 2 + 1024;
        bucket->message = realloc(bucket->message, bucket->room * sizeof *bucket->message);
        if (bucket->message == NULL)
            abort();
    }
    bucket->message[bucket->count++] = (struct lab_message){
        .to = place + 1 < b->n ? place + 1 : 0, .value = value, .type = type & 15};
    b->flights++;
    b->messages++;
}

static inline void bare_take(struct bare *b, struct lab_message m)
{
    struct lab_node *node = &b->node[m.to];
    if (m.type == ELECT_ELECTION) {
        if (m.value > node->number) {
            bare_post(b, m.to, m.value, ELECT_ELECTION);
        } else if (m.value == node->number) {
            node->leader = node->number;
            node->state = ELECT_NORMAL;
            bare_post(b, m.to, m.value, ELECT_ELECTED);
        }
    } else if (m.value != node->number) {
        node->leader = m.value;
        node->state = ELECT_NORMAL;
        bare_post(b, m.to, m.value, ELECT_ELECTED);
    }
}

static double bare_run(uint32_t n, uint32_t delay_max, uint64_t seed, uint64_t *messages)
{
    struct bare *b = calloc(1, sizeof *b);
    uint32_t *place = calloc(n, sizeof *place);
    struct dice dice;
    if (b == NULL || place == NULL || (b->node = calloc(n, sizeof *b->node)) == NULL)
        abort();
    if (delay_max > 1 && (b->last_due = calloc(n, sizeof *b->last_due)) == NULL)
        abort();
    b->n = n;
    b->delay_max = delay_max;
    b->buckets = delay_max + 1;
    dice_seed(&b->dice, seed, DICE_DELAY);
    dice_seed(&dice, seed, DICE_SHUFFLE);
    for (uint32_t i = 0; i < n; i++)
        place[i] = i;
    dice_shuffle(&dice, place, n);
    for (uint32_t i = 0; i < n; i++)
        b->node[i].number = place[i];

    double start = seconds_now();
    for (uint32_t i = 0; i < n; i++) {
        b->node[i].state = ELECT_ELECTING;
        bare_post(b, i, b->node[i].number, ELECT_ELECTION);
    }
    while (b->flights > 0) {
        b->now++;
        b->slot = b->slot + 1 < b->buckets ? b->slot + 1 : 0;
        struct lab_bucket *bucket = &b->bucket[b->slot];
        for (uint32_t i = 0; i < bucket->count; i++)
            bare_take(b, bucket->message[i]);
        b->flights -= bucket->count;
        bucket->count = 0;
    }
    double seconds = seconds_now() - start;
    *messages = b->messages;
    for (uint32_t i = 0; i < b->buckets; i++)
        free(b->bucket[i].message);
    free(b->node);
    free(b->last_due);
    free(b);
    free(place);
    return seconds;
}

/* ---- side by side ---- */

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static bool compare(uint32_t n, uint32_t delay_max, unsigned trials)
{
    struct experiment e;
    struct lab_result r = {0};
    struct text complaint;
    double lab[32], bare[32];
    uint64_t messages = 0;
    experiment_init(&e);
    text_clear(&complaint);
    e.setup.algorithm = ELECT_CHANG_ROBERTS;
    e.setup.processes.ranges = 1;
    e.setup.processes.range[0].last = n - 1;
    e.setup.processes.count = n;
    e.setup.shuffle = e.begin_given = e.begin_all = true;
    e.setup.weather.delay_max = delay_max;
    for (unsigned i = 0; i < trials; i++) {
        uint64_t seed = 7 + i;
        if (!lab_run(&e, seed, NULL, &r, &complaint)) {
            fprintf(stderr, "bench_lab: %s\n", complaint.bytes);
            return false;
        }
        bare[i] = (double)r.delivered / bare_run(n, delay_max, seed, &messages);
        lab[i] = (double)r.delivered / r.seconds;
        if (messages != r.delivered || !r.agreed || r.leader != n - 1) {
            fprintf(stderr, "bench_lab: the lab and the bare loop had different results\n");
            return false;
        }
    }
    qsort(lab, trials, sizeof lab[0], by_value);
    qsort(bare, trials, sizeof bare[0], by_value);
    printf("%10u  1..%-3u %10.1f %10.1f  %5.2f %10.1f\n", n, delay_max, lab[trials / 2] / 1e6,
           bare[trials / 2] / 1e6, lab[trials / 2] / bare[trials / 2], (double)r.bytes / n);
    return true;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    unsigned trials = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 5;
    if (n < 2 || n > 16000000 || trials < 1 || trials > 32) {
        fprintf(stderr, "usage: bench_lab [PROCESSES (2 to 16000000) [TRIALS (1 to 32)]]\n");
        return 64;
    }
    printf("Chang & Roberts, shuffled, all begin: millions of messages per second, median of %u\n",
           trials);
    printf("%10s  %-6s %10s %10s  %5s %10s\n", "processes", "delay", "lab", "bare loop", "ratio",
           "bytes each");
    return !(compare(n, 1, trials) && compare(n, 10, trials) &&
             (n > 1600000 || compare(10 * n, 1, 1)));
}
