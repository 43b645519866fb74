/* Shared declarations of the files that implement the search: explore.c finds the worlds; ends.c,
 * components.c and cycle.c judge them. */
#ifndef ELECT_VERIFY_EXPLORER_H
#define ELECT_VERIFY_EXPLORER_H

#include "explore.h"
#include "store.h"

/* number of worlds that a thread expands before it stores their successors */
#define EXPLORER_CHUNK 256

struct explorer;

struct worker {
    STORE_APART struct explorer *all;
    unsigned me;
    pthread_t thread;
    struct arrival *arrivals; /* successors that are not yet in the store */
    size_t waiting, room;
    uint32_t parent; /* the world that is being expanded */
    uint64_t transitions;
    unsigned char *way; /* a bit for each world, for mark_ends */
    uint32_t *level;    /* by level: the index of its first world in this thread's shelves */
    uint32_t level_end; /* the end of the current level in this thread's shelves */
    STORE_APART atomic_uint next; /* the next world of these shelves to expand, by any thread */
};

struct explorer {
    const struct exploration *asked;
    struct outcome_of_exploration *out;
    struct space *space;
    struct store store;
    unsigned threads;
    struct worker worker[EXPLORE_MAX_THREADS];
    STORE_APART pthread_barrier_t barrier;
    pthread_mutex_t gate; /* locked until all threads have been started */
    void (*work)(struct worker *w);
    bool complete;        /* all threads have started and may begin */
    pthread_mutex_t lock; /* protects `out->finding` and `bad` */
    uint32_t bad[PROPERTY_COUNT];
    atomic_bool halt; /* all threads must stop, because one of them cannot continue */
    atomic_int bound;
    bool moving, done;
    unsigned depth, levels, level_room;
    uint32_t *after, afters; /* worlds after the bad world that show the violation */
    uint32_t loop;      /* the number of worlds at the end of `after` that can repeat forever */
    atomic_uchar *mark; /* by world: a set of enum mark; used while all worlds are judged */
    atomic_bool cyclic; /* at least one world has MARK_CYCLES */
};

/* Results for one world, assuming no further faults or new elections. */
enum mark {
    /* it can lead to agreement, or to a final world in which all processes are down */
    MARK_REACHES = 1,
    MARK_ENDS = 2,   /* every history from this world ends */
    MARK_CYCLES = 4, /* some history from this world may never end */
    MARK_AVOIDED = 8 /* ignored when its component is divided again */
};

struct observation {
    unsigned leaders, electing;
    uint8_t highest; /* the highest live process */
    bool agreed, highest_leads;
};

/* Runs `work` in every thread. Returns false if the threads could not be started. */
bool explorer_together(struct explorer *x, void (*work)(struct worker *w));
/* Records a successor, which the worker will look up or store later. Returns false if there is no
 * memory, and then ends the search with BOUND_MEMORY. */
bool explorer_note(struct worker *w, const struct row *row);
void explorer_give_up(struct explorer *x, enum bound why);

unsigned explorer_depth(const struct explorer *x, uint32_t world); /* moves from the first world */
struct observation explorer_look(const struct space *s, const struct row *row);
/* Returns true if there is no election to judge, because no process has begun one and no process
 * can fail. */
static inline bool explorer_untouched(const struct space *s, const struct row *row)
{
    return row->begun == 0 && !s->watched;
}
bool explorer_interrupted(const struct explorer *x);
/* Returns the end of a level in the shelves of this owner. */
uint32_t explorer_level_end(const struct explorer *x, unsigned level, unsigned owner);

/* Checks the properties eventually-leader and termination after all worlds have been found. Returns
 * false and sets a bound if the check could not finish. */
bool judge_whole(struct explorer *x);
/* Marks every world either with MARK_CYCLES or with MARK_ENDS, and in the second case also with
 * MARK_REACHES if agreement can be reached. Returns false and sets a bound if the function could
 * not finish. All numbers of worlds are smaller than `worlds`. */
bool mark_ends(struct explorer *x, size_t worlds);

/*
 * The next two functions put the worlds after a bad world into x->after. Both return false if there
 * is no memory, or if the search was interrupted.
 *
 * find_lasso finds a cycle through a world from which a history can go on forever. `number` maps
 * each world to its component.
 */
bool find_lasso(struct explorer *x, const uint32_t *number, size_t worlds, uint32_t world);
/* find_dead_end starts at a world that cannot reach agreement. The function stops when no more
 * moves are possible or when a world is repeated. */
bool find_dead_end(struct explorer *x, uint32_t world);

/* The moves that must happen in an endless history; a history without them is unfair and is
 * ignored. A running timer that may expire again and again must expire, unless it is started again.
 * A message must arrive. If a cut can heal again and again, or a leader can be heard or suspected
 * again and again, this move must happen. */
struct due {
    uint8_t timer[SPACE_MAX]; /* by process: set of ELECT_TIMER_BIT */
    uint16_t mail[SPACE_MAX]; /* by process: the senders of its messages */
    uint16_t hear[SPACE_MAX], suspect, heal;
};
void due_note(struct due *d, const struct move *move);

#endif
