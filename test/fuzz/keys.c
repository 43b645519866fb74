/* Parses arbitrary bytes as a key file. */
#include "../../src/daemon/keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct keys k;
    struct text complaint;
    char *text = malloc(length + 1);
    if (text == NULL)
        return 0;
    memcpy(text, bytes, length);
    text[length] = '\0';
    text_clear(&complaint);
    if (keys_parse(&k, text, &complaint))
        assert(k.count > 0 && k.count <= ELECT_UV_KEYS &&
               (k.count == 1 || k.key[0].id != k.key[1].id));
    else
        assert(complaint.length > 0);
    free(text);
    return 0;
}
