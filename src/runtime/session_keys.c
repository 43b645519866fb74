/*
 * Installs, selects and removes keys while the sessions continue, and reports which keys a peer
 * accepts or uses. A change of the accepted keys is announced to all peers until they confirm it.
 */
#include "session_internal.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

uint8_t sessions_slot(const struct sessions *s, uint8_t id)
{
    uint8_t slot = 0;
    while (slot < SESSION_KEYS && !(s->key[slot].there && s->key[slot].id == id))
        slot++;
    return slot;
}

/* ---- the keys of the peers ---- */

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
    return latest && n->spoke != 0 && session_life_is_heard(s, life, now);
}

bool sessions_speaks_with(const struct sessions *s, unsigned peer, uint8_t slot, uint64_t now)
{
    const struct session_peer *p = &s->peer[peer];
    return speaks_with(s, &p->now, slot, now) || speaks_with(s, &p->lost, slot, now);
}

/* ---- the keys of this member ---- */

void session_meet(struct sessions *s, struct session_peer *p, unsigned slot)
{
    const struct session_key *k = &s->key[slot];
    if (!k->there)
        return;
    seal_pair_key(p->hello[slot].pair, k->key, s->cluster, s->id, p->id);
    seal_hello_key(p->hello[slot].send, p->hello[slot].pair, s->id, p->id);
    seal_hello_key(p->hello[slot].take, p->hello[slot].pair, p->id, s->id);
    p->hello[slot].tag_mine = seal_hello_tag(p->hello[slot].take, k->nonce);
    p->hello[slot].tag_none = seal_hello_tag(p->hello[slot].take, session_no_nonce);
}

bool sessions_knows_stranger(const struct sessions *s, uint16_t id, uint32_t tag)
{
    uint8_t pair[SEAL_KEY], take[SEAL_KEY];
    bool knows = false;
    for (unsigned k = 0; k < SESSION_KEYS; k++) {
        if (!s->key[k].there)
            continue;
        seal_pair_key(pair, s->key[k].key, s->cluster, s->id, id);
        seal_hello_key(take, pair, id, s->id);
        knows = knows || tag == seal_hello_tag(take, session_no_nonce);
    }
    sodium_memzero(pair, sizeof pair);
    sodium_memzero(take, sizeof take);
    return knows;
}

static void hello_is_due(struct session_peer *p)
{
    p->next_hello = 0;
    p->patience = 0;
}

/* Sends HELLOs to each peer until it has confirmed one. */
static void tell_all(struct sessions *s)
{
    for (unsigned i = 0; i < s->count; i++) {
        s->peer[i].owed = s->peer[i].numbered + 1;
        hello_is_due(&s->peer[i]);
    }
}

void sessions_configure(struct sessions *s, uint32_t digest, uint64_t suspicion)
{
    s->digest = digest;
    s->suspicion = suspicion;
    tell_all(s);
}

void sessions_add_key(struct sessions *s, uint8_t slot, uint8_t id, const uint8_t key[SEAL_KEY])
{
    struct session_key *k = &s->key[slot];
    uint8_t pair[SEAL_KEY];
    assert(slot < SESSION_KEYS && !k->there && sessions_slot(s, id) == SESSION_KEYS);
    seal_pair_key(pair, key, s->cluster, 0, 0);
    *k =
        (struct session_key){.there = true, .id = id, .rekey = ++s->rekeys, .mark = seal_tag(pair)};
    sodium_memzero(pair, sizeof pair);
    memcpy(k->key, key, SEAL_KEY);
    s->draw(s->context, k->nonce, SEAL_NONCE);
    for (unsigned i = 0; i < s->count; i++)
        session_meet(s, &s->peer[i], slot);
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
