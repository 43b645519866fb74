/* Passes arbitrary packets to a session, some of them correctly encrypted. */
#include "../../src/runtime/session.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const uint8_t key[SEAL_KEY] = {1}, cluster[SEAL_CLUSTER] = {2};

static void draw(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    memset(bytes, 0x5a, length);
}

static void begin(struct sessions *s, uint16_t id)
{
    static const struct session_memory nothing;
    memset(s, 0, sizeof *s);
    s->id = id;
    s->incarnation = 3;
    s->sequence = 9;
    s->suspicion = 1000000;
    s->draw = draw;
    memcpy(s->cluster, cluster, SEAL_CLUSTER);
    sessions_begin(s);
    sessions_add_key(s, 0, 1, key);
    sessions_add_peer(s, (uint16_t)(3 - id), &nothing);
}

/* Builds a correctly encrypted HELLO or REJECT with this content. */
static size_t seal(struct sessions *s, const uint8_t *bytes, size_t length, uint64_t number,
                   uint8_t *out)
{
    static const uint8_t secret[SEAL_KEY];
    uint8_t pair[SEAL_KEY], hello[SEAL_KEY];
    uint8_t content[SEAL_MAX_CONTENT] = {0};
    seal_pair_key(pair, key, cluster, 1, 2);
    seal_hello_key(hello, pair, 2, 1);
    length = length < 200 ? length : 200;
    memcpy(content, bytes, length);
    struct packet head = {.type = bytes[0] & 1 ? PACKET_HELLO : PACKET_REJECT,
                          .key = 1,
                          .from = 2,
                          .to = 1,
                          .tag = seal_hello_tag(hello, s->key[0].nonce),
                          .counter = number};
    return seal_write(&head, secret, hello, cluster, content, length, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct sessions s;
    static struct session_event e;
    uint8_t out[SEAL_MAX_PACKET];
    if (length < 2 || sodium_init() < 0)
        return 0;
    begin(&s, 1);
    sessions_take(&s, 1000, 0, bytes, length, &e);
    assert(e.news == SESSION_NOTHING);
    for (unsigned number = 1; number <= 2; number++) {
        size_t size = seal(&s, bytes, length, number, out);
        sessions_take(&s, 2000 + number, 0, out, size, &e);
        assert(e.answer_length <= SEAL_MAX_PACKET && e.length == 0);
        sessions_take(&s, 2000 + number, 0, out, size, &e);
        assert(e.news != SESSION_OPENED); /* duplicates never open a session */
    }
    return 0;
}
