#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *table_must(void *memory)
{
    if (memory == NULL) {
        fputs("elect verify: the machine has no more memory: lower --max-memory\n", stderr);
        _Exit(2);
    }
    return memory;
}

/* ---- every value once ---- */

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

const void *table_value(const struct table *t, uint32_t index, size_t *length)
{
    *length = (size_t)(t->offset[index + 1] - t->offset[index]);
    return t->bytes + t->offset[index];
}

static void rehash(struct table *t)
{
    t->slots = t->slots == 0 ? 1024 : 2 * t->slots;
    free(t->slot);
    t->slot = table_must(calloc(t->slots, sizeof *t->slot));
    for (uint32_t i = 0; i < t->count; i++) {
        size_t length;
        const void *value = table_value(t, i, &length);
        uint32_t at = (uint32_t)hash_bytes(value, length) & (t->slots - 1);
        while (t->slot[at] != 0)
            at = (at + 1) & (t->slots - 1);
        t->slot[at] = i + 1;
    }
}

uint32_t table_intern(struct table *t, const void *bytes, size_t length)
{
    if (2 * t->count >= t->slots)
        rehash(t);
    uint32_t at = (uint32_t)hash_bytes(bytes, length) & (t->slots - 1);
    for (; t->slot[at] != 0; at = (at + 1) & (t->slots - 1)) {
        size_t other;
        const void *value = table_value(t, t->slot[at] - 1, &other);
        if (other == length && (length == 0 || memcmp(value, bytes, length) == 0))
            return t->slot[at] - 1;
    }
    if (t->count + 2 > t->offsets) {
        t->offsets = 2 * t->offsets + 64;
        t->offset = table_must(realloc(t->offset, t->offsets * sizeof *t->offset));
        t->offset[t->count] = t->used;
    }
    if (t->used + length >= t->room) {
        t->room = 2 * (t->used + length) + 4096;
        t->bytes = table_must(realloc(t->bytes, t->room));
    }
    if (length > 0)
        memcpy(t->bytes + t->used, bytes, length);
    t->used += length;
    t->offset[t->count + 1] = t->used;
    t->slot[at] = ++t->count;
    return t->count - 1;
}

size_t table_bytes(const struct table *t)
{
    return t->room + t->offsets * sizeof *t->offset + t->slots * sizeof *t->slot;
}

void table_free(struct table *t)
{
    free(t->bytes);
    free(t->offset);
    free(t->slot);
}

/* ---- from one number to another ---- */

static void place(struct memo *m, uint64_t key, uint64_t value)
{
    uint32_t at = (uint32_t)(table_mix(0, key) >> 20) & (m->slots - 1);
    while (m->key[at] != MEMO_FREE)
        at = (at + 1) & (m->slots - 1);
    m->key[at] = key;
    m->value[at] = value;
}

void memo_put(struct memo *m, uint64_t key, uint64_t value)
{
    if (2 * m->count >= m->slots) {
        struct memo old = *m;
        m->slots = old.slots == 0 ? 1024 : 2 * old.slots;
        m->key = table_must(malloc(m->slots * sizeof *m->key));
        m->value = table_must(malloc(m->slots * sizeof *m->value));
        memset(m->key, 0xff, m->slots * sizeof *m->key);
        for (uint32_t i = 0; i < old.slots; i++)
            if (old.key[i] != MEMO_FREE)
                place(m, old.key[i], old.value[i]);
        memo_free(&old);
    }
    place(m, key, value);
    m->count++;
}

size_t memo_bytes(const struct memo *m) { return m->slots * (sizeof *m->key + sizeof *m->value); }

void memo_free(struct memo *m)
{
    free(m->key);
    free(m->value);
}
