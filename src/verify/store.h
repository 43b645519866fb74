/*
 * Where worlds are kept: each once, as bytes, with the world that it was first reached from.
 * Threads put worlds in side by side: each writes into shelves of its own, and a world counts from
 * the moment when its number stands in the one table that all of them share.
 */
#ifndef ELECT_VERIFY_STORE_H
#define ELECT_VERIFY_STORE_H

#include "space.h"

#include <stdatomic.h>

#define STORE_MAX_OWNERS 8

/* What a thread writes all the time must not share a cache line with what the others read. */
#define STORE_APART _Alignas(128)

/* A world on its way into the store. */
struct arrival {
    uint64_t hash;
    uint32_t parent;
    struct row row;
};

struct shelves {
    STORE_APART unsigned char **shelf; /* never moves: others read it */
    uint32_t count, full;              /* worlds kept; shelves there are */
};

struct store {
    unsigned n, owners, width; /* bytes for a seat: 2, later 3 or 4 */
    bool budget;               /* there is one, so it is part of a world */
    size_t max_bytes;
    struct shelves shelves[STORE_MAX_OWNERS];
    _Atomic uint64_t *slot, *old; /* upper half of the hash, number + 1 */
    uint64_t slots, olds;
    STORE_APART atomic_size_t bytes;
    STORE_APART atomic_uint_fast64_t promised; /* slots taken, or about to be */
};

/* False: not enough memory. */
bool store_init(struct store *s, unsigned n, bool budget, unsigned owners, size_t max_bytes);
void store_free(struct store *s);
uint64_t store_count(const struct store *s);

uint64_t store_hash(const struct store *s, const struct row *row);

/* ---- by many threads at once ---- */

enum store_answer {
    STORE_TOOK,
    STORE_HALT, /* nothing was taken: first there must be more slots, or wider ones */
    STORE_NO_MEMORY
};
/* New worlds get numbers of this owner, a thread. */
enum store_answer store_take(struct store *s, unsigned owner, const struct arrival *arrivals,
                             size_t count);

/* ---- while all threads are halted ---- */

/* Room for `more` worlds with these seats: by one thread, then store_move by all, each its part. */
bool store_prepare(struct store *s, uint64_t more, uint32_t seats);
void store_move(struct store *s, unsigned part);
void store_moved(struct store *s);

/* ---- worlds by number ---- */

static inline uint32_t store_number(const struct store *s, unsigned owner, uint32_t index)
{
    return index * s->owners + owner;
}
void store_row(const struct store *s, uint32_t world, struct row *row);
uint32_t store_parent(const struct store *s, uint32_t world); /* the first is its own */
bool store_find(const struct store *s, const struct row *row, uint32_t *world);
bool store_look_up(const struct store *s, uint64_t hash, const struct row *row, uint32_t *world);
/* Prefetches a world that is looked up soon: first its slot, then the world named there. */
void store_fetch(const struct store *s, uint64_t hash);
void store_fetch_world(const struct store *s, uint64_t hash);

/* Memory that is counted; false if there is no more, or it is not allowed. */
bool store_grow(struct store *s, void **memory, size_t old, size_t wanted);

#endif
