/*
 * Stores each world once, in packed form, with the world from which it was first reached. Threads
 * add worlds in parallel. Each thread writes to its own shelves, and then publishes the number of
 * the new world in a table that all threads share.
 */
#ifndef ELECT_VERIFY_STORE_H
#define ELECT_VERIFY_STORE_H

#include "space.h"

#include <stdatomic.h>

#define STORE_MAX_OWNERS 8

/* Puts data that one thread writes often on cache lines of its own, so that other threads are not
 * slowed down. */
#define STORE_APART _Alignas(128)

/* A world that a thread wants to add. */
struct arrival {
    uint64_t hash;
    uint32_t parent;
    struct row row;
};

struct shelves {
    STORE_APART unsigned char **shelf; /* this array never moves, because other threads read it */
    uint32_t count, full;              /* the number of worlds, and the number of shelves in use */
};

struct store {
    unsigned n, owners, width; /* width: bytes per seat, at first 2, later 3 or 4 */
    bool budget;               /* each world is stored with its budget for faults */
    size_t max_bytes;
    struct shelves shelves[STORE_MAX_OWNERS];
    _Atomic uint64_t *slot, *old; /* each slot: half of the hash, and the number of the world + 1 */
    uint64_t slots, olds;
    STORE_APART atomic_size_t bytes;
    STORE_APART atomic_uint_fast64_t promised; /* number of slots that are in use or reserved */
};

/* Returns false if there is not enough memory. */
bool store_init(struct store *s, unsigned n, bool budget, unsigned owners, size_t max_bytes);
void store_free(struct store *s);
uint64_t store_count(const struct store *s);

uint64_t store_hash(const struct store *s, const struct row *row);

/* ---- by several threads in parallel ---- */

enum store_answer {
    STORE_TOOK,
    STORE_HALT, /* nothing was added: call store_prepare first, for more slots or wider seats */
    STORE_NO_MEMORY
};
/* Adds worlds for an owner, which is a thread. The new worlds get numbers of this owner. */
enum store_answer store_take(struct store *s, unsigned owner, const struct arrival *arrivals,
                             size_t count);

/* ---- while all threads are halted ---- */

/* Makes room for `more` worlds and for seat numbers below `seats`, in three steps: one thread calls
 * store_prepare, then each thread calls store_move for its part, and finally one thread calls
 * store_moved. */
bool store_prepare(struct store *s, uint64_t more, uint32_t seats);
void store_move(struct store *s, unsigned part);
void store_moved(struct store *s);

/* ---- worlds by number ---- */

static inline uint32_t store_number(const struct store *s, unsigned owner, uint32_t index)
{
    return index * s->owners + owner;
}
void store_row(const struct store *s, uint32_t world, struct row *row);
/* Returns the world from which this world was first reached; the first world is its own parent. */
uint32_t store_parent(const struct store *s, uint32_t world);
bool store_find(const struct store *s, const struct row *row, uint32_t *world);
bool store_look_up(const struct store *s, uint64_t hash, const struct row *row, uint32_t *world);
/* These functions prefetch a world that will be looked up soon: store_fetch prefetches its slot,
 * and later store_fetch_world prefetches the world itself. */
void store_fetch(const struct store *s, uint64_t hash);
void store_fetch_world(const struct store *s, uint64_t hash);

/* Reallocates memory and counts its size. Returns false if memory runs out or the limit would be
 * exceeded. */
bool store_grow(struct store *s, void **memory, size_t old, size_t wanted);

#endif
