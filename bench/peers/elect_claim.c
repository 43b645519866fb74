/* Asks a daemon of Elect whether it leads: elect_claim CLAIMS SOCKET GROUP.
 *
 * A yes holds for what was left of it when it was said, counted from before the question, even if
 * the daemon answers no more. */
#include "claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 1000000 /* microseconds for an answer */

static struct sockaddr_un where = {.sun_family = AF_UNIX};

/* Milliseconds, rounded up, to wait for an answer: no longer than the last yes holds. */
static int patience(uint64_t until)
{
    uint64_t now = claim_now();
    uint64_t longest = until > now && until - now < PATIENCE ? until - now : PATIENCE;
    return (int)((longest + 999) / 1000);
}

/* One question, one answer, one connection. */
static bool ask(const char *question, char *answer, size_t size, uint64_t until)
{
    size_t length = 0;
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct pollfd readable = {.fd = s, .events = POLLIN};
    if (s < 0 || connect(s, (struct sockaddr *)&where, sizeof where) != 0 ||
        send(s, question, strlen(question), MSG_NOSIGNAL) < 0) {
        close(s);
        return false;
    }
    while (length < size - 1 && poll(&readable, 1, patience(until)) == 1) {
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

static int64_t number_in(const char *answer, const char *key)
{
    const char *at = strstr(answer, key);
    return at == NULL ? 0 : strtoll(at + strlen(key), NULL, 10);
}

int main(int count, char **argument)
{
    char question[256], answer[4096];
    const struct timespec pause = {.tv_nsec = CLAIM_EVERY};
    uint64_t until = 0;
    if (count != 4 || strlen(argument[2]) >= sizeof where.sun_path)
        claim_give_up("usage", "elect_claim CLAIMS SOCKET GROUP");
    memcpy(where.sun_path, argument[2], strlen(argument[2]) + 1);
    snprintf(question, sizeof question, "{\"verb\":\"is-leader\",\"group\":\"%s\"}\n", argument[3]);
    claim_open(argument[1]);
    for (;;) {
        uint64_t before = claim_now();
        bool answered = ask(question, answer, sizeof answer, until);
        bool leads = answered && strstr(answer, "\"leads\":true") != NULL;
        if (leads)
            until = before + (uint64_t)number_in(answer, "\"left_us\":");
        else if (answered)
            until = 0; /* a yes before it was one of that instant: its last */
        if (answered && strstr(answer, "\"known\":true") != NULL)
            claim_ready();
        if (claim_now() < until)
            claim_set(true);
        else
            claim_end(until);
        nanosleep(&pause, NULL);
    }
}
