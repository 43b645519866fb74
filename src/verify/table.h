/* Tables in which every value is kept once and known by its number, and memories of what was worked
 * out before. */
#ifndef ELECT_TABLE_H
#define ELECT_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table {
    unsigned char *bytes;
    size_t used, room;
    uint64_t *offset; /* count + 1 of them: where each value begins */
    uint32_t *slot;
    uint32_t count, offsets, slots;
};

uint32_t table_intern(struct table *t, const void *bytes, size_t length);
const void *table_value(const struct table *t, uint32_t index, size_t *length);
size_t table_bytes(const struct table *t);
void table_free(struct table *t);

/* From one number to another. All zero: empty. */
struct memo {
    uint64_t *key, *value;
    uint32_t count, slots;
};

void memo_put(struct memo *m, uint64_t key, uint64_t value);
size_t memo_bytes(const struct memo *m);
void memo_free(struct memo *m);

/* Memory that must be there: tables are small beside the worlds, which are counted. Without it the
 * search ends as one that has reached a bound. */
void *table_must(void *memory);

#define MEMO_FREE UINT64_MAX

static inline uint64_t table_mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static inline const uint64_t *memo_find(const struct memo *m, uint64_t key)
{
    if (m->slots == 0)
        return NULL;
    uint32_t at = (uint32_t)(table_mix(0, key) >> 20) & (m->slots - 1);
    for (; m->key[at] != MEMO_FREE; at = (at + 1) & (m->slots - 1))
        if (m->key[at] == key)
            return &m->value[at];
    return NULL;
}

#endif
