/*
 * Sessions: that what comes in was said by that member, in this life of it, to this life of mine,
 * and is taken once. Pure: time and randomness come from the host, packets go out through it.
 *
 *  1. At start: a new incarnation, written down, then a boot id and, for each key, a nonce, drawn;
 *     only then is anything sent or received.
 *  2. There is a session for each key and peer, and no order between keys. I speak with the
 *     key in use once the peer is sure to have that session too, and while it is heard there; else
 *     with another one. What comes in is taken under any.
 *  3. Without a session of the key in use that the peer is sure to have, or if nothing was heard
 *     there for long: HELLO, that it NEEDs one, in turn with the newest nonce heard and with none
 *     (else some histories never converge). The first one after an answer is with the nonce.
 *  4. A HELLO without my nonce proves nothing about now: it is answered, and nothing changes but
 *     the nonce to echo.
 *  5. With my nonce it was said in this life of mine. Against what is remembered of the member:
 *     (a) an earlier state of it, or another process with its number: REJECT, and all stays. So
 *     does one of the same life that has another nonce for the same installation of that key.
 *     (b) An earlier installation of that key: it was late. (c) The session that there is: it
 *     stays, with its counters. (d) Else a new session; with a new life of it all those end that
 *     its former life had, under any key.
 *  6. HELLOs are numbered within a life. What one says of keys and configuration counts, it is
 *     heard, and in a session that there is it is answered, only if its number is the highest yet:
 *     a repeated one does nothing. It says which of mine was the highest, so that I know when my
 *     present keys are known, and say them until they are.
 *  7. REJECT is obeyed only with my nonce in it: who is rolled back or cloned must stop.
 *  8. DATA only in a session, each packet once; it carries the sequence of the sender's state.
 *  9. Who has lost its state says so (LOST): it gets sessions of its own, in which it can only ask
 *     what others remember (elect_readmit), and nothing that is remembered of it changes. In place
 *     of a sequence it says when it began: of two such lives the later one counts. It comes back
 *     in a new era, whatever the sequence of its new state is.
 * 10. A restart draws new nonces, and so does the installation of a key: nothing recorded before
 *     opens again, without any clock.
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
#define SESSION_WINDOW 1024                /* packets that may come in another order */
#define SESSION_LEAP   ((uint64_t)1 << 40) /* packets that may be lost in a row: never so many */
#define SESSION_LINKS  4
#define SESSION_BOOT   16
#define SESSION_TAGS   (5 * SESSION_KEYS) /* of a peer */
#define SESSION_HEADER 8                  /* of DATA: the sequence of the sender's state */
#define SESSION_ROOM   (SEAL_MAX_CONTENT - SESSION_HEADER)
#define SESSION_HELLOS 50 /* that are opened in a turn of the loop: a fifth of what it takes in */

/* The protocols that are spoken. */
#define SESSION_LOWEST  2
#define SESSION_HIGHEST 2

/* name, whether it must stop, why */
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

/* What must be remembered of a member, also across restarts. */
struct session_memory {
    uint64_t sequence; /* the highest that was seen of its state, in this era of it */
    uint32_t incarnation;
    uint8_t boot[SESSION_BOOT]; /* of that incarnation */
};

struct session {
    bool open;
    bool sure;             /* the peer has it too: it has said so, or spoken */
    uint8_t key;           /* its id */
    uint32_t rekey;        /* which installation of that key, by the peer's count */
    uint64_t heard, spoke; /* when something new came in last, and DATA or a request */
    uint64_t sent, top;    /* the last counter of mine, and of its */
    uint64_t window[SESSION_WINDOW / 64];
    uint64_t link_top[SESSION_LINKS]; /* the highest counter that came in on each link */
    bool out_of_step; /* DATA came in that is too far behind or ahead to be taken: rule 12 */
    uint32_t send_tag, take_tag, will_tag;
    uint8_t send[SEAL_KEY], take[SEAL_KEY], will[SEAL_KEY];
    uint8_t nonce[SEAL_NONCE]; /* its */
};

/* One life of a peer. */
struct session_life {
    uint64_t hellos; /* the highest number of one */
    uint64_t link_hellos[SESSION_LINKS];
    struct session with[SESSION_KEYS];
};

struct session_peer {
    uint16_t id;
    struct session_memory known;
    struct session_life now;
    struct session_life lost; /* a process of that number that has no state */
    uint64_t lost_began;
    struct {
        uint8_t pair[SEAL_KEY], send[SEAL_KEY], take[SEAL_KEY];
        uint8_t heard[SEAL_NONCE]; /* the newest nonce, proven or not; zeros: none */
        uint32_t tag_mine, tag_none;
    } hello[SESSION_KEYS];
    uint64_t numbered;   /* the last HELLO to it */
    uint64_t next_hello; /* when the next one is due; and how long to wait after that */
    uint32_t patience;
    bool plainly;         /* the next one goes without an echo */
    uint64_t owed;        /* it has yet to take a HELLO of this number; 0: it knows my keys */
    uint64_t answered[3]; /* when, by how its incarnation compares: lower, equal, higher */
    uint64_t rejected;
    uint32_t digest, keys[SESSION_KEYS]; /* what it says of its configuration, what it accepts */
};

struct session_key {
    bool there;
    uint8_t id;
    uint32_t rekey; /* grows with every key that is installed in this life */
    uint32_t mark;  /* which key it is, for others that have it; never 0 */
    uint8_t key[SEAL_KEY], nonce[SEAL_NONCE];
};

struct sessions {
    uint16_t id;
    uint8_t cluster[SEAL_CLUSTER], boot[SESSION_BOOT];
    uint8_t secret[SEAL_KEY]; /* of this start: keys the salts of its packets */
    uint8_t lowest, highest;  /* protocol */
    uint32_t incarnation, digest, rekeys;
    uint64_t sequence; /* of the own state, as it is on the disk */
    uint64_t began;    /* the same, when this life began */
    uint64_t suspicion;
    uint16_t tried; /* HELLOs that were opened in this turn */
    bool lost;      /* this process has no state: incarnation 0, sequence: the date, see below */
    uint8_t use;    /* the key to speak with */
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
    SESSION_REFUSED,   /* no session with that peer, and why; a packet may go back */
    SESSION_MUST_STOP, /* I am rolled back or a clone */
    SESSION_DATA,
    SESSION_HEARD, /* nothing new: it was said before, or on another link */
    SESSION_TESTAMENT
};

struct session_event {
    uint8_t news; /* enum session_news */
    uint8_t peer;
    uint8_t why; /* enum session_refusal */
    bool lost;   /* it is about, or DATA from, a process that has lost its state */
    bool newest; /* DATA or a live HELLO with the highest counter yet: it was made last */
    bool later;  /* made later than all that came in on this link: the link works */
    bool fresh;  /* a higher sequence of its state was seen: remember, with the next write */
    size_t length;
    uint8_t content[SEAL_MAX_CONTENT]; /* DATA, TESTAMENT */
    size_t answer_length;
    uint8_t answer[SEAL_MAX_PACKET];
};

const char *session_refusal_text(enum session_refusal why);

/* The caller has filled in id, cluster, incarnation, digest, sequence, suspicion, draw. Who has
 * lost its state: lost, no incarnation, and the date in microseconds as its sequence, so that its
 * next life is later. All other times are in microseconds of any clock that does not go back. */
void sessions_begin(struct sessions *s);

/* In a slot that is free; the key in slot 0 is in use until another one is. Keys other than that
 * can be removed. The filter must be made anew. */
void sessions_add_key(struct sessions *s, uint8_t slot, uint8_t id, const uint8_t key[SEAL_KEY]);
/* The slot of the key with this number; SESSION_KEYS if there is none. */
uint8_t sessions_slot(const struct sessions *s, uint8_t id);
void sessions_use(struct sessions *s, uint8_t slot);
void sessions_remove_key(struct sessions *s, uint8_t slot);

/* When something new was heard last; 0: there is no session. */
uint64_t sessions_heard(const struct sessions *s, unsigned peer);
/* Another configuration, from now on: everybody is told. */
void sessions_configure(struct sessions *s, uint32_t digest, uint64_t suspicion);

/* Something new was heard lately. */
bool sessions_lives(const struct sessions *s, unsigned peer, uint64_t now);
/* The peer has that key too, by the last that it said. */
bool sessions_accepts(const struct sessions *s, unsigned peer, uint8_t slot);
/* It lives, and the last DATA or request of its own came with that key: it is cut off without. */
bool sessions_speaks_with(const struct sessions *s, unsigned peer, uint8_t slot, uint64_t now);

void sessions_add_peer(struct sessions *s, uint16_t id, const struct session_memory *known);

/* A turn of the loop begins: HELLOs have a part of it and no more, whoever sends them. */
void sessions_turn(struct sessions *s);

/* `link`: on which it came in; SESSION_LINKS if that shows nothing about any link. */
void sessions_take(struct sessions *s, uint64_t now, unsigned link, const uint8_t *bytes,
                   size_t length, struct session_event *e);

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
unsigned sessions_tags(const struct sessions *s, uint32_t *tags, unsigned room);

#endif
