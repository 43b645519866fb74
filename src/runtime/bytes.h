/* Bounds-checked reading and writing of little-endian numbers in a buffer. */
#ifndef ELECT_RUNTIME_BYTES_H
#define ELECT_RUNTIME_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    uint8_t *at;
    const uint8_t *end;
    bool fine; /* false once the buffer was too small */
};

static inline bool bytes_room(struct bytes *b, size_t length)
{
    b->fine = b->fine && (size_t)(b->end - b->at) >= length;
    return b->fine;
}

static inline void put_bytes(struct bytes *b, const void *from, size_t length)
{
    if (!bytes_room(b, length))
        return;
    memcpy(b->at, from, length);
    b->at += length;
}

static inline void put_number(struct bytes *b, uint64_t value, size_t length)
{
    uint8_t little[8];
    for (size_t i = 0; i < length; i++)
        little[i] = (uint8_t)(value >> 8 * i);
    put_bytes(b, little, length);
}

static inline void take_bytes(struct bytes *b, void *to, size_t length)
{
    if (!bytes_room(b, length)) {
        memset(to, 0, length);
        return;
    }
    memcpy(to, b->at, length);
    b->at += length;
}

static inline uint64_t take_number(struct bytes *b, size_t length)
{
    uint8_t little[8];
    uint64_t value = 0;
    take_bytes(b, little, length);
    for (size_t i = 0; i < length; i++)
        value |= (uint64_t)little[i] << 8 * i;
    return value;
}

#endif
