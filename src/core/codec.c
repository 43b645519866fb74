/*
 * Encodes messages as bytes, and decodes them.
 *
 *     type, a set of bits for the FIELDS that are present, those fields in their order
 *
 * Numbers are written in groups of seven bits, the lowest group first. A field that is 0 is not
 * encoded. Every message therefore has exactly one encoding, and the decoder rejects any other
 * bytes. Members are named by their numbers, because their ranks differ between processes with
 * different configurations. A set is encoded as its size, then its lowest number, then the
 * differences between consecutive numbers.
 */
#include "elect.h"

#include <assert.h>
#include <string.h>

/* The kinds of fields. A SOME is a set of processes that the sender has heard from; the decoder
 * drops the processes that are not in its configuration. A SET is a set whose processes must all be
 * in the configuration. A RANK may be ELECT_NOBODY. */
enum kind { NUMBER, RANK, SOME, SET };

#define FIELDS(X)                                                                                  \
    X(NUMBER, round)                                                                               \
    X(NUMBER, seen)                                                                                \
    X(NUMBER, what)                                                                                \
    X(RANK, origin)                                                                                \
    X(SOME, list)                                                                                  \
    X(NUMBER, leading)                                                                             \
    X(NUMBER, reason)                                                                              \
    X(RANK, heir)                                                                                  \
    X(NUMBER, penalty)                                                                             \
    X(NUMBER, able)                                                                                \
    X(NUMBER, pause)                                                                               \
    X(NUMBER, digest)                                                                              \
    X(NUMBER, term)                                                                                \
    X(NUMBER, certificate)                                                                         \
    X(NUMBER, incarnation)                                                                         \
    X(NUMBER, certified_by)                                                                        \
    X(NUMBER, lease)                                                                               \
    X(NUMBER, remaining)                                                                           \
    X(NUMBER, membership.version)                                                                  \
    X(NUMBER, membership.stamp)                                                                    \
    X(SET, membership.members)                                                                     \
    X(SET, membership.voters)                                                                      \
    X(SET, membership.before)

#define TYPES (ELECT_FIRST_TIMER - ELECT_FIRST_MESSAGE)

static const struct field {
    uint8_t kind, size;
    uint16_t offset;
} fields[] = {
#define X(kind, name)                                                                              \
    {kind, sizeof((struct elect_message *)0)->name, offsetof(struct elect_message, name)},
    FIELDS(X)
#undef X
};

#define FIELD_COUNT (sizeof fields / sizeof fields[0])

static uint64_t load(const struct elect_message *m, const struct field *f)
{
    const uint8_t *at = (const uint8_t *)m + f->offset;
    uint64_t wide;
    uint32_t word;
    if (f->size == 1)
        return *at;
    if (f->size == 4) {
        memcpy(&word, at, 4);
        return word;
    }
    memcpy(&wide, at, 8);
    return wide;
}

static bool store(struct elect_message *m, const struct field *f, uint64_t value)
{
    uint8_t *at = (uint8_t *)m + f->offset;
    uint32_t word = (uint32_t)value;
    if (f->size < 8 && value >> 8 * f->size != 0)
        return false;
    if (f->size == 1)
        *at = (uint8_t)value;
    else if (f->size == 4)
        memcpy(at, &word, 4);
    else
        memcpy(at, &value, 8);
    return true;
}

/* Replaces the voters by their difference from the members, and the previous voters by their
 * difference from the voters. Both are usually empty, and an empty set takes no bytes. */
static void tell_apart(struct elect_membership *m)
{
    m->before ^= m->voters;
    m->voters ^= m->members;
}

static void put_together(struct elect_membership *m)
{
    m->voters ^= m->members;
    m->before ^= m->voters;
}

/* ---- writing ---- */

static size_t put(uint8_t *bytes, uint64_t value)
{
    size_t length = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (uint8_t)(value | 0x80);
    bytes[length++] = (uint8_t)value;
    return length;
}

/* Returns the process with the lowest number, which need not have the lowest rank if there are
 * priorities. */
static uint8_t next_in(const struct elect_config *c, elect_set some)
{
    uint8_t lowest = ELECT_NOBODY;
    for (; some != 0; some &= some - 1) {
        uint8_t rank = (uint8_t)__builtin_ctzll(some);
        if (lowest == ELECT_NOBODY || c->id[rank] < c->id[lowest])
            lowest = rank;
    }
    return lowest;
}

static size_t put_set(const struct elect_config *c, uint8_t *bytes, elect_set some)
{
    size_t length = put(bytes, (uint64_t)__builtin_popcountll(some));
    uint32_t last = 0;
    while (some != 0) {
        uint8_t rank = next_in(c, some);
        length += put(bytes + length, c->id[rank] - last);
        last = c->id[rank];
        some &= ~((elect_set)1 << rank);
    }
    return length;
}

/* Returns the process's number plus one; 0, which is not encoded, for ELECT_NOBODY. */
static uint64_t named(const struct elect_config *c, uint64_t rank)
{
    return rank < c->n ? (uint64_t)c->id[rank] + 1 : 0;
}

size_t elect_encode(const struct elect_config *config, const struct elect_message *message,
                    uint8_t bytes[ELECT_MAX_BYTES])
{
    struct elect_message m = *message;
    uint32_t there = 0;
    uint8_t body[ELECT_MAX_BYTES];
    size_t length = 0;
    assert(m.type >= ELECT_FIRST_MESSAGE && m.type < ELECT_FIRST_TIMER);
    tell_apart(&m.membership);
    for (unsigned i = 0; i < FIELD_COUNT; i++) {
        const struct field *f = &fields[i];
        uint64_t value = load(&m, f);
        value = f->kind == RANK ? named(config, value) : value;
        if (value == 0)
            continue;
        there |= 1u << i;
        length +=
            f->kind < SOME ? put(body + length, value) : put_set(config, body + length, value);
    }
    size_t head = 0;
    bytes[head++] = (uint8_t)(m.type - ELECT_FIRST_MESSAGE);
    head += put(bytes + head, there);
    memcpy(bytes + head, body, length);
    return head + length;
}

/* ---- reading ---- */

struct reader {
    const uint8_t *at, *end;
    bool fine;
};

/* Fails if the number is not in its shortest form. */
static uint64_t take(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        uint64_t low = *r->at & 0x7f;
        bool last = (*r->at++ & 0x80) == 0;
        value |= low << shift;
        if (low << shift >> shift != low || (last && low == 0 && shift > 0))
            break;
        if (last)
            return value;
    }
    r->fine = false;
    return 0;
}

static elect_set take_set(const struct elect_config *c, struct reader *r, bool all)
{
    elect_set some = 0;
    uint64_t count = take(r), id = 0;
    r->fine = r->fine && count > 0 && count <= ELECT_MAX;
    for (uint64_t i = 0; i < count && r->fine; i++) {
        uint64_t more = take(r);
        id += more;
        uint8_t rank = id <= ELECT_MAX_ID ? elect_rank(c, (uint32_t)id) : ELECT_NOBODY;
        r->fine = r->fine && more <= ELECT_MAX_ID && id <= ELECT_MAX_ID && (more > 0 || i == 0) &&
                  (rank != ELECT_NOBODY || !all);
        some |= rank != ELECT_NOBODY ? (elect_set)1 << rank : 0;
    }
    return some;
}

static uint64_t take_rank(const struct elect_config *c, struct reader *r)
{
    uint64_t id = take(r);
    uint8_t rank =
        id > 0 && id <= ELECT_MAX_ID + 1 ? elect_rank(c, (uint32_t)id - 1) : ELECT_NOBODY;
    r->fine = r->fine && rank != ELECT_NOBODY;
    return rank;
}

static void take_field(const struct elect_config *c, struct reader *r, const struct field *f,
                       struct elect_message *m)
{
    bool ring = m->type < ELECT_PREVOTE; /* a ring list must contain only configured processes */
    uint64_t value = f->kind == NUMBER ? take(r)
                     : f->kind == RANK ? take_rank(c, r)
                                       : take_set(c, r, f->kind == SET || ring);
    bool nothing = value == 0 && f->kind == NUMBER; /* zeros must not be encoded */
    r->fine = r->fine && !nothing && store(m, f, value);
}

bool elect_decode(const struct elect_config *config, const uint8_t *bytes, size_t length,
                  struct elect_message *m)
{
    struct reader r = {bytes, bytes + length, length > 0};
    memset(m, 0, sizeof *m);
    uint64_t type = take(&r), there = take(&r);
    if (!r.fine || type >= TYPES || there >> FIELD_COUNT != 0)
        return false;
    m->type = (uint8_t)(ELECT_FIRST_MESSAGE + type);
    for (unsigned i = 0; i < FIELD_COUNT && r.fine; i++) {
        if ((there >> i & 1) != 0)
            take_field(config, &r, &fields[i], m);
        else if (fields[i].kind == RANK)
            store(m, &fields[i], ELECT_NOBODY);
    }
    put_together(&m->membership);
    return r.fine && r.at == r.end;
}
