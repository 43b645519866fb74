/*
 * Clock synchronisation by the Berkeley algorithm. The master asks all slaves for their time,
 * averages the largest set of clocks that are close together, and sends each slave a correction.
 * The master is the process whose member leads.
 *
 *     berkeley SOCKET OFFSET DRIFT PORT OTHER-PORT...     beside each member
 *
 * The clock is simulated: this machine's time plus an error that starts at OFFSET milliseconds and
 * grows by DRIFT microseconds per second. Each process prints its error; the errors converge.
 *
 * Without Elect, the clocks would drift apart after a crash of the master, and two masters would
 * undo each other's corrections. A slave remembers the largest token it has seen and refuses
 * messages with a smaller one, so late messages from a former master have no effect. A slave
 * accepts one correction per answer. Messages are not authenticated: any process that can send to
 * these ports is trusted.
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

/* microseconds */
#define INTERVAL   250000
#define ROUND_TRIP 10000   /* slower answers are ignored as too imprecise */
#define CLOSE      1000000 /* clocks within this distance are close */

#define MAX_CLOCKS 16

struct message {
    char word[8]; /* ASK, TIME or ADJUST */
    uint64_t token;
    int64_t stamp; /* the master's clock at the ASK; answers repeat it */
    int64_t value; /* TIME: the slave's time; ADJUST: correction of the slave's clock */
};

static int64_t offset, drift, began;
static int sock;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Returns the simulated clock's lead over the real clock. */
static int64_t error_now(void) { return offset + (now() - began) * drift / 1000000; }

static struct sockaddr_in local_address(const char *port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void send_message(const struct sockaddr_in *to, struct message m)
{
    char text[128];
    int size = snprintf(text, sizeof text, "%s %" PRIu64 " %" PRId64 " %" PRId64, m.word, m.token,
                        m.stamp, m.value);
    sendto(sock, text, (size_t)size, 0, (const struct sockaddr *)to, sizeof *to);
}

/* ---- a slave ---- */

static uint64_t largest_token;
static int64_t answered; /* stamp of the latest ASK; 0 once corrected */

static void take_order(const struct message *m, const struct sockaddr_in *master)
{
    if (m->token < largest_token) {
        printf("refused %s with token %" PRIu64 " (largest token seen: %" PRIu64 ")\n", m->word,
               m->token, largest_token);
        return;
    }
    largest_token = m->token;
    if (strcmp(m->word, "ASK") == 0) {
        answered = m->stamp;
        send_message(master, (struct message){"TIME", m->token, m->stamp, now() + error_now()});
    } else if (m->stamp == answered) {
        offset += m->value; /* a real program would slow its clock down, never set it back */
        answered = 0;
    }
}

/* ---- the master ---- */

static struct {
    struct sockaddr_in address;
    int64_t ahead;    /* relative to the master's clock */
} clocks[MAX_CLOCKS]; /* the master's own clock comes first */
static unsigned count = 1;
static int64_t asked;

/* Records a slave's answer, assuming that the slave read its clock halfway between the ASK and
 * the arrival of the answer. */
static void take_time(const struct message *m, const struct sockaddr_in *from)
{
    int64_t time = now(), trip = time - m->stamp;
    if (m->stamp != asked || trip > ROUND_TRIP || count == MAX_CLOCKS)
        return;
    clocks[count].address = *from;
    clocks[count++].ahead = m->value + trip / 2 - time - error_now();
}

/* Finds the largest set of clocks close to one of them, and returns its mean in `mean`. Returns
 * false if it is no majority: a minority must not outvote the rest. */
static bool average(unsigned all, int64_t *mean)
{
    int64_t most = 0;
    for (unsigned i = 0; i < count; i++) {
        int64_t sum = 0, near = 0;
        for (unsigned k = 0; k < count; k++)
            if (llabs(clocks[k].ahead - clocks[i].ahead) < CLOSE) {
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

/* Corrects each slave that answered the latest request, then asks all slaves for their time
 * again. */
static void correct_and_ask(uint64_t token, char **ports, unsigned others)
{
    int64_t mean = 0;
    if (average(others + 1, &mean)) {
        for (unsigned i = 1; i < count; i++)
            send_message(&clocks[i].address,
                         (struct message){"ADJUST", token, asked, mean - clocks[i].ahead});
        offset += mean;
    }
    largest_token = token;
    asked = now();
    count = 1;
    for (unsigned i = 0; i < others; i++) {
        struct sockaddr_in to = local_address(ports[i]);
        send_message(&to, (struct message){"ASK", token, asked, 0});
    }
}

static void receive(void)
{
    struct message m;
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    char text[128] = "";
    if (recvfrom(sock, text, sizeof text - 1, 0, (struct sockaddr *)&from, &length) <= 0 ||
        sscanf(text, "%7s %" SCNu64 " %" SCNd64 " %" SCNd64, m.word, &m.token, &m.stamp,
               &m.value) != 4)
        return;
    if (strcmp(m.word, "TIME") == 0)
        take_time(&m, &from);
    else
        take_order(&m, &from);
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
    struct sockaddr_in here = local_address(argv[4]);
    sock = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(sock, (struct sockaddr *)&here, sizeof here) != 0)
        err(1, "cannot bind port %s", argv[4]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    offset = strtol(argv[2], NULL, 10) * 1000;
    drift = strtol(argv[3], NULL, 10);
    began = now();
    elect_client_span(client, 2 * INTERVAL); /* limits how long a new master has to wait */
    for (int64_t next = began;;) {
        struct pollfd news[] = {{.fd = sock, .events = POLLIN},
                                {.fd = elect_client_fd(client), .events = POLLIN}};
        int64_t rest = next - now();
        poll(news, 2, rest > 0 ? (int)(rest / 1000 + 1) : 0);
        if (news[0].revents != 0)
            receive();
        if (news[1].revents != 0) {
            elect_client_ask(client, 0, &answer); /* on error, the old answer stays valid */
            if (!answer.leads)
                elect_client_stopped(client);
        }
        if (now() < next)
            continue;
        next = now() + INTERVAL;
        bool leads = elect_client_valid(&answer) && answer.token >= largest_token;
        if (leads)
            correct_and_ask(answer.token, argv + 5, (unsigned)argc - 5);
        else
            count = 1; /* discard answers from an earlier term as master */
        printf("%+.3f ms, %s\n", (double)error_now() / 1000, leads ? "master" : "slave");
    }
}
