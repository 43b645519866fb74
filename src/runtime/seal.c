/* seal.h with libsodium: BLAKE2b for keys, XChaCha20-Poly1305 for packets. */
#include "seal.h"

#include "bytes.h"

#include <assert.h>
#include <sodium.h>

#define WIRE_MAJOR 1

/* ---- keys: BLAKE2b over a word and fields of fixed widths ---- */

static void digest(uint8_t out[SEAL_KEY], const uint8_t key[SEAL_KEY], const char *word,
                   const uint8_t *fields, size_t length)
{
    crypto_generichash_state state;
    uint8_t label[16] = {0};
    memcpy(label, word, strlen(word));
    crypto_generichash_init(&state, key, SEAL_KEY, SEAL_KEY);
    crypto_generichash_update(&state, label, sizeof label);
    crypto_generichash_update(&state, fields, length);
    crypto_generichash_final(&state, out, SEAL_KEY);
    sodium_memzero(&state, sizeof state);
}

static void digest_ids(uint8_t out[SEAL_KEY], const uint8_t key[SEAL_KEY], const char *word,
                       uint16_t from, uint16_t to)
{
    uint8_t fields[4];
    struct bytes b = {fields, fields + sizeof fields, true};
    put_number(&b, from, 2);
    put_number(&b, to, 2);
    digest(out, key, word, fields, sizeof fields);
}

void seal_pair_key(uint8_t out[SEAL_KEY], const uint8_t key[SEAL_KEY],
                   const uint8_t cluster[SEAL_CLUSTER], uint16_t a, uint16_t b)
{
    uint8_t fields[SEAL_CLUSTER + 4];
    struct bytes w = {fields, fields + sizeof fields, true};
    put_bytes(&w, cluster, SEAL_CLUSTER);
    put_number(&w, a < b ? a : b, 2);
    put_number(&w, a < b ? b : a, 2);
    digest(out, key, "pair", fields, sizeof fields);
}

void seal_hello_key(uint8_t out[SEAL_KEY], const uint8_t pair[SEAL_KEY], uint16_t from, uint16_t to)
{
    digest_ids(out, pair, "hello", from, to);
}

void seal_session_key(uint8_t out[SEAL_KEY], const uint8_t pair[SEAL_KEY],
                      const struct seal_end *from, const struct seal_end *to, uint8_t protocol)
{
    uint8_t fields[2 * (2 + SEAL_NONCE + 4) + 1];
    struct bytes b = {fields, fields + sizeof fields, true};
    put_number(&b, from->id, 2);
    put_number(&b, to->id, 2);
    put_bytes(&b, from->nonce, SEAL_NONCE);
    put_bytes(&b, to->nonce, SEAL_NONCE);
    put_number(&b, from->incarnation, 4);
    put_number(&b, to->incarnation, 4);
    put_number(&b, protocol, 1);
    digest(out, pair, "session", fields, sizeof fields);
}

void seal_testament_key(uint8_t out[SEAL_KEY], const uint8_t session[SEAL_KEY], uint16_t from,
                        uint16_t to)
{
    digest_ids(out, session, "testament", from, to);
}

static uint32_t first_four(const uint8_t hash[SEAL_KEY])
{
    uint32_t tag = (uint32_t)hash[0] | (uint32_t)hash[1] << 8 | (uint32_t)hash[2] << 16 |
                   (uint32_t)hash[3] << 24;
    return tag != 0 ? tag : 1;
}

uint32_t seal_tag(const uint8_t key[SEAL_KEY])
{
    uint8_t hash[SEAL_KEY];
    digest(hash, key, "tag", NULL, 0);
    return first_four(hash);
}

uint32_t seal_hello_tag(const uint8_t key[SEAL_KEY], const uint8_t echo[SEAL_NONCE])
{
    uint8_t hash[SEAL_KEY];
    digest(hash, key, "tag", echo, SEAL_NONCE);
    return first_four(hash);
}

/* ---- packets ---- */

struct associated_data {
    uint8_t bytes[SEAL_HEAD + SEAL_CLUSTER + 1];
};

static struct associated_data associated(const uint8_t head[SEAL_HEAD],
                                         const uint8_t cluster[SEAL_CLUSTER])
{
    struct associated_data a;
    memcpy(a.bytes, head, SEAL_HEAD);
    memcpy(a.bytes + SEAL_HEAD, cluster, SEAL_CLUSTER);
    a.bytes[SEAL_HEAD + SEAL_CLUSTER] = WIRE_MAJOR;
    return a;
}

#define SALT_AT (SEAL_HEAD - SEAL_SALT)

static void salt(uint8_t head[SEAL_HEAD], const uint8_t secret[SEAL_KEY], const uint8_t *content,
                 size_t length)
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, secret, SEAL_KEY, SEAL_SALT);
    crypto_generichash_update(&state, head, SALT_AT);
    crypto_generichash_update(&state, content, length);
    crypto_generichash_final(&state, head + SALT_AT, SEAL_SALT);
    sodium_memzero(&state, sizeof state);
}

static void nonce_of(const uint8_t head[SEAL_HEAD],
                     uint8_t nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES])
{
    memcpy(nonce, head + SALT_AT, SEAL_SALT);
    memcpy(nonce + SEAL_SALT, head + 16, 8);
}

size_t seal_write(const struct packet *head, const uint8_t secret[SEAL_KEY],
                  const uint8_t key[SEAL_KEY], const uint8_t cluster[SEAL_CLUSTER],
                  const uint8_t *content, size_t length, uint8_t out[SEAL_MAX_PACKET])
{
    uint8_t nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES];
    struct bytes b = {out, out + SALT_AT, true};
    assert(length <= SEAL_MAX_CONTENT && head->tag != 0);
    put_number(&b, SEAL_MAGIC, 4);
    put_number(&b, head->type, 1);
    put_number(&b, head->key, 1);
    put_number(&b, head->from, 2);
    put_number(&b, head->to, 2);
    put_number(&b, SEAL_HEAD + length + SEAL_PROOF, 2);
    put_number(&b, head->tag, 4);
    put_number(&b, head->counter, 8);
    assert(b.fine && b.at == b.end);
    salt(out, secret, content, length);
    nonce_of(out, nonce);
    struct associated_data a = associated(out, cluster);
    crypto_aead_xchacha20poly1305_ietf_encrypt(out + SEAL_HEAD, NULL, content, length, a.bytes,
                                               sizeof a.bytes, NULL, nonce, key);
    return SEAL_HEAD + length + SEAL_PROOF;
}

bool seal_head(const uint8_t *bytes, size_t length, struct packet *head)
{
    uint8_t copy[SEAL_HEAD];
    if (length < SEAL_HEAD + SEAL_PROOF || length > SEAL_MAX_PACKET)
        return false;
    memcpy(copy, bytes, SEAL_HEAD);
    struct bytes b = {copy, copy + SEAL_HEAD, true};
    uint64_t magic = take_number(&b, 4);
    head->type = (uint8_t)take_number(&b, 1);
    head->key = (uint8_t)take_number(&b, 1);
    head->from = (uint16_t)take_number(&b, 2);
    head->to = (uint16_t)take_number(&b, 2);
    uint64_t says = take_number(&b, 2);
    head->tag = (uint32_t)take_number(&b, 4);
    head->counter = take_number(&b, 8);
    return magic == SEAL_MAGIC && says == length && head->type >= PACKET_HELLO &&
           head->type <= PACKET_TESTAMENT && head->tag != 0 && head->from != head->to;
}

int seal_open(const uint8_t *bytes, size_t length, const uint8_t key[SEAL_KEY],
              const uint8_t cluster[SEAL_CLUSTER], uint8_t content[SEAL_MAX_CONTENT])
{
    uint8_t nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES];
    assert(length >= SEAL_HEAD + SEAL_PROOF && length <= SEAL_MAX_PACKET);
    struct associated_data a = associated(bytes, cluster);
    nonce_of(bytes, nonce);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(content, NULL, NULL, bytes + SEAL_HEAD,
                                                   length - SEAL_HEAD, a.bytes, sizeof a.bytes,
                                                   nonce, key) != 0)
        return -1;
    return (int)(length - SEAL_HEAD - SEAL_PROOF);
}
