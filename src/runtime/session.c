#include "session.h"

#include "bytes.h"
#include "elect.h"

#include <assert.h>
#include <sodium.h>

#define SECOND         1000000u
#define FIRST_PATIENCE (SECOND / 10)
#define LONG_PATIENCE  SECOND
#define GRACE          SECOND /* for what was sent in the session before */
#define NEED           1
#define LOST           2

static const uint8_t nothing[SEAL_NONCE];

/* ---- HELLO and REJECT ---- */

struct hello {
    uint8_t nonce[SEAL_NONCE], echo[SEAL_NONCE], boot[SESSION_BOOT];
    uint32_t incarnation, rekey, digest, keys;
    uint64_t sequence; /* with which this life began: a snapshot may have caught up since */
    uint8_t flags;
};

#define HELLO_LENGTH (2 * SEAL_NONCE + SESSION_BOOT + 4 * 4 + 8 + 1)

static void write_hello(const struct hello *h, uint8_t out[HELLO_LENGTH])
{
    struct bytes b = {out, out + HELLO_LENGTH, true};
    put_bytes(&b, h->nonce, SEAL_NONCE);
    put_bytes(&b, h->echo, SEAL_NONCE);
    put_bytes(&b, h->boot, SESSION_BOOT);
    put_number(&b, h->incarnation, 4);
    put_number(&b, h->rekey, 4);
    put_number(&b, h->digest, 4);
    put_number(&b, h->keys, 4);
    put_number(&b, h->sequence, 8);
    put_number(&b, h->flags, 1);
    assert(b.fine && b.at == b.end);
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
    h->keys = (uint32_t)take_number(&b, 4);
    h->sequence = take_number(&b, 8);
    h->flags = (uint8_t)take_number(&b, 1);
    bool lost = (h->flags & LOST) != 0;
    return b.fine && b.at == b.end && h->flags <= (NEED | LOST) && (h->incarnation == 0) == lost &&
           memcmp(h->nonce, nothing, SEAL_NONCE) != 0;
}

#define REJECT_LENGTH (SEAL_NONCE + 1)

static size_t seal(struct sessions *s, const struct packet *head, const uint8_t *key,
                   const uint8_t *content, size_t length, uint8_t out[SEAL_MAX_PACKET])
{
    uint8_t random[SEAL_RANDOM];
    s->draw(s->context, random, sizeof random);
    return seal_write(head, random, key, s->cluster, content, length, out);
}

/* Which keys are accepted, whatever their order. */
static uint32_t accepted_keys(const struct sessions *s)
{
    uint32_t digest = 0;
    for (unsigned k = 0; k < SESSION_KEYS; k++)
        if (s->key[k].there) {
            uint8_t pair[SEAL_KEY];
            seal_pair_key(pair, s->key[k].key, s->cluster, 0, 0);
            digest ^= seal_tag(pair);
        }
    return digest;
}

static size_t send_hello(struct sessions *s, struct session_peer *p, unsigned slot,
                         const uint8_t echo[SEAL_NONCE], uint8_t flags,
                         uint8_t out[SEAL_MAX_PACKET])
{
    const struct session_key *k = &s->key[slot];
    struct hello h = {.incarnation = s->incarnation,
                      .rekey = k->rekey,
                      .digest = s->digest,
                      .keys = accepted_keys(s),
                      .sequence = s->began,
                      .flags = (uint8_t)(flags | (s->lost ? LOST : 0))};
    uint8_t content[HELLO_LENGTH];
    memcpy(h.nonce, k->nonce, SEAL_NONCE);
    memcpy(h.echo, echo, SEAL_NONCE);
    memcpy(h.boot, s->boot, SESSION_BOOT);
    write_hello(&h, content);
    struct packet head = {.type = PACKET_HELLO,
                          .key = k->id,
                          .from = s->id,
                          .to = p->id,
                          .tag = seal_hello_tag(p->hello[slot].send, echo)};
    return seal(s, &head, p->hello[slot].send, content, sizeof content, out);
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

static struct session derive(const struct sessions *s, const struct session_peer *p, unsigned slot,
                             const struct hello *h)
{
    struct session n = {.open = true, .key = (uint8_t)slot};
    struct seal_end me = {s->id, s->incarnation, s->key[slot].nonce};
    struct seal_end it = {p->id, h->incarnation, h->nonce};
    seal_session_key(n.send, p->hello[slot].pair, &me, &it);
    seal_session_key(n.take, p->hello[slot].pair, &it, &me);
    seal_testament_key(n.will, n.take, p->id, s->id);
    n.send_tag = seal_tag(n.send);
    n.take_tag = seal_tag(n.take);
    n.will_tag = seal_tag(n.will);
    memcpy(n.nonce, h->nonce, SEAL_NONCE);
    return n;
}

static void open_session(struct sessions *s, struct session_peer *p, unsigned slot,
                         const struct hello *h, uint64_t now)
{
    bool same_life = memcmp(p->known.boot, h->boot, SESSION_BOOT) == 0;
    bool anew = ELECT_ERA(h->incarnation) > ELECT_ERA(p->known.incarnation);
    p->before = p->now;
    p->before.open = p->now.open && same_life;
    p->before.until = now + GRACE;
    p->now = derive(s, p, slot, h);
    memcpy(p->known.boot, h->boot, SESSION_BOOT);
    p->known.incarnation = h->incarnation;
    if (anew || h->sequence > p->known.sequence)
        p->known.sequence = h->sequence;
    p->rekey = h->rekey;
    p->patience = 0;
}

/* Rule 4 (b): which of two processes with one number is the earlier one? */
static bool refused(const struct session_peer *p, const struct hello *h, enum session_refusal *why)
{
    bool same_life = memcmp(p->known.boot, h->boot, SESSION_BOOT) == 0;
    bool same_nonce = memcmp(p->now.nonce, h->nonce, SEAL_NONCE) == 0;
    *why = SESSION_CLONE;
    if (h->incarnation == p->known.incarnation)
        return !same_life || (p->now.open && h->rekey == p->rekey && !same_nonce);
    *why = SESSION_ROLLBACK; /* but the state of a new era is another one */
    return h->incarnation < p->known.incarnation ||
           (ELECT_ERA(h->incarnation) == ELECT_ERA(p->known.incarnation) &&
            h->sequence <= p->known.sequence);
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

static bool is_with(const struct session *n, unsigned slot, const struct hello *h)
{
    return n->open && n->key == slot && memcmp(n->nonce, h->nonce, SEAL_NONCE) == 0;
}

static void reject(struct sessions *s, struct session_peer *p, unsigned slot, const struct hello *h,
                   uint64_t now, struct session_event *e)
{
    e->news = SESSION_REFUSED;
    if (p->rejected != 0 && now - p->rejected < SECOND)
        return;
    p->rejected = now;
    e->answer_length = send_reject(s, p, slot, h, (enum session_refusal)e->why, e->answer);
}

/* A session beside the one with whoever had that state: a late HELLO must not end that. */
static bool upon_lost(struct sessions *s, struct session_peer *p, unsigned slot,
                      const struct hello *h)
{
    bool known = is_with(&p->lost, slot, h);
    if (!known)
        p->lost = derive(s, p, slot, h);
    return known;
}

/* It was said in this life of mine. */
static void upon_live_hello(struct sessions *s, struct session_peer *p, unsigned slot,
                            const struct hello *h, uint64_t now, struct session_event *e)
{
    bool same_life = memcmp(p->known.boot, h->boot, SESSION_BOOT) == 0;
    bool lost = (h->flags & LOST) != 0;
    bool known = lost ? upon_lost(s, p, slot, h) : is_with(&p->now, slot, h);
    enum session_refusal why;
    if (!lost && !known && refused(p, h, &why)) {
        e->why = (uint8_t)why;
        reject(s, p, slot, h, now, e);
        return;
    }
    if (!lost && !known && p->now.open && same_life && h->rekey < p->rekey)
        return; /* it was late */
    if (!lost && !known)
        open_session(s, p, slot, h, now);
    if (!lost) {
        p->heard = now;
        p->digest = h->digest;
        p->keys = h->keys;
    }
    e->lost = lost;
    e->news = known ? SESSION_NOTHING : SESSION_OPENED;
    if ((h->flags & NEED) != 0 && (!known || may_answer(p, h, now))) {
        e->news = known ? SESSION_ANSWERED : SESSION_OPENED;
        e->answer_length = send_hello(s, p, slot, h->nonce, 0, e->answer);
    }
}

static void upon_hello(struct sessions *s, struct session_peer *p, unsigned slot, uint8_t *content,
                       size_t length, uint64_t now, struct session_event *e)
{
    struct hello h;
    if (!read_hello(content, length, &h))
        return;
    memcpy(p->hello[slot].heard, h.nonce, SEAL_NONCE);
    if (memcmp(h.echo, s->key[slot].nonce, SEAL_NONCE) == 0) {
        upon_live_hello(s, p, slot, &h, now, e);
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
    e->news = SESSION_MUST_STOP;
    e->why = content[SEAL_NONCE];
}

/* ---- data ---- */

/* The counter was not taken before, and is not too old to know. */
static bool is_new(const struct session *n, uint64_t counter)
{
    if (counter == 0 || counter + SESSION_WINDOW <= n->top)
        return false;
    return counter > n->top || (n->window[counter % SESSION_WINDOW / 64] >> counter % 64 & 1) == 0;
}

static void mark(struct session *n, uint64_t counter)
{
    for (uint64_t c = n->top + 1; c <= counter && c <= n->top + SESSION_WINDOW; c++)
        n->window[c % SESSION_WINDOW / 64] &= ~((uint64_t)1 << c % 64);
    n->top = counter > n->top ? counter : n->top;
    n->window[counter % SESSION_WINDOW / 64] |= (uint64_t)1 << counter % 64;
}

static struct session *find(struct session_peer *p, const struct packet *head, uint64_t now)
{
    bool will = head->type == PACKET_TESTAMENT;
    if (p->now.open && head->tag == (will ? p->now.will_tag : p->now.take_tag))
        return &p->now;
    if (p->before.open && (will || now < p->before.until) &&
        head->tag == (will ? p->before.will_tag : p->before.take_tag))
        return &p->before;
    return !will && p->lost.open && head->tag == p->lost.take_tag ? &p->lost : NULL;
}

static void take_data(struct sessions *s, struct session_peer *p, const struct packet *head,
                      uint64_t now, const uint8_t *bytes, size_t length, struct session_event *e)
{
    struct session *n = find(p, head, now);
    uint8_t content[SEAL_MAX_CONTENT];
    bool will = head->type == PACKET_TESTAMENT;
    if (n == NULL || (!will && !is_new(n, head->counter)))
        return;
    int got = seal_open(bytes, length, will ? n->will : n->take, s->cluster, content);
    if (got < (will ? 0 : SESSION_HEADER))
        return;
    size_t skip = will ? 0 : SESSION_HEADER;
    if (!will) {
        struct bytes b = {content, content + SESSION_HEADER, true};
        uint64_t sequence = take_number(&b, SESSION_HEADER);
        mark(n, head->counter);
        e->lost = n == &p->lost;
        p->heard = e->lost ? p->heard : now;
        e->fresh = sequence > p->known.sequence && !e->lost;
        p->known.sequence = e->fresh ? sequence : p->known.sequence;
    }
    e->news = will ? SESSION_TESTAMENT : SESSION_DATA;
    e->length = (size_t)got - skip;
    memcpy(e->content, content + skip, e->length);
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

void sessions_take(struct sessions *s, uint64_t now, const uint8_t *bytes, size_t length,
                   struct session_event *e)
{
    struct packet head;
    uint8_t content[SEAL_MAX_CONTENT];
    e->news = SESSION_NOTHING;
    e->fresh = e->lost = false;
    e->length = e->answer_length = 0;
    if (!seal_head(bytes, length, &head) || head.to != s->id)
        return;
    struct session_peer *p = peer_of(s, head.from);
    unsigned slot = slot_of(s, head.key);
    if (p == NULL || slot == SESSION_KEYS)
        return;
    e->peer = (uint8_t)(p - s->peer);
    if (head.type == PACKET_DATA || head.type == PACKET_TESTAMENT) {
        take_data(s, p, &head, now, bytes, length, e);
        return;
    }
    if (head.tag != p->hello[slot].tag_mine && head.tag != p->hello[slot].tag_none)
        return;
    int got = seal_open(bytes, length, p->hello[slot].take, s->cluster, content);
    if (got < 0)
        return;
    if (head.type == PACKET_HELLO)
        upon_hello(s, p, slot, content, (size_t)got, now, e);
    else
        upon_reject(s, slot, content, (size_t)got, e);
}

/* ---- what goes out ---- */

static size_t seal_data(struct sessions *s, const struct session_peer *p, struct session *n,
                        const uint8_t *content, size_t length, uint8_t out[SEAL_MAX_PACKET])
{
    uint8_t whole[SEAL_MAX_CONTENT];
    struct bytes b = {whole, whole + sizeof whole, true};
    if (!n->open)
        return 0;
    put_number(&b, s->sequence, SESSION_HEADER);
    put_bytes(&b, content, length);
    assert(b.fine);
    struct packet head = {.type = PACKET_DATA,
                          .key = s->key[n->key].id,
                          .from = s->id,
                          .to = p->id,
                          .tag = n->send_tag,
                          .counter = ++n->sent};
    return seal(s, &head, n->send, whole, SESSION_HEADER + length, out);
}

size_t sessions_seal(struct sessions *s, unsigned peer, const uint8_t *content, size_t length,
                     uint8_t out[SEAL_MAX_PACKET])
{
    return seal_data(s, &s->peer[peer], &s->peer[peer].now, content, length, out);
}

size_t sessions_seal_lost(struct sessions *s, unsigned peer, const uint8_t *content, size_t length,
                          uint8_t out[SEAL_MAX_PACKET])
{
    return seal_data(s, &s->peer[peer], &s->peer[peer].lost, content, length, out);
}

size_t sessions_testament(struct sessions *s, unsigned peer, uint64_t serial,
                          const uint8_t *content, size_t length, uint8_t out[SEAL_MAX_PACKET])
{
    struct session_peer *p = &s->peer[peer];
    uint8_t key[SEAL_KEY];
    if (!p->now.open)
        return 0;
    seal_testament_key(key, p->now.send, s->id, p->id);
    struct packet head = {.type = PACKET_TESTAMENT,
                          .key = s->key[p->now.key].id,
                          .from = s->id,
                          .to = p->id,
                          .tag = seal_tag(key),
                          .counter = serial};
    size_t total = seal(s, &head, key, content, length, out);
    sodium_memzero(key, sizeof key);
    return total;
}

/* With the key in use, and something heard lately. */
static bool is_well(const struct sessions *s, const struct session_peer *p, uint64_t now)
{
    return p->now.open && p->now.key == s->use && now - p->heard < s->suspicion;
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
    uint64_t stale = p->heard + s->suspicion;
    bool good = p->now.open && p->now.key == s->use;
    return good && stale > p->next_hello ? stale : p->next_hello;
}

unsigned sessions_tags(const struct sessions *s, uint64_t now, uint32_t *tags, unsigned room)
{
    unsigned count = 0;
    assert(room >= s->count * SESSION_TAGS);
    for (unsigned i = 0; i < s->count; i++) {
        const struct session_peer *p = &s->peer[i];
        const struct session *both[] = {&p->now, &p->before};
        for (unsigned k = 0; k < 2; k++)
            if (both[k]->open && (k == 0 || now < both[k]->until)) {
                tags[count++] = both[k]->take_tag;
                tags[count++] = both[k]->will_tag;
            }
        if (p->lost.open)
            tags[count++] = p->lost.take_tag;
        for (unsigned k = 0; k < SESSION_KEYS; k++)
            if (s->key[k].there) {
                tags[count++] = p->hello[k].tag_mine;
                tags[count++] = p->hello[k].tag_none;
            }
    }
    return count;
}

/* ---- beginning ---- */

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
    memset(p->hello[slot].heard, 0, SEAL_NONCE);
}

void sessions_begin(struct sessions *s)
{
    s->draw(s->context, s->boot, SESSION_BOOT);
    s->began = s->sequence;
    assert(s->lost == (s->incarnation == 0));
    s->count = 0;
    s->rekeys = 0;
    memset(s->key, 0, sizeof s->key);
}

void sessions_add_key(struct sessions *s, uint8_t slot, uint8_t id, const uint8_t key[SEAL_KEY])
{
    struct session_key *k = &s->key[slot];
    assert(slot < SESSION_KEYS);
    *k = (struct session_key){.there = true, .id = id, .rekey = ++s->rekeys};
    memcpy(k->key, key, SEAL_KEY);
    s->draw(s->context, k->nonce, SEAL_NONCE);
    for (unsigned i = 0; i < s->count; i++)
        meet(s, &s->peer[i], slot);
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
