/* Decodes arbitrary bytes as a message, encodes it again, checks that nothing has changed, and
 * passes the message to a process. */
#include "elect.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void take(struct elect_config *c, const struct elect_message *m, uint8_t from)
{
    struct elect_node node;
    struct elect_output out;
    elect_init(c, &node, 0, ELECT_NOBODY, NULL, 1000, &out);
    for (unsigned i = 0; i < 3; i++) {
        struct elect_input in = elect_received(from, m, 1000 + i);
        elect_step(c, &node, &in, &out);
        assert(out.sends <= ELECT_MAX_SENDS && out.rule.number < ELECT_RULE_COUNT);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const uint16_t ids[] = {3, 200, 4000, 5, 65535, 0, 77};
    struct elect_config c;
    struct elect_message m, again;
    uint8_t copy[ELECT_MAX_BYTES];
    if (length < 2)
        return 0;
    unsigned n = 1 + bytes[0] % 7, algorithm = bytes[1] % ELECT_ALGORITHM_COUNT;
    elect_config_init(&c, (enum elect_algorithm)algorithm, ids, n, 5, 0);
    if (bytes[1] >= 128)
        elect_config_mandate(&c, 1000, 200, 10000, 1);
    if (!elect_decode(&c, bytes + 2, length - 2, &m))
        return 0;
    size_t size = elect_encode(&c, &m, copy);
    assert(elect_decode(&c, copy, size, &again) && memcmp(&m, &again, sizeof m) == 0);
    /* the decoder drops unknown processes, so the message may be shorter */
    assert(size <= length - 2);
    take(&c, &m, (uint8_t)(bytes[0] / 7 % n));
    return 0;
}
