/*
 * The handshake. HELLOs open sessions, keep the counters of both ends in step, and tell the peers
 * which keys this member accepts; REJECTs refuse a member that is rolled back or cloned. session.h
 * lists the numbered rules.
 */
#include "session_internal.h"

#include "elect.h"
#include "hello.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#define SECOND         1000000u
#define FIRST_PATIENCE (SECOND / 10)
#define LONG_PATIENCE  SECOND
#define REJECT_LENGTH  (SEAL_NONCE + 1)

static const struct {
    bool stop;
    const char *text;
} refusals[] = {
#define X(name, stop, text) [SESSION_##name] = {stop, text},
    SESSION_REFUSALS(X)
#undef X
};

const char *session_refusal_text(enum session_refusal why) { return refusals[why].text; }

/* ---- sending HELLO and REJECT ---- */

static bool is_with(const struct session *n, const uint8_t nonce[SEAL_NONCE])
{
    return n->open && memcmp(n->nonce, nonce, SEAL_NONCE) == 0;
}

/* Returns the number of the last HELLO accepted from the peer with the nonce `echo`; 0 if the nonce
 * is unknown. */
static uint64_t taken(const struct session_peer *p, unsigned slot, const uint8_t echo[SEAL_NONCE])
{
    if (is_with(&p->now.with[slot], echo))
        return p->now.hellos;
    return is_with(&p->lost.with[slot], echo) ? p->lost.hellos : 0;
}

/* Returns true if this HELLO must carry the highest counter of the peer's DATA, because some DATA
 * arrived out of step. If the HELLO is lost, the next such DATA causes another one. */
static bool must_say_top(struct session *n, const uint8_t echo[SEAL_NONCE])
{
    bool says = n->out_of_step && is_with(n, echo);
    n->out_of_step = n->out_of_step && !says;
    return says;
}

static size_t send_hello(struct sessions *s, struct session_peer *p, unsigned slot,
                         const uint8_t echo[SEAL_NONCE], uint8_t flags,
                         uint8_t out[SEAL_MAX_PACKET])
{
    const struct session_key *k = &s->key[slot];
    struct hello h = {
        .incarnation = s->incarnation,
        .rekey = k->rekey,
        .digest = s->digest,
        .sequence = s->began,
        .taken = taken(p, slot, echo),
        .top = p->now.with[slot].top,
        .says_top = must_say_top(&p->now.with[slot], echo),
        .lowest = s->lowest,
        .highest = s->highest,
        .flags = (uint8_t)(flags | (s->lost ? HELLO_LOST : 0) | (slot == s->use ? HELLO_USED : 0))};
    uint8_t content[HELLO_LONGEST];
    assert(k->there);
    memcpy(h.nonce, k->nonce, SEAL_NONCE);
    memcpy(h.echo, echo, SEAL_NONCE);
    memcpy(h.boot, s->boot, SESSION_BOOT);
    for (unsigned i = 0; i < SESSION_KEYS; i++)
        h.keys[i] = s->key[i].mark;
    size_t length = hello_write(&h, content);
    struct packet head = {.type = PACKET_HELLO,
                          .key = k->id,
                          .from = s->id,
                          .to = p->id,
                          .tag = seal_hello_tag(p->hello[slot].send, echo),
                          .counter = ++p->numbered};
    return session_packet(s, &head, p->hello[slot].send, content, length, out);
}

static size_t send_reject(struct sessions *s, struct session_peer *p, unsigned slot,
                          const struct hello *h, enum session_refusal why,
                          uint8_t out[SEAL_MAX_PACKET])
{
    uint8_t content[REJECT_LENGTH];
    memcpy(content, h->nonce, SEAL_NONCE);
    content[SEAL_NONCE] = (uint8_t)why;
    struct packet head = {.type = PACKET_REJECT,
                          .key = s->key[slot].id,
                          .from = s->id,
                          .to = p->id,
                          .tag = seal_hello_tag(p->hello[slot].send, h->nonce)};
    return session_packet(s, &head, p->hello[slot].send, content, sizeof content, out);
}

/* Returns true if the peer needs no HELLO. Only the session of the key in use counts: a peer heard
 * under another key may have no session under this one. */
static bool is_well(const struct sessions *s, const struct session_peer *p, uint64_t now)
{
    const struct session *n = &p->now.with[s->use];
    return session_is_heard(s, n, now) && n->sure && !n->out_of_step && p->owed == 0;
}

size_t sessions_hello(struct sessions *s, unsigned peer, uint64_t now, uint8_t out[SEAL_MAX_PACKET])
{
    struct session_peer *p = &s->peer[peer];
    uint8_t jitter;
    if (is_well(s, p, now) || now < p->next_hello)
        return 0;
    s->draw(s->context, &jitter, 1);
    p->patience = p->patience == 0 ? FIRST_PATIENCE : 2 * p->patience;
    p->patience = p->patience < LONG_PATIENCE ? p->patience : LONG_PATIENCE;
    p->next_hello = now + p->patience / 2 + p->patience / 2 * jitter / 255;
    p->plainly = !p->plainly;
    return send_hello(s, p, s->use, p->plainly ? session_no_nonce : p->hello[s->use].heard,
                      HELLO_NEED, out);
}

uint64_t sessions_next(const struct sessions *s, unsigned peer)
{
    const struct session_peer *p = &s->peer[peer];
    const struct session *n = &p->now.with[s->use];
    uint64_t stale = n->heard + s->suspicion;
    return n->sure && !n->out_of_step && p->owed == 0 && stale > p->next_hello ? stale
                                                                               : p->next_hello;
}

/* ---- opening a session ---- */

static uint8_t common_protocol(const struct sessions *s, const struct hello *h)
{
    uint8_t highest = s->highest < h->highest ? s->highest : h->highest;
    return highest >= s->lowest && highest >= h->lowest ? highest : 0;
}

static void derive(const struct sessions *s, const struct session_peer *p, unsigned slot,
                   const struct hello *h, struct session *n)
{
    struct seal_end me = {s->id, s->incarnation, s->key[slot].nonce};
    struct seal_end it = {p->id, h->incarnation, h->nonce};
    uint8_t protocol = common_protocol(s, h);
    sodium_memzero(n, sizeof *n);
    n->open = true;
    n->key = s->key[slot].id;
    n->rekey = h->rekey;
    seal_session_key(n->send, p->hello[slot].pair, &me, &it, protocol);
    seal_session_key(n->take, p->hello[slot].pair, &it, &me, protocol);
    seal_testament_key(n->will, n->take, p->id, s->id);
    n->send_tag = seal_tag(n->send);
    n->take_tag = seal_tag(n->take);
    n->will_tag = seal_tag(n->will);
    memcpy(n->nonce, h->nonce, SEAL_NONCE);
}

static bool is_same_life(const struct session_peer *p, const struct hello *h)
{
    if ((h->flags & HELLO_LOST) != 0)
        return h->sequence == p->lost_began;
    return memcmp(p->known.boot, h->boot, SESSION_BOOT) == 0;
}

static void open_session(struct sessions *s, struct session_peer *p, unsigned slot,
                         const struct hello *h)
{
    bool lost = (h->flags & HELLO_LOST) != 0;
    bool anew = ELECT_ERA(h->incarnation) > ELECT_ERA(p->known.incarnation);
    struct session_life *life = lost ? &p->lost : &p->now;
    if (!is_same_life(p, h))
        sodium_memzero(life, sizeof *life); /* the peer has restarted: end all its old sessions */
    derive(s, p, slot, h, &life->with[slot]);
    p->patience = 0;
    if (lost) {
        p->lost_began = h->sequence;
        return;
    }
    memcpy(p->known.boot, h->boot, SESSION_BOOT);
    p->known.incarnation = h->incarnation;
    if (anew || h->sequence > p->known.sequence)
        p->known.sequence = h->sequence;
}

/* Rule 5 (a): returns true if the HELLO must be refused. Two processes with the same incarnation
 * started from the same state. If the known one is still heard, the other is its clone; otherwise
 * the peer went back to an earlier state. */
static bool is_refused(const struct sessions *s, const struct session_peer *p, unsigned slot,
                       const struct hello *h, uint64_t now, enum session_refusal *why)
{
    const struct session *n = &p->now.with[slot];
    bool lost = (h->flags & HELLO_LOST) != 0;
    bool same = h->incarnation == p->known.incarnation;
    *why = is_same_life(p, h) || session_life_is_heard(s, &p->now, now) ? SESSION_CLONE
                                                                        : SESSION_ROLLBACK;
    if (!lost && same && (!is_same_life(p, h) || (n->open && h->rekey == n->rekey)))
        return true;
    /* Sequence numbers are comparable only within an era: a new era begins with a new state. */
    *why = SESSION_ROLLBACK;
    if (!lost && !same &&
        (h->incarnation < p->known.incarnation ||
         (ELECT_ERA(h->incarnation) == ELECT_ERA(p->known.incarnation) &&
          h->sequence <= p->known.sequence)))
        return true;
    *why = SESSION_PROTOCOL;
    return common_protocol(s, h) == 0;
}

/* Rules 5 (b) and 9: returns true if the HELLO is older than the existing session. A member without
 * its state has no incarnation, so its start times are compared instead. */
static bool is_late(const struct session_peer *p, unsigned slot, const struct hello *h)
{
    bool lost = (h->flags & HELLO_LOST) != 0;
    const struct session *n = &(lost ? &p->lost : &p->now)->with[slot];
    bool earlier = h->rekey < n->rekey || (lost && h->rekey == n->rekey);
    return (lost && h->sequence < p->lost_began) || (is_same_life(p, h) && n->open && earlier);
}

/* ---- receiving HELLO and REJECT ---- */

/* Limits the answers to HELLOs that an attacker may have recorded and replayed. HELLOs with a newer
 * incarnation are answered more often. */
static bool may_answer(struct session_peer *p, const struct hello *h, uint64_t now)
{
    static const uint32_t interval[] = {SECOND, SECOND / 2, SECOND / 10};
    unsigned life = h->incarnation < p->known.incarnation    ? 0
                    : h->incarnation == p->known.incarnation ? 1
                                                             : 2;
    if (p->answered[life] != 0 && now - p->answered[life] < interval[life])
        return false;
    p->answered[life] = now;
    return true;
}

static void reject(struct sessions *s, const struct incoming *in, const struct hello *h,
                   enum session_refusal why)
{
    struct session_peer *p = in->peer;
    struct session_event *e = in->event;
    uint64_t now = in->now;
    if (p->rejected != 0 && now - p->rejected < SECOND)
        return; /* perhaps replayed by an attacker, so the host is not told either */
    p->rejected = now;
    e->news = SESSION_REFUSED;
    e->why = (uint8_t)why;
    e->answer_length = send_reject(s, p, in->slot, h, why, e->answer);
}

/* Rule 6: stores what the peer's newest HELLO says. */
static void learn(struct session_peer *p, struct session_life *life, unsigned slot,
                  const struct hello *h, uint64_t now)
{
    struct session *n = &life->with[slot];
    life->hellos = h->number;
    n->heard = now;
    n->spoke = (h->flags & HELLO_USED) != 0 ? now : n->spoke;
    n->sure = n->sure || h->taken > 0;
    if (life == &p->lost)
        return;
    p->digest = h->digest;
    memcpy(p->keys, h->keys, sizeof p->keys);
    p->owed = h->taken >= p->owed ? 0 : p->owed;
    p->plainly = true; /* echo the known nonce in the next HELLO, which saves a packet */
}

/* Rule 12: corrects a counter after a forged packet. Honest ends never differ by more than
 * SESSION_LEAP, so a replayed HELLO changes nothing. */
static void keep_in_step(uint64_t *mine, uint64_t taken)
{
    if (taken > *mine || *mine - taken > SESSION_LEAP)
        *mine = taken;
}

static void keep_counters_in_step(struct session_peer *p, struct session *n, const struct hello *h)
{
    keep_in_step(&p->numbered, h->taken);
    p->owed = p->owed > p->numbered + 1 ? p->numbered + 1 : p->owed;
    if (h->says_top)
        keep_in_step(&n->sent, h->top);
}

/* Handles a HELLO that echoes this member's current nonce. It cannot have been recorded before this
 * member started (rules 4 and 5). */
static void take_live_hello(struct sessions *s, const struct incoming *in, const struct hello *h)
{
    struct session_peer *p = in->peer;
    struct session_event *e = in->event;
    unsigned slot = in->slot;
    enum session_refusal why;
    e->lost = (h->flags & HELLO_LOST) != 0;
    struct session_life *life = e->lost ? &p->lost : &p->now;
    bool known = is_with(&life->with[slot], h->nonce);
    if (!known && is_late(p, slot, h))
        return;
    if (!known && is_refused(s, p, slot, h, in->now, &why)) {
        reject(s, in, h, why);
        return;
    }
    if (!known)
        open_session(s, p, slot, h);
    bool newer = h->number > life->hellos;
    bool too_far = newer && h->number - life->hellos > SESSION_LEAP;
    newer = newer && !too_far;
    e->newest = newer;
    e->later = !too_far && session_is_later(life->link_hellos, in->link, h->number);
    if (known)
        keep_counters_in_step(p, &life->with[slot], h);
    if (newer)
        learn(p, life, slot, h, in->now);
    e->news = known ? SESSION_HEARD : SESSION_OPENED;
    if ((h->flags & HELLO_NEED) != 0 && (newer || !known)) {
        e->news = known ? SESSION_ANSWERED : SESSION_OPENED;
        e->answer_length = send_hello(s, p, slot, h->nonce, 0, e->answer);
    }
}

void session_take_hello(struct sessions *s, const struct incoming *in, uint8_t *content,
                        size_t length)
{
    struct session_peer *p = in->peer;
    struct session_event *e = in->event;
    unsigned slot = in->slot;
    struct hello h;
    if (!hello_read(content, length, &h))
        return;
    h.number = in->counter;
    memcpy(p->hello[slot].heard, h.nonce, SEAL_NONCE);
    if (memcmp(h.echo, s->key[slot].nonce, SEAL_NONCE) == 0) {
        take_live_hello(s, in, &h);
    } else if (may_answer(p, &h, in->now)) {
        e->news = SESSION_ANSWERED;
        e->answer_length = send_hello(s, p, slot, h.nonce, HELLO_NEED, e->answer);
    }
}

void session_take_reject(struct sessions *s, const struct incoming *in, const uint8_t *content,
                         size_t length)
{
    struct session_event *e = in->event;
    if (length != REJECT_LENGTH || content[SEAL_NONCE] >= SESSION_REFUSAL_COUNT ||
        memcmp(content, s->key[in->slot].nonce, SEAL_NONCE) != 0)
        return;
    e->why = content[SEAL_NONCE];
    e->news = refusals[e->why].stop ? SESSION_MUST_STOP : SESSION_REFUSED;
}
