/* Asks a daemon of Elect whether it leads: elect_claim CLAIMS SOCKET GROUP.
 *
 * A yes is about the moment of the question, and promises nothing; so is a claim. */
#include "claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 1000 /* milliseconds for an answer */

static struct sockaddr_un where = {.sun_family = AF_UNIX};

/* One question, one answer, one connection. */
static bool ask(const char *question, char *answer, size_t size)
{
    size_t length = 0;
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct pollfd readable = {.fd = s, .events = POLLIN};
    if (s < 0 || connect(s, (struct sockaddr *)&where, sizeof where) != 0 ||
        send(s, question, strlen(question), MSG_NOSIGNAL) < 0) {
        close(s);
        return false;
    }
    while (length < size - 1 && poll(&readable, 1, PATIENCE) == 1) {
        ssize_t got = recv(s, answer + length, size - 1 - length, 0);
        if (got <= 0)
            break;
        length += (size_t)got;
        if (answer[length - 1] == '\n')
            break;
    }
    close(s);
    answer[length] = '\0';
    return length > 0 && answer[length - 1] == '\n';
}

int main(int count, char **argument)
{
    char question[256], answer[4096];
    const struct timespec pause = {.tv_nsec = CLAIM_EVERY};
    if (count != 4 || strlen(argument[2]) >= sizeof where.sun_path)
        claim_give_up("usage", "elect_claim CLAIMS SOCKET GROUP");
    memcpy(where.sun_path, argument[2], strlen(argument[2]) + 1);
    snprintf(question, sizeof question, "{\"verb\":\"is-leader\",\"group\":\"%s\"}\n", argument[3]);
    claim_open(argument[1]);
    for (;;) {
        uint64_t before = claim_now(); /* it is between that and now that a yes was true */
        bool answered = ask(question, answer, sizeof answer);
        if (answered && strstr(answer, "\"known\":true") != NULL)
            claim_ready();
        if (answered && strstr(answer, "\"leads\":true") != NULL)
            claim_at(claim_leads() ? before : claim_now());
        else
            claim_end(0);
        nanosleep(&pause, NULL);
    }
}
