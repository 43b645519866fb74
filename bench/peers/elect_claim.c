/*
 * Asks a daemon of Elect whether its member leads, and records the answers:
 *     elect_claim CLAIMS SOCKET GROUP
 *
 * Asks after each change that the daemon reports, and continuously while the member leads. The
 * daemon's answers are promises that its member leads for a certain time. This program asks for
 * promises of one microsecond, so that a later leader need not wait for them to expire. The answer
 * "leads" therefore only means that the member led at some moment between question and answer.
 */
#include "claim.h"

#include "../../src/client/talk.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_un where = {.sun_family = AF_UNIX};

static int connect_to_daemon(void)
{
    const struct timespec pause = {.tv_nsec = CLAIM_EVERY};
    for (;;) {
        int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (s >= 0 && connect(s, (struct sockaddr *)&where, sizeof where) == 0)
            return s;
        close(s);
        nanosleep(&pause, NULL);
    }
}

static bool ask(int s, const char *group)
{
    struct talk question = {
        .magic = TALK_MAGIC, .word = TALK_LEASE, .stamp = (int64_t)claim_now(), .left = 1};
    snprintf(question.group, sizeof question.group, "%s", group);
    return send(s, &question, sizeof question, MSG_NOSIGNAL) == sizeof question;
}

static void follow_answers(int s, const char *group)
{
    struct pollfd readable = {.fd = s, .events = POLLIN};
    const struct timespec moment = {.tv_nsec = CLAIM_EVERY};
    struct talk said;
    bool there = ask(s, group);
    while (there) {
        if (ppoll(&readable, 1, claim_leads() ? &moment : NULL, NULL) <= 0) {
            there = ask(s, group);
            continue;
        }
        there = recv(s, &said, sizeof said, 0) == sizeof said;
        if (there && said.leader[0] != '\0')
            claim_ready();
        if (there && said.word == TALK_TOLD && said.left > 0)
            claim_at(claim_leads() ? (uint64_t)said.stamp : claim_now());
        else if (there && said.word == TALK_TOLD)
            claim_end(0);
        else if (there && said.word == TALK_NEWS)
            there = ask(s, group);
    }
    claim_end(0);
}

int main(int count, char **argument)
{
    if (count != 4 || strlen(argument[2]) >= sizeof where.sun_path)
        claim_give_up("usage", "elect_claim CLAIMS SOCKET GROUP");
    memcpy(where.sun_path, argument[2], strlen(argument[2]) + 1);
    claim_open(argument[1]);
    for (;;) {
        int s = connect_to_daemon();
        follow_answers(s, argument[3]);
        close(s);
    }
}
