/*
 * Sessions: that what comes in was said by that member, in this life of it, to this life of mine,
 * and is taken once. Pure: time and randomness come from the host, packets go out through it.
 *
 *  1. At start: a new incarnation, written down, then a boot id and a nonce, drawn; only then is
 *     anything sent or received.
 *  2. Without a session, or with one in which nothing was heard for long: HELLO, that it NEEDs one,
 *     in turn with the newest nonce heard and with none (else some histories never converge).
 *  3. A HELLO without my nonce proves nothing about now: it is answered, and nothing changes but
 *     the nonce to echo.
 *  4. With my nonce it was said in this life of mine: a new session, unless there is that session
 *     already, or what is remembered of the member says that this one is an earlier state of it, or
 *     another process with its number: REJECT, and the old session stays.
 *  5. REJECT is obeyed only with my nonce in it: who is rolled back or cloned must stop.
 *  6. DATA only in a session, each packet once; it carries the sequence of the sender's state.
 *  7. Who has lost its state says so (LOST): it gets a session of its own, in which it can only ask
 *     what others remember (elect_readmit), and nothing that is remembered of it changes. It comes
 *     back in a new era, whatever the sequence of its new state is.
 *  8. A restart draws a new nonce: nothing recorded before opens again, without any clock.
 */
#ifndef ELECT_SESSION_H
#define ELECT_SESSION_H

#include "seal.h"

#define SESSION_PEERS  64
#define SESSION_KEYS   2    /* while one replaces the other */
#define SESSION_WINDOW 1024 /* packets that may come in another order */
#define SESSION_BOOT   16
#define SESSION_TAGS   (5 + 2 * SESSION_KEYS) /* of a peer */
#define SESSION_HEADER 8                      /* of DATA: the sequence of the sender's state */
#define SESSION_ROOM   (SEAL_MAX_CONTENT - SESSION_HEADER)

/* name, what its sender must do */
#define SESSION_REFUSALS(X)                                                                        \
    X(ROLLBACK, "its state is an earlier one")                                                     \
    X(CLONE, "another process has its number")

enum session_refusal {
#define X(name, text) SESSION_##name,
    SESSION_REFUSALS(X)
#undef X
        SESSION_REFUSAL_COUNT
};

/* What must be remembered of a member, also across restarts. */
struct session_memory {
    uint64_t sequence; /* the highest that was seen of its state, in this era of it */
    uint32_t incarnation;
    uint8_t boot[SESSION_BOOT]; /* of that incarnation */
};

struct session {
    bool open;
    uint8_t key; /* which of the two */
    uint64_t until;
    uint64_t sent, top; /* the last counter of mine, and of its */
    uint64_t window[SESSION_WINDOW / 64];
    uint32_t send_tag, take_tag, will_tag;
    uint8_t send[SEAL_KEY], take[SEAL_KEY], will[SEAL_KEY];
    uint8_t nonce[SEAL_NONCE]; /* its */
};

struct session_peer {
    uint16_t id;
    struct session_memory known;
    struct session now, before;
    struct session lost; /* with a process of that number that has no state */
    uint32_t rekey;      /* of the session */
    struct {
        uint8_t pair[SEAL_KEY], send[SEAL_KEY], take[SEAL_KEY];
        uint8_t heard[SEAL_NONCE]; /* the newest nonce, proven or not; zeros: none */
        uint32_t tag_mine, tag_none;
    } hello[SESSION_KEYS];
    uint64_t heard;      /* when something authentic came in last */
    uint64_t next_hello; /* and how long to wait after that */
    uint32_t patience;
    bool plainly;         /* the next one goes without an echo */
    uint64_t answered[3]; /* when, by how its incarnation compares: lower, equal, higher */
    uint64_t rejected;
    uint32_t digest, keys; /* what it says of its configuration, and which keys it accepts */
};

struct session_key {
    bool there;
    uint8_t id;
    uint32_t rekey; /* grows with every key that is installed */
    uint8_t key[SEAL_KEY], nonce[SEAL_NONCE];
};

struct sessions {
    uint16_t id;
    uint8_t cluster[SEAL_CLUSTER], boot[SESSION_BOOT];
    uint32_t incarnation, digest, rekeys;
    uint64_t sequence; /* of the own state, as it is on the disk */
    uint64_t began;    /* the same, when this life began */
    uint64_t suspicion;
    bool lost;   /* this process has no state: its incarnation and sequence are 0 */
    uint8_t use; /* which key new sessions are asked for with */
    uint8_t count;
    struct session_key key[SESSION_KEYS];
    struct session_peer peer[SESSION_PEERS];
    void (*draw)(void *context, uint8_t *bytes, size_t length);
    void *context;
};

enum session_news {
    SESSION_NOTHING,   /* not for us, or not to be believed */
    SESSION_ANSWERED,  /* a packet goes back */
    SESSION_OPENED,    /* a session; remember the peer; a packet may go back */
    SESSION_REFUSED,   /* the peer is rolled back or a clone; a packet may go back */
    SESSION_MUST_STOP, /* I am */
    SESSION_DATA,
    SESSION_TESTAMENT
};

struct session_event {
    uint8_t news; /* enum session_news */
    uint8_t peer;
    uint8_t why; /* enum session_refusal */
    bool lost;   /* it is about, or DATA from, a process that has lost its state */
    bool fresh;  /* a higher sequence of its state was seen: remember, with the next write */
    size_t length;
    uint8_t content[SEAL_MAX_CONTENT]; /* DATA, TESTAMENT */
    size_t answer_length;
    uint8_t answer[SEAL_MAX_PACKET];
};

/* The caller has filled in id, cluster, incarnation, digest, sequence, suspicion, draw; or lost in
 * place of incarnation and sequence. Times are in microseconds. */
void sessions_begin(struct sessions *s);
void sessions_add_key(struct sessions *s, uint8_t slot, uint8_t id, const uint8_t key[SEAL_KEY]);
void sessions_add_peer(struct sessions *s, uint16_t id, const struct session_memory *known);

void sessions_take(struct sessions *s, uint64_t now, const uint8_t *bytes, size_t length,
                   struct session_event *e);

/* DATA for a peer; 0 if there is no session. At most SESSION_ROOM bytes. */
size_t sessions_seal(struct sessions *s, unsigned peer, const uint8_t *content, size_t length,
                     uint8_t out[SEAL_MAX_PACKET]);

/* The same for a process with the number of the peer that has lost its state. */
size_t sessions_seal_lost(struct sessions *s, unsigned peer, const uint8_t *content, size_t length,
                          uint8_t out[SEAL_MAX_PACKET]);

/* What a guardian sends when this process is dead: 0 if there is no session. */
size_t sessions_testament(struct sessions *s, unsigned peer, uint64_t serial,
                          const uint8_t *content, size_t length, uint8_t out[SEAL_MAX_PACKET]);

/* A HELLO that is due for this peer, or 0; and when the next one is. */
size_t sessions_hello(struct sessions *s, unsigned peer, uint64_t now,
                      uint8_t out[SEAL_MAX_PACKET]);
uint64_t sessions_next(const struct sessions *s, unsigned peer);

/* Every tag that may come in: for the socket's filter. */
unsigned sessions_tags(const struct sessions *s, uint64_t now, uint32_t *tags, unsigned room);

#endif
