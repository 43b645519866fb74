/*
 * The vocabulary of the algorithm files. The nouns are processes and sets of processes; the verbs
 * are effects. Every branch ends in because(), which names the branch's rule, even if the branch
 * does nothing.
 *
 * src/sim/lab.h implements the same words for millions of processes.
 */
#ifndef ELECT_CORE_VOCABULARY_H
#define ELECT_CORE_VOCABULARY_H

#include "words.h"

typedef uint8_t number; /* a process; in the core, its rank */
typedef elect_set set;
typedef struct elect_message message;

/* The state of one process during one step. */
struct process {
    const struct elect_config *config;
    const struct algorithm *algorithm;
    struct elect_node *node;
    struct elect_output *out;
    elect_time now;
    number about;  /* the step's sender, suspect or origin */
    bool opened;   /* this step has entered a new round */
    bool newcomer; /* the sender had not been heard from recently */
};

/* A message that has arrived, or a timer that has expired. A timer has only a type. */
struct event {
    unsigned type; /* enum elect_event */
    number from;
    number origin; /* rings: owner of the number or the list */
    set list;      /* ring with a list: processes that have joined so far */
};

struct algorithm {
    uint32_t messages; /* message types: a set of 1 << type */
    bool ring;         /* messages go from process to process round a ring */
    void (*begin)(struct process *p, enum rule why);
    void (*upon)(struct process *p, const struct event *e);
};
#define SAYS(type)      (1u << (type))
#define ALGORITHM(name) const struct algorithm elect__##name

extern const struct algorithm elect__bully, elect__ring, elect__active_ring, elect__chang_roberts;

/* Nouns: a process, and sets of processes. */

static inline number me(const struct process *p) { return p->node->me; }
static inline set only(number j) { return (set)1 << j; }
static inline set members(const struct process *p) { return p->node->saved.membership.members; }
static inline set others(const struct process *p) { return members(p) & ~only(me(p)); }
static inline set lower(const struct process *p) { return members(p) & (only(me(p)) - 1); }
static inline set higher(const struct process *p) { return others(p) & ~lower(p); }
static inline set with(set s, number j) { return s | only(j); }
static inline bool has(set s, number j) { return (s >> j) & 1; }
static inline bool is_empty(set s) { return s == 0; }
static inline number highest(set s) { return (number)(63 - __builtin_clzll(s)); }

/* Questions about this process. */

static inline bool is(const struct process *p, enum state s)
{
    return p->node->state == (uint8_t)s;
}
static inline bool runs(const struct process *p, unsigned timer)
{
    return (p->node->running & ELECT_TIMER_BIT(timer)) != 0;
}
/* Returns true if the election chose this process, whether or not it has a mandate. */
static inline bool leads(const struct process *p)
{
    return is(p, NORMAL) && p->node->leader == p->node->me;
}
static inline bool participant(const struct process *p) { return is(p, ELECTING); }
static inline bool decided(const struct process *p) { return is(p, NORMAL) && !p->opened; }
/* Returns true if this process already follows a leader higher than `j` in this round. */
static inline bool outranked(const struct process *p, number j)
{
    return decided(p) && p->node->leader != ELECT_NOBODY && p->node->leader > j;
}
static inline set active(const struct process *p) { return p->node->active; }
static inline bool tells_all(const struct process *p)
{
    return p->config->announce == ELECT_ANNOUNCE_ALL;
}
static inline bool tells_lower(const struct process *p) { return p->config->tell_lower; }
static inline bool circulates(const struct process *p)
{
    return p->config->form == ELECT_CIRCULATE;
}

/* Verbs. Their symbols have a prefix, because a library must not define common names such as
 * send(). */
#define PREFIXED(name) __asm__("elect__" #name)

void send(struct process *p, unsigned type, set to) PREFIXED(send);
void start(struct process *p, unsigned timer) PREFIXED(start);
void stop(struct process *p, unsigned timer) PREFIXED(stop);
/* Sets the state, and forgets the leader. */
void stand(struct process *p, enum state s) PREFIXED(stand);
void follow(struct process *p, number j) PREFIXED(follow);
void lead(struct process *p) PREFIXED(lead);
/* Sets the rule of the step. If a step calls this more than once, the last call counts. */
void because(struct process *p, enum rule why) PREFIXED(because);

/* Verbs for rings, implemented in ring_links.c. */

/* Forgets the previous election and enters the next round. */
void new_round(struct process *p) PREFIXED(new_round);
/* Joins the election. The first call in a round starts the ring timer. */
void become_participant(struct process *p) PREFIXED(become_participant);
void become_active(struct process *p, number j) PREFIXED(become_active);
/* Restricts the ring to these processes, so that messages skip the others. */
void close_ring(struct process *p, set members) PREFIXED(close_ring);
void forward(struct process *p, unsigned type, number origin) PREFIXED(forward);
void forward_list(struct process *p, unsigned type, number origin, set list) PREFIXED(forward_list);
void multicast_list(struct process *p, unsigned type, set list) PREFIXED(multicast_list);
bool passed_on(const struct process *p, unsigned type, number origin) PREFIXED(passed_on);

#endif
