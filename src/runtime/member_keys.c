/*
 * Changes the keys of a running member, and refuses to cut off a peer: a key is used only when all
 * live peers accept it, and removed only when no peer sends under it.
 */
#include "member.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

bool elect_member_key_install(struct elect_member *m, const struct elect_key *key, char *why,
                              size_t room)
{
    uint8_t slot = 0;
    while (slot < SESSION_KEYS && m->sessions->key[slot].there)
        slot++;
    if (slot == SESSION_KEYS || sessions_slot(m->sessions, key->id) != SESSION_KEYS) {
        snprintf(why, room,
                 slot == SESSION_KEYS ? "there are two keys already: remove one first"
                                      : "a key with that number is installed already");
        return false;
    }
    sessions_add_key(m->sessions, slot, key->id, key->key);
    member_filter(m);
    member_set_timer(m);
    return true;
}

/* Returns true if a peer prevents this member from using the key (`of_use`: a live peer does not
 * accept it) or from removing it (otherwise: a peer still sends under it). Sets `whom` to the id of
 * that peer. */
static bool in_the_way(const struct elect_member *m, uint8_t slot, bool of_use, uint16_t *whom)
{
    uint64_t now = (uint64_t)elect_uv_now();
    for (unsigned i = 0; i < m->sessions->count; i++) {
        *whom = m->sessions->peer[i].id;
        if (of_use ? sessions_lives(m->sessions, i, now) && !sessions_accepts(m->sessions, i, slot)
                   : sessions_speaks_with(m->sessions, i, slot, now))
            return true;
    }
    return false;
}

static const char *name_of(const struct elect_member *m, uint16_t id, char text[ELECT_UV_NAME])
{
    if (m->options.name != NULL)
        snprintf(text, ELECT_UV_NAME, "%s", m->options.name(m->options.context, id));
    else
        snprintf(text, ELECT_UV_NAME, "member %u", id);
    return text;
}

bool elect_member_key_use(struct elect_member *m, uint8_t id, char *why, size_t room)
{
    uint8_t slot = sessions_slot(m->sessions, id);
    uint16_t whom;
    char name[ELECT_UV_NAME];
    if (slot == SESSION_KEYS) {
        snprintf(why, room, "key %u is not installed here", id);
        return false;
    }
    if (in_the_way(m, slot, true, &whom)) {
        snprintf(why, room, "%s does not accept key %u yet: install it there first",
                 name_of(m, whom, name), id);
        return false;
    }
    sessions_use(m->sessions, slot);
    member_deposit_anew(m);
    member_set_timer(m);
    return true;
}

bool elect_member_key_remove(struct elect_member *m, uint8_t id, bool force, char *why, size_t room)
{
    uint8_t slot = sessions_slot(m->sessions, id);
    uint16_t whom;
    char name[ELECT_UV_NAME];
    if (slot == SESSION_KEYS || slot == m->sessions->use) {
        snprintf(why, room,
                 slot == SESSION_KEYS ? "key %u is not installed here"
                                      : "key %u is in use here: use another key first",
                 id);
        return false;
    }
    if (!force && in_the_way(m, m->sessions->use, true, &whom)) {
        snprintf(why, room, "%s does not accept the key in use: install it there first",
                 name_of(m, whom, name));
        return false;
    }
    if (!force && in_the_way(m, slot, false, &whom)) {
        snprintf(why, room,
                 "%s still uses key %u: use another key there first, or cut it off with --force",
                 name_of(m, whom, name), id);
        return false;
    }
    sessions_remove_key(m->sessions, slot);
    member_filter(m);
    member_set_timer(m);
    return true;
}

unsigned elect_member_key_lacks(const struct elect_member *m, uint8_t id, uint16_t *ids,
                                unsigned room)
{
    uint8_t slot = sessions_slot(m->sessions, id);
    uint64_t now = (uint64_t)elect_uv_now();
    unsigned count = 0;
    for (unsigned i = 0; i < m->sessions->count && slot < SESSION_KEYS && count < room; i++)
        if (!sessions_lives(m->sessions, i, now) && !sessions_accepts(m->sessions, i, slot))
            ids[count++] = m->sessions->peer[i].id;
    return count;
}

unsigned elect_member_keys(const struct elect_member *m, uint8_t ids[ELECT_UV_KEYS])
{
    unsigned count = 0;
    ids[count++] = m->sessions->key[m->sessions->use].id;
    for (uint8_t slot = 0; slot < SESSION_KEYS; slot++)
        if (m->sessions->key[slot].there && slot != m->sessions->use)
            ids[count++] = m->sessions->key[slot].id;
    return count;
}

/* The hash is keyed with the key itself. No key that encrypts packets is derived with this text. */
bool elect_member_key_fingerprint(const struct elect_member *m, uint8_t id,
                                  uint8_t fingerprint[ELECT_UV_PRINT])
{
    static const char context[] = "elect-key-fingerprint";
    uint8_t slot = sessions_slot(m->sessions, id), hash[crypto_generichash_BYTES];
    if (slot == SESSION_KEYS)
        return false;
    crypto_generichash(hash, sizeof hash, (const uint8_t *)context, sizeof context,
                       m->sessions->key[slot].key, SEAL_KEY);
    memcpy(fingerprint, hash, ELECT_UV_PRINT);
    sodium_memzero(hash, sizeof hash);
    return true;
}
