#include "explorer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUND 4096 /* worlds that a thread expands before their successors are sorted in */

/* ---- worlds as bytes ---- */

static size_t row_size(const struct shape *s, unsigned width)
{
    return (size_t)2 * s->n * width + sizeof(uint16_t) +
           (s->budget ? 2 * sizeof(uint16_t) + sizeof(struct budget) : 0);
}

static void pack(const struct shape *s, unsigned width, const struct row *row, unsigned char *to)
{
    for (unsigned i = 0; i < 2 * s->n; i++, to += width) {
        uint32_t wide = i < s->n ? row->local[i] : row->mailbox[i - s->n];
        uint16_t narrow = (uint16_t)wide;
        memcpy(to, width == 2 ? (void *)&narrow : (void *)&wide, width);
    }
    memcpy(to, &row->begun, 2);
    if (s->budget) {
        memcpy(to + 2, &row->cut, 2);
        memcpy(to + 4, &row->joined, 2);
        memcpy(to + 6, &row->left, sizeof row->left);
    }
}

static void unpack(const struct shape *s, unsigned width, const unsigned char *from,
                   struct row *row)
{
    memset(row, 0, sizeof *row);
    for (unsigned i = 0; i < 2 * s->n; i++, from += width) {
        uint32_t wide = 0;
        uint16_t narrow = 0;
        memcpy(width == 2 ? (void *)&narrow : (void *)&wide, from, width);
        *(i < s->n ? &row->local[i] : &row->mailbox[i - s->n]) = width == 2 ? narrow : wide;
    }
    memcpy(&row->begun, from, 2);
    if (s->budget) {
        memcpy(&row->cut, from + 2, 2);
        memcpy(&row->joined, from + 4, 2);
        memcpy(&row->left, from + 6, sizeof row->left);
    }
}

static uint64_t hash(const unsigned char *bytes, size_t length)
{
    uint64_t h = 0x2545f4914f6cdd1du, word;
    for (; length > 0; bytes += 8) {
        size_t part = length < 8 ? length : 8;
        word = 0;
        memcpy(&word, bytes, part);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
        length -= part;
    }
    return h * 0xd6e8feb86659fd93u;
}

/* A world's number: which thread keeps it, and where. */
uint32_t explorer_number(const struct explorer *x, unsigned keeper, uint32_t index)
{
    return index * x->threads + keeper;
}

static const unsigned char *row_at(const struct explorer *x, uint32_t world)
{
    const struct store *s = &x->worker[world % x->threads].store;
    return s->rows + world / x->threads * row_size(&x->shape, x->shape.width);
}

/* More memory, if it is allowed: false ends the exploration. */
static bool grow(struct explorer *x, void **memory, size_t old, size_t wanted)
{
    size_t total = atomic_fetch_add(&x->bytes, wanted - old) + wanted - old;
    void *new = total > x->asked->max_memory ? NULL : realloc(*memory, wanted);
    if (new == NULL) {
        atomic_fetch_sub(&x->bytes, wanted - old);
        atomic_store(&x->bound, BOUND_MEMORY);
        return false;
    }
    *memory = new;
    return true;
}

static bool more_slots(struct explorer *x, struct store *s)
{
    uint32_t old = s->slots, slots = old == 0 ? 1 << 14 : 2 * old;
    uint64_t *previous = s->slot;
    s->slot = NULL;
    if (!grow(x, (void **)&s->slot, 0, slots * sizeof *s->slot)) {
        s->slot = previous;
        return false;
    }
    memset(s->slot, 0, slots * sizeof *s->slot);
    s->slots = slots;
    for (uint32_t i = 0; i < old; i++) {
        if (previous[i] == 0)
            continue;
        uint32_t at = (uint32_t)(previous[i] >> 32) & (slots - 1);
        while (s->slot[at] != 0)
            at = (at + 1) & (slots - 1);
        s->slot[at] = previous[i];
    }
    atomic_fetch_sub(&x->bytes, old * sizeof *s->slot);
    free(previous);
    return true;
}

static bool more_rows(struct explorer *x, struct store *s)
{
    size_t size = row_size(&x->shape, x->shape.width);
    uint32_t room = s->room == 0 ? 4096 : s->room + s->room / 4;
    if (!grow(x, (void **)&s->rows, s->room * size, room * size) ||
        !grow(x, (void **)&s->parent, s->room * sizeof *s->parent, room * sizeof *s->parent))
        return false;
    s->room = room;
    return true;
}

/* The index of a world, or the slot where it would go. */
static bool find(const struct explorer *x, const struct store *s, uint64_t h,
                 const unsigned char *packed, uint32_t *index, uint32_t *slot)
{
    size_t size = row_size(&x->shape, x->shape.width);
    uint32_t fragment = (uint32_t)(h >> 32), at = fragment & (s->slots - 1);
    for (; s->slot[at] != 0; at = (at + 1) & (s->slots - 1)) {
        *index = (uint32_t)s->slot[at] - 1;
        if (s->slot[at] >> 32 == fragment && memcmp(s->rows + *index * size, packed, size) == 0)
            return true;
    }
    *slot = at;
    return false;
}

static void keep(struct worker *w, uint64_t h, uint32_t parent, const unsigned char *wide)
{
    struct explorer *x = w->all;
    struct store *s = &w->store;
    unsigned char packed[2 * SPACE_MAX * 4 + 16];
    const unsigned char *bytes = wide;
    uint32_t index, at;
    if (x->shape.width == 2) {
        struct row row;
        unpack(&x->shape, 4, wide, &row);
        pack(&x->shape, 2, &row, packed);
        bytes = packed;
    }
    if ((4 * (uint64_t)s->count >= 3 * (uint64_t)s->slots && !more_slots(x, s)) ||
        find(x, s, h, bytes, &index, &at) || (s->count == s->room && !more_rows(x, s)))
        return;
    size_t size = row_size(&x->shape, x->shape.width);
    memcpy(s->rows + s->count * size, bytes, size);
    s->parent[s->count] = parent;
    s->slot[at] = h >> 32 << 32 | ++s->count;
}

/* ---- expanding ---- */

static void post(void *worker, const struct move *move, const struct row *row)
{
    struct worker *w = worker;
    struct explorer *x = w->all;
    size_t size = row_size(&x->shape, 4), entry = 16 + size;
    unsigned char wide[2 * SPACE_MAX * 4 + 16];
    (void)move;
    w->transitions++;
    pack(&x->shape, 4, row, wide);
    uint64_t h = hash(wide, size);
    struct outbox *o = &w->outbox[(h & 0xffff) % x->threads];
    if (o->used + entry > o->room) {
        size_t room = 2 * o->room + 65536;
        if (!grow(x, (void **)&o->bytes, o->room, room))
            return;
        o->room = room;
    }
    memcpy(o->bytes + o->used, &h, 8);
    memcpy(o->bytes + o->used + 8, &w->parent, 4);
    memcpy(o->bytes + o->used + 16, wide, size);
    o->used += entry;
}

static void found(struct explorer *x, enum property p, uint32_t world)
{
    if ((x->asked->properties >> p & 1) == 0)
        return;
    pthread_mutex_lock(&x->lock);
    struct finding *f = &x->out->finding[p];
    if (!f->violated || (f->depth == x->depth && world < x->bad[p])) {
        *f = (struct finding){true, x->depth};
        x->bad[p] = world;
    }
    pthread_mutex_unlock(&x->lock);
}

struct sight explorer_look(const struct space *s, const struct row *row)
{
    struct sight seen = {.agreed = true, .highest_leads = true, .highest = ELECT_NOBODY};
    uint8_t first = ELECT_NOBODY, top = ELECT_NOBODY;
    for (unsigned i = s->question.config.n; i-- > 0;) {
        struct brief b = space_brief(s, row->local[i]);
        if (!b.up)
            continue;
        if (top == ELECT_NOBODY) {
            top = (uint8_t)i;
            first = b.leader;
        }
        bool leads = b.state == ELECT_NORMAL && b.leader == i;
        seen.leaders += leads;
        seen.electing += b.state != ELECT_NORMAL;
        seen.highest_leads = seen.highest_leads && (!leads || i == top);
        seen.agreed =
            seen.agreed && b.state == ELECT_NORMAL && b.leader == first && b.leader != ELECT_NOBODY;
    }
    seen.highest = top;
    if (seen.agreed && top != ELECT_NOBODY)
        seen.agreed = space_brief(s, row->local[first]).up;
    return seen;
}

static void judge(struct explorer *x, const struct row *row, bool quiet, uint32_t world)
{
    struct sight seen = explorer_look(x->space, row);
    if (seen.leaders > 1)
        found(x, PROPERTY_ONE_LEADER, world);
    if (!quiet || row->begun == 0)
        return;
    if (seen.electing > 0)
        found(x, PROPERTY_NO_STUCK, world);
    if (!seen.agreed && seen.highest != ELECT_NOBODY)
        found(x, PROPERTY_AGREEMENT, world);
    if (!seen.highest_leads)
        found(x, PROPERTY_HIGHEST_WINS, world);
}

static void expand_some(struct worker *w)
{
    struct explorer *x = w->all;
    uint32_t end = w->level_end - w->next > ROUND ? w->next + ROUND : w->level_end;
    for (; w->next < end; w->next++) {
        struct row row;
        w->parent = explorer_number(x, w->me, w->next);
        explorer_row(x, w->parent, &row);
        struct expansion e = space_expand(x->space, &w->memory, &row, true, post, w);
        judge(x, &row, e.quiet, w->parent);
    }
}

static void sort_in(struct worker *w)
{
    struct explorer *x = w->all;
    size_t entry = 16 + row_size(&x->shape, 4);
    for (unsigned t = 0; t < x->threads; t++) {
        struct outbox *o = &x->worker[t].outbox[w->me];
        for (size_t at = 0; at < o->used; at += entry) {
            uint64_t h, ahead;
            uint32_t parent;
            if (at + 8 * entry < o->used) { /* what is looked up soon is fetched now */
                memcpy(&ahead, o->bytes + at + 8 * entry, 8);
                __builtin_prefetch(&w->store.slot[(uint32_t)(ahead >> 32) & (w->store.slots - 1)]);
            }
            memcpy(&h, o->bytes + at, 8);
            memcpy(&parent, o->bytes + at + 8, 4);
            keep(w, h, parent, o->bytes + at + 16);
        }
        o->used = 0;
    }
}

/* Numbers beyond 16 bits: from now on every world takes more room. */
static bool widen(struct explorer *x)
{
    size_t old = row_size(&x->shape, 2), size = row_size(&x->shape, 4);
    for (unsigned t = 0; t < x->threads; t++) {
        struct store *s = &x->worker[t].store;
        if (!grow(x, (void **)&s->rows, s->room * old, s->room * size))
            return false;
    }
    for (unsigned t = 0; t < x->threads; t++) {
        struct store *s = &x->worker[t].store;
        for (uint32_t i = s->count; i-- > 0;) {
            struct row row;
            unpack(&x->shape, 2, s->rows + i * old, &row);
            pack(&x->shape, 4, &row, s->rows + i * size);
        }
    }
    x->shape.width = 4;
    return true;
}

static uint64_t count_states(const struct explorer *x)
{
    uint64_t states = 0;
    for (unsigned t = 0; t < x->threads; t++)
        states += x->worker[t].store.count;
    return states;
}

static bool wide_enough(const struct explorer *x)
{
    return x->shape.width == 4 ||
           (x->space->locals.count <= UINT16_MAX && x->space->mailboxes.count <= UINT16_MAX);
}

bool explorer_interrupted(const struct explorer *x)
{
    return x->asked->interrupted != NULL && *x->asked->interrupted;
}

static size_t all_bytes(const struct explorer *x)
{
    size_t bytes = atomic_load(&x->bytes) + space_bytes(x->space);
    for (unsigned t = 0; t < x->threads; t++)
        bytes += memory_bytes(&x->worker[t].memory);
    return bytes;
}

static bool note_level(struct explorer *x)
{
    if (x->levels == x->level_room) {
        x->level_room += 256;
        for (unsigned t = 0; t < x->threads; t++) {
            uint32_t *level = realloc(x->worker[t].level, x->level_room * sizeof *level);
            if (level == NULL)
                return false;
            x->worker[t].level = level;
        }
    }
    for (unsigned t = 0; t < x->threads; t++)
        x->worker[t].level[x->levels] = x->worker[t].next;
    x->levels++;
    return true;
}

/* One thread does this, the others wait: is the level done, is everything? */
static void next_level(struct explorer *x)
{
    bool level_done = true, empty = true, bad = false;
    for (unsigned t = 0; t < x->threads; t++)
        level_done = level_done && x->worker[t].next == x->worker[t].level_end;
    if (explorer_interrupted(x))
        atomic_store(&x->bound, BOUND_INTERRUPTED);
    else if (x->space->full || all_bytes(x) > x->asked->max_memory)
        atomic_store(&x->bound, BOUND_MEMORY);
    if (x->asked->progress != NULL)
        x->asked->progress(count_states(x), x->depth);
    x->done = atomic_load(&x->bound) != BOUND_NONE;
    if (!level_done || x->done)
        return;
    for (unsigned t = 0; t < x->threads; t++) {
        struct worker *w = &x->worker[t];
        w->level_end = w->store.count;
        empty = empty && w->next == w->level_end;
    }
    if (!empty && !note_level(x))
        atomic_store(&x->bound, BOUND_MEMORY);
    for (unsigned p = 0; p < PROPERTY_COUNT; p++)
        bad = bad || x->out->finding[p].violated;
    if (empty)
        x->out->exhausted = true;
    else if (!bad && count_states(x) >= x->asked->max_states)
        atomic_store(&x->bound, BOUND_STATES);
    x->done = empty || bad || atomic_load(&x->bound) != BOUND_NONE;
    x->depth += !empty;
}

static void *work(void *worker)
{
    struct worker *w = worker;
    struct explorer *x = w->all;
    pthread_mutex_lock(&x->gate);
    pthread_mutex_unlock(&x->gate);
    while (!x->done) {
        expand_some(w);
        pthread_barrier_wait(&x->barrier);
        if (w->me == 0 && !wide_enough(x))
            widen(x);
        pthread_barrier_wait(&x->barrier);
        if (wide_enough(x))
            sort_in(w);
        pthread_barrier_wait(&x->barrier);
        if (w->me == 0)
            next_level(x);
        pthread_barrier_wait(&x->barrier);
    }
    return NULL;
}

/* ---- worlds and their numbers ---- */

void explorer_row(const struct explorer *x, uint32_t world, struct row *row)
{
    unpack(&x->shape, x->shape.width, row_at(x, world), row);
}

bool explorer_locate(const struct explorer *x, const struct row *row, uint32_t *world)
{
    unsigned char wide[2 * SPACE_MAX * 4 + 16], packed[2 * SPACE_MAX * 4 + 16];
    uint32_t index = 0, slot;
    pack(&x->shape, 4, row, wide);
    pack(&x->shape, x->shape.width, row, packed);
    uint64_t h = hash(wide, row_size(&x->shape, 4));
    unsigned keeper = (h & 0xffff) % x->threads;
    bool known = find(x, &x->worker[keeper].store, h, packed, &index, &slot);
    *world = explorer_number(x, keeper, index);
    return known;
}

unsigned explorer_depth(const struct explorer *x, uint32_t world)
{
    unsigned depth = 0;
    for (; world != x->worker[world % x->threads].store.parent[world / x->threads]; depth++)
        world = x->worker[world % x->threads].store.parent[world / x->threads];
    return depth;
}

/* ---- the shortest bad history ---- */

struct step_search {
    const struct row *wanted;
    struct move move;
    bool found;
};

static void compare(void *search, const struct move *move, const struct row *row)
{
    struct step_search *s = search;
    if (!s->found && memcmp(row, s->wanted, sizeof *row) == 0) {
        s->move = *move;
        s->found = true;
    }
}

static void retrace(struct explorer *x, uint32_t world)
{
    struct outcome_of_exploration *out = x->out;
    out->moves = explorer_depth(x, world);
    out->move = calloc(out->moves + 1, sizeof *out->move);
    out->row = calloc(out->moves + 1, sizeof *out->row);
    if (out->move == NULL || out->row == NULL) {
        out->moves = 0;
        return;
    }
    for (unsigned i = out->moves + 1; i-- > 0;) {
        explorer_row(x, world, &out->row[i]);
        world = x->worker[world % x->threads].store.parent[world / x->threads];
    }
    for (unsigned i = 0; i < out->moves; i++) {
        struct step_search s = {.wanted = &out->row[i + 1]};
        space_expand(x->space, &x->worker[0].memory, &out->row[i], true, compare, &s);
        out->move[i] = s.move;
    }
}

static void conclude(struct explorer *x)
{
    struct outcome_of_exploration *out = x->out;
    bool bad = false;
    for (unsigned p = 0; p < PROPERTY_COUNT; p++)
        bad = bad || out->finding[p].violated;
    if (out->exhausted && !bad && !x->asked->question.reduce && !judge_whole(x))
        out->exhausted = false;
    unsigned best = UINT32_MAX;
    for (unsigned p = 0; p < PROPERTY_COUNT; p++) {
        if (out->finding[p].violated && out->finding[p].depth < best) {
            best = out->finding[p].depth;
            out->worst = (enum property)p;
        }
    }
    if (best != UINT32_MAX)
        retrace(x, x->bad[out->worst]);
}

/* ---- from beginning to end ---- */

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool start(struct explorer *x)
{
    struct row first;
    const struct budget *b = &x->asked->question.budget;
    x->shape.n = x->asked->question.config.n;
    x->shape.width = 2;
    x->shape.budget =
        b->crashes + b->recoveries + b->losses + b->duplicates + b->cuts + b->joins > 0;
    for (unsigned t = 0; t < x->threads; t++) {
        x->worker[t].all = x;
        x->worker[t].me = t;
        memory_init(&x->worker[t].memory);
    }
    for (unsigned t = 0; t < x->threads; t++) {
        if (!more_slots(x, &x->worker[t].store) || !more_rows(x, &x->worker[t].store))
            return false;
    }
    space_init(x->space, &x->asked->question, &x->worker[0].memory, &first);
    post(&x->worker[0], NULL, &first); /* the world that is its own parent */
    x->worker[0].transitions = 0;
    for (unsigned t = 0; t < x->threads; t++) {
        struct worker *w = &x->worker[t];
        uint32_t own = explorer_number(x, t, 0);
        if (x->worker[0].outbox[t].used > 0)
            memcpy(x->worker[0].outbox[t].bytes + 8, &own, 4);
        sort_in(w);
        w->level_end = w->store.count;
    }
    return count_states(x) == 1 && note_level(x);
}

/* All threads wait at the gate until it is known that there are enough of them. */
static bool work_together(struct explorer *x)
{
    unsigned started = 1;
    pthread_mutex_lock(&x->gate);
    while (started < x->threads &&
           pthread_create(&x->worker[started].thread, NULL, work, &x->worker[started]) == 0)
        started++;
    bool complete = started == x->threads;
    x->done = !complete;
    pthread_mutex_unlock(&x->gate);
    if (complete)
        work(&x->worker[0]);
    for (unsigned t = 1; t < started; t++)
        pthread_join(x->worker[t].thread, NULL);
    return complete;
}

static void clean_up(struct explorer *x)
{
    for (unsigned t = 0; t < x->threads; t++) {
        struct worker *w = &x->worker[t];
        memory_free(&w->memory);
        free(w->store.rows);
        free(w->store.parent);
        free(w->store.slot);
        free(w->level);
        for (unsigned k = 0; k < x->threads; k++)
            free(w->outbox[k].bytes);
    }
    pthread_barrier_destroy(&x->barrier);
    pthread_mutex_destroy(&x->lock);
    pthread_mutex_destroy(&x->gate);
    free(x);
}

bool explore(const struct exploration *e, struct space *space, struct outcome_of_exploration *out)
{
    struct explorer *x = aligned_alloc(128, sizeof *x);
    double began = seconds_now();
    memset(out, 0, sizeof *out);
    if (x == NULL)
        return false;
    memset(x, 0, sizeof *x);
    x->asked = e;
    x->out = out;
    x->space = space;
    x->threads = e->threads;
    pthread_barrier_init(&x->barrier, NULL, x->threads);
    pthread_mutex_init(&x->lock, NULL);
    pthread_mutex_init(&x->gate, NULL);
    bool fine = start(x) && work_together(x);
    if (fine)
        conclude(x);
    out->bound = (enum bound)atomic_load(&x->bound);
    out->states = count_states(x);
    out->depth = x->depth;
    out->bytes = all_bytes(x);
    for (unsigned t = 0; t < x->threads; t++)
        out->transitions += x->worker[t].transitions;
    out->steps = space->step_count;
    out->seconds = seconds_now() - began;
    clean_up(x);
    return fine;
}
