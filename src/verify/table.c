/* See table.h. */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *table_must(void *memory)
{
    if (memory == NULL) {
        fputs("elect verify: out of memory: free some memory, or lower --max-memory\n", stderr);
        _Exit(2);
    }
    return memory;
}

void *pages_new(size_t size)
{
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    madvise(pages, size, MADV_HUGEPAGE);
    return pages;
}

void pages_free(void *pages, size_t size) { munmap(pages, size); }

/* ---- arenas ---- */

#define CHUNK (1u << 16) /* bytes, unless a value is larger */

struct arena_chunk {
    struct arena_chunk *older;
    size_t end;
    _Alignas(16) unsigned char bytes[];
};

void arena_init(struct arena *a)
{
    memset(a, 0, sizeof *a);
    pthread_mutex_init(&a->lock, NULL);
}

const void *arena_keep(struct arena *a, const void *bytes, size_t length)
{
    size_t whole = (length + 7) & ~(size_t)7;
    pthread_mutex_lock(&a->lock);
    if (a->left < whole || a->chunk == NULL) {
        size_t room = whole > CHUNK ? whole : CHUNK;
        struct arena_chunk *chunk = table_must(malloc(sizeof *chunk + room));
        *chunk = (struct arena_chunk){.older = a->chunk, .end = room};
        a->chunk = chunk;
        a->left = room;
        atomic_fetch_add(&a->bytes, sizeof *chunk + room);
    }
    unsigned char *to = a->chunk->bytes + a->chunk->end - a->left;
    a->left -= whole;
    pthread_mutex_unlock(&a->lock);
    return length > 0 ? memcpy(to, bytes, length) : to;
}

void arena_free(struct arena *a)
{
    for (struct arena_chunk *older; a->chunk != NULL; a->chunk = older) {
        older = a->chunk->older;
        free(a->chunk);
    }
    pthread_mutex_destroy(&a->lock);
}

/* ---- memos ---- */

static size_t memo_size(uint64_t slots)
{
    return sizeof(struct memo_slots) + slots * sizeof(struct memo_slot);
}

static struct memo_slots *new_memo_slots(struct memo *m, uint64_t slots)
{
    struct memo_slots *t = table_must(pages_new(memo_size(slots)));
    t->mask = slots - 1;
    atomic_fetch_add(&m->bytes, memo_size(slots));
    return t;
}

void memo_init(struct memo *m)
{
    memset(m, 0, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    atomic_store(&m->slots, new_memo_slots(m, 1024));
}

/* The value first: another thread may read it as soon as it sees the key. */
static void fill(struct memo_slot *slot, uint64_t key, uint64_t value)
{
    slot->value = value;
    atomic_store_explicit(&slot->key, key + 1, memory_order_release);
}

static struct memo_slots *grow_memo(struct memo *m, struct memo_slots *old)
{
    struct memo_slots *t = new_memo_slots(m, 2 * (old->mask + 1));
    uint64_t there;
    t->outgrown = old;
    for (uint64_t i = 0; i <= old->mask; i++) {
        uint64_t key = atomic_load_explicit(&old->slot[i].key, memory_order_relaxed);
        if (key != 0)
            fill(memo_slot(t, key - 1, &there), key - 1, old->slot[i].value);
    }
    atomic_store_explicit(&m->slots, t, memory_order_release);
    return t;
}

uint64_t memo_add(struct memo *m, uint64_t key, uint64_t value)
{
    uint64_t there;
    pthread_mutex_lock(&m->lock);
    struct memo_slots *t = atomic_load_explicit(&m->slots, memory_order_relaxed);
    if (2 * m->count > t->mask)
        t = grow_memo(m, t);
    struct memo_slot *slot = memo_slot(t, key, &there);
    if (there == 0) {
        fill(slot, key, value);
        m->count++;
    } else {
        value = slot->value;
    }
    pthread_mutex_unlock(&m->lock);
    return value;
}

static void free_memo_slots(struct memo *m, struct memo_slots *t)
{
    while (t != NULL) {
        struct memo_slots *older = t->outgrown;
        atomic_fetch_sub(&m->bytes, memo_size(t->mask + 1));
        pages_free(t, memo_size(t->mask + 1));
        t = older;
    }
}

void memo_settle(struct memo *m)
{
    struct memo_slots *t = atomic_load(&m->slots);
    free_memo_slots(m, t->outgrown);
    t->outgrown = NULL;
}

void memo_free(struct memo *m)
{
    free_memo_slots(m, atomic_load(&m->slots));
    pthread_mutex_destroy(&m->lock);
}

/* ---- tables ---- */

struct table_slots {
    /* Kept until table_settle, because other threads may still read them. */
    struct table_slots *outgrown;
    uint32_t mask;      /* slots - 1 */
    atomic_uint slot[]; /* a value's number + 1; 0: free */
};

static size_t slots_size(uint32_t slots)
{
    return sizeof(struct table_slots) + slots * sizeof(atomic_uint);
}

static struct table_slots *new_slots(struct table *t, uint32_t slots)
{
    struct table_slots *new = table_must(calloc(1, slots_size(slots)));
    new->mask = slots - 1;
    atomic_fetch_add(&t->bytes, slots_size(slots));
    return new;
}

void table_init(struct table *t)
{
    memset(t, 0, sizeof *t);
    arena_init(&t->arena);
    pthread_mutex_init(&t->lock, NULL);
    atomic_store(&t->slots, new_slots(t, 1024));
}

static uint64_t hash_bytes(const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    uint64_t h = length, word;
    for (; length >= 8; length -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = table_mix(h, word);
    }
    word = 0;
    if (length > 0)
        memcpy(&word, p, length);
    return table_mix(h, word);
}

/* Returns the slot of the value, or the free slot for it. */
static atomic_uint *slot_of(const struct table *t, struct table_slots *slots, uint64_t hash,
                            const void *value, size_t length, uint32_t *there)
{
    for (uint32_t at = (uint32_t)hash & slots->mask;; at = (at + 1) & slots->mask) {
        size_t other;
        *there = atomic_load_explicit(&slots->slot[at], memory_order_acquire);
        if (*there == 0)
            return &slots->slot[at];
        const void *known = table_value(t, *there - 1, &other);
        if (other == length && (length == 0 || memcmp(known, value, length) == 0))
            return &slots->slot[at];
    }
}

static struct table_slots *grow(struct table *t, struct table_slots *old)
{
    struct table_slots *slots = new_slots(t, 2 * (old->mask + 1));
    slots->outgrown = old;
    for (uint32_t i = 0; i < atomic_load(&t->count); i++) {
        size_t length;
        const void *value = table_value(t, i, &length);
        uint32_t at = (uint32_t)hash_bytes(value, length) & slots->mask;
        while (atomic_load_explicit(&slots->slot[at], memory_order_relaxed) != 0)
            at = (at + 1) & slots->mask;
        atomic_store_explicit(&slots->slot[at], i + 1, memory_order_relaxed);
    }
    atomic_store_explicit(&t->slots, slots, memory_order_release);
    return slots;
}

static void append(struct table *t, const void *value, size_t length)
{
    uint32_t index = atomic_load(&t->count);
    unsigned page = 31 - (unsigned)__builtin_clz(index / TABLE_FIRST + 1);
    table_must(page < TABLE_PAGES ? t : NULL);
    if (t->page[page] == NULL) {
        size_t size = (sizeof **t->page * TABLE_FIRST) << page;
        t->page[page] = table_must(malloc(size));
        atomic_fetch_add(&t->bytes, size);
    }
    *table_entry(t, index) = (struct table_entry){arena_keep(&t->arena, value, length), length};
    atomic_store(&t->count, index + 1);
}

uint32_t table_intern(struct table *t, const void *value, size_t length)
{
    uint64_t hash = hash_bytes(value, length);
    uint32_t there;
    slot_of(t, atomic_load_explicit(&t->slots, memory_order_acquire), hash, value, length, &there);
    if (there != 0)
        return there - 1;
    pthread_mutex_lock(&t->lock);
    struct table_slots *slots = atomic_load_explicit(&t->slots, memory_order_relaxed);
    if (2 * atomic_load(&t->count) > slots->mask)
        slots = grow(t, slots);
    atomic_uint *slot = slot_of(t, slots, hash, value, length, &there);
    if (there == 0) {
        append(t, value, length);
        there = atomic_load(&t->count);
        atomic_store_explicit(slot, there, memory_order_release);
    }
    pthread_mutex_unlock(&t->lock);
    return there - 1;
}

static void free_slots(struct table *t, struct table_slots *slots)
{
    while (slots != NULL) {
        struct table_slots *older = slots->outgrown;
        atomic_fetch_sub(&t->bytes, slots_size(slots->mask + 1));
        free(slots);
        slots = older;
    }
}

void table_settle(struct table *t)
{
    struct table_slots *slots = atomic_load(&t->slots);
    free_slots(t, slots->outgrown);
    slots->outgrown = NULL;
}

size_t table_bytes(const struct table *t)
{
    return atomic_load(&t->bytes) + atomic_load(&t->arena.bytes);
}

void table_free(struct table *t)
{
    for (uint32_t i = 0; i < TABLE_PAGES; i++)
        free(t->page[i]);
    free_slots(t, atomic_load(&t->slots));
    arena_free(&t->arena);
    pthread_mutex_destroy(&t->lock);
}
