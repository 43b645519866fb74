/*
 * Keeps each world once, as bytes, with the world from which it was first reached. Threads add
 * worlds in parallel: each thread writes to its own shelves, and a world counts from the moment at
 * which its number is in the table that all threads share.
 */
#ifndef ELECT_VERIFY_STORE_H
#define ELECT_VERIFY_STORE_H

#include "space.h"

#include <stdatomic.h>

#define STORE_MAX_OWNERS 8

/* Keeps data that one thread writes all the time out of the cache lines that the others read. */
#define STORE_APART _Alignas(128)

/* A world that is to be added. */
struct arrival {
    uint64_t hash;
    uint32_t parent;
    struct row row;
};

struct shelves {
    STORE_APART unsigned char **shelf; /* never moves, because other threads read it */
    uint32_t count, full;              /* number of worlds; number of shelves */
};

struct store {
    unsigned n, owners, width; /* width: bytes of a seat: 2, later 3 or 4 */
    bool budget;               /* there is a budget, which is part of each world */
    size_t max_bytes;
    struct shelves shelves[STORE_MAX_OWNERS];
    _Atomic uint64_t *slot, *old; /* a slot: upper half of the hash, then number + 1 */
    uint64_t slots, olds;
    STORE_APART atomic_size_t bytes;
    STORE_APART atomic_uint_fast64_t promised; /* slots that are taken or reserved */
};

/* Returns false if there is not enough memory. */
bool store_init(struct store *s, unsigned n, bool budget, unsigned owners, size_t max_bytes);
void store_free(struct store *s);
uint64_t store_count(const struct store *s);

uint64_t store_hash(const struct store *s, const struct row *row);

/* ---- by several threads in parallel ---- */

enum store_answer {
    STORE_TOOK,
    STORE_HALT, /* nothing was added, because more slots or wider seats are needed first */
    STORE_NO_MEMORY
};
/* Adds worlds. New worlds get numbers of this owner, which is a thread. */
enum store_answer store_take(struct store *s, unsigned owner, const struct arrival *arrivals,
                             size_t count);

/* ---- while all threads are halted ---- */

/* Makes room for `more` worlds with this many seats. One thread calls this; then all threads call
 * store_move, each for its part, and one thread calls store_moved. */
bool store_prepare(struct store *s, uint64_t more, uint32_t seats);
void store_move(struct store *s, unsigned part);
void store_moved(struct store *s);

/* ---- worlds by number ---- */

static inline uint32_t store_number(const struct store *s, unsigned owner, uint32_t index)
{
    return index * s->owners + owner;
}
void store_row(const struct store *s, uint32_t world, struct row *row);
uint32_t store_parent(const struct store *s, uint32_t world); /* the first is its own parent */
bool store_find(const struct store *s, const struct row *row, uint32_t *world);
bool store_look_up(const struct store *s, uint64_t hash, const struct row *row, uint32_t *world);
/* These prefetch a world that will be looked up soon: first its slot, then the world that the slot
 * names. */
void store_fetch(const struct store *s, uint64_t hash);
void store_fetch_world(const struct store *s, uint64_t hash);

/* Reallocates memory, and counts it. Returns false if there is no memory, or if the limit does not
 * permit it. */
bool store_grow(struct store *s, void **memory, size_t old, size_t wanted);

#endif
