/* Searches breadth first, level by level, and judges each new world. */
#include "explorer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- judging one world ---- */

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

struct observation explorer_look(const struct space *s, const struct row *row)
{
    struct observation seen = {.agreed = true, .highest_leads = true, .highest = ELECT_NOBODY};
    uint8_t first = ELECT_NOBODY, top = ELECT_NOBODY;
    for (unsigned i = s->question.config.n; i-- > 0;) {
        const struct seat *b = space_seat(s, row->seat[i]);
        if (!b->up)
            continue;
        if (top == ELECT_NOBODY) {
            top = (uint8_t)i;
            first = b->leader;
        }
        bool leads = b->state == ELECT_NORMAL && b->leader == i;
        seen.leaders += leads;
        seen.electing += b->state != ELECT_NORMAL;
        seen.highest_leads = seen.highest_leads && (!leads || i == top);
        seen.agreed = seen.agreed && b->state == ELECT_NORMAL && b->leader == first &&
                      b->leader != ELECT_NOBODY;
    }
    seen.highest = top;
    if (seen.agreed && top != ELECT_NOBODY)
        seen.agreed = space_seat(s, row->seat[first])->up;
    return seen;
}

static void judge_mandate(struct explorer *x, const struct row *row, uint32_t world)
{
    unsigned broken = row->late ? CLAIMED_LATE : 0, leaders = 0;
    for (unsigned i = 0; i < x->space->question.config.n; i++) {
        const struct seat *seat = space_seat(x->space, row->seat[i]);
        broken |= seat->broken;
        leaders += seat->leads;
    }
    if (leaders > 1)
        found(x, PROPERTY_ONE_LEADER, world);
    if (broken & CLAIMED_TWICE)
        found(x, PROPERTY_ONE_PER_TERM, world);
    if (broken & CLAIMED_FALLING)
        found(x, PROPERTY_RISING_GRANTS, world);
    if (broken & CLAIMED_LATE)
        found(x, PROPERTY_RISING_TOKENS, world);
    if (broken & CLAIMED_OVER)
        found(x, PROPERTY_RELEASED_LAST, world);
}

static void judge(struct explorer *x, const struct row *row, bool quiet, uint32_t world)
{
    if (x->space->question.config.mandate == ELECT_MAJORITY) {
        judge_mandate(x, row, world);
        return;
    }
    struct observation seen = explorer_look(x->space, row);
    if (seen.leaders > 1)
        found(x, PROPERTY_ONE_LEADER, world);
    if (!quiet || explorer_untouched(x->space, row))
        return;
    if (seen.electing > 0)
        found(x, PROPERTY_NO_STUCK, world);
    if (!seen.agreed && seen.highest != ELECT_NOBODY)
        found(x, PROPERTY_AGREEMENT, world);
    if (!seen.highest_leads)
        found(x, PROPERTY_HIGHEST_WINS, world);
}

/* ---- expanding ---- */

void explorer_give_up(struct explorer *x, enum bound why)
{
    atomic_store(&x->bound, why);
    atomic_store(&x->halt, true);
}

bool explorer_note(struct worker *w, const struct row *row)
{
    struct explorer *x = w->all;
    if (w->waiting == w->room) {
        size_t room = 2 * w->room + 1024;
        if (!store_grow(&x->store, (void **)&w->arrivals, w->room * sizeof *w->arrivals,
                        room * sizeof *w->arrivals)) {
            explorer_give_up(x, BOUND_MEMORY);
            return false;
        }
        w->room = room;
    }
    struct arrival *a = &w->arrivals[w->waiting++];
    a->hash = store_hash(&x->store, row);
    a->parent = w->parent;
    a->row = *row;
    return true;
}

static void post(void *worker, const struct move *move, const struct row *row)
{
    struct worker *w = worker;
    (void)move;
    w->transitions++;
    explorer_note(w, row);
}

/* Takes the next worlds of this level, this thread's own first. Returns false if none is left. */
static bool next_chunk(struct explorer *x, unsigned me, unsigned *owner, uint32_t *from,
                       uint32_t *to)
{
    for (unsigned t = 0; t < x->threads; t++) {
        struct worker *w = &x->worker[ *owner = (me + t) % x->threads];
        if (atomic_load(&w->next) >= w->level_end)
            continue;
        *from = atomic_fetch_add(&w->next, EXPLORER_CHUNK);
        *to = w->level_end - *from < EXPLORER_CHUNK ? w->level_end : *from + EXPLORER_CHUNK;
        if (*from < w->level_end)
            return true;
    }
    return false;
}

static void put_away(struct worker *w)
{
    struct explorer *x = w->all;
    switch (store_take(&x->store, w->me, w->arrivals, w->waiting)) {
    case STORE_TOOK: w->waiting = 0; break;
    case STORE_HALT: atomic_store(&x->halt, true); break;
    case STORE_NO_MEMORY: explorer_give_up(x, BOUND_MEMORY); break;
    }
}

static size_t all_bytes(struct explorer *x)
{
    return atomic_load(&x->store.bytes) + space_bytes(x->space);
}

static void expand(struct worker *w)
{
    struct explorer *x = w->all;
    unsigned owner;
    uint32_t from, to;
    while (!atomic_load(&x->halt) && next_chunk(x, w->me, &owner, &from, &to)) {
        for (; from < to; from++) {
            struct row row;
            w->parent = store_number(&x->store, owner, from);
            store_row(&x->store, w->parent, &row);
            struct expansion e = space_expand(x->space, &row, true, post, w);
            judge(x, &row, e.quiet, w->parent);
        }
        put_away(w);
        if (explorer_interrupted(x))
            explorer_give_up(x, BOUND_INTERRUPTED);
        else if (all_bytes(x) > x->asked->max_memory)
            explorer_give_up(x, BOUND_MEMORY);
    }
}

/* ---- levels ---- */

bool explorer_interrupted(const struct explorer *x)
{
    return x->asked->interrupted != NULL && *x->asked->interrupted;
}

uint32_t explorer_level_end(const struct explorer *x, unsigned level, unsigned owner)
{
    return level + 1 < x->levels ? x->worker[owner].level[level + 1]
                                 : x->store.shelves[owner].count;
}

static bool begin_level(struct explorer *x)
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
    for (unsigned t = 0; t < x->threads; t++) {
        struct worker *w = &x->worker[t];
        w->level[x->levels] = w->level_end;
        atomic_store(&w->next, w->level_end);
        w->level_end = x->store.shelves[t].count;
    }
    x->levels++;
    return true;
}

bool explore_violated(const struct outcome_of_exploration *out)
{
    for (unsigned p = 0; p < PROPERTY_COUNT; p++)
        if (out->finding[p].violated)
            return true;
    return false;
}

static void end_level(struct explorer *x)
{
    bool empty = true;
    for (unsigned t = 0; t < x->threads; t++)
        empty = empty && x->store.shelves[t].count == x->worker[t].level_end;
    x->out->exhausted = empty;
    x->done = empty || explore_violated(x->out);
    if (!empty && store_count(&x->store) > x->asked->max_states && !x->done)
        explorer_give_up(x, BOUND_STATES);
    else if (!empty && !begin_level(x))
        explorer_give_up(x, BOUND_MEMORY);
    x->depth += !empty;
}

/* Ends the level or the search if it is finished. Called by one thread while the others wait. */
static void go_on(struct explorer *x)
{
    bool level_done = true;
    atomic_store(&x->halt, false);
    space_settle(x->space);
    for (unsigned t = 0; t < x->threads; t++) {
        struct worker *w = &x->worker[t];
        level_done = level_done && w->waiting == 0 && atomic_load(&w->next) >= w->level_end;
    }
    if (x->space->full)
        explorer_give_up(x, BOUND_MEMORY);
    if (level_done && atomic_load(&x->bound) == BOUND_NONE)
        end_level(x);
    x->done = x->done || atomic_load(&x->bound) != BOUND_NONE;
    if (x->asked->progress != NULL)
        x->asked->progress(store_count(&x->store), 0, x->depth);
}

/* Returns true if a thread has worlds without room in the store. All threads then help to enlarge
 * it. */
static bool make_room(struct explorer *x)
{
    uint64_t waiting = 0;
    for (unsigned t = 0; t < x->threads; t++)
        waiting += x->worker[t].waiting;
    if (waiting > 0 && !store_prepare(&x->store, waiting, x->space->seat_count))
        explorer_give_up(x, BOUND_MEMORY);
    return waiting > 0;
}

static void search(struct worker *w)
{
    struct explorer *x = w->all;
    while (!x->done) {
        expand(w);
        pthread_barrier_wait(&x->barrier);
        if (w->me == 0 && !(x->moving = make_room(x)))
            go_on(x);
        pthread_barrier_wait(&x->barrier);
        if (!x->moving)
            continue;
        store_move(&x->store, w->me);
        pthread_barrier_wait(&x->barrier);
        put_away(w);
        pthread_barrier_wait(&x->barrier);
        if (w->me == 0) {
            store_moved(&x->store);
            go_on(x);
        }
        pthread_barrier_wait(&x->barrier);
    }
}

/* ---- threads ---- */

/* Waits at the gate until all threads have started or one could not be started. */
static void *come(void *worker)
{
    struct worker *w = worker;
    struct explorer *x = w->all;
    pthread_mutex_lock(&x->gate);
    pthread_mutex_unlock(&x->gate);
    if (x->complete)
        x->work(w);
    return NULL;
}

bool explorer_together(struct explorer *x, void (*work)(struct worker *w))
{
    unsigned started = 1;
    x->work = work;
    pthread_mutex_lock(&x->gate);
    while (started < x->threads &&
           pthread_create(&x->worker[started].thread, NULL, come, &x->worker[started]) == 0)
        started++;
    x->complete = started == x->threads;
    pthread_mutex_unlock(&x->gate);
    come(&x->worker[0]);
    for (unsigned t = 1; t < started; t++)
        pthread_join(x->worker[t].thread, NULL);
    return x->complete;
}

/* ---- the shortest bad history ---- */

unsigned explorer_depth(const struct explorer *x, uint32_t world)
{
    unsigned depth = 0;
    for (uint32_t parent; (parent = store_parent(&x->store, world)) != world; world = parent)
        depth++;
    return depth;
}

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
    unsigned before = explorer_depth(x, world);
    bool future = out->worst == PROPERTY_TERMINATION || out->worst == PROPERTY_EVENTUALLY;
    out->loop = future ? x->loop : 0;
    out->after = future ? x->afters : 0;
    out->moves = before + out->after;
    out->move = calloc(out->moves + 1, sizeof *out->move);
    out->row = calloc(out->moves + 1, sizeof *out->row);
    if (out->move == NULL || out->row == NULL) {
        out->moves = out->loop = out->after = 0;
        return;
    }
    for (unsigned i = 0; i < out->after; i++)
        store_row(&x->store, x->after[i], &out->row[before + 1 + i]);
    for (unsigned i = before + 1; i-- > 0;) {
        store_row(&x->store, world, &out->row[i]);
        world = store_parent(&x->store, world);
    }
    for (unsigned i = 0; i < out->moves; i++) {
        struct step_search s = {.wanted = &out->row[i + 1]};
        space_expand(x->space, &out->row[i], true, compare, &s);
        out->move[i] = s.move;
    }
}

static void conclude(struct explorer *x)
{
    struct outcome_of_exploration *out = x->out;
    if (out->exhausted && !explore_violated(out) && !x->asked->question.reduce && !judge_whole(x))
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

/* The first world is its own parent. */
static bool start(struct explorer *x)
{
    const struct question *q = &x->asked->question;
    /* Without a budget for faults, the store needs only the seats, and `begun` or `late`. */
    bool budget = !budget_is_none(&q->budget);
    struct arrival first = {0};
    if (!store_init(&x->store, q->config.n, budget, x->threads, x->asked->max_memory))
        return false;
    for (unsigned t = 0; t < x->threads; t++) {
        x->worker[t].all = x;
        x->worker[t].me = t;
    }
    space_init(x->space, q, &first.row);
    first.hash = store_hash(&x->store, &first.row);
    return store_take(&x->store, 0, &first, 1) == STORE_TOOK && begin_level(x);
}

static void clean_up(struct explorer *x)
{
    for (unsigned t = 0; t < x->threads; t++) {
        struct worker *w = &x->worker[t];
        free(w->arrivals);
        free(w->level);
    }
    store_free(&x->store);
    free(x->after);
    pthread_barrier_destroy(&x->barrier);
    pthread_mutex_destroy(&x->lock);
    pthread_mutex_destroy(&x->gate);
    free(x);
}

static bool explore_with(const struct exploration *e, unsigned threads, struct space *space,
                         struct outcome_of_exploration *out)
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
    x->threads = threads;
    pthread_barrier_init(&x->barrier, NULL, x->threads);
    pthread_mutex_init(&x->lock, NULL);
    pthread_mutex_init(&x->gate, NULL);
    bool fine = start(x) && explorer_together(x, search);
    if (fine)
        conclude(x);
    out->bound = (enum bound)atomic_load(&x->bound);
    out->states = store_count(&x->store);
    out->depth = x->depth;
    out->bytes = all_bytes(x);
    for (unsigned t = 0; t < x->threads; t++)
        out->transitions += x->worker[t].transitions;
    out->steps = space->steps.count;
    out->full = space->full;
    out->seconds = seconds_now() - began;
    clean_up(x);
    return fine;
}

void explore_free(struct space *space, struct outcome_of_exploration *out)
{
    free(out->move);
    free(out->row);
    space_free(space);
}

/* With several threads, timing decides which of the shortest bad histories is found. A single
 * thread always finds the same one, so it repeats the search after a violation. */
bool explore_all(const struct exploration *e, struct space *space,
                 struct outcome_of_exploration *out)
{
    bool fine = explore_with(e, e->threads, space, out);
    if (!fine || !explore_violated(out) || e->threads == 1)
        return fine;
    struct space *again = calloc(1, sizeof *again);
    struct outcome_of_exploration second = {0};
    if (again != NULL && explore_with(e, 1, again, &second) && explore_violated(&second)) {
        explore_free(space, out);
        *space = *again;
        second.seconds += out->seconds;
        *out = second;
    } else if (again != NULL) { /* stopped before it found the history */
        explore_free(again, &second);
    }
    free(again);
    return true;
}
