/* Sets up the lab, runs it, and reads the result. */
#include "lab_run.h"

#include "../core/words.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_CHANG_ROBERTS 16000000u
#define MAX_BULLY         8192u /* memory and time are quadratic */

static bool check_size(const struct setup *s, struct text *complaint)
{
    uint64_t limit = s->algorithm == ELECT_CHANG_ROBERTS ? MAX_CHANG_ROBERTS
                     : s->algorithm == ELECT_BULLY       ? MAX_BULLY
                                                         : ELECT_MAX;
    if (s->processes.count <= limit)
        return true;
    text_add_number(complaint, s->processes.count);
    text_add(complaint, " processes: at most ");
    text_add_number(complaint, limit);
    text_add(complaint, " with ");
    text_add(complaint, elect_algorithm_name((enum elect_algorithm)s->algorithm));
    return text_refuse(complaint, limit == ELECT_MAX
                                      ? " (the size of its lists); chang-roberts can have millions"
                                      : "");
}

bool lab_check(const struct experiment *e, struct text *complaint)
{
    const struct setup *s = &e->setup;
    if (!check_size(s, complaint))
        return false;
    if (s->weather.loss > 0 || s->weather.duplicate > 0 || s->weather.reorder || e->faults > 0 ||
        e->crash_rate > 0 || s->detector > 0 || s->calm != WORLD_FOREVER)
        return text_refuse(complaint,
                           "above 64 processes links are perfect and no process crashes: leave "
                           "out loss, duplicate, reorder, calm, crash, recover, cut, heal, "
                           "crash-rate and detector");
    if (s->mandate != ELECT_NO_MANDATE)
        return text_refuse(complaint, "with mandate majority at most 64 processes are possible");
    if (s->weather.delay_max > LAB_MAX_DELAY)
        return text_refuse(complaint, "above 64 processes a delay can be at most 1000");
    return true;
}

/* ---- memory, counted ---- */

static void *allocate(struct lab *lab, size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL)
        lab->out_of_memory = true;
    lab->bytes += count * size;
    return memory;
}

bool lab_grow(struct lab *lab, void **items, uint32_t *room, size_t size)
{
    uint32_t wanted = *room == 0 ? 1024 : *room + *room / 2;
    void *memory = realloc(*items, wanted * size);
    if (memory == NULL) {
        lab->out_of_memory = true;
        return false;
    }
    lab->bytes += (wanted - *room) * size;
    *items = memory;
    *room = wanted;
    return true;
}

static void clean_up(struct lab *lab)
{
    for (uint32_t i = 0; i < lab->buckets; i++)
        free(lab->bucket[i].message);
    for (unsigned t = 0; t < LAB_TIMERS; t++)
        free(lab->alarms[t].alarm);
    free(lab->node);
    free(lab->successor);
    free(lab->last_due);
    free(lab->timers);
    free(lab);
}

/* ---- ids and ranks ---- */

static int by_first(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort(struct numbers *sorted, const struct numbers *numbers)
{
    *sorted = *numbers;
    qsort(sorted->range, sorted->ranges, sizeof sorted->range[0], by_first);
}

static uint32_t rank_of(const struct numbers *sorted, uint32_t id)
{
    uint32_t below = 0;
    for (unsigned i = 0; i < sorted->ranges && sorted->range[i].first <= id; i++) {
        uint32_t last = id - 1 < sorted->range[i].last && id > 0 ? id - 1 : sorted->range[i].last;
        if (id > sorted->range[i].first)
            below += last - sorted->range[i].first + 1;
    }
    return below;
}

static uint32_t id_of(const struct numbers *sorted, uint32_t rank)
{
    unsigned i = 0;
    for (; rank > sorted->range[i].last - sorted->range[i].first; i++)
        rank -= sorted->range[i].last - sorted->range[i].first + 1;
    return sorted->range[i].first + rank;
}

/* ---- setting up ---- */

/* Numbers the nodes. A ring is stored in ring order, the bully's processes by number. Fills `place`
 * with the process at each place on the ring. */
static void seat(struct lab *lab, const struct setup *s, const struct numbers *sorted,
                 uint64_t seed, uint32_t *place)
{
    uint32_t id,
        i = 0,
        leader = setup_first_leader(s, id_of(sorted, lab->n - 1), &id) ? rank_of(sorted, id)
                                                                       : LAB_NOBODY;
    struct dice dice;
    for (struct numbers_place at = NUMBERS_START; numbers_next(&s->processes, &at, &id);)
        place[i++] = rank_of(sorted, id);
    dice_seed(&dice, seed, DICE_SHUFFLE);
    if (s->shuffle)
        dice_shuffle(&dice, place, lab->n);
    for (i = 0; i < lab->n; i++) {
        struct lab_node *node = &lab->node[lab->bully ? place[i] : i];
        node->number = place[i];
        node->leader = leader;
        if (s->down.ranges > 0 && numbers_have(&s->down, id_of(sorted, place[i])))
            node->state = LAB_DOWN;
    }
}

static void find_successors(struct lab *lab)
{
    uint32_t next = 0;
    for (uint32_t i = 2 * lab->n; i-- > 0;) {
        lab->successor[i % lab->n] = next;
        if (lab->node[i % lab->n].state != LAB_DOWN)
            next = i % lab->n;
    }
}

static struct lab *set_up(const struct experiment *e, const struct numbers *sorted, uint64_t seed,
                          uint32_t *place)
{
    const struct setup *s = &e->setup;
    struct lab *lab = calloc(1, sizeof *lab);
    if (lab == NULL)
        return NULL;
    lab->n = (uint32_t)s->processes.count;
    lab->bully = s->algorithm == ELECT_BULLY;
    lab->tells_all = s->announce == ELECT_ANNOUNCE_ALL;
    lab->tells_lower = s->tell_lower;
    lab->delay_min = s->weather.delay_min;
    lab->delay_max = s->weather.delay_max;
    lab->buckets = lab->delay_max + 1;
    lab->duration[0] = 2 * lab->delay_max + s->processing;
    lab->duration[1] = DEADLINE_IN_T * lab->duration[0];
    dice_seed(&lab->dice, seed, DICE_DELAY);
    lab->node = allocate(lab, lab->n, sizeof *lab->node);
    if (s->down.ranges > 0 && !lab->bully)
        lab->successor = allocate(lab, lab->n, sizeof *lab->successor);
    if (lab->delay_min < lab->delay_max)
        lab->last_due =
            allocate(lab, lab->bully ? (size_t)lab->n * lab->n : lab->n, sizeof *lab->last_due);
    if (lab->bully)
        lab->timers = allocate(lab, lab->n, sizeof *lab->timers);
    if (!lab->out_of_memory) {
        seat(lab, s, sorted, seed, place);
        if (lab->successor != NULL)
            find_successors(lab);
    }
    return lab;
}

/* Fills `place` with the processes that begin an election, in order, as places on the ring or, for
 * the bully algorithm, as numbers. Returns how many there are. On entry, `place` maps places to
 * numbers. It is large enough, because each process begins at most once. */
static uint32_t choose_named(const struct lab *lab, const struct experiment *e,
                             const struct numbers *sorted, uint32_t *place)
{
    uint32_t count = 0, id, *seat_of = malloc(lab->n * sizeof *seat_of);
    if (seat_of == NULL)
        return 0;
    for (uint32_t i = 0; i < lab->n; i++)
        seat_of[place[i]] = lab->bully ? place[i] : i;
    for (struct numbers_place i = NUMBERS_START; numbers_next(&e->begin, &i, &id);)
        place[count++] = seat_of[rank_of(sorted, id)];
    free(seat_of);
    return count;
}

static uint32_t choose_beginners(const struct lab *lab, const struct experiment *e,
                                 const struct numbers *sorted, uint32_t *place)
{
    uint32_t count = 0, lowest = LAB_NOBODY, where = 0;
    if (e->begin_given && !e->begin_all)
        return choose_named(lab, e, sorted, place);
    for (uint32_t i = 0; i < lab->n; i++) {
        uint32_t at = lab->bully ? place[i] : i;
        const struct lab_node *node = &lab->node[at];
        if (node->state == LAB_DOWN)
            continue;
        if (node->number < lowest) {
            lowest = node->number;
            where = at;
        }
        place[count++] = at;
    }
    if (!e->begin_all) {
        place[0] = where;
        count = 1;
    }
    return count;
}

static void read_off(const struct lab *lab, const struct numbers *sorted, struct lab_result *r)
{
    uint32_t leader = LAB_NOBODY;
    bool agreed = true, lives = false;
    for (uint32_t i = 0; i < lab->n; i++) {
        const struct lab_node *node = &lab->node[i];
        if (node->state == LAB_DOWN)
            continue;
        if (leader == LAB_NOBODY)
            leader = node->leader;
        agreed =
            agreed && leader != LAB_NOBODY && node->state == ELECT_NORMAL && node->leader == leader;
        lives = lives || node->number == leader;
    }
    r->agreed = agreed && lives;
    r->leader = r->agreed ? id_of(sorted, leader) : LAB_NOBODY;
    r->time = lab->changed;
    r->delivered = lab->delivered;
    r->failed_hops = lab->failed_hops;
    memcpy(r->sent, lab->sent, sizeof r->sent);
    r->bytes = lab->bytes;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

bool lab_run(const struct experiment *e, uint64_t seed, lab_progress *progress,
             struct lab_result *result, struct text *complaint)
{
    struct numbers sorted;
    sort(&sorted, &e->setup.processes);
    uint32_t *place = calloc(e->setup.processes.count, sizeof *place);
    struct lab *lab = place != NULL ? set_up(e, &sorted, seed, place) : NULL;
    bool fine = lab != NULL && !lab->out_of_memory;
    if (fine) {
        uint32_t count = choose_beginners(lab, e, &sorted, place);
        double start = seconds_now();
        lab->bytes += lab->n * sizeof *place;
        lab->out_of_memory = count == 0;
        if (lab->bully)
            lab_bully(lab, place, count, progress);
        else
            lab_chang_roberts(lab, place, count, progress);
        result->seconds = seconds_now() - start;
        fine = !lab->out_of_memory;
        if (fine)
            read_off(lab, &sorted, result);
    }
    if (lab != NULL)
        clean_up(lab);
    free(place);
    return fine || text_refuse(complaint, "not enough memory for this many processes");
}
