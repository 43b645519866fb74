/*
 * Sessions. They guarantee that a message which is taken was sent by that member, in its present
 * life, to the present life of this member, and that it is taken once. A life is one run of the
 * process. The code is pure: time and randomness come from the host, which also sends the packets.
 *
 *  1. At start this member writes a new incarnation to its state. Then it draws a boot id and, for
 *     each key, a nonce. Only then does it send or receive anything.
 *  2. There is a session for each key and peer, and no order between keys. This member speaks with
 *     the key in use when the peer is sure to have that session, too, and while the peer is heard
 *     there; otherwise with another key. It takes DATA under any key.
 *  3. If there is no session of the key in use that the peer is sure to have, or nothing was heard
 *     there for long, this member sends a HELLO with the flag NEED. In turn it echoes the newest
 *     nonce heard, and none (otherwise some histories never converge). The first HELLO after an
 *     answer echoes the nonce.
 *  4. A HELLO that does not echo my nonce may have been recorded. It is answered, and nothing
 *     changes except the nonce to echo.
 *  5. A HELLO that echoes my nonce was made in this life of mine. It is compared with what is
 *     remembered of the member:
 *     (a) An earlier state of the member, or another process with its number: REJECT, and nothing
 *     changes. The same holds for a HELLO of the same life that has another nonce for the same
 *     installation of that key. (b) An earlier installation of that key: the HELLO was late and is
 *     ignored. (c) The session that exists: it stays, with its counters. (d) Otherwise a new
 *     session is opened. With a new life of the member all sessions of its previous life end, under
 *     any key.
 *  6. HELLOs are numbered within a life. Only a HELLO with the highest number yet changes what is
 *     known of the peer's keys and configuration, counts as heard, and is answered if its session
 *     exists; a repeated one does nothing. It also says which of my HELLOs was the highest, so that
 *     I know when the peer knows my present keys, and repeat them until it does.
 *  7. A REJECT is obeyed only if it has my nonce in it. A member that is rolled back or cloned must
 *     stop.
 *  8. DATA is taken only in a session, each packet once. It carries the sequence of the sender's
 *     state.
 *  9. A member that has lost its state says so (LOST). It gets sessions of its own, in which it can
 *     only ask what others remember (elect_readmit), and what is remembered of it does not change.
 *     In place of a sequence it gives the time of its start: of two such lives the later one
 *     counts. It comes back in a new era, in which its sequence may begin anew.
 * 10. A restart draws new nonces, and so does the installation of a key. So no packet that was
 *     recorded before opens a session again, without any clock.
 * 11. A packet shows that a link works only if it was made later than every packet that came in
 *     on that link before. A copy from another link may show it; a repeated packet never does.
 * 12. A counter of DATA, or the number of a HELLO, may be ahead of the highest one taken by
 *     SESSION_LEAP at most. A holder of the key can forge a packet with a counter of its own, so
 *     that the two ends disagree. Therefore a HELLO says the highest number that its sender has
 *     taken, and the highest counter, too, if authentic DATA came in that was below the window or
 *     too far ahead. The receiver of such a HELLO continues above that if it is higher than its own
 *     counter, however far, or if it is lower by more than SESSION_LEAP. Honest ends are never so
 *     far apart, so that neither a lost nor a repeated HELLO matters, and the next honest HELLO
 *     makes up for any forged one. A counter that was used may be used again then, for other
 *     content; the nonce differs by its salt. It takes 2^24 forged packets in a session to exhaust
 *     its counters.
 */
#ifndef ELECT_RUNTIME_SESSION_H
#define ELECT_RUNTIME_SESSION_H

#include "seal.h"

#define SESSION_PEERS  64
#define SESSION_KEYS   2                   /* while one replaces the other */
#define SESSION_WINDOW 1024                /* packets that may arrive out of order */
#define SESSION_LEAP   ((uint64_t)1 << 40) /* more packets than can be lost in a row */
#define SESSION_LINKS  4
#define SESSION_BOOT   16
#define SESSION_TAGS   (5 * SESSION_KEYS) /* of a peer */
#define SESSION_HEADER 8                  /* of DATA: the sequence of the sender's state */
#define SESSION_ROOM   (SEAL_MAX_CONTENT - SESSION_HEADER)
#define SESSION_HELLOS 50 /* opened in a turn of the loop: a fifth of the packets that it takes */

/* The protocols that this version speaks. */
#define SESSION_LOWEST  2
#define SESSION_HIGHEST 2

/* name, whether the member must stop, why */
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

/* What is remembered of a member, also across restarts. */
struct session_memory {
    uint64_t sequence; /* the highest one of its state that was seen in its present era */
    uint32_t incarnation;
    uint8_t boot[SESSION_BOOT]; /* of that incarnation */
};

struct session {
    bool open;
    bool sure;             /* the peer has it, too: it has said so, or sent DATA in it */
    uint8_t key;           /* its id */
    uint32_t rekey;        /* the number of the installation of that key at the peer */
    uint64_t heard, spoke; /* when something new came in last, and when DATA or a request did */
    uint64_t sent, top;    /* the last counter of mine, and the highest of the peer */
    uint64_t window[SESSION_WINDOW / 64];
    uint64_t link_top[SESSION_LINKS]; /* the highest counter that came in on each link */
    bool out_of_step; /* DATA came in that is too far behind or ahead to be taken (rule 12) */
    uint32_t send_tag, take_tag, will_tag;
    uint8_t send[SEAL_KEY], take[SEAL_KEY], will[SEAL_KEY];
    uint8_t nonce[SEAL_NONCE]; /* of the peer */
};

/* One life of a peer. */
struct session_life {
    uint64_t hellos; /* the highest number of a HELLO */
    uint64_t link_hellos[SESSION_LINKS];
    struct session with[SESSION_KEYS];
};

struct session_peer {
    uint16_t id;
    struct session_memory known;
    struct session_life now;
    struct session_life lost; /* a process with the number of the peer that has lost its state */
    uint64_t lost_began;
    struct {
        uint8_t pair[SEAL_KEY], send[SEAL_KEY], take[SEAL_KEY];
        uint8_t heard[SEAL_NONCE]; /* the newest nonce, authentic or not; zeros: none */
        uint32_t tag_mine, tag_none;
    } hello[SESSION_KEYS];
    uint64_t numbered;   /* the number of the last HELLO to it */
    uint64_t next_hello; /* when the next one is due */
    uint32_t patience;   /* how long to wait after that */
    bool plainly;        /* the last one echoed no nonce, so that the next one echoes it */
    uint64_t owed; /* the number of the HELLO that it must take to know my keys; 0: it knows them */
    uint64_t answered[3]; /* when, for a lower, an equal and a higher incarnation */
    uint64_t rejected;
    uint32_t digest, keys[SESSION_KEYS]; /* of its configuration, and of the keys that it accepts */
};

struct session_key {
    bool there;
    uint8_t id;
    uint32_t rekey; /* grows with every installation of a key in this life */
    uint32_t mark;  /* tells members that have the key which one it is; never 0 */
    uint8_t key[SEAL_KEY], nonce[SEAL_NONCE];
};

struct sessions {
    uint16_t id;
    uint8_t cluster[SEAL_CLUSTER], boot[SESSION_BOOT];
    uint8_t secret[SEAL_KEY]; /* drawn at start; keys the salts of its packets */
    uint8_t lowest, highest;  /* protocol */
    uint32_t incarnation, digest, rekeys;
    uint64_t sequence; /* of the own state on the disk */
    uint64_t began;    /* the sequence when this life began */
    uint64_t suspicion;
    uint16_t tried; /* HELLOs opened in this turn of the loop */
    bool lost;      /* this process has lost its state: see sessions_begin */
    uint8_t use;    /* the key to speak with */
    uint8_t count;
    struct session_key key[SESSION_KEYS];
    struct session_peer peer[SESSION_PEERS];
    void (*draw)(void *context, uint8_t *bytes, size_t length);
    void *context;
};

enum session_news {
    SESSION_NOTHING,   /* not for this member, or not authentic */
    SESSION_ANSWERED,  /* a packet goes back */
    SESSION_OPENED,    /* a session: the peer must be remembered; a packet may go back */
    SESSION_REFUSED,   /* the peer is refused, `why`; a packet may go back */
    SESSION_MUST_STOP, /* this member is rolled back or a clone */
    SESSION_DATA,
    SESSION_HEARD, /* a packet that was taken before, perhaps on another link */
    SESSION_TESTAMENT
};

struct session_event {
    uint8_t news; /* enum session_news */
    uint8_t peer;
    uint8_t why; /* enum session_refusal */
    bool lost;   /* from a process that has lost its state */
    bool newest; /* DATA or a live HELLO with the highest counter yet */
    bool later;  /* made later than all that came in on this link, so that the link works */
    bool fresh;  /* a higher sequence of its state was seen: to be kept with the next write */
    size_t length;
    uint8_t content[SEAL_MAX_CONTENT]; /* DATA, TESTAMENT */
    size_t answer_length;
    uint8_t answer[SEAL_MAX_PACKET];
};

const char *session_refusal_text(enum session_refusal why);

/* The caller has filled in id, cluster, incarnation, digest, sequence, suspicion and draw. For a
 * member that has lost its state: lost, incarnation 0, and the date in microseconds as sequence, so
 * that its next life is later. All other times are in microseconds of any clock that does not go
 * back. */
void sessions_begin(struct sessions *s);

/* Adds a key in a free slot. The key in slot 0 is in use until another one is; only a key that is
 * not in use can be removed. The filter of the sockets must be updated afterwards. */
void sessions_add_key(struct sessions *s, uint8_t slot, uint8_t id, const uint8_t key[SEAL_KEY]);
/* The slot of the key with this number; SESSION_KEYS if there is none. */
uint8_t sessions_slot(const struct sessions *s, uint8_t id);
void sessions_use(struct sessions *s, uint8_t slot);
void sessions_remove_key(struct sessions *s, uint8_t slot);

/* When something new was heard last; 0: there is no session. */
uint64_t sessions_heard(const struct sessions *s, unsigned peer);
/* Another configuration from now on, which all peers are told. */
void sessions_configure(struct sessions *s, uint32_t digest, uint64_t suspicion);

/* Was something new heard within the suspicion time? */
bool sessions_lives(const struct sessions *s, unsigned peer, uint64_t now);
/* Does the peer accept that key, by its newest HELLO? */
bool sessions_accepts(const struct sessions *s, unsigned peer, uint8_t slot);
/* Does it live, and did its last DATA or request come with that key? Then it is cut off without. */
bool sessions_speaks_with(const struct sessions *s, unsigned peer, uint8_t slot, uint64_t now);

void sessions_add_peer(struct sessions *s, uint16_t id, const struct session_memory *known);

/* A turn of the loop begins: only some HELLOs are opened in it, so that a flood leaves time for
 * DATA. */
void sessions_turn(struct sessions *s);

/* Takes a packet that came in on `link`; SESSION_LINKS if that shows nothing about any link. */
void sessions_take(struct sessions *s, uint64_t now, unsigned link, const uint8_t *bytes,
                   size_t length, struct session_event *e);

/* DATA for a peer, of at most SESSION_ROOM bytes; 0 if there is no session. */
size_t sessions_seal(struct sessions *s, unsigned peer, const uint8_t *content, size_t length,
                     uint8_t out[SEAL_MAX_PACKET]);

/* The same for a process with the number of the peer that has lost its state. */
size_t sessions_seal_lost(struct sessions *s, unsigned peer, const uint8_t *content, size_t length,
                          uint8_t out[SEAL_MAX_PACKET]);

/* What the guardian sends when this process is dead; 0 if there is no session. */
size_t sessions_testament(struct sessions *s, unsigned peer, uint64_t serial,
                          const uint8_t *content, size_t length, uint8_t out[SEAL_MAX_PACKET]);

/* A HELLO for this peer if one is due, or 0; and when the next one is due. */
size_t sessions_hello(struct sessions *s, unsigned peer, uint64_t now,
                      uint8_t out[SEAL_MAX_PACKET]);
uint64_t sessions_next(const struct sessions *s, unsigned peer);

/* Is this the tag of a HELLO that the peer can have made with a key that is accepted here? It
 * proves nothing, but a process without the key does not know it. */
bool sessions_knows_hello(const struct sessions *s, unsigned peer, uint32_t tag);
/* The same for a process that is not a peer, and that this one never spoke to. */
bool sessions_knows_stranger(const struct sessions *s, uint16_t id, uint32_t tag);

/* Every tag that may come in, for the filter of the sockets. */
unsigned sessions_tags(const struct sessions *s, uint32_t *tags, unsigned room);

#endif
