/*
 * Sessions guarantee that each accepted message was sent by the named member in its present life,
 * to the present life of this member, and that each message is accepted only once. A life is one
 * execution of the process. The code is pure: the host provides time and randomness, and sends the
 * packets.
 *
 *  1. When this member starts, it writes a new incarnation to its state. Then it draws a boot id
 *     and, for each key, a nonce. It sends and receives nothing before that.
 *  2. There is one session for each peer and key; the keys have no order. This member sends DATA
 *     under the key in use if it knows that the peer has the session of that key, too, and if it
 *     still receives packets from the peer in that session; otherwise it sends under another key.
 *     This member accepts DATA under any key.
 *  3. This member sends a HELLO with the flag NEED if it does not know that the peer has the
 *     session of the key in use, or if it has heard nothing in that session for the suspicion time.
 *     Such HELLOs alternate: one echoes the newest nonce heard, the next one echoes none. Without
 *     this alternation, two members would in some cases never open a session. The first HELLO after
 *     an answer echoes the nonce.
 *  4. A HELLO that does not echo the nonce of this member may have been recorded. This member
 *     answers it, and changes nothing except the nonce to echo.
 *  5. A HELLO that echoes the nonce of this member was made during its present life. This member
 *     compares such a HELLO with what it remembers of the peer:
 *     (a) The HELLO comes from an earlier state of the peer, or from another process with its
 *         number: this member sends a REJECT and changes nothing. The same holds for a HELLO of the
 *         same life that has another nonce for the same installation of that key.
 *     (b) The HELLO belongs to an earlier installation of that key: it arrived late and is ignored.
 *     (c) The HELLO belongs to the existing session: the session stays, with its counters.
 *     (d) Otherwise this member opens a new session.
 *     A new life of the peer ends all sessions of its previous life, under every key.
 *  6. HELLOs are numbered within a life. A HELLO of an existing session has an effect only if its
 *     number is higher than all numbers before: it then updates the peer's keys and configuration,
 *     counts as heard, and is answered. A repeated HELLO has no effect. A HELLO also carries the
 *     highest number that its sender has accepted from the receiver. A member repeats its present
 *     keys until this number shows that the peer has received them.
 *  7. This member obeys a REJECT only if the REJECT contains its nonce. A member that is rolled
 *     back or cloned must stop.
 *  8. DATA is accepted only in a session, and each packet only once. DATA carries the sequence of
 *     the sender's state.
 *  9. A member that has lost its state sets the flag LOST. Such a member gets separate sessions, in
 *     which it can only ask what the other members remember (elect_readmit) and cannot change what
 *     they remember about it. In place of a sequence, such a member sends the time of its start,
 *     and the later of two such lives counts. Its readmission begins a new era, in which its
 *     sequence may start again from the beginning.
 * 10. A restart draws new nonces, and so does the installation of a key. Therefore no packet that
 *     was recorded earlier can open a session again. This rule needs no clock.
 * 11. A packet shows that a link works only if its counter is higher than that of every earlier
 *     packet on that link. A copy of a packet that first arrived on another link may show that its
 *     own link works. A packet that is repeated on the same link never does.
 * 12. A counter of DATA, or the number of a HELLO, may exceed the highest accepted one by at most
 *     SESSION_LEAP. A holder of the key can forge a packet with any counter, after which the two
 *     ends disagree. Therefore a HELLO carries the highest number that its sender has accepted, and
 *     also the highest counter, if authentic DATA has arrived that was below the window or too far
 *     ahead. If such a value is higher than the receiver's own counter by any amount, or lower by
 *     more than SESSION_LEAP, the receiver continues above that value. Honest ends never differ by
 *     more than SESSION_LEAP. So neither a lost nor a repeated HELLO does any harm, and the next
 *     honest HELLO corrects the effect of a forged one. A counter may then be used a second time,
 *     for other content, but the salt makes the nonce differ. An attacker would have to forge 2^24
 *     packets in a session to exhaust its counters.
 */
#ifndef ELECT_RUNTIME_SESSION_H
#define ELECT_RUNTIME_SESSION_H

#include "seal.h"

#define SESSION_PEERS  64
#define SESSION_KEYS   2                   /* two, so that one can replace the other */
#define SESSION_WINDOW 1024                /* how many packets may arrive out of order */
#define SESSION_LEAP   ((uint64_t)1 << 40) /* more packets than are ever lost in a row */
#define SESSION_LINKS  4
#define SESSION_BOOT   16
#define SESSION_TAGS   (5 * SESSION_KEYS) /* the most tags that one peer can have */
#define SESSION_HEADER 8 /* in DATA: the sequence number of the sender's state file */
#define SESSION_ROOM   (SEAL_MAX_CONTENT - SESSION_HEADER)
#define SESSION_HELLOS 50 /* most HELLOs decrypted per turn of the loop: a fifth of its packets */

/* The protocols that this version supports. */
#define SESSION_LOWEST  2
#define SESSION_HIGHEST 2

/* For each refusal: its name, whether the refused member must stop, and a text for the user. */
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

/* The facts about a peer that a member remembers even across its own restarts. */
struct session_memory {
    /* the highest sequence number of the peer's state file, since that state was last lost */
    uint64_t sequence;
    uint32_t incarnation;
    uint8_t boot[SESSION_BOOT]; /* the boot id of the peer's latest incarnation */
};

struct session {
    bool open;
    bool sure;      /* the peer has confirmed this session or sent DATA in it */
    uint8_t key;    /* the id of the session's key */
    uint32_t rekey; /* the number that the peer gave to its installation of the key */
    /* `heard` is the time at which the last new packet arrived. `spoke` is the time at which the
     * last DATA or HELLO_USED arrived. */
    uint64_t heard, spoke;
    uint64_t sent, top; /* the last counter sent, and the highest one accepted */
    uint64_t window[SESSION_WINDOW / 64];
    uint64_t link_top[SESSION_LINKS]; /* the highest counter received on each link */
    bool out_of_step; /* DATA arrived with a counter too far behind or ahead (rule 12) */
    uint32_t send_tag, take_tag, will_tag;
    uint8_t send[SEAL_KEY], take[SEAL_KEY], will[SEAL_KEY];
    uint8_t nonce[SEAL_NONCE]; /* the peer's nonce in this session */
};

/* The sessions of one life of a peer. */
struct session_life {
    uint64_t hellos; /* the number of the latest HELLO since this process started */
    uint64_t link_hellos[SESSION_LINKS];
    struct session with[SESSION_KEYS];
};

struct session_peer {
    uint16_t id;
    struct session_memory known;
    struct session_life now;
    /* Sessions of a process with the peer's number that has lost its state. */
    struct session_life lost;
    uint64_t lost_began;
    struct {
        uint8_t pair[SEAL_KEY], send[SEAL_KEY], take[SEAL_KEY];
        /* The newest nonce that was heard, perhaps from a recording; zeros: none. */
        uint8_t heard[SEAL_NONCE];
        uint32_t tag_mine, tag_none;
    } hello[SESSION_KEYS];
    uint64_t numbered;   /* the number of the last HELLO that was sent to the peer */
    uint64_t next_hello; /* when the next HELLO is due */
    uint32_t patience;   /* the interval before the next HELLO, without jitter */
    bool plainly;        /* the last HELLO echoed no nonce, so the next one echoes one */
    uint64_t owed; /* number of the HELLO that tells the peer the present keys; 0: it knows them */
    /* When a HELLO with a lower, the same or a higher incarnation was last answered. */
    uint64_t answered[3];
    uint64_t rejected;
    /* Digest of the peer's configuration; the keys that it accepts. */
    uint32_t digest, keys[SESSION_KEYS];
};

struct session_key {
    bool there;
    uint8_t id;
    uint32_t rekey; /* grows with every installation of a key in this life */
    uint32_t mark;  /* identifies the key to members that have it; never 0 */
    uint8_t key[SEAL_KEY], nonce[SEAL_NONCE];
};

struct sessions {
    uint16_t id;
    uint8_t cluster[SEAL_CLUSTER], boot[SESSION_BOOT];
    uint8_t secret[SEAL_KEY]; /* drawn when this life begins; makes the salts of packets */
    uint8_t lowest, highest;  /* protocols that this member supports */
    uint32_t incarnation, digest, rekeys;
    uint64_t sequence; /* the sequence of this member's state on the disk */
    uint64_t began;    /* the sequence of this member's state when this life began */
    uint64_t suspicion;
    uint16_t tried; /* packets counted against SESSION_HELLOS in this turn */
    bool lost;      /* this process has lost its state: see sessions_begin */
    uint8_t use;    /* the slot of the key in use */
    uint8_t count;
    struct session_key key[SESSION_KEYS];
    struct session_peer peer[SESSION_PEERS];
    void (*draw)(void *context, uint8_t *bytes, size_t length);
    void *context;
};

enum session_news {
    SESSION_NOTHING,  /* not for this member, or not authentic */
    SESSION_ANSWERED, /* a packet must be sent back */
    /* A session was opened: store the facts about the peer; send the answer, if any. */
    SESSION_OPENED,
    SESSION_REFUSED,   /* the peer was refused because of `why`: send the answer, if any */
    SESSION_MUST_STOP, /* this member is rolled back or a clone */
    SESSION_DATA,
    SESSION_HEARD, /* a HELLO of this session, or a copy of known DATA, perhaps on another link */
    SESSION_TESTAMENT
};

struct session_event {
    uint8_t news; /* a value of enum session_news */
    uint8_t peer;
    uint8_t why; /* a value of enum session_refusal */
    bool lost;   /* the sender has lost its state */
    bool newest; /* DATA, or a HELLO made in this life, with the highest counter so far */
    bool later;  /* its counter is the highest so far on this link, so the link works */
    bool fresh;  /* the sequence of the peer's state has grown: store it with the next write */
    size_t length;
    uint8_t content[SEAL_MAX_CONTENT]; /* the content of DATA or a TESTAMENT */
    size_t answer_length;
    uint8_t answer[SEAL_MAX_PACKET];
};

const char *session_refusal_text(enum session_refusal why);

/* Begins a life. The caller has filled in id, cluster, incarnation, digest, sequence, suspicion and
 * draw. For a member that has lost its state, lost is true, the incarnation is 0, and the sequence
 * is the date in microseconds, so that its next life has a higher one. All other times are in
 * microseconds, from any clock that never goes back. */
void sessions_begin(struct sessions *s);

/* Adds a key in a free slot. The key in slot 0 is in use until sessions_use() selects another one.
 * Only a key that is not in use can be removed. After either change, the caller updates the filter
 * of the sockets. */
void sessions_add_key(struct sessions *s, uint8_t slot, uint8_t id, const uint8_t key[SEAL_KEY]);
/* Returns the slot of the key with this id; SESSION_KEYS if there is none. */
uint8_t sessions_slot(const struct sessions *s, uint8_t id);
void sessions_use(struct sessions *s, uint8_t slot);
void sessions_remove_key(struct sessions *s, uint8_t slot);

/* Returns the time at which something new was last heard from the peer; 0 if there is no session.
 */
uint64_t sessions_heard(const struct sessions *s, unsigned peer);
/* Sets another configuration and announces it to all peers. */
void sessions_configure(struct sessions *s, uint32_t digest, uint64_t suspicion);

/* Returns true if something new was heard from the peer within the suspicion time. */
bool sessions_lives(const struct sessions *s, unsigned peer, uint64_t now);
/* Returns true if the newest HELLO of the peer says that it accepts that key. */
bool sessions_accepts(const struct sessions *s, unsigned peer, uint8_t slot);
/* Returns true if the peer was heard within the suspicion time and sent its last DATA or HELLO_USED
 * under that key. Removing the key would then cut off the peer. */
bool sessions_speaks_with(const struct sessions *s, unsigned peer, uint8_t slot, uint64_t now);

void sessions_add_peer(struct sessions *s, uint16_t id, const struct session_memory *known);

/* Begins a turn of the loop. Only some HELLOs are decrypted in each turn, so that a flood leaves
 * time for DATA. */
void sessions_turn(struct sessions *s);

/* Handles a packet that arrived on `link`, which is SESSION_LINKS if the packet proves nothing
 * about any link. */
void sessions_take(struct sessions *s, uint64_t now, unsigned link, const uint8_t *bytes,
                   size_t length, struct session_event *e);

/* Encrypts at most SESSION_ROOM bytes for a peer, as a DATA packet. Returns the length of the
 * packet; 0 if there is no session. */
size_t sessions_seal(struct sessions *s, unsigned peer, const uint8_t *content, size_t length,
                     uint8_t out[SEAL_MAX_PACKET]);

/* Works like sessions_seal(), but for a process that has the peer's number and has lost its
 * state. */
size_t sessions_seal_lost(struct sessions *s, unsigned peer, const uint8_t *content, size_t length,
                          uint8_t out[SEAL_MAX_PACKET]);

/* Seals a testament, which the guardian sends to the peer after the death of this process. Returns
 * the length of the packet; 0 if there is no session. */
size_t sessions_testament(struct sessions *s, unsigned peer, uint64_t serial,
                          const uint8_t *content, size_t length, uint8_t out[SEAL_MAX_PACKET]);

/* Writes a HELLO for this peer if one is due, and returns its length; 0 if none is due.
 * sessions_next() returns when the next HELLO is due. */
size_t sessions_hello(struct sessions *s, unsigned peer, uint64_t now,
                      uint8_t out[SEAL_MAX_PACKET]);
uint64_t sessions_next(const struct sessions *s, unsigned peer);

/* Returns true if the peer can have computed this tag of a HELLO with a key that this member
 * accepts. A process without the key cannot compute the tag, but can repeat a tag that it has
 * seen. */
bool sessions_knows_hello(const struct sessions *s, unsigned peer, uint32_t tag);
/* Works like sessions_knows_hello(), but for a process that is not a peer, and to which this member
 * has never sent anything. */
bool sessions_knows_stranger(const struct sessions *s, uint16_t id, uint32_t tag);

/* Lists every tag that the filter of the sockets must accept, and returns their number. */
unsigned sessions_tags(const struct sessions *s, uint32_t *tags, unsigned room);

#endif
