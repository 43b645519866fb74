/* Encodes and decodes HELLOs. */
#include "hello.h"

#include "bytes.h"
#include "session_internal.h"

#include <assert.h>

size_t hello_write(const struct hello *h, uint8_t out[HELLO_LONGEST])
{
    struct bytes b = {out, out + HELLO_LONGEST, true};
    put_bytes(&b, h->nonce, SEAL_NONCE);
    put_bytes(&b, h->echo, SEAL_NONCE);
    put_bytes(&b, h->boot, SESSION_BOOT);
    put_number(&b, h->incarnation, 4);
    put_number(&b, h->rekey, 4);
    put_number(&b, h->digest, 4);
    for (unsigned k = 0; k < SESSION_KEYS; k++)
        put_number(&b, h->keys[k], 4);
    put_number(&b, h->sequence, 8);
    put_number(&b, h->taken, 8);
    put_number(&b, h->lowest, 1);
    put_number(&b, h->highest, 1);
    put_number(&b, h->flags, 1);
    if (h->says_top)
        put_number(&b, h->top, 8);
    assert(b.fine);
    return (size_t)(b.at - out);
}

bool hello_read(uint8_t *bytes, size_t length, struct hello *h)
{
    struct bytes b = {bytes, bytes + length, true};
    take_bytes(&b, h->nonce, SEAL_NONCE);
    take_bytes(&b, h->echo, SEAL_NONCE);
    take_bytes(&b, h->boot, SESSION_BOOT);
    h->incarnation = (uint32_t)take_number(&b, 4);
    h->rekey = (uint32_t)take_number(&b, 4);
    h->digest = (uint32_t)take_number(&b, 4);
    for (unsigned k = 0; k < SESSION_KEYS; k++)
        h->keys[k] = (uint32_t)take_number(&b, 4);
    h->sequence = take_number(&b, 8);
    h->taken = take_number(&b, 8);
    h->lowest = (uint8_t)take_number(&b, 1);
    h->highest = (uint8_t)take_number(&b, 1);
    h->flags = (uint8_t)take_number(&b, 1);
    h->says_top = b.at < b.end;
    h->top = h->says_top ? take_number(&b, 8) : 0;
    bool lost = (h->flags & HELLO_LOST) != 0;
    return b.fine && b.at == b.end && h->flags <= (HELLO_NEED | HELLO_LOST | HELLO_USED) &&
           (h->incarnation == 0) == lost && h->lowest <= h->highest &&
           memcmp(h->nonce, session_no_nonce, SEAL_NONCE) != 0;
}
