/* The search, shared by the files that implement it: explore.c finds the worlds, and components.c
 * judges them. */
#ifndef ELECT_VERIFY_EXPLORER_H
#define ELECT_VERIFY_EXPLORER_H

#include "explore.h"
#include "store.h"

#define EXPLORER_CHUNK 256 /* worlds that a thread expands before their successors are put away */

struct explorer;

struct worker {
    STORE_APART struct explorer *all;
    unsigned me;
    pthread_t thread;
    struct arrival *arrivals; /* successors that are not yet in the store */
    size_t waiting, room;
    uint32_t parent; /* of what is being expanded */
    uint64_t transitions;
    unsigned char *way;           /* a bit for each world, for mark_ends */
    uint32_t *level;              /* where each level begins among those that this thread keeps */
    uint32_t level_end;           /* and where the one that is being expanded ends */
    STORE_APART atomic_uint next; /* what any thread will expand next */
};

struct explorer {
    const struct exploration *asked;
    struct outcome_of_exploration *out;
    struct space *space;
    struct store store;
    unsigned threads;
    struct worker worker[EXPLORE_MAX_THREADS];
    STORE_APART pthread_barrier_t barrier;
    pthread_mutex_t gate; /* closed until all threads are there */
    void (*work)(struct worker *w);
    bool complete;        /* they are, and may begin */
    pthread_mutex_t lock; /* around `out->finding` and `bad` */
    uint32_t bad[PROPERTY_COUNT];
    atomic_bool halt; /* a thread cannot continue until all threads have stopped */
    atomic_int bound;
    bool moving, done;
    unsigned depth, levels, level_room;
    uint32_t *after, afters; /* worlds that follow the bad one, to show what is wrong with it */
    uint32_t loop;           /* how many of them, at the end, can follow one another for ever */
    atomic_uchar *mark;      /* by world: set of enum mark, while all are judged */
    atomic_bool cyclic;      /* a world has MARK_CYCLES */
};

/* The findings about one world, without further faults and beginnings. */
enum mark {
    MARK_REACHES = 1, /* it leads to agreement, or to a rest without live processes */
    MARK_ENDS = 2,    /* every history from here comes to an end */
    MARK_CYCLES = 4,  /* some history from here can go on for ever */
    MARK_AVOIDED = 8  /* left out when its component is taken apart again */
};

struct observation {
    unsigned leaders, electing;
    uint8_t highest; /* of the live */
    bool agreed, highest_leads;
};

/* Runs this on every thread; false if they could not be started. */
bool explorer_together(struct explorer *x, void (*work)(struct worker *w));
/* A successor that the worker will look up; false, with a bound, if there is no memory. */
bool explorer_note(struct worker *w, const struct row *row);
void explorer_give_up(struct explorer *x, enum bound why);

unsigned explorer_depth(const struct explorer *x, uint32_t world); /* moves from the first one */
struct observation explorer_look(const struct space *s, const struct row *row);
/* Where nothing fails and nobody has begun there was no election to be judged. */
static inline bool explorer_untouched(const struct space *s, const struct row *row)
{
    return row->begun == 0 && !s->watched;
}
bool explorer_interrupted(const struct explorer *x);
/* Where the worlds of a level end, among those that this thread keeps. */
uint32_t explorer_level_end(const struct explorer *x, unsigned level, unsigned owner);

/* When every world is known: eventually-leader and termination. False, with a bound, if it could
 * not be said. */
bool judge_whole(struct explorer *x);
/* Marks every world with MARK_ENDS, and MARK_REACHES if it does, or with MARK_CYCLES. False, with a
 * bound, if it could not. `worlds` is more than the largest number of a world. */
bool mark_ends(struct explorer *x, size_t worlds);

/* What follows a bad world goes into x->after; false if it could not be found. From a world that
 * goes on for ever, back to it; `number` says which worlds belong together. */
bool find_lasso(struct explorer *x, const uint32_t *number, size_t worlds, uint32_t world);
/* From a world that reaches no agreement, to rest, or on and on. */
bool find_dead_end(struct explorer *x, uint32_t world);

/* What must happen in a history that goes on for ever, or else it is none. A timer that runs must
 * run out, if it is ever its turn; unless it is started again. A message must arrive. What could
 * happen time and again must: a cut heals, a leader is heard or missed. */
struct due {
    uint8_t timer[SPACE_MAX]; /* by process: set of ELECT_TIMER_BIT */
    uint16_t mail[SPACE_MAX]; /* by process: whose letters */
    uint16_t hear[SPACE_MAX], suspect, heal;
};
void due_note(struct due *d, const struct move *move);

#endif
