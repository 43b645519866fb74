/* Declarations that session.c, handshake.c and session_keys.c share. */
#ifndef ELECT_RUNTIME_SESSION_INTERNAL_H
#define ELECT_RUNTIME_SESSION_INTERNAL_H

#include "session.h"

/* A received packet from a known peer under a known key. */
struct incoming {
    struct session_peer *peer;
    unsigned slot;
    uint64_t counter;
    uint64_t now;
    unsigned link; /* see sessions_take() */
    const uint8_t *bytes;
    size_t length;
    struct session_event *event;
};

extern const uint8_t session_no_nonce[SEAL_NONCE];

static inline size_t session_packet(const struct sessions *s, const struct packet *head,
                                    const uint8_t *key, const uint8_t *content, size_t length,
                                    uint8_t out[SEAL_MAX_PACKET])
{
    return seal_write(head, s->secret, key, s->cluster, content, length, out);
}

static inline bool session_is_heard(const struct sessions *s, const struct session *n, uint64_t now)
{
    return n->open && now - n->heard < s->suspicion;
}

static inline bool session_life_is_heard(const struct sessions *s, const struct session_life *life,
                                         uint64_t now)
{
    bool heard = false;
    for (unsigned k = 0; k < SESSION_KEYS; k++)
        heard = heard || session_is_heard(s, &life->with[k], now);
    return heard;
}

/* ---- session.c ---- */

/* Rule 11: returns true if the counter is higher than all earlier ones on the link. */
bool session_is_later(uint64_t highest[SESSION_LINKS], unsigned link, uint64_t counter);

/* ---- handshake.c ---- */

void session_take_hello(struct sessions *s, const struct incoming *in, uint8_t *content,
                        size_t length);
void session_take_reject(struct sessions *s, const struct incoming *in, const uint8_t *content,
                         size_t length);

/* ---- session_keys.c ---- */

/* Derives the HELLO keys shared with the peer, if there is a key in the slot. */
void session_meet(struct sessions *s, struct session_peer *p, unsigned slot);

#endif
