/*
 * Runs the algorithm files of the core with millions of processes. The algorithms use only the
 * types and functions of core/vocabulary.h. This file defines them for the lab, with 32-bit
 * numbers, and ranges instead of bit sets. Links never lose a message, so hops need no
 * acknowledgement, the ring timer never starts, and no message is passed on twice. A successor
 * that is down is skipped immediately: this counts as a failed hop but takes no time.
 *
 * Include lab.h first, then an algorithm file, then lab_loop.h.
 */
#ifndef ELECT_CORE_VOCABULARY_H
#define ELECT_CORE_VOCABULARY_H /* replaces core/vocabulary.h */

#include "../core/words.h"
#include "lab_run.h"

#include <assert.h>

typedef uint32_t number;
typedef struct {
    number first, end;
} set;

struct process {
    struct lab *lab;
    struct lab_node *node;
};

struct event {
    unsigned type;
    number from, origin;
};

struct algorithm {
    uint32_t messages;
    bool ring;
    void (*begin)(struct process *p, enum rule why);
    void (*upon)(struct process *p, const struct event *e);
};
#define SAYS(type)      (1u << (type))
#define ALGORITHM(name) static const struct algorithm elect__##name __attribute__((unused))

/* Processes and sets of processes. */

static inline number me(const struct process *p) { return p->node->number; }
static inline set only(number j) { return (set){j, j + 1}; }
static inline set others(const struct process *p) { return (set){0, p->lab->n}; }
static inline set lower(const struct process *p) { return (set){0, me(p)}; }
static inline set higher(const struct process *p) { return (set){me(p) + 1, p->lab->n}; }
static inline bool is_empty(set s) { return s.first >= s.end; }

/* Queries about the process itself. */

static inline bool is(const struct process *p, enum state s)
{
    return p->node->state == (uint8_t)s;
}
static inline bool leads(const struct process *p)
{
    return is(p, NORMAL) && p->node->leader == me(p);
}
static inline bool runs(const struct process *p, unsigned timer)
{
    return p->lab->timers[me(p)][timer - ELECT_ANSWER_TIMER] != 0;
}
static inline bool participant(const struct process *p) { return is(p, ELECTING); }
static inline bool decided(const struct process *p) { return p->node->decided; }
static inline bool outranked(const struct process *p, number j)
{
    return decided(p) && p->node->leader != LAB_NOBODY && p->node->leader > j;
}
static inline bool tells_all(const struct process *p) { return p->lab->tells_all; }
static inline bool tells_lower(const struct process *p) { return p->lab->tells_lower; }
static inline bool passed_on(const struct process *p, unsigned type, number origin)
{
    (void)p, (void)type, (void)origin;
    return false;
}

/* Effects of a step. */

static inline void become(struct process *p, enum state s, number leader)
{
    if (!is(p, s) || p->node->leader != leader)
        p->lab->changed = p->lab->now;
    p->node->state = (uint8_t)s;
    p->node->leader = leader;
}
static inline void because(struct process *p, enum rule why) { (void)p, (void)why; }
static inline void stand(struct process *p, enum state s) { become(p, s, LAB_NOBODY); }
static inline void send(struct process *p, unsigned type, set to)
{
    if (!is_empty(to))
        lab_send(p->lab, me(p), type, to.first, to.end);
}
static inline void start(struct process *p, unsigned timer) { lab_start(p->lab, me(p), timer); }
static inline void stop(struct process *p, unsigned timer) { lab_stop(p->lab, me(p), timer); }
static inline void settle(struct process *p, number leader)
{
    become(p, NORMAL, leader);
    p->node->decided = true;
    if (p->lab->timers != NULL) {
        stop(p, ELECT_ANSWER_TIMER);
    }
}
static inline void follow(struct process *p, number j) { settle(p, j); }
static inline void lead(struct process *p) { settle(p, me(p)); }
static inline void new_round(struct process *p) { p->node->decided = false; }
static inline void become_participant(struct process *p)
{
    if (!participant(p))
        become(p, ELECTING, LAB_NOBODY);
}
static inline void forward(struct process *p, unsigned type, number origin)
{
    lab_forward(p->lab, p->node, type, origin);
}

#endif
