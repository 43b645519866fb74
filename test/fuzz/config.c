/* Parses arbitrary bytes as a configuration file. */
#include "../../src/daemon/config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct config c;
    struct elect_config e;
    char *text = malloc(length + 1);
    if (text == NULL)
        return 0;
    memcpy(text, bytes, length);
    text[length] = '\0';
    if (config_parse(&c, "x", text))
        assert(config_elect(&c, &e) == ELECT_FINE && c.members > 0 && c.groups > 0);
    else
        for (const char *at = c.complaint.bytes; *at != '\0'; at++)
            assert((unsigned char)*at >= ' ' && *at != 0x7f);
    free(text);
    return 0;
}
