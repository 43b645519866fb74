/*
 * Encrypts and authenticates packets, and derives their keys. A process without the key can neither
 * read nor create a packet. session.c decides which packets are accepted.
 *
 *      0  4 magic "ELE1"   4 1 type   5 1 key id   6 2 from   8 2 to   10 2 length
 *     12  4 tag           16 8 counter            24 16 salt     40 ... content, 16 bytes of MAC
 *
 * The salt and the counter form the nonce. The salt is a hash of the bytes before it and of the
 * content, keyed with a random secret drawn at each start. So two contents never share a nonce,
 * even if a memory image is resumed twice or a process forks, and no packet needs getrandom().
 *
 * All numbers are little-endian. `from` and `to` are member ids.
 */
#ifndef ELECT_RUNTIME_SEAL_H
#define ELECT_RUNTIME_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAL_KEY         32
#define SEAL_NONCE       32
#define SEAL_CLUSTER     16
#define SEAL_SALT        16
#define SEAL_HEAD        40
#define SEAL_PROOF       16
#define SEAL_MAX_PACKET  1200 /* never fragmented */
#define SEAL_MAX_CONTENT (SEAL_MAX_PACKET - SEAL_HEAD - SEAL_PROOF)
#define SEAL_MAGIC       0x31454c45u /* the bytes "ELE1" */
#define SEAL_TYPE_OFFSET 4
#define SEAL_TAG_OFFSET  12

enum packet_type { PACKET_HELLO = 1, PACKET_DATA, PACKET_REJECT, PACKET_TESTAMENT };

struct packet {
    uint8_t type, key;
    uint16_t from, to;
    uint32_t tag; /* never 0 */
    uint64_t counter;
};

/* One end of a session. The session key is derived from both ends. */
struct seal_end {
    uint16_t id;
    uint32_t incarnation;
    const uint8_t *nonce;
};

void seal_pair_key(uint8_t out[SEAL_KEY], const uint8_t key[SEAL_KEY],
                   const uint8_t cluster[SEAL_CLUSTER], uint16_t a, uint16_t b);
void seal_hello_key(uint8_t out[SEAL_KEY], const uint8_t pair[SEAL_KEY], uint16_t from,
                    uint16_t to);
void seal_session_key(uint8_t out[SEAL_KEY], const uint8_t pair[SEAL_KEY],
                      const struct seal_end *from, const struct seal_end *to, uint8_t protocol);
void seal_testament_key(uint8_t out[SEAL_KEY], const uint8_t session[SEAL_KEY], uint16_t from,
                        uint16_t to);

/* Return the tag of a session key, or of a HELLO key with the echoed nonce. A tag does not
 * authenticate a packet, but lets the socket filter drop most forged ones. */
uint32_t seal_tag(const uint8_t key[SEAL_KEY]);
uint32_t seal_hello_tag(const uint8_t key[SEAL_KEY], const uint8_t echo[SEAL_NONCE]);

size_t seal_write(const struct packet *head, const uint8_t secret[SEAL_KEY],
                  const uint8_t key[SEAL_KEY], const uint8_t cluster[SEAL_CLUSTER],
                  const uint8_t *content, size_t length, uint8_t out[SEAL_MAX_PACKET]);

/* Reads the head, which is not encrypted. Returns false if the bytes are not a packet. */
bool seal_head(const uint8_t *bytes, size_t length, struct packet *head);

/* Returns the length of the content, or -1 if the packet is not authentic. */
int seal_open(const uint8_t *bytes, size_t length, const uint8_t key[SEAL_KEY],
              const uint8_t cluster[SEAL_CLUSTER], uint8_t content[SEAL_MAX_CONTENT]);

#endif
