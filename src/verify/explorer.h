/* Shared by explore.c, which finds the worlds, and ends.c, components.c and cycle.c, which judge
 * them. */
#ifndef ELECT_VERIFY_EXPLORER_H
#define ELECT_VERIFY_EXPLORER_H

#include "explore.h"
#include "store.h"

/* Worlds that a thread expands before it stores their successors. */
#define EXPLORER_CHUNK 256

struct explorer;

struct worker {
    STORE_APART struct explorer *all;
    unsigned me;
    pthread_t thread;
    struct arrival *arrivals; /* successors not yet in the store */
    size_t waiting, room;
    uint32_t parent;
    uint64_t transitions;
    unsigned char *way;           /* one bit per world, for mark_ends */
    uint32_t *level;              /* start of each level among this thread's worlds */
    uint32_t level_end;           /* end of the current level among them */
    STORE_APART atomic_uint next; /* next world to expand, by any thread */
};

struct explorer {
    const struct exploration *asked;
    struct outcome_of_exploration *out;
    struct space *space;
    struct store store;
    unsigned threads;
    struct worker worker[EXPLORE_MAX_THREADS];
    STORE_APART pthread_barrier_t barrier;
    pthread_mutex_t gate; /* locked until all threads have started */
    void (*work)(struct worker *w);
    bool complete;
    pthread_mutex_t lock; /* protects `out->finding` and `bad` */
    uint32_t bad[PROPERTY_COUNT];
    atomic_bool halt; /* all threads must stop: one of them cannot go on */
    atomic_int bound;
    bool moving, done;
    unsigned depth, levels, level_room;
    uint32_t *after, afters; /* worlds after the bad world that show the violation */
    uint32_t loop;           /* last worlds of `after` that can repeat forever */
    atomic_uchar *mark;      /* a set of enum mark per world */
    atomic_bool cyclic;      /* some world has MARK_CYCLES */
};

/* Results for a world, without further faults or new elections. */
enum mark {
    /* Agreement, or a final world with all processes down, can be reached. */
    MARK_REACHES = 1,
    MARK_ENDS = 2,   /* every history ends */
    MARK_CYCLES = 4, /* some history may never end */
    MARK_AVOIDED = 8 /* left out when its component is divided again */
};

struct observation {
    unsigned leaders, electing;
    uint8_t highest;
    bool agreed, highest_leads;
};

bool explorer_together(struct explorer *x, void (*work)(struct worker *w));
/* Records a successor for the store. If memory runs out, ends the search with BOUND_MEMORY and
 * returns false. */
bool explorer_note(struct worker *w, const struct row *row);
void explorer_give_up(struct explorer *x, enum bound why);

/* Returns the number of moves from the first world. */
unsigned explorer_depth(const struct explorer *x, uint32_t world);
struct observation explorer_look(const struct space *s, const struct row *row);
/* Nothing to judge: no process has begun an election and none can fail. */
static inline bool explorer_untouched(const struct space *s, const struct row *row)
{
    return row->begun == 0 && !s->watched;
}
bool explorer_interrupted(const struct explorer *x);
/* Returns the end of a level among the worlds of the thread `owner`. */
uint32_t explorer_level_end(const struct explorer *x, unsigned level, unsigned owner);

/* Checks eventually-leader and termination once all worlds are known. Returns false and sets a
 * bound if it could not finish. */
bool judge_whole(struct explorer *x);
/* Marks every world with MARK_CYCLES or MARK_ENDS, the latter also with MARK_REACHES if agreement
 * can be reached. Returns false and sets a bound if it could not finish. World numbers are below
 * `worlds`. */
bool mark_ends(struct explorer *x, size_t worlds);

/*
 * These fill x->after with the worlds that follow a bad world. They return false if memory runs out
 * or the search is interrupted. find_lasso finds a cycle through a world with an endless history;
 * `number` is the component of each world.
 */
bool find_lasso(struct explorer *x, const uint32_t *number, size_t worlds, uint32_t world);
/* Starts where agreement cannot be reached. Stops when no move is possible or a world repeats. */
bool find_dead_end(struct explorer *x, uint32_t world);

/* Moves that an endless history must make; a history without them is unfair and is ignored. A timer
 * that may expire again and again must do so, unless it is started again. One of a sender's waiting
 * messages must be received. If a cut can heal again and again, or a leader can be heard or
 * suspected, that must happen. */
struct due {
    uint8_t timer[SPACE_MAX]; /* per process: set of ELECT_TIMER_BIT */
    uint16_t mail[SPACE_MAX]; /* per process: senders of the messages in its mailbox */
    uint16_t hear[SPACE_MAX], suspect, heal;
};
void due_note(struct due *d, const struct move *move);

#endif
