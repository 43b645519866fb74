/* The state of the lab and the delivery of its messages. See lab.h; lab_run.c sets it up. */
#ifndef ELECT_SIM_LAB_RUN_H
#define ELECT_SIM_LAB_RUN_H

#include "experiment.h"

#define LAB_NOBODY    UINT32_MAX
#define LAB_DOWN      3 /* a state besides NORMAL, ELECTING and WAITING */
#define LAB_MAX_DELAY 1000
#define LAB_TIMERS    2 /* ANSWER and DEADLINE */

struct lab_node {
    uint32_t number, leader;
    uint8_t state;
    bool decided;
    bool hopped; /* its failed hops have been counted */
};

struct lab_message {
    uint32_t to; /* ring: the receiver's place; bully: number of the first receiver */
    /* ring: the origin; bully: number after the last receiver */
    uint32_t value;
    uint32_t from : 28, type : 4; /* `type`: from ELECT_FIRST_MESSAGE */
};

/* Messages of one tick, in sending order. */
struct lab_bucket {
    struct lab_message *message;
    uint32_t count, room;
};

struct lab_alarm {
    uint64_t due;
    uint32_t number;
};

struct lab_alarms { /* of one duration, so the first to start is the first to expire */
    struct lab_alarm *alarm;
    uint32_t head, count, room;
};

struct lab {
    struct lab_node *node; /* in ring order; bully: by number */
    uint32_t *successor;   /* next live place after each; NULL if all processes are up */
    /* Latest arrival per link, to keep messages in order. NULL if all delays are equal. */
    uint64_t *last_due;
    struct lab_bucket bucket[LAB_MAX_DELAY + 1];
    struct lab_alarms alarms[LAB_TIMERS];
    /* Bully only: when each process's timers expire; 0: not running. */
    uint64_t (*timers)[LAB_TIMERS];
    uint64_t now, changed, flights;
    uint64_t delivered, failed_hops, sent[ELECT_EVENT_COUNT];
    uint32_t slot; /* bucket of the current time */
    uint32_t n, buckets, delay_min, delay_max, duration[LAB_TIMERS];
    bool tells_all, tells_lower, bully, out_of_memory;
    struct dice dice;
    size_t bytes; /* peak memory use */
};

struct lab_result {
    bool agreed;
    uint32_t leader; /* id; valid if `agreed` */
    uint64_t time, delivered, failed_hops, sent[ELECT_EVENT_COUNT];
    size_t bytes;
    double seconds; /* without the set-up */
};

typedef void lab_progress(uint64_t delivered);

bool lab_check(const struct experiment *e, struct text *complaint);
bool lab_run(const struct experiment *e, uint64_t seed, lab_progress *progress,
             struct lab_result *result, struct text *complaint);

/* Each of these runs one election and is compiled in a file of its own. */
void lab_bully(struct lab *lab, const uint32_t *begins, uint32_t count, lab_progress *progress);
void lab_chang_roberts(struct lab *lab, const uint32_t *begins, uint32_t count,
                       lab_progress *progress);

/* ---- sending and timers, inline because this is the inner loop ---- */

bool lab_grow(struct lab *lab, void **items, uint32_t *room, size_t size);

static inline void lab_post(struct lab *lab, uint64_t due, struct lab_message m)
{
    uint32_t slot = lab->slot + (uint32_t)(due - lab->now); /* avoids a slow division */
    struct lab_bucket *b = &lab->bucket[slot < lab->buckets ? slot : slot - lab->buckets];
    if (b->count == b->room && !lab_grow(lab, (void **)&b->message, &b->room, sizeof m))
        return;
    b->message[b->count++] = m;
    lab->flights++;
}

static inline uint64_t lab_due(struct lab *lab, size_t link)
{
    if (lab->last_due == NULL)
        return lab->now + lab->delay_min;
    uint64_t span = lab->delay_max - lab->delay_min + 1;
    uint64_t due = lab->now + lab->delay_min + dice_below(&lab->dice, span);
    if (due < lab->last_due[link])
        due = lab->last_due[link];
    return lab->last_due[link] = due;
}

static inline void lab_forward(struct lab *lab, struct lab_node *node, unsigned type,
                               uint32_t origin)
{
    uint32_t place = (uint32_t)(node - lab->node);
    uint32_t next = place + 1 < lab->n ? place + 1 : 0;
    if (lab->successor != NULL) {
        if (!node->hopped)
            lab->failed_hops += (lab->successor[place] + lab->n - next) % lab->n;
        node->hopped = true;
        next = lab->successor[place];
    }
    lab->sent[type]++;
    lab_post(lab, lab_due(lab, place),
             (struct lab_message){
                 .to = next, .value = origin, .type = (type - ELECT_FIRST_MESSAGE) & 15});
}

/* Sends to the numbers from `first` up to but not including `end`, except the sender. With constant
 * delays, one message stands for all copies. */
static inline void lab_send(struct lab *lab, uint32_t from, unsigned type, uint32_t first,
                            uint32_t end)
{
    struct lab_message m = {.to = first,
                            .value = end,
                            .from = from & 0xfffffff,
                            .type = (type - ELECT_FIRST_MESSAGE) & 15};
    lab->sent[type] += end - first - (from >= first && from < end);
    if (lab->last_due == NULL) {
        lab_post(lab, lab_due(lab, 0), m);
        return;
    }
    for (uint32_t to = first; to < end; to++) {
        if (to == from)
            continue;
        m.to = to;
        m.value = to + 1;
        lab_post(lab, lab_due(lab, (size_t)from * lab->n + to), m);
    }
}

static inline void lab_start(struct lab *lab, uint32_t number, unsigned timer)
{
    unsigned t = timer - ELECT_ANSWER_TIMER;
    struct lab_alarms *a = &lab->alarms[t];
    uint64_t due = lab->now + lab->duration[t];
    if (a->count == a->room && !lab_grow(lab, (void **)&a->alarm, &a->room, sizeof *a->alarm))
        return;
    lab->timers[number][t] = due;
    a->alarm[a->count++] = (struct lab_alarm){due, number};
}

static inline void lab_stop(struct lab *lab, uint32_t number, unsigned timer)
{
    lab->timers[number][timer - ELECT_ANSWER_TIMER] = 0;
}

#endif
