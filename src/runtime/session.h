/*
 * Sessions guarantee that each message was sent by the named member since it started, to this
 * member since it started, and is accepted only once. A life is the time from one start of the
 * process to its end. The code is pure: the host provides time and randomness, and sends the
 * packets.
 *
 *  1. When this member starts, it writes a new incarnation to its state. Then it draws a boot id
 *     and, for each key, a nonce. It sends and receives nothing before that.
 *  2. There is one session for each peer and key; the keys have no order. This member sends DATA
 *     under the key in use if the peer is known to have that session, too, and is still heard in
 *     it; otherwise it sends under another key. It accepts DATA under any key.
 *  3. This member sends a HELLO with the flag NEED unless the peer is known to have the session of
 *     the key in use and was heard in it within the suspicion time. Such HELLOs alternate: one
 *     echoes the newest nonce heard, the next one echoes none. Otherwise two members might never
 *     open a session. The first HELLO after an answer echoes the nonce.
 *  4. A HELLO that does not echo this member's nonce may have been recorded. This member answers
 *     it, and changes nothing except the nonce to echo.
 *  5. A HELLO that echoes this member's nonce was made since this member started. It is compared
 *     with what this member remembers of the peer:
 *     (a) It comes from an earlier state of the peer, or from another process with the peer's id:
 *         this member sends a REJECT and changes nothing. The same holds for a HELLO of the same
 *         life that has another nonce for the same installation of that key.
 *     (b) It belongs to an earlier installation of that key: it arrived late and is ignored.
 *     (c) It belongs to the existing session: the session stays, with its counters.
 *     (d) Otherwise this member opens a new session.
 *     A new life of the peer ends all sessions of its previous life, under every key.
 *  6. HELLOs are numbered within a life. A HELLO of an existing session has an effect only if its
 *     number is the highest so far: it then updates the peer's keys and configuration, counts as
 *     heard, and is answered. A repeated HELLO has no effect. A HELLO also carries the highest
 *     number that its sender has accepted from the receiver. A member repeats its current keys
 *     until this number shows that the peer has received them.
 *  7. This member obeys a REJECT only if the REJECT contains its nonce. A member that is rolled
 *     back or cloned must stop.
 *  8. DATA is accepted only in a session, and each packet only once. DATA carries the sequence
 *     number of the sender's state.
 *  9. A member that has lost its state sets the flag LOST and gets separate sessions. There it can
 *     only ask what the other members remember (elect_readmit), and cannot change what they
 *     remember about it. It sends its start time in place of a sequence number, and the later of
 *     two such lives counts. Its readmission begins a new era, where its sequence numbers may
 *     restart.
 * 10. A restart draws new nonces, and so does the installation of a key. Therefore packets recorded
 *     earlier cannot open a session again. This rule needs no clock.
 * 11. A packet shows that a link works only if its counter is higher than that of every earlier
 *     packet on that link. A copy of a packet that arrived on another link counts; a packet
 *     repeated on the same link does not.
 * 12. A counter of DATA, or the number of a HELLO, may exceed the highest accepted one by at most
 *     SESSION_LEAP. A holder of the key can forge a packet with any counter, and then the two ends
 *     disagree. Therefore a HELLO carries the highest number that its sender has accepted and, if
 *     authentic DATA was below the window or too far ahead, also the highest counter. If such a
 *     value exceeds the receiver's own counter, or is lower by more than SESSION_LEAP, the receiver
 *     continues above that value. Honest ends never differ by more than SESSION_LEAP, so a lost or
 *     repeated HELLO does no harm, and the next honest HELLO corrects the effect of a forged one. A
 *     counter may then be used twice, but the salt makes the nonce differ. An attacker would have
 *     to forge 2^24 packets in a session to exhaust its counters.
 */
#ifndef ELECT_RUNTIME_SESSION_H
#define ELECT_RUNTIME_SESSION_H

#include "seal.h"

#define SESSION_PEERS  64
#define SESSION_KEYS   2                   /* two, so that one can replace the other */
#define SESSION_WINDOW 1024                /* packets that may arrive out of order */
#define SESSION_LEAP   ((uint64_t)1 << 40) /* more than are ever lost in a row */
#define SESSION_LINKS  4
#define SESSION_BOOT   16
#define SESSION_TAGS   (5 * SESSION_KEYS)
#define SESSION_HEADER 8 /* in DATA: the sequence number of the sender's state file */
#define SESSION_ROOM   (SEAL_MAX_CONTENT - SESSION_HEADER)
#define SESSION_HELLOS 50 /* most HELLOs decrypted per turn of the loop: a fifth of its packets */

/* protocols that this version supports */
#define SESSION_LOWEST  2
#define SESSION_HIGHEST 2

/* name, whether the refused member must stop, text for the user */
#define SESSION_REFUSALS(X)                                                                        \
    X(ROLLBACK, true,                                                                              \
      "the state file is older than the other members remember (restored from a backup or a "      \
      "snapshot?)")                                                                                \
    X(CLONE, true, "another process with the same id is running")                                  \
    X(PROTOCOL, false, "speaks no common protocol")

enum session_refusal {
#define X(name, stop, text) SESSION_##name,
    SESSION_REFUSALS(X)
#undef X
        SESSION_REFUSAL_COUNT
};

/* The facts about a peer that survive a restart of this member. */
struct session_memory {
    /* highest sequence number of the peer's state file since the peer last lost it */
    uint64_t sequence;
    uint32_t incarnation;
    uint8_t boot[SESSION_BOOT];
};

struct session {
    bool open;
    bool sure; /* the peer has confirmed this session or sent DATA in it */
    uint8_t key;
    uint32_t rekey;        /* the peer's number for its installation of the key */
    uint64_t heard, spoke; /* time of the last new packet, and of the last DATA or HELLO_USED */
    uint64_t sent, top;    /* last counter sent, highest one accepted */
    uint64_t window[SESSION_WINDOW / 64];
    uint64_t link_top[SESSION_LINKS];
    bool out_of_step; /* DATA arrived with a counter too far behind or ahead (rule 12) */
    uint32_t send_tag, take_tag, will_tag;
    uint8_t send[SEAL_KEY], take[SEAL_KEY], will[SEAL_KEY];
    uint8_t nonce[SEAL_NONCE]; /* the peer's nonce */
};

/* A peer's sessions since it started. */
struct session_life {
    uint64_t hellos;
    uint64_t link_hellos[SESSION_LINKS];
    struct session with[SESSION_KEYS];
};

struct session_peer {
    uint16_t id;
    struct session_memory known;
    struct session_life now;
    struct session_life lost; /* of a process with the peer's id that has lost its state */
    uint64_t lost_began;
    struct {
        uint8_t pair[SEAL_KEY], send[SEAL_KEY], take[SEAL_KEY];
        uint8_t heard[SEAL_NONCE]; /* newest nonce heard, perhaps from a replay; zeros if none */
        uint32_t tag_mine, tag_none;
    } hello[SESSION_KEYS];
    uint64_t numbered;   /* number of the last HELLO sent */
    uint64_t next_hello; /* when the next HELLO is due */
    uint32_t patience;   /* interval before the next HELLO, without jitter */
    bool plainly;        /* the last HELLO echoed no nonce */
    uint64_t owed; /* number of the HELLO that announces the current keys; 0: the peer knows them */
    uint64_t answered[3]; /* last answer to a HELLO with a lower, the same, a higher incarnation */
    uint64_t rejected;
    uint32_t digest, keys[SESSION_KEYS]; /* the peer's configuration digest and accepted keys */
};

struct session_key {
    bool there;
    uint8_t id;
    uint32_t rekey; /* counts the keys installed since the start */
    uint32_t mark;  /* identifies the key to members that have it; never 0 */
    uint8_t key[SEAL_KEY], nonce[SEAL_NONCE];
};

struct sessions {
    uint16_t id;
    uint8_t cluster[SEAL_CLUSTER], boot[SESSION_BOOT];
    uint8_t secret[SEAL_KEY]; /* random since the start; keys the salts of packets */
    uint8_t lowest, highest;
    uint32_t incarnation, digest, rekeys;
    uint64_t sequence; /* the state file's sequence number */
    uint64_t began;    /* its value at the start */
    uint64_t suspicion;
    uint16_t tried; /* packets counted against SESSION_HELLOS in this turn */
    bool lost;      /* this member has lost its state: see sessions_begin() */
    uint8_t use;
    uint8_t count;
    struct session_key key[SESSION_KEYS];
    struct session_peer peer[SESSION_PEERS];
    void (*draw)(void *context, uint8_t *bytes, size_t length);
    void *context;
};

enum session_news {
    SESSION_NOTHING,  /* not for this member, or not authentic */
    SESSION_ANSWERED, /* a packet must be sent back */
    SESSION_OPENED,   /* store the facts about the peer; send the answer, if any */
    SESSION_REFUSED,  /* the peer was refused because of `why`: send the answer, if any */
    SESSION_MUST_STOP,
    SESSION_DATA,
    SESSION_HEARD, /* a HELLO of this session, or a copy of known DATA, perhaps on another link */
    SESSION_TESTAMENT
};

struct session_event {
    uint8_t news; /* a value of enum session_news */
    uint8_t peer;
    uint8_t why; /* a value of enum session_refusal */
    bool lost;
    bool newest; /* DATA, or a HELLO that echoes the current nonce, with the highest counter yet */
    bool later;  /* highest counter yet on this link, so the link works */
    bool fresh;  /* the peer's sequence number has grown: store it with the next write */
    size_t length;
    uint8_t content[SEAL_MAX_CONTENT];
    size_t answer_length;
    uint8_t answer[SEAL_MAX_PACKET];
};

const char *session_refusal_text(enum session_refusal why);

/* Initializes the sessions at the start of the member. The caller has set id, cluster, incarnation,
 * digest, sequence, suspicion and draw. For a member that has lost its state, lost is true, the
 * incarnation is 0, and the sequence is the date in microseconds, which grows with each start. All
 * other times are in microseconds of any monotonic clock. */
void sessions_begin(struct sessions *s);

/* Adds a key in a free slot. The key in slot 0 is in use until sessions_use() selects another one.
 * The key in use cannot be removed. After adding or removing a key, the caller updates the socket
 * filters. */
void sessions_add_key(struct sessions *s, uint8_t slot, uint8_t id, const uint8_t key[SEAL_KEY]);
/* Returns the slot of the key with this id, or SESSION_KEYS. */
uint8_t sessions_slot(const struct sessions *s, uint8_t id);
void sessions_use(struct sessions *s, uint8_t slot);
void sessions_remove_key(struct sessions *s, uint8_t slot);

/* Returns when the peer was last heard; 0 if there is no session. */
uint64_t sessions_heard(const struct sessions *s, unsigned peer);
/* Changes the configuration and announces it to all peers. */
void sessions_configure(struct sessions *s, uint32_t digest, uint64_t suspicion);

/* Returns true if the peer was heard within the suspicion time. */
bool sessions_lives(const struct sessions *s, unsigned peer, uint64_t now);
bool sessions_accepts(const struct sessions *s, unsigned peer, uint8_t slot);
/* Returns true if the peer was heard within the suspicion time and sent its last DATA or HELLO_USED
 * under that key. Removing the key would then cut off the peer. */
bool sessions_speaks_with(const struct sessions *s, unsigned peer, uint8_t slot, uint64_t now);

void sessions_add_peer(struct sessions *s, uint16_t id, const struct session_memory *known);

/* Begins a turn of the loop. At most SESSION_HELLOS are decrypted per turn, so that a flood leaves
 * time for DATA. */
void sessions_turn(struct sessions *s);

/* Handles a packet. `link` is SESSION_LINKS if it does not show that a link works. */
void sessions_take(struct sessions *s, uint64_t now, unsigned link, const uint8_t *bytes,
                   size_t length, struct session_event *e);

/* Makes a DATA packet of at most SESSION_ROOM bytes. Returns its length; 0 if there is no
 * session. */
size_t sessions_seal(struct sessions *s, unsigned peer, const uint8_t *content, size_t length,
                     uint8_t out[SEAL_MAX_PACKET]);

/* Like sessions_seal(), for a process with the peer's id that has lost its state. */
size_t sessions_seal_lost(struct sessions *s, unsigned peer, const uint8_t *content, size_t length,
                          uint8_t out[SEAL_MAX_PACKET]);

/* Makes a testament for the guardian to send after the death of this process. Returns its length;
 * 0 if there is no session. */
size_t sessions_testament(struct sessions *s, unsigned peer, uint64_t serial,
                          const uint8_t *content, size_t length, uint8_t out[SEAL_MAX_PACKET]);

/* Makes a HELLO if one is due, and returns its length, or 0. sessions_next() returns when the next
 * HELLO is due. */
size_t sessions_hello(struct sessions *s, unsigned peer, uint64_t now,
                      uint8_t out[SEAL_MAX_PACKET]);
uint64_t sessions_next(const struct sessions *s, unsigned peer);

/* Returns true if this is the tag of the peer's HELLOs under an accepted key. A process without the
 * key cannot compute the tag, but can repeat one that it has seen. */
bool sessions_knows_hello(const struct sessions *s, unsigned peer, uint32_t tag);
/* Like sessions_knows_hello(), for a process that is not a peer and has heard nothing from this
 * member. */
bool sessions_knows_stranger(const struct sessions *s, uint16_t id, uint32_t tag);

/* Lists the tags that the socket filters must accept, and returns their number. */
unsigned sessions_tags(const struct sessions *s, uint32_t *tags, unsigned room);

#endif
