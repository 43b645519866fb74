/* See store.h. */
#include "store.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define SHELF 32768 /* worlds per shelf */
/* For all owners together: a world's number has 32 bits. */
#define SHELVES ((UINT32_MAX - 1) / SHELF)
#define TAIL    (3 * sizeof(uint16_t) + sizeof(struct budget))
#define WIDEST  (SPACE_MAX * sizeof(uint32_t) + TAIL + sizeof(uint32_t))

/* ---- packed worlds: each seat in `width` bytes, low byte first, then the rest of the row ---- */

static size_t packed_size(const struct store *s)
{
    return s->n * s->width + (s->budget ? TAIL : sizeof(uint16_t));
}

/* Writes four bytes per seat; the next seat overwrites those beyond `width`. */
static void pack(const struct store *s, const struct row *row, unsigned char *to)
{
    for (unsigned i = 0; i < s->n; i++, to += s->width) {
        uint32_t seat = htole32(row->seat[i]);
        memcpy(to, &seat, sizeof seat);
    }
    memcpy(to, &row->begun, s->budget ? TAIL : sizeof row->begun);
}

static void unpack(const struct store *s, const unsigned char *from, struct row *row)
{
    uint32_t mask = UINT32_MAX >> (32 - 8 * s->width);
    memset(row, 0, sizeof *row);
    for (unsigned i = 0; i < s->n; i++, from += s->width) {
        uint32_t seat;
        /* For the last seat, the excess bytes come from the rest of the row. */
        memcpy(&seat, from, sizeof seat);
        row->seat[i] = le32toh(seat) & mask;
    }
    memcpy(&row->begun, from, s->budget ? TAIL : sizeof row->begun);
}

uint64_t store_hash(const struct store *s, const struct row *row)
{
    uint64_t h = 0x2545f4914f6cdd1du, word;
    unsigned i;
    for (i = 0; i + 1 < s->n; i += 2) {
        memcpy(&word, &row->seat[i], sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    word = (uint64_t)(i < s->n ? row->seat[i] : 0) << 32 | (uint32_t)row->begun << 16 | row->cut;
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
    if (s->budget) {
        word = row->joined;
        memcpy((unsigned char *)&word + 2, &row->left, sizeof row->left);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h * 0xd6e8feb86659fd93u;
}

/* ---- memory ---- */

bool store_grow(struct store *s, void **memory, size_t old, size_t wanted)
{
    size_t total = atomic_fetch_add(&s->bytes, wanted - old) + wanted - old;
    void *new = total > s->max_bytes ? NULL : realloc(*memory, wanted);
    if (new == NULL) {
        atomic_fetch_sub(&s->bytes, wanted - old);
        return false;
    }
    *memory = new;
    return true;
}

static uint64_t slots_for(uint64_t worlds)
{
    uint64_t slots = 1u << 14;
    while (4 * worlds > 3 * slots)
        slots *= 2;
    return slots;
}

static _Atomic uint64_t *new_slots(struct store *s, uint64_t slots)
{
    size_t size = slots * sizeof(uint64_t);
    if (atomic_fetch_add(&s->bytes, size) + size <= s->max_bytes) {
        void *memory = pages_new(size);
        if (memory != NULL)
            return memory;
    }
    atomic_fetch_sub(&s->bytes, size);
    return NULL;
}

static void drop_slots(struct store *s, _Atomic uint64_t *slot, uint64_t slots)
{
    if (slot == NULL)
        return;
    pages_free((void *)slot, slots * sizeof *slot);
    atomic_fetch_sub(&s->bytes, slots * sizeof *slot);
}

bool store_init(struct store *s, unsigned n, bool budget, unsigned owners, size_t max_bytes)
{
    memset(s, 0, sizeof *s);
    s->n = n;
    s->width = 2;
    s->budget = budget;
    s->owners = owners;
    s->max_bytes = max_bytes;
    s->slots = slots_for(0);
    s->slot = new_slots(s, s->slots);
    bool fine = s->slot != NULL;
    for (unsigned k = 0; k < owners; k++) {
        s->shelves[k].shelf = calloc(SHELVES / owners, sizeof *s->shelves[k].shelf);
        fine = fine && s->shelves[k].shelf != NULL;
    }
    return fine;
}

void store_free(struct store *s)
{
    for (unsigned k = 0; k < s->owners; k++) {
        struct shelves *h = &s->shelves[k];
        for (uint32_t i = 0; i < h->full; i++)
            free(h->shelf[i]);
        free(h->shelf);
    }
    drop_slots(s, s->slot, s->slots);
    drop_slots(s, s->old, s->olds);
}

uint64_t store_count(const struct store *s)
{
    uint64_t count = 0;
    for (unsigned k = 0; k < s->owners; k++)
        count += s->shelves[k].count;
    return count;
}

/* ---- shelves, whose items are the number of a parent and then a packed row ---- */

static size_t item_size(const struct store *s) { return sizeof(uint32_t) + packed_size(s); }

/* Includes the bytes that pack() writes beyond the last seat. */
static size_t shelf_size(const struct store *s) { return SHELF * item_size(s) + sizeof(uint32_t); }

static unsigned char *item(const struct store *s, unsigned owner, uint32_t index)
{
    return s->shelves[owner].shelf[index / SHELF] + index % SHELF * item_size(s);
}

static unsigned char *item_of(const struct store *s, uint32_t world)
{
    return item(s, world % s->owners, world / s->owners);
}

static bool more_shelves(struct store *s, struct shelves *h)
{
    if (h->count / SHELF < h->full)
        return true;
    return h->full < SHELVES / s->owners &&
           store_grow(s, (void **)&h->shelf[h->full], 0, shelf_size(s)) && ++h->full > 0;
}

/* ---- adding worlds ---- */

static bool fits(const struct store *s, const struct row *row)
{
    uint32_t all = 0;
    for (unsigned i = 0; i < s->n; i++)
        all |= row->seat[i];
    return s->width == 4 || all >> 8 * s->width == 0;
}

static bool is_there(const struct store *s, uint64_t slot, uint32_t fragment,
                     const unsigned char *packed)
{
    return slot >> 32 == fragment &&
           memcmp(item_of(s, (uint32_t)slot - 1) + sizeof(uint32_t), packed, packed_size(s)) == 0;
}

/* Returns false if the store already contains this world. */
static bool put(struct store *s, unsigned owner, const struct arrival *a)
{
    struct shelves *h = &s->shelves[owner];
    unsigned char packed[WIDEST];
    uint32_t fragment = (uint32_t)(a->hash >> 32);
    pack(s, &a->row, packed);
    for (uint64_t at = fragment & (s->slots - 1);; at = (at + 1) & (s->slots - 1)) {
        uint64_t there = atomic_load_explicit(&s->slot[at], memory_order_acquire);
        if (there == 0) {
            unsigned char *to = item(s, owner, h->count);
            memcpy(to, &a->parent, sizeof a->parent);
            memcpy(to + sizeof a->parent, packed, packed_size(s));
            uint64_t mine =
                (uint64_t)fragment << 32 | (store_number(s, owner, h->count) + UINT64_C(1));
            if (atomic_compare_exchange_strong(&s->slot[at], &there, mine)) {
                h->count++;
                return true;
            }
        }
        if (is_there(s, there, fragment, packed))
            return false;
    }
}

void store_fetch(const struct store *s, uint64_t hash)
{
    __builtin_prefetch((const void *)&s->slot[(hash >> 32) & (s->slots - 1)]);
}

void store_fetch_world(const struct store *s, uint64_t hash)
{
    uint64_t there =
        atomic_load_explicit(&s->slot[(hash >> 32) & (s->slots - 1)], memory_order_acquire);
    if (there >> 32 == hash >> 32 && there != 0)
        __builtin_prefetch(item_of(s, (uint32_t)there - 1));
}

static void fetch_ahead(const struct store *s, const struct arrival *a, size_t left)
{
    if (left > 12)
        store_fetch(s, a[12].hash);
    if (left > 6)
        store_fetch_world(s, a[6].hash);
}

enum store_answer store_take(struct store *s, unsigned owner, const struct arrival *arrivals,
                             size_t count)
{
    struct shelves *h = &s->shelves[owner];
    bool narrow = false;
    for (size_t i = 0; i < count && s->width < 4; i++)
        narrow = narrow || !fits(s, &arrivals[i].row);
    if (narrow || 4 * (atomic_fetch_add(&s->promised, count) + count) > 3 * s->slots) {
        if (!narrow)
            atomic_fetch_sub(&s->promised, count);
        return STORE_HALT;
    }
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        fetch_ahead(s, &arrivals[i], count - i);
        if (!more_shelves(s, h))
            return STORE_NO_MEMORY;
        known += !put(s, owner, &arrivals[i]);
    }
    atomic_fetch_sub(&s->promised, known);
    return STORE_TOOK;
}

/* ---- more slots, wider seats ---- */

static void widen_shelf(const struct store *wider, const struct store *s, unsigned char **shelf,
                        uint32_t count)
{
    unsigned char *new = table_must(malloc(shelf_size(wider)));
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *from = *shelf + i * item_size(s);
        unsigned char *to = new + i *item_size(wider);
        struct row row;
        unpack(s, from + sizeof(uint32_t), &row);
        pack(wider, &row, to + sizeof(uint32_t));
        memcpy(to, from, sizeof(uint32_t));
    }
    free(*shelf);
    *shelf = new;
}

/* Rewrites all worlds with wider seats. Checks the memory limit first, because some worlds would be
 * unreadable if it stopped halfway. */
static bool widen(struct store *s)
{
    struct store narrow = *s;
    size_t more = 0;
    s->width++;
    for (unsigned k = 0; k < s->owners; k++)
        more += s->shelves[k].full * (shelf_size(s) - shelf_size(&narrow));
    if (atomic_fetch_add(&s->bytes, more) + more > s->max_bytes) {
        atomic_fetch_sub(&s->bytes, more);
        s->width--;
        return false;
    }
    for (unsigned k = 0; k < s->owners; k++) {
        struct shelves *h = &s->shelves[k];
        for (uint32_t i = 0; i < h->full; i++) {
            uint32_t left = h->count - i * SHELF;
            widen_shelf(s, &narrow, &h->shelf[i], left < SHELF ? left : SHELF);
        }
    }
    return true;
}

bool store_prepare(struct store *s, uint64_t more, uint32_t seats)
{
    while (s->width < 4 && (seats - 1) >> 8 * s->width != 0)
        if (!widen(s))
            return false;
    uint64_t slots = slots_for(atomic_load(&s->promised) + more);
    if (slots <= s->slots)
        return true;
    _Atomic uint64_t *slot = new_slots(s, slots);
    if (slot == NULL)
        return false;
    s->old = s->slot;
    s->olds = s->slots;
    s->slot = slot;
    s->slots = slots;
    return true;
}

void store_move(struct store *s, unsigned part)
{
    uint64_t from = s->olds / s->owners * part;
    uint64_t to = part + 1 == s->owners ? s->olds : s->olds / s->owners * (part + 1);
    for (uint64_t i = from; i < to; i++) {
        uint64_t there = atomic_load_explicit(&s->old[i], memory_order_relaxed);
        uint64_t at = (there >> 32) & (s->slots - 1), none = 0;
        while (there != 0 && !atomic_compare_exchange_strong(&s->slot[at], &none, there)) {
            none = 0;
            at = (at + 1) & (s->slots - 1);
        }
    }
}

void store_moved(struct store *s)
{
    drop_slots(s, s->old, s->olds);
    s->old = NULL;
    s->olds = 0;
}

/* ---- worlds by number ---- */

void store_row(const struct store *s, uint32_t world, struct row *row)
{
    unpack(s, item_of(s, world) + sizeof(uint32_t), row);
}

uint32_t store_parent(const struct store *s, uint32_t world)
{
    uint32_t parent;
    memcpy(&parent, item_of(s, world), sizeof parent);
    return parent;
}

bool store_look_up(const struct store *s, uint64_t hash, const struct row *row, uint32_t *world)
{
    unsigned char packed[WIDEST];
    uint32_t fragment = (uint32_t)(hash >> 32);
    pack(s, row, packed);
    for (uint64_t at = fragment & (s->slots - 1); s->slot[at] != 0; at = (at + 1) & (s->slots - 1))
        if (is_there(s, s->slot[at], fragment, packed)) {
            *world = (uint32_t)s->slot[at] - 1;
            return true;
        }
    return false;
}

bool store_find(const struct store *s, const struct row *row, uint32_t *world)
{
    return store_look_up(s, store_hash(s, row), row, world);
}
