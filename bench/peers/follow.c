/* Records the claims of a contender that prints its state: CONTENDER | follow CLAIMS WORD
 *
 * A line with WORD means that the contender leads, any other line that it does not. The end of the
 * input means that it has exited. */
#include "claim.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static char line[4096];
static size_t length;

static void take(const char *text, size_t size, const char *word)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\n') {
            line[length] = text[i];
            length += length < sizeof line - 1;
            continue;
        }
        line[length] = '\0';
        length = 0;
        claim_ready();
        claim_set(strstr(line, word) != NULL);
    }
}

int main(int count, char **argument)
{
    char text[4096];
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (count != 3)
        claim_give_up("usage", "follow CLAIMS WORD");
    claim_open(argument[1]);
    for (;;) {
        if (claim_poll(&input, 1, -1) < 1)
            continue;
        ssize_t got = read(STDIN_FILENO, text, sizeof text);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        take(text, (size_t)got, argument[2]);
    }
    claim_end(0); /* 0: ended with its last sample */
    return 0;
}
