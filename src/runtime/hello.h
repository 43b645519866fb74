/* The encoding of a HELLO, which tells a peer the sender's incarnation, boot id and accepted keys.
 * The rules are in session.h, the layout in docs/formats.md. */
#ifndef ELECT_RUNTIME_HELLO_H
#define ELECT_RUNTIME_HELLO_H

#include "session.h"

#define HELLO_NEED 1
#define HELLO_LOST 2
#define HELLO_USED 4 /* sealed under the sender's key in use */

struct hello {
    uint8_t nonce[SEAL_NONCE], echo[SEAL_NONCE], boot[SESSION_BOOT];
    uint32_t incarnation, rekey, digest, keys[SESSION_KEYS];
    /* The sequence number of the sender's state when it started. The current one grows with every
     * write, so it would not reveal an old state. */
    uint64_t sequence;
    uint64_t number; /* the packet's counter */
    uint64_t taken;  /* highest HELLO number accepted from the receiver */
    uint64_t top;    /* if `says_top`: highest counter of the receiver's DATA (rule 12) */
    bool says_top;
    uint8_t lowest, highest, flags;
};

#define HELLO_LENGTH  (2 * SEAL_NONCE + SESSION_BOOT + (3 + SESSION_KEYS) * 4 + 2 * 8 + 3)
#define HELLO_LONGEST (HELLO_LENGTH + 8)

size_t hello_write(const struct hello *h, uint8_t out[HELLO_LONGEST]);
/* Does not set `number`. Returns false if the bytes are not a valid HELLO. */
bool hello_read(uint8_t *bytes, size_t length, struct hello *h);

#endif
