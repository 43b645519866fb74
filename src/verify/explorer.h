/* Declarations of the search, shared by the files that implement it: explore.c finds the worlds,
 * and ends.c, components.c and cycle.c judge them. */
#ifndef ELECT_VERIFY_EXPLORER_H
#define ELECT_VERIFY_EXPLORER_H

#include "explore.h"
#include "store.h"

#define EXPLORER_CHUNK 256 /* worlds that a thread expands before it stores their successors */

struct explorer;

struct worker {
    STORE_APART struct explorer *all;
    unsigned me;
    pthread_t thread;
    struct arrival *arrivals; /* successors that are not yet in the store */
    size_t waiting, room;
    uint32_t parent; /* the world that is being expanded */
    uint64_t transitions;
    unsigned char *way;           /* a bit for each world, for mark_ends */
    uint32_t *level;              /* where each level begins among the worlds of this thread */
    uint32_t level_end;           /* where the level that is being expanded ends */
    STORE_APART atomic_uint next; /* the next of these worlds to be expanded, by any thread */
};

struct explorer {
    const struct exploration *asked;
    struct outcome_of_exploration *out;
    struct space *space;
    struct store store;
    unsigned threads;
    struct worker worker[EXPLORE_MAX_THREADS];
    STORE_APART pthread_barrier_t barrier;
    pthread_mutex_t gate; /* closed until all threads have been started */
    void (*work)(struct worker *w);
    bool complete;        /* all threads were started, and may begin */
    pthread_mutex_t lock; /* protects `out->finding` and `bad` */
    uint32_t bad[PROPERTY_COUNT];
    atomic_bool halt; /* a thread cannot continue until all threads have stopped */
    atomic_int bound;
    bool moving, done;
    unsigned depth, levels, level_room;
    uint32_t *after, afters; /* worlds that follow the bad world, to show the violation */
    uint32_t loop;           /* how many of them, at the end, can be repeated forever */
    atomic_uchar *mark;      /* by world: set of enum mark, while all are judged */
    atomic_bool cyclic;      /* a world has MARK_CYCLES */
};

/* Findings about one world, assuming no further faults or new elections. */
enum mark {
    MARK_REACHES = 1, /* it can lead to agreement, or to rest without live processes */
    MARK_ENDS = 2,    /* every history from here ends */
    MARK_CYCLES = 4,  /* some history from here can go on forever */
    MARK_AVOIDED = 8  /* left out when its component is divided again */
};

struct observation {
    unsigned leaders, electing;
    uint8_t highest; /* the highest live process */
    bool agreed, highest_leads;
};

/* Runs `work` in every thread. Returns false if the threads could not be started. */
bool explorer_together(struct explorer *x, void (*work)(struct worker *w));
/* Records a successor, which the worker will later look up or store. Returns false if memory
 * runs out, which counts as a bound that was reached. */
bool explorer_note(struct worker *w, const struct row *row);
void explorer_give_up(struct explorer *x, enum bound why);

unsigned explorer_depth(const struct explorer *x, uint32_t world); /* moves from the first world */
struct observation explorer_look(const struct space *s, const struct row *row);
/* Returns true if no process has begun an election and none can fail, so that there is no election
 * to judge. */
static inline bool explorer_untouched(const struct space *s, const struct row *row)
{
    return row->begun == 0 && !s->watched;
}
bool explorer_interrupted(const struct explorer *x);
/* Returns where the worlds of a level end among the worlds of this owner. */
uint32_t explorer_level_end(const struct explorer *x, unsigned level, unsigned owner);

/* Judges eventually-leader and termination when all worlds are known. Returns false and sets a
 * bound if it could not finish. */
bool judge_whole(struct explorer *x);
/* Marks every world with MARK_ENDS, and with MARK_REACHES if it applies, or else with MARK_CYCLES.
 * Returns false and sets a bound if it could not finish. `worlds` is more than the largest number
 * of a world. */
bool mark_ends(struct explorer *x, size_t worlds);

/*
 * The next two functions put the worlds that follow a bad world into x->after. They return false if
 * memory or time ran out.
 *
 * find_lasso starts at a world that can go on forever, and returns to it; `number` maps each world
 * to its component.
 */
bool find_lasso(struct explorer *x, const uint32_t *number, size_t worlds, uint32_t world);
/* find_dead_end starts at a world that cannot reach agreement, and stops at rest or at a repeated
 * world. */
bool find_dead_end(struct explorer *x, uint32_t world);

/* The moves that must happen in a fair history that goes on forever; unfair histories do not count.
 * A timer that runs, and may expire now and then, must expire unless it is started again. A message
 * must arrive. A move that is possible again and again must happen: a cut heals, a leader is heard
 * or missed. */
struct due {
    uint8_t timer[SPACE_MAX]; /* by process: set of ELECT_TIMER_BIT */
    uint16_t mail[SPACE_MAX]; /* by process: the senders of its messages */
    uint16_t hear[SPACE_MAX], suspect, heal;
};
void due_note(struct due *d, const struct move *move);

#endif
