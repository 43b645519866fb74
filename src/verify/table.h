/*
 * Tables and memos, shared by all threads of the search. A table numbers its values and holds each
 * one once, at a fixed address. A memo caches results. Readers take no lock; a writer takes the
 * lock of its table. If two threads add the same value, the first one wins.
 */
#ifndef ELECT_VERIFY_TABLE_H
#define ELECT_VERIFY_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Ends the program if `memory` is NULL, with the exit status of a search that reached a bound. That
 * is enough here: tables are small, and the search itself limits the memory of the worlds. */
void *table_must(void *memory);

/* Returns zeroed memory, or NULL. Large pages make random access faster. */
void *pages_new(size_t size);
void pages_free(void *pages, size_t size);

/* ---- arenas: values that never move and are freed together ---- */

struct arena {
    pthread_mutex_t lock;
    struct arena_chunk *chunk;
    size_t left;
    atomic_size_t bytes;
};

void arena_init(struct arena *a);
const void *arena_keep(struct arena *a, const void *bytes, size_t length);
void arena_free(struct arena *a);

/* ---- memos: from one number to another ---- */

struct memo_slots {
    /* Kept until memo_settle, because other threads may still read them. */
    struct memo_slots *outgrown;
    uint64_t mask; /* slots - 1 */
    struct memo_slot {
        _Atomic uint64_t key; /* the key + 1; 0: free */
        uint64_t value;
    } slot[];
};

struct memo {
    _Atomic(struct memo_slots *) slots;
    pthread_mutex_t lock;
    uint64_t count;
    atomic_size_t bytes;
};

void memo_init(struct memo *m);
/* Returns the value of the key: the new one, or the old one if it has one. */
uint64_t memo_add(struct memo *m, uint64_t key, uint64_t value);
void memo_settle(struct memo *m); /* only while no other thread reads */
void memo_free(struct memo *m);

static inline uint64_t table_mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

/* Returns the slot of the key, or the free slot for it. */
static inline struct memo_slot *memo_slot(struct memo_slots *t, uint64_t key, uint64_t *there)
{
    for (uint64_t at = table_mix(0, key) >> 20 & t->mask;; at = (at + 1) & t->mask) {
        *there = atomic_load_explicit(&t->slot[at].key, memory_order_acquire);
        if (*there == 0 || *there == key + 1)
            return &t->slot[at];
    }
}

/* Returns NULL if the key has no value. */
static inline const uint64_t *memo_find(const struct memo *m, uint64_t key)
{
    uint64_t there;
    const struct memo_slot *slot =
        memo_slot(atomic_load_explicit(&m->slots, memory_order_acquire), key, &there);
    return there != 0 ? &slot->value : NULL;
}

/* ---- tables: every value once ---- */

#define TABLE_FIRST 1024u /* entries of the first page; each further page doubles */
#define TABLE_PAGES 22

struct table {
    struct table_entry {
        const void *value;
        size_t length;
    } * page[TABLE_PAGES];
    _Atomic(struct table_slots *) slots;
    struct arena arena;
    pthread_mutex_t lock;
    atomic_uint count;
    atomic_size_t bytes;
};

void table_init(struct table *t);
uint32_t table_intern(struct table *t, const void *value, size_t length);
void table_settle(struct table *t); /* only while no other thread reads */
size_t table_bytes(const struct table *t);
void table_free(struct table *t);

static inline struct table_entry *table_entry(const struct table *t, uint32_t index)
{
    unsigned page = 31 - (unsigned)__builtin_clz(index / TABLE_FIRST + 1);
    return &t->page[page][index - TABLE_FIRST * ((1u << page) - 1)];
}

static inline const void *table_value(const struct table *t, uint32_t index, size_t *length)
{
    const struct table_entry *e = table_entry(t, index);
    *length = e->length;
    return e->value;
}

#endif
