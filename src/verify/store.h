/*
 * Stores each world once, packed, with the world it was first reached from. Threads add worlds in
 * parallel: each writes to pages of its own (shelves), then publishes the new world's number in a
 * shared hash table.
 */
#ifndef ELECT_VERIFY_STORE_H
#define ELECT_VERIFY_STORE_H

#include "space.h"

#include <stdatomic.h>

#define STORE_MAX_OWNERS 8

/* Gives a field that one thread writes often its own cache lines. */
#define STORE_APART _Alignas(128)

struct arrival {
    uint64_t hash;
    uint32_t parent;
    struct row row;
};

struct shelves {
    STORE_APART unsigned char **shelf; /* never moves, because other threads read it */
    uint32_t count, full;              /* worlds; shelves in use */
};

struct store {
    unsigned n, owners, width; /* `width`: bytes per seat, 2 to 4 */
    bool budget;
    size_t max_bytes;
    struct shelves shelves[STORE_MAX_OWNERS];
    _Atomic uint64_t *slot, *old; /* half of the hash, and the world's number + 1 */
    uint64_t slots, olds;
    STORE_APART atomic_size_t bytes;
    STORE_APART atomic_uint_fast64_t promised; /* slots in use or reserved */
};

bool store_init(struct store *s, unsigned n, bool budget, unsigned owners, size_t max_bytes);
void store_free(struct store *s);
uint64_t store_count(const struct store *s);

uint64_t store_hash(const struct store *s, const struct row *row);

/* ---- by several threads in parallel ---- */

enum store_answer {
    STORE_TOOK,
    STORE_HALT, /* nothing added: needs store_prepare, for more slots or wider seats */
    STORE_NO_MEMORY
};
/* Adds worlds for a thread, the owner of their numbers. */
enum store_answer store_take(struct store *s, unsigned owner, const struct arrival *arrivals,
                             size_t count);

/* ---- while all threads are halted ---- */

/* Make room for `more` worlds and for seats below `seats`: one thread calls store_prepare, then
 * each thread store_move for its part, then one thread store_moved. */
bool store_prepare(struct store *s, uint64_t more, uint32_t seats);
void store_move(struct store *s, unsigned part);
void store_moved(struct store *s);

/* ---- worlds by number ---- */

static inline uint32_t store_number(const struct store *s, unsigned owner, uint32_t index)
{
    return index * s->owners + owner;
}
void store_row(const struct store *s, uint32_t world, struct row *row);
/* The first world is its own parent. */
uint32_t store_parent(const struct store *s, uint32_t world);
bool store_find(const struct store *s, const struct row *row, uint32_t *world);
bool store_look_up(const struct store *s, uint64_t hash, const struct row *row, uint32_t *world);
/* Prefetch for a later look-up: first the slot, then the world itself. */
void store_fetch(const struct store *s, uint64_t hash);
void store_fetch_world(const struct store *s, uint64_t hash);

/* Reallocates memory and counts it. Returns false if memory runs out or the limit would be
 * exceeded. */
bool store_grow(struct store *s, void **memory, size_t old, size_t wanted);

#endif
