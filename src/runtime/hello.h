/* The encoding of a HELLO. With HELLOs, members tell each other their number, their life and the
 * keys that they accept. session.h contains the rules, and docs/formats.md the layout. */
#ifndef ELECT_RUNTIME_HELLO_H
#define ELECT_RUNTIME_HELLO_H

#include "session.h"

/* The flags of a HELLO. */
#define HELLO_NEED 1 /* the sender needs an answer */
#define HELLO_LOST 2 /* the sender has lost its state */
#define HELLO_USED 4 /* the HELLO is sealed under the sender's key in use */

struct hello {
    uint8_t nonce[SEAL_NONCE], echo[SEAL_NONCE], boot[SESSION_BOOT];
    uint32_t incarnation, rekey, digest, keys[SESSION_KEYS];
    /* The sequence that the sender's state had when the sender started. The present sequence would
     * not reveal an old state, because its sequence grows with every write. */
    uint64_t sequence;
    uint64_t number; /* the number of this HELLO, which is the counter of the packet */
    uint64_t taken;  /* the highest number of a HELLO that the sender accepted from the receiver */
    uint64_t top;    /* if `says_top`: the highest counter of the receiver's DATA (rule 12) */
    bool says_top;
    uint8_t lowest, highest, flags;
};

#define HELLO_LENGTH  (2 * SEAL_NONCE + SESSION_BOOT + (3 + SESSION_KEYS) * 4 + 2 * 8 + 3)
#define HELLO_LONGEST (HELLO_LENGTH + 8)

/* Writes a HELLO and returns its length. */
size_t hello_write(const struct hello *h, uint8_t out[HELLO_LONGEST]);
/* Reads all of a HELLO except its number, which is the packet's counter. Returns false if the bytes
 * are not a HELLO. */
bool hello_read(uint8_t *bytes, size_t length, struct hello *h);

#endif
