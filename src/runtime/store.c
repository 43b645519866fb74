/* Encodes and decodes the records of the state file, writes them, and finds the latest one. */
#include "store.h"

#include "bytes.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>

#define MAGIC         0x4554415453454c45u /* the bytes "ELESTATE" */
#define FORMAT        1
#define BLOCK         4096
#define HEAD          4096
#define GROUP         1024
#define CHECKSUM      32
#define CHECKSUM_AT   (HEAD - CHECKSUM)
#define LAST_SEQUENCE UINT64_MAX /* never written */

_Static_assert(HEAD + STORE_GROUPS * GROUP <= STORE_STRIDE, "a slot has room for all groups");

const char *store_text(enum store_error error)
{
    static const char *const texts[] = {
#define X(name, text) text,
        STORE_ERRORS(X)
#undef X
    };
    assert(error < STORE_ERROR_COUNT);
    return texts[error];
}

static size_t slot_length(unsigned groups)
{
    return (HEAD + groups * GROUP + BLOCK - 1) / BLOCK * BLOCK;
}

/* Covers the whole slot except the checksum itself. */
static void checksum(const uint8_t *slot, size_t length, uint8_t out[CHECKSUM])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, CHECKSUM);
    crypto_generichash_update(&state, slot, CHECKSUM_AT);
    crypto_generichash_update(&state, slot + HEAD, length - HEAD);
    crypto_generichash_final(&state, out, CHECKSUM);
}

/* ---- the encoding of a record ---- */

static void put_group(struct bytes *b, const struct state_group *g)
{
    put_bytes(b, g->name, STORE_NAME);
    put_number(b, g->promised, 8);
    put_number(b, g->used, 8);
    put_number(b, g->stamp, 8);
    put_number(b, g->longest, 4);
    put_number(b, g->round, 4);
    put_number(b, g->pause, 4);
    put_number(b, g->version, 4);
    put_number(b, g->members, 2);
    for (unsigned i = 0; i < STORE_MEMBERS; i++) {
        put_number(b, g->closed[i], 8);
        put_number(b, g->member[i].id, 2);
        put_number(b, g->member[i].roles, 1);
    }
}

static bool take_group(struct bytes *b, struct state_group *g)
{
    take_bytes(b, g->name, STORE_NAME);
    g->promised = take_number(b, 8);
    g->used = take_number(b, 8);
    g->stamp = take_number(b, 8);
    g->longest = (uint32_t)take_number(b, 4);
    g->round = (uint32_t)take_number(b, 4);
    g->pause = (uint32_t)take_number(b, 4);
    g->version = (uint32_t)take_number(b, 4);
    g->members = (uint16_t)take_number(b, 2);
    for (unsigned i = 0; i < STORE_MEMBERS; i++) {
        g->closed[i] = take_number(b, 8);
        g->member[i].id = (uint16_t)take_number(b, 2);
        g->member[i].roles = (uint8_t)take_number(b, 1);
    }
    return g->members <= STORE_MEMBERS && memchr(g->name, '\0', STORE_NAME) != NULL;
}

/* A slot contains its own position, so that a copy elsewhere in the file is not valid. */
static size_t put_slot(uint8_t *slot, const struct state *state, unsigned place)
{
    size_t length = slot_length(state->groups);
    struct bytes b = {slot, slot + CHECKSUM_AT, true};
    memset(slot, 0, length);
    put_number(&b, MAGIC, 8);
    put_number(&b, FORMAT, 4);
    put_number(&b, place, 4);
    put_number(&b, state->sequence, 8);
    put_bytes(&b, state->cluster, SEAL_CLUSTER);
    put_number(&b, state->node, 2);
    put_number(&b, state->peers, 2);
    put_number(&b, state->groups, 2);
    put_number(&b, state->incarnation, 4);
    put_number(&b, state->condemned, 1);
    for (unsigned i = 0; i < state->peers; i++) {
        put_number(&b, state->peer[i].id, 2);
        put_number(&b, state->peer[i].met, 4);
        put_number(&b, state->peer[i].known.incarnation, 4);
        put_number(&b, state->peer[i].known.sequence, 8);
        put_bytes(&b, state->peer[i].known.boot, SESSION_BOOT);
    }
    assert(b.fine);
    for (unsigned i = 0; i < state->groups; i++) {
        struct bytes g = {slot + HEAD + i * GROUP, slot + HEAD + (i + 1) * GROUP, true};
        put_group(&g, &state->group[i]);
        assert(g.fine);
    }
    checksum(slot, length, slot + CHECKSUM_AT);
    return length;
}

static bool take_head(struct bytes *b, struct state *state)
{
    state->sequence = take_number(b, 8);
    take_bytes(b, state->cluster, SEAL_CLUSTER);
    state->node = (uint16_t)take_number(b, 2);
    state->peers = (uint16_t)take_number(b, 2);
    state->groups = (uint16_t)take_number(b, 2);
    state->incarnation = (uint32_t)take_number(b, 4);
    state->condemned = (uint8_t)take_number(b, 1);
    return state->peers <= SESSION_PEERS && state->groups <= STORE_GROUPS && state->sequence > 0 &&
           /* the last sequence number could have no successor */
           state->sequence < LAST_SEQUENCE;
}

static enum store_error take_slot(uint8_t *slot, unsigned place, struct state *state)
{
    uint8_t sum[CHECKSUM];
    struct bytes b = {slot, slot + CHECKSUM_AT, true};
    memset(state, 0, sizeof *state);
    if (take_number(&b, 8) != MAGIC)
        return STORE_EMPTY;
    uint64_t format = take_number(&b, 4), at = take_number(&b, 4);
    if (!take_head(&b, state) || at != place)
        return STORE_EMPTY;
    checksum(slot, slot_length(state->groups), sum);
    if (memcmp(sum, slot + CHECKSUM_AT, CHECKSUM) != 0)
        return STORE_EMPTY;
    if (format != FORMAT)
        return STORE_FORMAT;
    for (unsigned i = 0; i < state->peers; i++) {
        state->peer[i].id = (uint16_t)take_number(&b, 2);
        state->peer[i].met = (uint32_t)take_number(&b, 4);
        state->peer[i].known.incarnation = (uint32_t)take_number(&b, 4);
        state->peer[i].known.sequence = take_number(&b, 8);
        take_bytes(&b, state->peer[i].known.boot, SESSION_BOOT);
    }
    for (unsigned i = 0; i < state->groups; i++) {
        struct bytes g = {slot + HEAD + i * GROUP, slot + HEAD + (i + 1) * GROUP, true};
        if (!take_group(&g, &state->group[i]))
            return STORE_EMPTY;
    }
    return STORE_FINE;
}

/* ---- the file ---- */

static enum store_error failed(struct store *s, int error)
{
    s->error = error;
    return error == 0 ? STORE_FINE : STORE_IO;
}

static enum store_error write_slot(struct store *s, const struct state *state, unsigned place)
{
    size_t length = put_slot(s->slot, state, place);
    return failed(s,
                  s->file.write(s->file.context, s->slot, length, (uint64_t)place * STORE_STRIDE));
}

static enum store_error sync_file(struct store *s)
{
    return failed(s, s->file.sync(s->file.context));
}

/* Syncs writes that an earlier process may have left in the page cache, then writes the record
 * again: first over the copy that may be damaged, then over the intact one. So one copy is always
 * intact, even if the power fails during a write. */
static enum store_error write_again(struct store *s, const struct state *state, unsigned whole)
{
    const unsigned place[] = {whole ^ 1, whole};
    enum store_error error = sync_file(s);
    for (unsigned i = 0; i < 2 && error == STORE_FINE; i++) {
        error = write_slot(s, state, place[i]);
        if (error == STORE_FINE)
            error = sync_file(s);
    }
    return error;
}

/* Returns the set of the other slots in the pairs of `slots`. */
static unsigned twins(unsigned slots) { return (slots & 5) << 1 | (slots & 10) >> 1; }

enum store_error store_open(struct store *s, const struct store_file *file, struct state *state)
{
    static struct state found; /* too large for the stack */
    const uint16_t node = state->node;
    uint8_t cluster[SEAL_CLUSTER];
    enum store_error best = STORE_EMPTY;
    /* `whole` is a slot; `wholes` and `unread` are bit sets of slots */
    unsigned whole = 0, wholes = 0, unread = 0;
    memcpy(cluster, state->cluster, SEAL_CLUSTER);
    s->file = *file;
    s->sequence = 0;
    for (unsigned place = 0; place < 4; place++) {
        int error =
            s->file.read(s->file.context, s->slot, STORE_STRIDE, (uint64_t)place * STORE_STRIDE);
        if (error != 0) {
            failed(s, error);
            unread |= 1u << place;
            continue;
        }
        enum store_error what = take_slot(s->slot, place, &found);
        if (what == STORE_FINE && memcmp(found.cluster, cluster, SEAL_CLUSTER) != 0)
            what = STORE_OTHER_CLUSTER;
        if (what == STORE_FINE && found.node != node)
            what = STORE_OTHER_NODE;
        if (what != STORE_EMPTY)
            wholes |= 1u << place;
        if (what != STORE_EMPTY && found.sequence > s->sequence) {
            best = what;
            s->sequence = found.sequence;
            s->pair = (uint8_t)(place / 2);
            whole = place;
            *state = found;
        }
    }
    if ((unread & ~twins(wholes)) != 0)
        return STORE_IO;
    return best == STORE_FINE ? write_again(s, state, whole) : best;
}

enum store_error store_write(struct store *s, struct state *state)
{
    unsigned other = s->pair == 0 ? 2 : 0;
    if (s->sequence + 1 == LAST_SEQUENCE) /* take_head() refuses it */
        return failed(s, EOVERFLOW);
    state->sequence = s->sequence + 1;
    enum store_error error = write_slot(s, state, other);
    if (error == STORE_FINE)
        error = write_slot(s, state, other + 1);
    if (error == STORE_FINE)
        error = sync_file(s);
    if (error == STORE_FINE) {
        s->pair = (uint8_t)(other / 2);
        s->sequence = state->sequence;
    }
    return error;
}

enum store_error store_format(struct store *s, const struct store_file *file, struct state *state)
{
    s->file = *file;
    s->pair = 1;
    s->sequence = 0;
    return store_write(s, state);
}
