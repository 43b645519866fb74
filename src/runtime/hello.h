/* A HELLO as bytes: with it members tell each other who they are, in which life, and which keys
 * they accept. session.h has the rules, docs/formats.md the layout. */
#ifndef ELECT_RUNTIME_HELLO_H
#define ELECT_RUNTIME_HELLO_H

#include "session.h"

/* Flags. */
#define HELLO_NEED 1 /* its sender needs an answer */
#define HELLO_LOST 2 /* its sender has lost its state */
#define HELLO_USED 4 /* its sender speaks with this key */

struct hello {
    uint8_t nonce[SEAL_NONCE], echo[SEAL_NONCE], boot[SESSION_BOOT];
    uint32_t incarnation, rekey, digest, keys[SESSION_KEYS];
    uint64_t sequence; /* of its state when this life began: a snapshot may have caught up since */
    uint64_t number;   /* of this HELLO: the counter of the packet */
    uint64_t taken;    /* the highest of the receiver's */
    uint64_t top;      /* the highest counter of the receiver's DATA, if `says_top`: rule 12 */
    bool says_top;
    uint8_t lowest, highest, flags;
};

#define HELLO_LENGTH  (2 * SEAL_NONCE + SESSION_BOOT + (3 + SESSION_KEYS) * 4 + 2 * 8 + 3)
#define HELLO_LONGEST (HELLO_LENGTH + 8)

/* Returns its length. */
size_t hello_write(const struct hello *h, uint8_t out[HELLO_LONGEST]);
/* False if the bytes are not a HELLO. The number is not among them: it is the packet's counter. */
bool hello_read(uint8_t *bytes, size_t length, struct hello *h);

#endif
