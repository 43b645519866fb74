#include "session.h"

#include "bytes.h"
#include "elect.h"

#include <assert.h>
#include <sodium.h>

#define SECOND         1000000u
#define FIRST_PATIENCE (SECOND / 10)
#define LONG_PATIENCE  SECOND
#define NEED           1
#define LOST           2
#define USED           4 /* its sender speaks with this key */

static const uint8_t nothing[SEAL_NONCE];

static const struct {
    bool stop;
    const char *text;
} refusals[] = {
#define X(name, stop, text) [SESSION_##name] = {stop, text},
    SESSION_REFUSALS(X)
#undef X
};

const char *session_refusal_text(enum session_refusal why) { return refusals[why].text; }

/* ---- HELLO and REJECT ---- */

struct hello {
    uint8_t nonce[SEAL_NONCE], echo[SEAL_NONCE], boot[SESSION_BOOT];
    uint32_t incarnation, rekey, digest, keys[SESSION_KEYS];
    uint64_t sequence; /* with which this life began: a snapshot may have caught up since */
    uint64_t number;   /* of this HELLO: the counter of the packet */
    uint64_t taken;    /* the highest of the receiver's */
    uint64_t top;      /* the highest counter of the receiver's DATA, if `says_top`: rule 12 */
    bool says_top;
    uint8_t lowest, highest, flags;
};

#define HELLO_LENGTH (2 * SEAL_NONCE + SESSION_BOOT + (3 + SESSION_KEYS) * 4 + 2 * 8 + 3)

#define HELLO_LONGEST (HELLO_LENGTH + 8)

static size_t write_hello(const struct hello *h, uint8_t out[HELLO_LONGEST])
{
    struct bytes b = {out, out + HELLO_LONGEST, true};
    put_bytes(&b, h->nonce, SEAL_NONCE);
    put_bytes(&b, h->echo, SEAL_NONCE);
    put_bytes(&b, h->boot, SESSION_BOOT);
    put_number(&b, h->incarnation, 4);
    put_number(&b, h->rekey, 4);
    put_number(&b, h->digest, 4);
    for (unsigned k = 0; k < SESSION_KEYS; k++)
        put_number(&b, h->keys[k], 4);
    put_number(&b, h->sequence, 8);
    put_number(&b, h->taken, 8);
    put_number(&b, h->lowest, 1);
    put_number(&b, h->highest, 1);
    put_number(&b, h->flags, 1);
    if (h->says_top)
        put_number(&b, h->top, 8);
    assert(b.fine);
    return (size_t)(b.at - out);
}

static bool read_hello(uint8_t *bytes, size_t length, struct hello *h)
{
    struct bytes b = {bytes, bytes + length, true};
    take_bytes(&b, h->nonce, SEAL_NONCE);
    take_bytes(&b, h->echo, SEAL_NONCE);
    take_bytes(&b, h->boot, SESSION_BOOT);
    h->incarnation = (uint32_t)take_number(&b, 4);
    h->rekey = (uint32_t)take_number(&b, 4);
    h->digest = (uint32_t)take_number(&b, 4);
    for (unsigned k = 0; k < SESSION_KEYS; k++)
        h->keys[k] = (uint32_t)take_number(&b, 4);
    h->sequence = take_number(&b, 8);
    h->taken = take_number(&b, 8);
    h->lowest = (uint8_t)take_number(&b, 1);
    h->highest = (uint8_t)take_number(&b, 1);
    h->flags = (uint8_t)take_number(&b, 1);
    h->says_top = b.at < b.end;
    h->top = h->says_top ? take_number(&b, 8) : 0;
    bool lost = (h->flags & LOST) != 0;
    return b.fine && b.at == b.end && h->flags <= (NEED | LOST | USED) &&
           (h->incarnation == 0) == lost && h->lowest <= h->highest &&
           memcmp(h->nonce, nothing, SEAL_NONCE) != 0;
}

#define REJECT_LENGTH (SEAL_NONCE + 1)

static size_t seal(const struct sessions *s, const struct packet *head, const uint8_t *key,
                   const uint8_t *content, size_t length, uint8_t out[SEAL_MAX_PACKET])
{
    return seal_write(head, s->secret, key, s->cluster, content, length, out);
}

static bool is_with(const struct session *n, const uint8_t nonce[SEAL_NONCE])
{
    return n->open && memcmp(n->nonce, nonce, SEAL_NONCE) == 0;
}

/* The numbers that a peer has given belong to one life of it: of another one none is known. */
static uint64_t taken(const struct session_peer *p, unsigned slot, const uint8_t echo[SEAL_NONCE])
{
    if (is_with(&p->now.with[slot], echo))
        return p->now.hellos;
    return is_with(&p->lost.with[slot], echo) ? p->lost.hellos : 0;
}

/* To be said once; if that HELLO is lost, the next DATA out of step is a new reason. */
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
    struct hello h = {.incarnation = s->incarnation,
                      .rekey = k->rekey,
                      .digest = s->digest,
                      .sequence = s->began,
                      .taken = taken(p, slot, echo),
                      .top = p->now.with[slot].top,
                      .says_top = must_say_top(&p->now.with[slot], echo),
                      .lowest = s->lowest,
                      .highest = s->highest,
                      .flags =
                          (uint8_t)(flags | (s->lost ? LOST : 0) | (slot == s->use ? USED : 0))};
    uint8_t content[HELLO_LONGEST];
    assert(k->there);
    memcpy(h.nonce, k->nonce, SEAL_NONCE);
    memcpy(h.echo, echo, SEAL_NONCE);
    memcpy(h.boot, s->boot, SESSION_BOOT);
    for (unsigned i = 0; i < SESSION_KEYS; i++)
        h.keys[i] = s->key[i].mark;
    size_t length = write_hello(&h, content);
    struct packet head = {.type = PACKET_HELLO,
                          .key = k->id,
                          .from = s->id,
                          .to = p->id,
                          .tag = seal_hello_tag(p->hello[slot].send, echo),
                          .counter = ++p->numbered};
    return seal(s, &head, p->hello[slot].send, content, length, out);
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
    return seal(s, &head, p->hello[slot].send, content, sizeof content, out);
}

/* ---- opening a session ---- */

/* The highest that both speak; 0 if there is none. */
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
    if ((h->flags & LOST) != 0)
        return h->sequence == p->lost_began;
    return memcmp(p->known.boot, h->boot, SESSION_BOOT) == 0;
}

static void open_session(struct sessions *s, struct session_peer *p, unsigned slot,
                         const struct hello *h)
{
    bool lost = (h->flags & LOST) != 0;
    bool anew = ELECT_ERA(h->incarnation) > ELECT_ERA(p->known.incarnation);
    struct session_life *life = lost ? &p->lost : &p->now;
    if (!is_same_life(p, h))
        sodium_memzero(life, sizeof *life); /* whatever key its former life spoke with */
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

static bool is_heard(const struct sessions *s, const struct session *n, uint64_t now)
{
    return n->open && now - n->heard < s->suspicion;
}

static bool lives(const struct sessions *s, const struct session_life *life, uint64_t now)
{
    bool heard = false;
    for (unsigned k = 0; k < SESSION_KEYS; k++)
        heard = heard || is_heard(s, &life->with[k], now);
    return heard;
}

/* Rule 5 (a): which of two processes with one number is the earlier one? Two lives with the same
 * incarnation started from the same state. If the one that is known still runs, the other one is
 * its clone; otherwise the state went back by one start. */
static bool is_refused(const struct sessions *s, const struct session_peer *p, unsigned slot,
                       const struct hello *h, uint64_t now, enum session_refusal *why)
{
    const struct session *n = &p->now.with[slot];
    bool lost = (h->flags & LOST) != 0;
    bool same = h->incarnation == p->known.incarnation;
    *why = is_same_life(p, h) || lives(s, &p->now, now) ? SESSION_CLONE : SESSION_ROLLBACK;
    if (!lost && same && (!is_same_life(p, h) || (n->open && h->rekey == n->rekey)))
        return true;
    *why = SESSION_ROLLBACK; /* but the state of a new era is another one */
    if (!lost && !same &&
        (h->incarnation < p->known.incarnation ||
         (ELECT_ERA(h->incarnation) == ELECT_ERA(p->known.incarnation) &&
          h->sequence <= p->known.sequence)))
        return true;
    *why = SESSION_PROTOCOL;
    return common_protocol(s, h) == 0;
}

/* Rule 5 (b), and 9: who has lost its state has no incarnation that would say which is later. */
static bool is_late(const struct session_peer *p, unsigned slot, const struct hello *h)
{
    bool lost = (h->flags & LOST) != 0;
    const struct session *n = &(lost ? &p->lost : &p->now)->with[slot];
    bool earlier = h->rekey < n->rekey || (lost && h->rekey == n->rekey);
    return (lost && h->sequence < p->lost_began) || (is_same_life(p, h) && n->open && earlier);
}

/* Budgets, after the proof: someone whose life is new is answered more often. */
static bool may_answer(struct session_peer *p, const struct hello *h, uint64_t now)
{
    static const uint32_t pause[] = {SECOND, SECOND / 2, SECOND / 10};
    unsigned life = h->incarnation < p->known.incarnation    ? 0
                    : h->incarnation == p->known.incarnation ? 1
                                                             : 2;
    if (p->answered[life] != 0 && now - p->answered[life] < pause[life])
        return false;
    p->answered[life] = now;
    return true;
}

static void reject(struct sessions *s, struct session_peer *p, unsigned slot, const struct hello *h,
                   enum session_refusal why, uint64_t now, struct session_event *e)
{
    if (p->rejected != 0 && now - p->rejected < SECOND)
        return; /* nor is it worth telling: it may be an old packet, repeated */
    p->rejected = now;
    e->news = SESSION_REFUSED;
    e->why = (uint8_t)why;
    e->answer_length = send_reject(s, p, slot, h, why, e->answer);
}

/* Rule 6: it is the latest that this life has said. */
static void learn(struct session_peer *p, struct session_life *life, unsigned slot,
                  const struct hello *h, uint64_t now)
{
    struct session *n = &life->with[slot];
    life->hellos = h->number;
    n->heard = now;
    n->spoke = (h->flags & USED) != 0 ? now : n->spoke;
    n->sure = n->sure || h->taken > 0;
    if (life == &p->lost)
        return;
    p->digest = h->digest;
    memcpy(p->keys, h->keys, sizeof p->keys);
    p->owed = h->taken >= p->owed ? 0 : p->owed;
    p->plainly = true; /* the nonces are known, so that the next HELLO needs no third packet */
}

/* Rule 11 */
static bool is_later(uint64_t highest[SESSION_LINKS], unsigned link, uint64_t counter)
{
    bool later = link < SESSION_LINKS && counter > highest[link];
    if (later)
        highest[link] = counter;
    return later;
}

/* Rule 12. Honest ends are never so far apart, so a repeated HELLO changes nothing here. */
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

/* It was said in this life of mine. */
static void upon_live_hello(struct sessions *s, struct session_peer *p, unsigned slot,
                            const struct hello *h, uint64_t now, unsigned link,
                            struct session_event *e)
{
    enum session_refusal why;
    e->lost = (h->flags & LOST) != 0;
    struct session_life *life = e->lost ? &p->lost : &p->now;
    bool known = is_with(&life->with[slot], h->nonce);
    if (!known && is_late(p, slot, h))
        return;
    if (!known && is_refused(s, p, slot, h, now, &why)) {
        reject(s, p, slot, h, why, now, e);
        return;
    }
    if (!known)
        open_session(s, p, slot, h);
    bool newer = h->number > life->hellos;
    bool too_far = newer && h->number - life->hellos > SESSION_LEAP;
    newer = newer && !too_far;
    e->newest = newer;
    e->later = !too_far && is_later(life->link_hellos, link, h->number);
    if (known)
        keep_counters_in_step(p, &life->with[slot], h);
    if (newer)
        learn(p, life, slot, h, now);
    e->news = known ? SESSION_HEARD : SESSION_OPENED;
    if ((h->flags & NEED) != 0 && (newer || !known)) {
        e->news = known ? SESSION_ANSWERED : SESSION_OPENED;
        e->answer_length = send_hello(s, p, slot, h->nonce, 0, e->answer);
    }
}

static void upon_hello(struct sessions *s, struct session_peer *p, unsigned slot, uint64_t number,
                       uint8_t *content, size_t length, uint64_t now, unsigned link,
                       struct session_event *e)
{
    struct hello h;
    if (!read_hello(content, length, &h))
        return;
    h.number = number;
    memcpy(p->hello[slot].heard, h.nonce, SEAL_NONCE);
    if (memcmp(h.echo, s->key[slot].nonce, SEAL_NONCE) == 0) {
        upon_live_hello(s, p, slot, &h, now, link, e);
    } else if (may_answer(p, &h, now)) {
        e->news = SESSION_ANSWERED;
        e->answer_length = send_hello(s, p, slot, h.nonce, NEED, e->answer);
    }
}

static void upon_reject(struct sessions *s, unsigned slot, const uint8_t *content, size_t length,
                        struct session_event *e)
{
    if (length != REJECT_LENGTH || content[SEAL_NONCE] >= SESSION_REFUSAL_COUNT ||
        memcmp(content, s->key[slot].nonce, SEAL_NONCE) != 0)
        return;
    e->why = content[SEAL_NONCE];
    e->news = refusals[e->why].stop ? SESSION_MUST_STOP : SESSION_REFUSED;
}

/* ---- data ---- */

/* Is the counter too old to know whether it was taken before, or further ahead than an honest one
 * can be? */
static bool is_out_of_step(const struct session *n, uint64_t counter)
{
    return counter < n->top ? n->top - counter >= SESSION_WINDOW : counter - n->top > SESSION_LEAP;
}

/* The counter, which is in step, was not taken before. */
static bool is_new(const struct session *n, uint64_t counter)
{
    return counter > n->top || (n->window[counter % SESSION_WINDOW / 64] >> counter % 64 & 1) == 0;
}

static void mark(struct session *n, uint64_t counter)
{
    uint64_t leap = counter > n->top ? counter - n->top : 0;
    for (uint64_t i = 1; i <= leap && i <= SESSION_WINDOW; i++)
        n->window[(n->top + i) % SESSION_WINDOW / 64] &= ~((uint64_t)1 << (n->top + i) % 64);
    n->top += leap;
    n->window[counter % SESSION_WINDOW / 64] |= (uint64_t)1 << counter % 64;
}

static struct session *find(struct session_peer *p, unsigned slot, const struct packet *head)
{
    struct session *now = &p->now.with[slot], *lost = &p->lost.with[slot];
    if (head->type == PACKET_TESTAMENT)
        return now->open && head->tag == now->will_tag ? now : NULL;
    if (now->open && head->tag == now->take_tag)
        return now;
    return lost->open && head->tag == lost->take_tag ? lost : NULL;
}

static void take_testament(struct sessions *s, const struct session *n, const uint8_t *bytes,
                           size_t length, struct session_event *e)
{
    int got = seal_open(bytes, length, n->will, s->cluster, e->content);
    if (got < 0)
        return;
    e->news = SESSION_TESTAMENT;
    e->length = (size_t)got;
}

/* Packets that anybody can repeat have a budget in each turn, before they are opened. */
static bool may_try(struct sessions *s)
{
    bool may = s->tried < SESSION_HELLOS;
    s->tried += may;
    return may;
}

static void take_data(struct sessions *s, struct session_peer *p, struct session *n,
                      uint64_t counter, uint64_t now, unsigned link, const uint8_t *bytes,
                      size_t length, struct session_event *e)
{
    uint8_t content[SEAL_MAX_CONTENT];
    bool out_of_step = is_out_of_step(n, counter);
    if (counter == 0 || (out_of_step && (n->out_of_step || !may_try(s))))
        return;
    int got = seal_open(bytes, length, n->take, s->cluster, content);
    if (got < SESSION_HEADER)
        return;
    if (out_of_step) {
        n->out_of_step = true;
        return;
    }
    e->later = is_later(n->link_top, link, counter);
    if (!is_new(n, counter)) {
        e->news = SESSION_HEARD;
        return;
    }
    e->newest = counter > n->top;
    struct bytes b = {content, content + got, true};
    uint64_t sequence = take_number(&b, SESSION_HEADER);
    mark(n, counter);
    n->out_of_step = false;
    n->heard = n->spoke = now;
    n->sure = true;
    e->lost = n >= p->lost.with && n < p->lost.with + SESSION_KEYS;
    e->fresh = sequence > p->known.sequence && !e->lost;
    p->known.sequence = e->fresh ? sequence : p->known.sequence;
    e->news = SESSION_DATA;
    e->length = (size_t)got - SESSION_HEADER;
    take_bytes(&b, e->content, e->length);
}

/* ---- the door ---- */

static struct session_peer *peer_of(struct sessions *s, uint16_t id)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->peer[i].id == id)
            return &s->peer[i];
    return NULL;
}

static unsigned slot_of(const struct sessions *s, uint8_t id)
{
    unsigned slot = 0;
    while (slot < SESSION_KEYS && !(s->key[slot].there && s->key[slot].id == id))
        slot++;
    return slot;
}

void sessions_take(struct sessions *s, uint64_t now, unsigned link, const uint8_t *bytes,
                   size_t length, struct session_event *e)
{
    struct packet head;
    uint8_t content[SEAL_MAX_CONTENT];
    e->news = SESSION_NOTHING;
    e->fresh = e->lost = e->newest = e->later = false;
    e->length = e->answer_length = 0;
    if (!seal_head(bytes, length, &head) || head.to != s->id)
        return;
    struct session_peer *p = peer_of(s, head.from);
    unsigned slot = slot_of(s, head.key);
    if (p == NULL || slot == SESSION_KEYS)
        return;
    e->peer = (uint8_t)(p - s->peer);
    if (head.type == PACKET_DATA || head.type == PACKET_TESTAMENT) {
        struct session *n = find(p, slot, &head);
        if (n != NULL && head.type == PACKET_TESTAMENT)
            take_testament(s, n, bytes, length, e);
        else if (n != NULL)
            take_data(s, p, n, head.counter, now, link, bytes, length, e);
        return;
    }
    if ((head.tag != p->hello[slot].tag_mine && head.tag != p->hello[slot].tag_none) || !may_try(s))
        return;
    int got = seal_open(bytes, length, p->hello[slot].take, s->cluster, content);
    if (got < 0)
        return;
    if (head.type == PACKET_HELLO)
        upon_hello(s, p, slot, head.counter, content, (size_t)got, now, link, e);
    else
        upon_reject(s, slot, content, (size_t)got, e);
}

void sessions_turn(struct sessions *s) { s->tried = 0; }

/* ---- what goes out ---- */

/* The peer can take what is said there, but not what is said in the other: it may have dropped that
 * key, or not have that session yet. */
static bool is_better(const struct sessions *s, const struct session *n, const struct session *than)
{
    if (n->open != than->open || n->sure != than->sure)
        return n->open && n->sure >= than->sure;
    return n->heard > than->heard + s->suspicion;
}

static struct session *speaking(const struct sessions *s, struct session_life *life)
{
    struct session *best = &life->with[s->use];
    for (unsigned k = 0; k < SESSION_KEYS; k++)
        if (is_better(s, &life->with[k], best))
            best = &life->with[k];
    return best->open ? best : NULL;
}

static size_t seal_data(struct sessions *s, const struct session_peer *p, struct session *n,
                        const uint8_t *content, size_t length, uint8_t out[SEAL_MAX_PACKET])
{
    uint8_t whole[SEAL_MAX_CONTENT];
    struct bytes b = {whole, whole + sizeof whole, true};
    if (n == NULL)
        return 0;
    put_number(&b, s->sequence, SESSION_HEADER);
    put_bytes(&b, content, length);
    assert(b.fine);
    struct packet head = {.type = PACKET_DATA,
                          .key = n->key,
                          .from = s->id,
                          .to = p->id,
                          .tag = n->send_tag,
                          .counter = ++n->sent};
    return seal(s, &head, n->send, whole, SESSION_HEADER + length, out);
}

size_t sessions_seal(struct sessions *s, unsigned peer, const uint8_t *content, size_t length,
                     uint8_t out[SEAL_MAX_PACKET])
{
    struct session_peer *p = &s->peer[peer];
    return seal_data(s, p, speaking(s, &p->now), content, length, out);
}

size_t sessions_seal_lost(struct sessions *s, unsigned peer, const uint8_t *content, size_t length,
                          uint8_t out[SEAL_MAX_PACKET])
{
    struct session_peer *p = &s->peer[peer];
    return seal_data(s, p, speaking(s, &p->lost), content, length, out);
}

size_t sessions_testament(struct sessions *s, unsigned peer, uint64_t serial,
                          const uint8_t *content, size_t length, uint8_t out[SEAL_MAX_PACKET])
{
    struct session_peer *p = &s->peer[peer];
    const struct session *n = speaking(s, &p->now);
    uint8_t key[SEAL_KEY];
    if (n == NULL)
        return 0;
    seal_testament_key(key, n->send, s->id, p->id);
    struct packet head = {.type = PACKET_TESTAMENT,
                          .key = n->key,
                          .from = s->id,
                          .to = p->id,
                          .tag = seal_tag(key),
                          .counter = serial};
    size_t total = seal(s, &head, key, content, length, out);
    sodium_memzero(key, sizeof key);
    return total;
}

/* Under the key in use: who is heard under another one may have no session there any more. */
static bool is_well(const struct sessions *s, const struct session_peer *p, uint64_t now)
{
    const struct session *n = &p->now.with[s->use];
    return is_heard(s, n, now) && n->sure && !n->out_of_step && p->owed == 0;
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
    return send_hello(s, p, s->use, p->plainly ? nothing : p->hello[s->use].heard, NEED, out);
}

uint64_t sessions_next(const struct sessions *s, unsigned peer)
{
    const struct session_peer *p = &s->peer[peer];
    const struct session *n = &p->now.with[s->use];
    uint64_t stale = n->heard + s->suspicion;
    return n->sure && !n->out_of_step && p->owed == 0 && stale > p->next_hello ? stale
                                                                               : p->next_hello;
}

unsigned sessions_tags(const struct sessions *s, uint32_t *tags, unsigned room)
{
    unsigned count = 0;
    assert(room >= s->count * SESSION_TAGS);
    for (unsigned i = 0; i < s->count; i++)
        for (unsigned k = 0; k < SESSION_KEYS; k++) {
            const struct session_peer *p = &s->peer[i];
            const struct session *now = &p->now.with[k], *lost = &p->lost.with[k];
            if (now->open) {
                tags[count++] = now->take_tag;
                tags[count++] = now->will_tag;
            }
            if (lost->open)
                tags[count++] = lost->take_tag;
            if (s->key[k].there) {
                tags[count++] = p->hello[k].tag_mine;
                tags[count++] = p->hello[k].tag_none;
            }
        }
    return count;
}

/* ---- keys ---- */

bool sessions_lives(const struct sessions *s, unsigned peer, uint64_t now)
{
    return lives(s, &s->peer[peer].now, now);
}

uint64_t sessions_heard(const struct sessions *s, unsigned peer)
{
    uint64_t last = 0;
    for (unsigned k = 0; k < SESSION_KEYS; k++) {
        const struct session *n = &s->peer[peer].now.with[k];
        last = n->open && n->heard > last ? n->heard : last;
    }
    return last;
}

bool sessions_accepts(const struct sessions *s, unsigned peer, uint8_t slot)
{
    bool accepts = false;
    for (unsigned k = 0; k < SESSION_KEYS; k++)
        accepts = accepts || s->peer[peer].keys[k] == s->key[slot].mark;
    return accepts && s->key[slot].there;
}

static bool speaks_with(const struct sessions *s, const struct session_life *life, uint8_t slot,
                        uint64_t now)
{
    const struct session *n = &life->with[slot];
    bool latest = true;
    for (unsigned k = 0; k < SESSION_KEYS; k++)
        latest = latest && life->with[k].spoke <= n->spoke;
    return latest && n->spoke != 0 && lives(s, life, now);
}

bool sessions_speaks_with(const struct sessions *s, unsigned peer, uint8_t slot, uint64_t now)
{
    const struct session_peer *p = &s->peer[peer];
    return speaks_with(s, &p->now, slot, now) || speaks_with(s, &p->lost, slot, now);
}

static void meet(struct sessions *s, struct session_peer *p, unsigned slot)
{
    const struct session_key *k = &s->key[slot];
    if (!k->there)
        return;
    seal_pair_key(p->hello[slot].pair, k->key, s->cluster, s->id, p->id);
    seal_hello_key(p->hello[slot].send, p->hello[slot].pair, s->id, p->id);
    seal_hello_key(p->hello[slot].take, p->hello[slot].pair, p->id, s->id);
    p->hello[slot].tag_mine = seal_hello_tag(p->hello[slot].take, k->nonce);
    p->hello[slot].tag_none = seal_hello_tag(p->hello[slot].take, nothing);
}

static void hello_is_due(struct session_peer *p)
{
    p->next_hello = 0;
    p->patience = 0;
}

/* Until they say that they have it. */
static void tell_all(struct sessions *s)
{
    for (unsigned i = 0; i < s->count; i++) {
        s->peer[i].owed = s->peer[i].numbered + 1;
        hello_is_due(&s->peer[i]);
    }
}

void sessions_add_key(struct sessions *s, uint8_t slot, uint8_t id, const uint8_t key[SEAL_KEY])
{
    struct session_key *k = &s->key[slot];
    uint8_t pair[SEAL_KEY];
    assert(slot < SESSION_KEYS && !k->there && slot_of(s, id) == SESSION_KEYS);
    seal_pair_key(pair, key, s->cluster, 0, 0);
    *k =
        (struct session_key){.there = true, .id = id, .rekey = ++s->rekeys, .mark = seal_tag(pair)};
    sodium_memzero(pair, sizeof pair);
    memcpy(k->key, key, SEAL_KEY);
    s->draw(s->context, k->nonce, SEAL_NONCE);
    for (unsigned i = 0; i < s->count; i++)
        meet(s, &s->peer[i], slot);
    tell_all(s);
}

void sessions_configure(struct sessions *s, uint32_t digest, uint64_t suspicion)
{
    s->digest = digest;
    s->suspicion = suspicion;
    tell_all(s);
}

void sessions_use(struct sessions *s, uint8_t slot)
{
    assert(slot < SESSION_KEYS && s->key[slot].there);
    s->use = slot;
    for (unsigned i = 0; i < s->count; i++)
        hello_is_due(&s->peer[i]);
}

void sessions_remove_key(struct sessions *s, uint8_t slot)
{
    assert(slot < SESSION_KEYS && slot != s->use);
    sodium_memzero(&s->key[slot], sizeof s->key[slot]);
    for (unsigned i = 0; i < s->count; i++) {
        struct session_peer *p = &s->peer[i];
        sodium_memzero(&p->hello[slot], sizeof p->hello[slot]);
        sodium_memzero(&p->now.with[slot], sizeof p->now.with[slot]);
        sodium_memzero(&p->lost.with[slot], sizeof p->lost.with[slot]);
    }
    tell_all(s);
}

/* ---- beginning ---- */

void sessions_begin(struct sessions *s)
{
    s->draw(s->context, s->boot, SESSION_BOOT);
    s->draw(s->context, s->secret, SEAL_KEY);
    s->began = s->sequence;
    s->lowest = SESSION_LOWEST;
    s->highest = SESSION_HIGHEST;
    assert(s->lost == (s->incarnation == 0));
    s->count = s->use = 0;
    s->rekeys = 0;
    s->tried = 0;
    memset(s->key, 0, sizeof s->key);
}

void sessions_add_peer(struct sessions *s, uint16_t id, const struct session_memory *known)
{
    assert(s->count < SESSION_PEERS && id != s->id);
    struct session_peer *p = &s->peer[s->count++];
    memset(p, 0, sizeof *p);
    p->id = id;
    p->known = *known;
    for (unsigned slot = 0; slot < SESSION_KEYS; slot++)
        meet(s, p, slot);
}
