/*
 * Clocks that agree, by the Berkeley algorithm: the master asks all others for their time, takes
 * the average of most of them, those that are near each other, and tells each by how much it is
 * wrong. The master is whoever leads.
 *
 *     berkeley SOCKET OFFSET DRIFT PORT OTHER-PORT...     beside each member
 *
 * The clock is an imagined one: this machine's, but OFFSET milliseconds wrong at first, and then
 * DRIFT microseconds more in every second. Each prints how wrong it is: the numbers meet.
 *
 * Without Elect the clocks part again when the master dies; and of two masters each corrects what
 * the other has just corrected. Here a slave remembers the largest token that it was asked with,
 * and refuses smaller ones: what a former master sends late changes nothing. A correction is for
 * one answer, and is taken once. Whoever can send to these ports is believed.
 */
#include <arpa/inet.h>
#include <elect-client.h>
#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Microseconds. */
#define EVERY 250000  /* the master asks */
#define TRIP  10000   /* of a question and its answer; of what takes longer nobody knows the age */
#define BOUND 1000000 /* clocks that differ by more are not averaged, but corrected */

#define MANY 16 /* processes */

struct message {
    char word[8]; /* ASK, TIME, ADJUST */
    uint64_t token;
    int64_t stamp, value; /* when it was asked; the time, or by how much it is wrong */
};

static int64_t offset, drift, began;
static int door;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t wrong_by(void) { return offset + (now() - began) * drift / 1000000; }

static struct sockaddr_in at(const char *port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void say(const struct sockaddr_in *to, struct message m)
{
    char text[128];
    int size = snprintf(text, sizeof text, "%s %" PRIu64 " %" PRId64 " %" PRId64, m.word, m.token,
                        m.stamp, m.value);
    sendto(door, text, (size_t)size, 0, (const struct sockaddr *)to, sizeof *to);
}

/* ---- a slave ---- */

static uint64_t seen;     /* the largest token */
static int64_t answer_to; /* the latest question, until it is corrected */

static void obey(const struct message *m, const struct sockaddr_in *master)
{
    if (m->token < seen) {
        printf("refuses %s with token %" PRIu64 ": it has seen %" PRIu64 "\n", m->word, m->token,
               seen);
        return;
    }
    seen = m->token;
    if (strcmp(m->word, "ASK") == 0) {
        answer_to = m->stamp;
        say(master, (struct message){"TIME", m->token, m->stamp, now() + wrong_by()});
    } else if (m->stamp == answer_to) {
        offset += m->value; /* a real clock would go slower instead, and never back */
        answer_to = 0;
    }
}

/* ---- the master ---- */

static struct {
    struct sockaddr_in who;
    int64_t ahead; /* of the clock here */
} clocks[MANY];    /* the first one is its own */
static unsigned count = 1;
static int64_t asked; /* when, the latest question */

static void note(const struct message *m, const struct sockaddr_in *from)
{
    int64_t time = now(), trip = time - m->stamp;
    if (m->stamp != asked || trip > TRIP || count == MANY)
        return;
    clocks[count].who = *from;
    clocks[count++].ahead = m->value + trip / 2 - time - wrong_by();
}

/* Of the most clocks that are near one of them. False if those are not more than half of all. */
static bool average(unsigned all, int64_t *mean)
{
    int64_t most = 0;
    for (unsigned i = 0; i < count; i++) {
        int64_t sum = 0, near = 0;
        for (unsigned k = 0; k < count; k++)
            if (llabs(clocks[k].ahead - clocks[i].ahead) < BOUND) {
                sum += clocks[k].ahead;
                near++;
            }
        if (near > most) {
            most = near;
            *mean = sum / near;
        }
    }
    return 2 * most > all;
}

/* Of those who have answered since the last time each is corrected; and all are asked anew. */
static void rule(uint64_t token, char **ports, unsigned others)
{
    int64_t mean = 0;
    if (average(others + 1, &mean)) {
        for (unsigned i = 1; i < count; i++)
            say(&clocks[i].who, (struct message){"ADJUST", token, asked, mean - clocks[i].ahead});
        offset += mean;
    }
    seen = token;
    asked = now();
    count = 1;
    for (unsigned i = 0; i < others; i++) {
        struct sockaddr_in to = at(ports[i]);
        say(&to, (struct message){"ASK", token, asked, 0});
    }
}

static void take(void)
{
    struct message m;
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    char text[128] = "";
    if (recvfrom(door, text, sizeof text - 1, 0, (struct sockaddr *)&from, &length) <= 0 ||
        sscanf(text, "%7s %" SCNu64 " %" SCNd64 " %" SCNd64, m.word, &m.token, &m.stamp,
               &m.value) != 4)
        return;
    if (strcmp(m.word, "TIME") == 0)
        note(&m, &from);
    else
        obey(&m, &from);
}

int main(int argc, char **argv)
{
    struct elect_client_answer answer = {0};
    struct elect_client *client;
    if (argc < 5)
        errx(64, "usage: berkeley SOCKET OFFSET DRIFT PORT OTHER-PORT...");
    enum elect_client_error error = elect_client_open(&client, argv[1], NULL);
    if (error != ELECT_CLIENT_FINE)
        errx(1, "%s", elect_client_text(error));
    struct sockaddr_in here = at(argv[4]);
    door = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(door, (struct sockaddr *)&here, sizeof here) != 0)
        err(1, "port %s", argv[4]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    offset = strtol(argv[2], NULL, 10) * 1000;
    drift = strtol(argv[3], NULL, 10);
    began = now();
    elect_client_span(client, 2 * EVERY); /* after a crash nobody waits longer */
    for (int64_t next = began;;) {
        struct pollfd news[] = {{.fd = door, .events = POLLIN},
                                {.fd = elect_client_fd(client), .events = POLLIN}};
        int64_t rest = next - now();
        poll(news, 2, rest > 0 ? (int)(rest / 1000 + 1) : 0);
        if (news[0].revents != 0)
            take();
        if (news[1].revents != 0) {
            elect_client_ask(client, 0, &answer); /* if it fails, the latest answer counts */
            if (!answer.leads)
                elect_client_stopped(client);
        }
        if (now() < next)
            continue;
        next = now() + EVERY;
        bool leads = elect_client_valid(&answer) && answer.token >= seen;
        if (leads)
            rule(answer.token, argv + 5, (unsigned)argc - 5);
        else
            count = 1; /* what was answered to it is of no use any more */
        printf("%+.3f ms, %s\n", (double)wrong_by() / 1000, leads ? "master" : "slave");
    }
}
