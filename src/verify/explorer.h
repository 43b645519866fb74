/* Shared declarations of the files that implement the search: explore.c finds the worlds; ends.c,
 * components.c and cycle.c judge them. */
#ifndef ELECT_VERIFY_EXPLORER_H
#define ELECT_VERIFY_EXPLORER_H

#include "explore.h"
#include "store.h"

/* The number of worlds that a thread expands before it stores their successors. */
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
    unsigned char *way; /* one bit for each world, used by mark_ends */
    uint32_t *level; /* for each level: the index of its first world among this thread's worlds */
    uint32_t level_end; /* the index after this thread's last world in the current level */
    STORE_APART atomic_uint next; /* the next world to expand; any thread may take it */
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
    uint32_t *after, afters; /* the worlds that follow the bad world and show the violation */
    uint32_t loop;           /* how many worlds at the end of `after` can repeat forever */
    atomic_uchar *mark; /* for each world, a set of enum mark; used while all worlds are judged */
    atomic_bool cyclic; /* at least one world has MARK_CYCLES */
};

/* Results for one world, assuming no further faults or new elections. */
enum mark {
    /* The world can lead to agreement, or to a final world in which all processes are down. */
    MARK_REACHES = 1,
    MARK_ENDS = 2,   /* every history from this world ends */
    MARK_CYCLES = 4, /* some history from this world may never end */
    MARK_AVOIDED = 8 /* the world is left out when its component is divided again */
};

struct observation {
    unsigned leaders, electing;
    uint8_t highest; /* the highest live process */
    bool agreed, highest_leads;
};

/* Runs `work` in every thread. Returns false if the threads could not be started. */
bool explorer_together(struct explorer *x, void (*work)(struct worker *w));
/* Records a successor, which the worker will look up or store later. If memory runs out, ends the
 * search with BOUND_MEMORY and returns false. */
bool explorer_note(struct worker *w, const struct row *row);
void explorer_give_up(struct explorer *x, enum bound why);

/* Returns the number of moves from the first world to this one. */
unsigned explorer_depth(const struct explorer *x, uint32_t world);
struct observation explorer_look(const struct space *s, const struct row *row);
/* Returns true if there is no election to judge, because no process has begun one and no process
 * can fail. */
static inline bool explorer_untouched(const struct space *s, const struct row *row)
{
    return row->begun == 0 && !s->watched;
}
bool explorer_interrupted(const struct explorer *x);
/* Returns the index after the last world of a level among the worlds that this owner (a thread) has
 * stored. */
uint32_t explorer_level_end(const struct explorer *x, unsigned level, unsigned owner);

/* Checks the properties eventually-leader and termination after all worlds have been found. Returns
 * false and sets a bound if the check could not finish. */
bool judge_whole(struct explorer *x);
/* Marks every world with MARK_CYCLES or MARK_ENDS. A world with MARK_ENDS is also marked with
 * MARK_REACHES if agreement can be reached from it. Returns false and sets a bound if the function
 * could not finish. The numbers of all worlds are smaller than `worlds`. */
bool mark_ends(struct explorer *x, size_t worlds);

/*
 * find_lasso and find_dead_end fill x->after with the worlds that follow a bad world. Both return
 * false if memory runs out or the search is interrupted.
 *
 * find_lasso starts at a world from which a history can go on forever, and finds a cycle through
 * that world. `number` maps each world to its component.
 */
bool find_lasso(struct explorer *x, const uint32_t *number, size_t worlds, uint32_t world);
/* find_dead_end starts at a world from which agreement cannot be reached. It stops when no more
 * moves are possible or when a world is repeated. */
bool find_dead_end(struct explorer *x, uint32_t world);

/* The moves that must happen in an endless history; a history without them is unfair and is
 * ignored. A running timer that may expire again and again must expire, unless it is started again.
 * If messages from a sender wait, one of them must be received. If a cut can heal again and again,
 * or a leader can be heard or suspected again and again, this move must happen. */
struct due {
    uint8_t timer[SPACE_MAX]; /* the timers of each process: a set of ELECT_TIMER_BIT */
    uint16_t mail[SPACE_MAX]; /* for each process: the senders of the messages in its mailbox */
    uint16_t hear[SPACE_MAX], suspect, heal;
};
void due_note(struct due *d, const struct move *move);

#endif
