#include "space.h"

#include <stdlib.h>
#include <string.h>

#define EMPTY  0 /* the mailbox without messages is the first one in its table */
#define NOBODY ELECT_NOBODY

/* ---- tables: every value once ---- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static uint64_t hash_bytes(const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    uint64_t h = length, word;
    for (; length >= 8; length -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = mix(h, word);
    }
    word = 0;
    if (length > 0)
        memcpy(&word, p, length);
    return mix(h, word);
}

static void *must(void *memory)
{
    if (memory == NULL)
        abort(); /* tables are small beside the worlds, which are counted */
    return memory;
}

static const unsigned char *value_of(const struct table *t, uint32_t index, size_t *length)
{
    *length = (size_t)(t->offset[index + 1] - t->offset[index]);
    return t->bytes + t->offset[index];
}

static void rehash(struct table *t)
{
    t->slots = t->slots == 0 ? 1024 : 2 * t->slots;
    free(t->slot);
    t->slot = must(calloc(t->slots, sizeof *t->slot));
    for (uint32_t i = 0; i < t->count; i++) {
        size_t length;
        const unsigned char *value = value_of(t, i, &length);
        uint32_t at = (uint32_t)hash_bytes(value, length) & (t->slots - 1);
        while (t->slot[at] != 0)
            at = (at + 1) & (t->slots - 1);
        t->slot[at] = i + 1;
    }
}

static uint32_t intern(struct table *t, const void *bytes, size_t length)
{
    if (2 * t->count >= t->slots)
        rehash(t);
    uint32_t at = (uint32_t)hash_bytes(bytes, length) & (t->slots - 1);
    for (; t->slot[at] != 0; at = (at + 1) & (t->slots - 1)) {
        size_t other;
        const unsigned char *value = value_of(t, t->slot[at] - 1, &other);
        if (other == length && (length == 0 || memcmp(value, bytes, length) == 0))
            return t->slot[at] - 1;
    }
    if (t->count + 2 > t->offsets) {
        t->offsets = 2 * t->offsets + 64;
        t->offset = must(realloc(t->offset, t->offsets * sizeof *t->offset));
        t->offset[t->count] = t->used;
    }
    if (t->used + length >= t->room) {
        t->room = 2 * (t->used + length) + 4096;
        t->bytes = must(realloc(t->bytes, t->room));
    }
    if (length > 0)
        memcpy(t->bytes + t->used, bytes, length);
    t->used += length;
    t->offset[t->count + 1] = t->used;
    t->slot[at] = ++t->count;
    return t->count - 1;
}

static size_t table_bytes(const struct table *t)
{
    return t->room + t->offsets * sizeof *t->offset + t->slots * sizeof *t->slot;
}

static void table_free(struct table *t)
{
    free(t->bytes);
    free(t->offset);
    free(t->slot);
}

/* ---- what a thread remembers ---- */

struct memo {
    uint64_t *key, *value;
    uint32_t count, slots;
};

#define FREE UINT64_MAX

static struct memo *memo_new(void)
{
    struct memo *m = must(calloc(1, sizeof *m));
    m->slots = 4096;
    m->key = must(malloc(m->slots * sizeof *m->key));
    m->value = must(malloc(m->slots * sizeof *m->value));
    memset(m->key, 0xff, m->slots * sizeof *m->key);
    return m;
}

static uint64_t *memo_find(const struct memo *m, uint64_t key)
{
    uint32_t at = (uint32_t)(mix(0, key) >> 20) & (m->slots - 1);
    while (m->key[at] != FREE) {
        if (m->key[at] == key)
            return &m->value[at];
        at = (at + 1) & (m->slots - 1);
    }
    return NULL;
}

static void memo_put(struct memo *m, uint64_t key, uint64_t value)
{
    if (2 * m->count >= m->slots) {
        struct memo old = *m;
        m->slots *= 2;
        m->count = 0;
        m->key = must(malloc(m->slots * sizeof *m->key));
        m->value = must(malloc(m->slots * sizeof *m->value));
        memset(m->key, 0xff, m->slots * sizeof *m->key);
        for (uint32_t i = 0; i < old.slots; i++)
            if (old.key[i] != FREE)
                memo_put(m, old.key[i], old.value[i]);
        free(old.key);
        free(old.value);
    }
    uint32_t at = (uint32_t)(mix(0, key) >> 20) & (m->slots - 1);
    while (m->key[at] != FREE)
        at = (at + 1) & (m->slots - 1);
    m->key[at] = key;
    m->value[at] = value;
    m->count++;
}

static void memo_free(struct memo *m)
{
    free(m->key);
    free(m->value);
    free(m);
}

void memory_init(struct memory *m)
{
    m->steps = memo_new();
    m->appends = memo_new();
    m->takes = memo_new();
    m->result = NULL;
    m->results = m->room = 0;
}

void memory_free(struct memory *m)
{
    memo_free(m->steps);
    memo_free(m->appends);
    memo_free(m->takes);
    free(m->result);
}

size_t memory_bytes(const struct memory *m)
{
    return 16 * ((size_t)m->steps->slots + m->appends->slots + m->takes->slots) +
           m->room * sizeof *m->result;
}

/* ---- local values and messages ---- */

struct local {
    struct elect_node node;
    uint64_t up;
};

static uint32_t intern_local(struct space *s, const struct local *l)
{
    uint32_t count = s->locals.count, index = intern(&s->locals, l, sizeof *l);
    if (index == count && index / SPACE_PAGE >= sizeof s->briefs / sizeof s->briefs[0]) {
        s->full = true;
        return 0;
    }
    if (index == count) {
        struct brief **page = &s->briefs[index / SPACE_PAGE];
        if (*page == NULL)
            *page = must(calloc(SPACE_PAGE, sizeof **page));
        (*page)[index % SPACE_PAGE] = (struct brief){.up = l->up != 0,
                                                     .state = l->node.state,
                                                     .leader = l->node.leader,
                                                     .running = l->node.running};
    }
    return index;
}

struct brief space_brief(const struct space *s, uint32_t local)
{
    return s->briefs[local / SPACE_PAGE][local % SPACE_PAGE];
}

static void get_local(const struct space *s, uint32_t index, struct local *l)
{
    size_t length;
    memcpy(l, value_of(&s->locals, index, &length), sizeof *l);
}

void space_message(struct space *s, uint32_t message, struct elect_message *m)
{
    size_t length;
    pthread_mutex_lock(&s->lock);
    memcpy(m, value_of(&s->messages, message, &length), sizeof *m);
    pthread_mutex_unlock(&s->lock);
}

/* ---- mailboxes: (from, message) in order, all of one sender together ---- */

struct letter {
    uint32_t from, message;
};

#define MAX_LETTERS 256

static unsigned get_mailbox(const struct space *s, uint32_t index, struct letter *letters)
{
    size_t length;
    const unsigned char *value = value_of(&s->mailboxes, index, &length);
    if (length > 0)
        memcpy(letters, value, length);
    return (unsigned)(length / sizeof *letters);
}

/* Behind the others of its sender; without order on the links, by message. */
static uint32_t insert(struct space *s, uint32_t mailbox, struct letter letter, bool in_front)
{
    struct letter letters[MAX_LETTERS + 1];
    unsigned count = get_mailbox(s, mailbox, letters), at = 0;
    if (count == MAX_LETTERS) {
        s->full = true;
        return mailbox;
    }
    in_front = in_front && !s->question.reorder; /* without order there is no front */
    while (at < count && (letters[at].from < letter.from ||
                          (letters[at].from == letter.from && !in_front &&
                           (!s->question.reorder || letters[at].message <= letter.message))))
        at++;
    memmove(&letters[at + 1], &letters[at], (count - at) * sizeof letter);
    letters[at] = letter;
    return intern(&s->mailboxes, letters, (count + 1) * sizeof letter);
}

static uint32_t append(struct space *s, struct memory *m, uint32_t mailbox, unsigned from,
                       uint32_t message)
{
    uint64_t key = (uint64_t)mailbox << 32 | message << 4 | from;
    const uint64_t *known = memo_find(m->appends, key);
    if (known != NULL)
        return (uint32_t)*known;
    pthread_mutex_lock(&s->lock);
    uint32_t result = insert(s, mailbox, (struct letter){from, message}, false);
    pthread_mutex_unlock(&s->lock);
    memo_put(m->appends, key, result);
    return result;
}

/* The k-th letter that can be taken: the first of each sender, or each different one. */
struct taken {
    uint32_t rest, message;
    unsigned from;
};

static bool look(const struct space *s, uint32_t mailbox, unsigned k, struct letter *letters,
                 unsigned *count, unsigned *at)
{
    *count = get_mailbox(s, mailbox, letters);
    for (unsigned i = 0; i < *count; i++) {
        bool first = i == 0 || letters[i].from != letters[i - 1].from;
        bool differs = i == 0 || letters[i].message != letters[i - 1].message;
        if ((first || (s->question.reorder && differs)) && k-- == 0) {
            *at = i;
            return true;
        }
    }
    return false;
}

static bool take(struct space *s, struct memory *m, uint32_t mailbox, unsigned k, struct taken *t)
{
    uint64_t key = (uint64_t)mailbox << 16 | k;
    const uint64_t *known = memo_find(m->takes, key);
    uint64_t value = known != NULL ? *known : FREE - 1;
    if (known == NULL) {
        struct letter letters[MAX_LETTERS];
        unsigned count, at;
        pthread_mutex_lock(&s->lock);
        if (look(s, mailbox, k, letters, &count, &at)) {
            struct letter letter = letters[at];
            memmove(&letters[at], &letters[at + 1], (count - at - 1) * sizeof letter);
            uint32_t rest = intern(&s->mailboxes, letters, (count - 1) * sizeof letter);
            value = (uint64_t)rest << 32 | letter.message << 4 | letter.from;
        }
        pthread_mutex_unlock(&s->lock);
        memo_put(m->takes, key, value);
    }
    if (value == FREE - 1)
        return false;
    *t = (struct taken){(uint32_t)(value >> 32), (uint32_t)value >> 4, value & 15};
    return true;
}

/* ---- steps ---- */

/* An input as a number: a message and its sender, or an event of the process's own. */
#define EVENT(event) (0xf0000000u | (unsigned)(event) << 4)

#define CRASHES ELECT_EVENT_COUNT /* an event that only the checker knows */

/* What was persisted is all that is left. */
static void die(struct local *l)
{
    struct elect_node dead = {.me = l->node.me, .leader = NOBODY, .round = l->node.round};
    l->node = dead;
    l->up = 0;
}

static void happen(const struct space *s, uint32_t input, struct local *l, struct elect_output *out)
{
    const struct elect_config *c = &s->question.config;
    unsigned event = (input >> 4) & 0xff, from = input & 15;
    struct elect_input in;
    size_t length;
    if (input < EVENT(0)) {
        struct elect_message m;
        memcpy(&m, value_of(&s->messages, input >> 4, &length), sizeof m);
        in = elect_received((uint8_t)from, &m);
    } else {
        in = elect_happens((enum elect_event)event);
    }
    if (event == ELECT_START && input >= EVENT(0)) {
        elect_init(c, &l->node, l->node.me, NOBODY, l->node.round, out);
        l->up = 1;
    }
    elect_step(c, &l->node, &in, out);
}

static struct result work_out(struct space *s, uint32_t local, uint32_t input)
{
    struct result r = {0};
    struct elect_output out = {0};
    struct local l;
    pthread_mutex_lock(&s->lock);
    s->step_count++;
    get_local(s, local, &l);
    if (input == EVENT(CRASHES))
        die(&l);
    else
        happen(s, input, &l, &out);
    r.local = intern_local(s, &l);
    r.sends = out.sends;
    for (unsigned i = 0; i < out.sends; i++) {
        r.send[i].to = (uint16_t)out.send[i].to;
        r.send[i].message = intern(&s->messages, &out.send[i].message, sizeof out.send[i].message);
    }
    pthread_mutex_unlock(&s->lock);
    return r;
}

static const struct result *step(struct space *s, struct memory *m, uint32_t local, uint32_t input)
{
    uint64_t key = (uint64_t)local << 32 | input;
    const uint64_t *known = memo_find(m->steps, key);
    if (known != NULL)
        return &m->result[*known];
    if (m->results == m->room) {
        m->room = 2 * m->room + 1024;
        m->result = must(realloc(m->result, m->room * sizeof *m->result));
    }
    m->result[m->results] = work_out(s, local, input);
    memo_put(m->steps, key, m->results);
    return &m->result[m->results++];
}

/* ---- moves ---- */

struct expander {
    struct space *s;
    struct memory *m;
    const struct row *row;
    struct brief brief[SPACE_MAX];
    uint16_t up;
    bool watched; /* faults are possible: leaders are watched */
    space_visit *visit;
    void *context;
};

static bool cut_between(const struct row *row, unsigned a, unsigned b)
{
    return row->cut != 0 && ((row->cut >> a & 1) != (row->cut >> b & 1));
}

static bool leads(const struct expander *e, unsigned i)
{
    const struct brief *b = &e->brief[i];
    return b->up && b->state == ELECT_NORMAL && b->leader == i;
}

/* Process i takes the input; what it sends goes to those who are up and not cut off. */
static void perform(const struct expander *e, const struct move *move, struct row *next, unsigned i,
                    uint32_t input)
{
    const struct result r = *step(e->s, e->m, next->local[i], input);
    uint16_t up = (uint16_t)(e->up | 1u << i);
    next->local[i] = r.local;
    for (unsigned k = 0; k < r.sends; k++)
        for (unsigned rest = r.send[k].to & up; rest != 0; rest &= rest - 1) {
            unsigned to = (unsigned)__builtin_ctz(rest);
            if (!cut_between(next, i, to))
                next->mailbox[to] = append(e->s, e->m, next->mailbox[to], i, r.send[k].message);
        }
    e->visit(e->context, move, next);
}

static void begin(const struct expander *e, unsigned i)
{
    const struct brief *b = &e->brief[i];
    if (e->s->question.begin != BEGIN_ANY || !b->up || (e->row->begun >> i & 1) != 0 ||
        b->state != ELECT_NORMAL || b->leader == i)
        return;
    struct row next = *e->row;
    next.begun |= (uint16_t)(1u << i);
    perform(e, &(struct move){.kind = MOVE_BEGIN, .process = (uint8_t)i}, &next, i,
            EVENT(ELECT_SUSPECT));
}

static void deliver(const struct expander *e, unsigned i)
{
    struct taken t;
    for (unsigned k = 0; take(e->s, e->m, e->row->mailbox[i], k, &t); k++) {
        struct row next = *e->row;
        next.mailbox[i] = t.rest;
        perform(e,
                &(struct move){.kind = MOVE_DELIVER,
                               .process = (uint8_t)i,
                               .from = (uint8_t)t.from,
                               .message = t.message},
                &next, i, t.message << 4 | t.from);
    }
}

static void timeouts(const struct expander *e, unsigned allowed)
{
    for (unsigned i = 0; i < e->s->question.config.n; i++) {
        if (!e->brief[i].up)
            continue;
        for (unsigned rest = e->brief[i].running & allowed; rest != 0; rest &= rest - 1) {
            unsigned timer = ELECT_FIRST_TIMER + (unsigned)__builtin_ctz(rest);
            struct row next = *e->row;
            perform(e,
                    &(struct move){
                        .kind = MOVE_TIMEOUT, .process = (uint8_t)i, .timer = (uint8_t)timer},
                    &next, i, EVENT(timer));
        }
    }
}

/* The heartbeat that this leader would send, as a message. */
static uint32_t heartbeat_of(struct space *s, uint32_t local, unsigned leader)
{
    struct local l;
    pthread_mutex_lock(&s->lock);
    get_local(s, local, &l);
    struct elect_message m = {
        .type = ELECT_HEARTBEAT, .origin = (uint8_t)leader, .round = l.node.round};
    uint32_t message = intern(&s->messages, &m, sizeof m);
    pthread_mutex_unlock(&s->lock);
    return message;
}

static bool does_nothing(const struct expander *e, unsigned i, uint32_t input)
{
    const struct result *r = step(e->s, e->m, e->row->local[i], input);
    return r->local == e->row->local[i] && r->sends == 0;
}

static bool unheard(const struct expander *e, unsigned i)
{
    uint8_t leader = e->brief[i].leader;
    return leader != i &&
           (leader == NOBODY || !e->brief[leader].up || cut_between(e->row, i, leader));
}

/* Whose leader cannot be heard suspects it; who does not follow a leader that it can hear is told.
 * True if there is such a move. */
static bool watch(const struct expander *e)
{
    unsigned n = e->s->question.config.n;
    bool moved = false;
    for (unsigned i = 0; i < n; i++) {
        if (!e->brief[i].up || e->brief[i].state != ELECT_NORMAL)
            continue;
        if (unheard(e, i)) {
            struct row next = *e->row;
            moved = true;
            perform(e, &(struct move){.kind = MOVE_SUSPECT, .process = (uint8_t)i}, &next, i,
                    EVENT(ELECT_SUSPECT));
        }
        for (unsigned j = 0; j < n; j++) {
            if (j == i || !leads(e, j) || e->brief[i].leader == j || cut_between(e->row, i, j))
                continue;
            uint32_t input = heartbeat_of(e->s, e->row->local[j], j) << 4 | j;
            struct row next = *e->row;
            if (does_nothing(e, i, input))
                continue;
            moved = true;
            perform(e, &(struct move){.kind = MOVE_HEAR, .process = (uint8_t)i, .from = (uint8_t)j},
                    &next, i, input);
        }
    }
    return moved;
}

/* ---- faults ---- */

static void crash(const struct expander *e, unsigned i)
{
    struct row next = *e->row;
    next.mailbox[i] = EMPTY;
    next.left.crashes--;
    perform(e, &(struct move){.kind = MOVE_CRASH, .process = (uint8_t)i}, &next, i, EVENT(CRASHES));
}

static void recover(const struct expander *e, unsigned i)
{
    struct row next = *e->row;
    bool joins = (e->s->question.down >> i & 1) != 0 && (next.joined >> i & 1) == 0;
    uint8_t *left = joins ? &next.left.joins : &next.left.recoveries;
    if (*left == 0)
        return;
    --*left;
    next.joined |= (uint16_t)(joins ? 1u << i : 0);
    perform(e, &(struct move){.kind = MOVE_RECOVER, .process = (uint8_t)i}, &next, i,
            EVENT(ELECT_START));
}

static void lose_and_duplicate(const struct expander *e, unsigned i)
{
    struct taken t;
    for (unsigned k = 0; take(e->s, e->m, e->row->mailbox[i], k, &t); k++) {
        struct move move = {.process = (uint8_t)i, .from = (uint8_t)t.from, .message = t.message};
        struct row next = *e->row;
        if (t.from == i)
            continue; /* nothing is lost on the way to oneself */
        if (next.left.losses > 0) {
            move.kind = MOVE_LOSE;
            next.mailbox[i] = t.rest;
            next.left.losses--;
            e->visit(e->context, &move, &next);
        }
        next = *e->row;
        if (next.left.duplicates > 0) {
            move.kind = MOVE_DUPLICATE;
            next.left.duplicates--;
            pthread_mutex_lock(&e->s->lock);
            next.mailbox[i] =
                insert(e->s, next.mailbox[i], (struct letter){t.from, t.message}, true);
            pthread_mutex_unlock(&e->s->lock);
            e->visit(e->context, &move, &next);
        }
    }
}

/* What is on its way across the cut is lost. */
static uint32_t without_strangers(struct space *s, const struct row *row, unsigned i)
{
    struct letter letters[MAX_LETTERS];
    pthread_mutex_lock(&s->lock);
    unsigned count = get_mailbox(s, row->mailbox[i], letters), kept = 0;
    for (unsigned k = 0; k < count; k++)
        if (!cut_between(row, letters[k].from, i))
            letters[kept++] = letters[k];
    uint32_t result = intern(&s->mailboxes, letters, kept * sizeof *letters);
    pthread_mutex_unlock(&s->lock);
    return result;
}

static void cut(const struct expander *e)
{
    unsigned n = e->s->question.config.n;
    for (unsigned side = 1; side < 1u << (n - 1); side++) { /* the highest is on the other side */
        struct row next = *e->row;
        next.cut = (uint16_t)side;
        next.left.cuts--;
        for (unsigned i = 0; i < n; i++)
            next.mailbox[i] = without_strangers(e->s, &next, i);
        e->visit(e->context, &(struct move){.kind = MOVE_CUT, .cut = next.cut}, &next);
    }
}

static void faults(const struct expander *e)
{
    const struct budget *left = &e->row->left;
    for (unsigned i = 0; i < e->s->question.config.n; i++) {
        if (e->brief[i].up && left->crashes > 0)
            crash(e, i);
        if (!e->brief[i].up)
            recover(e, i);
        if (left->losses + left->duplicates > 0)
            lose_and_duplicate(e, i);
    }
    if (left->cuts > 0 && e->row->cut == 0)
        cut(e);
}

/* ---- all moves ---- */

/* Which timers may run out: all of them, or, if all is quiet, those of the shortest class that
 * runs. */
static unsigned allowed_timers(const struct expander *e, bool in_flight)
{
    unsigned running = 0;
    if (e->s->question.any_timeouts)
        return ~0u;
    for (unsigned i = 0; i < e->s->question.config.n; i++)
        running |= e->brief[i].up ? e->brief[i].running : 0;
    return in_flight ? 0 : running & -running;
}

struct expansion space_expand(struct space *s, struct memory *m, const struct row *row, bool faulty,
                              space_visit *visit, void *context)
{
    const struct question *q = &s->question;
    const struct budget *b = &q->budget;
    struct expander e = {.s = s, .m = m, .row = row, .visit = visit, .context = context};
    unsigned full = 0, runs = 0;
    e.watched = b->crashes + b->recoveries + b->losses + b->duplicates + b->cuts + b->joins > 0 ||
                q->down != 0;
    for (unsigned i = 0; i < q->config.n; i++) {
        e.brief[i] = space_brief(s, row->local[i]);
        e.up |= (uint16_t)((unsigned)e.brief[i].up << i);
        runs |= e.brief[i].up ? e.brief[i].running : 0;
        full |= row->mailbox[i] != EMPTY ? 1u << i : 0;
    }
    if (q->reduce && full != 0) {
        unsigned i = (unsigned)__builtin_ctz(full);
        deliver(&e, i);
        begin(&e, i);
        return (struct expansion){.quiet = false};
    }
    for (unsigned i = 0; i < q->config.n; i++) {
        if (full >> i & 1)
            deliver(&e, i);
        if (faulty)
            begin(&e, i);
    }
    timeouts(&e, allowed_timers(&e, full != 0));
    bool rests = full == 0 && runs == 0, watching = e.watched && (q->any_timeouts || rests);
    bool moved = watching && watch(&e);
    if (row->cut != 0) {
        struct row next = *row;
        next.cut = 0;
        visit(context, &(struct move){.kind = MOVE_HEAL}, &next);
    }
    if (faulty)
        faults(&e);
    return (struct expansion){.quiet = rests && !moved && row->cut == 0};
}

/* ---- the beginning ---- */

static void remember(void *context, const struct move *move, const struct row *row)
{
    (void)move;
    *(struct row *)context = *row;
}

void space_init(struct space *s, const struct question *q, struct memory *m, struct row *first)
{
    memset(s, 0, sizeof *s);
    s->question = *q;
    pthread_mutex_init(&s->lock, NULL);
    intern(&s->mailboxes, NULL, 0);
    memset(first, 0, sizeof *first);
    first->left = q->budget;
    struct expander e = {.s = s, .m = m, .visit = remember, .context = first};
    for (uint8_t i = 0; i < q->config.n; i++) {
        struct elect_output out;
        struct local l;
        memset(&l, 0, sizeof l);
        l.up = (q->down >> i & 1) == 0;
        elect_init(&q->config, &l.node, i, l.up ? q->leader : NOBODY, 0, &out);
        first->local[i] = intern_local(s, &l);
        e.up |= (uint16_t)(l.up << i);
    }
    for (unsigned i = 0; i < q->beginners; i++) {
        struct row next = *first;
        next.begun |= (uint16_t)(1u << q->beginner[i]);
        perform(&e, &(struct move){.kind = MOVE_BEGIN}, &next, q->beginner[i],
                EVENT(ELECT_SUSPECT));
    }
}

void space_free(struct space *s)
{
    table_free(&s->locals);
    table_free(&s->messages);
    table_free(&s->mailboxes);
    for (unsigned i = 0; i < sizeof s->briefs / sizeof s->briefs[0]; i++)
        free(s->briefs[i]);
    pthread_mutex_destroy(&s->lock);
}

size_t space_bytes(const struct space *s)
{
    return table_bytes(&s->locals) + table_bytes(&s->messages) + table_bytes(&s->mailboxes) +
           s->locals.count * sizeof(struct brief);
}
