/*
 * Receives and sends packets of a session. DATA is accepted once, in any order within a window.
 * handshake.c opens sessions; session_keys.c changes their keys.
 */
#include "session_internal.h"

#include "bytes.h"

#include <assert.h>
#include <sodium.h>

const uint8_t session_no_nonce[SEAL_NONCE];

/* ---- receiving DATA and testaments ---- */

/* Returns true if the counter is below the window, or further ahead than an honest peer can be
 * (rule 12). */
static bool is_out_of_step(const struct session *n, uint64_t counter)
{
    return counter < n->top ? n->top - counter >= SESSION_WINDOW : counter - n->top > SESSION_LEAP;
}

/* Returns true if no packet with this counter, which must be in step, has been accepted. */
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

bool session_is_later(uint64_t highest[SESSION_LINKS], unsigned link, uint64_t counter)
{
    bool later = link < SESSION_LINKS && counter > highest[link];
    if (later)
        highest[link] = counter;
    return later;
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

static void take_testament(struct sessions *s, const struct incoming *in, const struct session *n)
{
    struct session_event *e = in->event;
    int got = seal_open(in->bytes, in->length, n->will, s->cluster, e->content);
    if (got < 0)
        return;
    e->news = SESSION_TESTAMENT;
    e->length = (size_t)got;
}

/* Limits the decryption of packets that may be replays, per turn of the loop. */
static bool may_try(struct sessions *s)
{
    bool may = s->tried < SESSION_HELLOS;
    s->tried += may;
    return may;
}

static void take_data(struct sessions *s, const struct incoming *in, struct session *n)
{
    struct session_peer *p = in->peer;
    struct session_event *e = in->event;
    uint64_t counter = in->counter;
    uint8_t content[SEAL_MAX_CONTENT];
    bool out_of_step = is_out_of_step(n, counter);
    if (counter == 0 || (out_of_step && (n->out_of_step || !may_try(s))))
        return;
    int got = seal_open(in->bytes, in->length, n->take, s->cluster, content);
    if (got < SESSION_HEADER)
        return;
    if (out_of_step) {
        n->out_of_step = true;
        return;
    }
    e->later = session_is_later(n->link_top, in->link, counter);
    if (!is_new(n, counter)) {
        e->news = SESSION_HEARD;
        return;
    }
    e->newest = counter > n->top;
    struct bytes b = {content, content + got, true};
    uint64_t sequence = take_number(&b, SESSION_HEADER);
    mark(n, counter);
    n->out_of_step = false;
    n->heard = n->spoke = in->now;
    n->sure = true;
    e->lost = n >= p->lost.with && n < p->lost.with + SESSION_KEYS;
    e->fresh = sequence > p->known.sequence && !e->lost;
    p->known.sequence = e->fresh ? sequence : p->known.sequence;
    e->news = SESSION_DATA;
    e->length = (size_t)got - SESSION_HEADER;
    take_bytes(&b, e->content, e->length);
}

/* ---- receiving any packet ---- */

static struct session_peer *peer_of(struct sessions *s, uint16_t id)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->peer[i].id == id)
            return &s->peer[i];
    return NULL;
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
    unsigned slot = sessions_slot(s, head.key);
    if (p == NULL || slot == SESSION_KEYS)
        return;
    e->peer = (uint8_t)(p - s->peer);
    struct incoming in = {.peer = p,
                          .slot = slot,
                          .counter = head.counter,
                          .now = now,
                          .link = link,
                          .bytes = bytes,
                          .length = length,
                          .event = e};
    if (head.type == PACKET_DATA || head.type == PACKET_TESTAMENT) {
        struct session *n = find(p, slot, &head);
        if (n != NULL && head.type == PACKET_TESTAMENT)
            take_testament(s, &in, n);
        else if (n != NULL)
            take_data(s, &in, n);
        return;
    }
    if ((head.tag != p->hello[slot].tag_mine && head.tag != p->hello[slot].tag_none) || !may_try(s))
        return;
    int got = seal_open(bytes, length, p->hello[slot].take, s->cluster, content);
    if (got < 0)
        return;
    if (head.type == PACKET_HELLO)
        session_take_hello(s, &in, content, (size_t)got);
    else
        session_take_reject(s, &in, content, (size_t)got);
}

void sessions_turn(struct sessions *s) { s->tried = 0; }

/* ---- sending DATA and testaments ---- */

/* Returns true if the peer is more likely to accept DATA in session `n` than in `than`. The peer
 * may have removed the key of a session, or may not have opened it yet. */
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
    return session_packet(s, &head, n->send, whole, SESSION_HEADER + length, out);
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
    size_t total = session_packet(s, &head, key, content, length, out);
    sodium_memzero(key, sizeof key);
    return total;
}

/* ---- queries ---- */

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

bool sessions_knows_hello(const struct sessions *s, unsigned peer, uint32_t tag)
{
    bool knows = false;
    for (unsigned k = 0; k < SESSION_KEYS; k++)
        knows = knows || (s->key[k].there && (tag == s->peer[peer].hello[k].tag_mine ||
                                              tag == s->peer[peer].hello[k].tag_none));
    return knows;
}

bool sessions_lives(const struct sessions *s, unsigned peer, uint64_t now)
{
    return session_life_is_heard(s, &s->peer[peer].now, now);
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

/* ---- setup ---- */

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
        session_meet(s, p, slot);
}
