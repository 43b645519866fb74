/*
 * A program beside a daemon, which works only while the member there leads.
 *
 *     client [SOCKET [GROUP]]
 *
 * Run it beside each member of a cluster: one of them works. SIGINT or SIGTERM: if it is the one,
 * it makes room for another.
 */
#include <elect-client.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE 100000 /* microseconds for the daemon to answer */
#define PAUSE    50     /* milliseconds from one piece of work to the next */

static volatile sig_atomic_t told_to_end;

static void end(int number)
{
    (void)number;
    told_to_end = 1;
}

/* What only a leader may do. Whoever does it for us gets the token, and refuses a lower one than it
 * has seen: this process may stand still between the look at the deadline and here. */
static void work(const struct elect_client_answer *answer, int64_t left)
{
    printf("works with token %" PRIu64 ", %" PRId64 " us left\n", answer->token, left);
}

/* Says what has changed. */
static void tell(const char *line)
{
    static char before[512];
    if (strcmp(before, line) != 0)
        puts(line);
    snprintf(before, sizeof before, "%s", line);
}

static void look(struct elect_client *client, struct elect_client_answer *answer)
{
    char line[512];
    if (elect_client_ask(client, PATIENCE, answer) != ELECT_CLIENT_FINE)
        snprintf(line, sizeof line, "%s", elect_client_why(client)); /* and answer is as it was */
    else if (answer->leads)
        snprintf(line, sizeof line, "leads %s with token %" PRIu64, answer->group, answer->token);
    else
        snprintf(line, sizeof line, "does not lead %s, but %s does", answer->group,
                 answer->leader[0] != '\0' ? answer->leader : "nobody");
    tell(line);
    if (!answer->leads) /* nothing is under way here: whoever is next need not wait */
        elect_client_stopped(client);
}

int main(int argc, char **argv)
{
    struct elect_client_answer answer = {0};
    struct elect_client *client;
    enum elect_client_error error =
        elect_client_open(&client, argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL);
    if (error != ELECT_CLIENT_FINE) {
        fprintf(stderr, "client: %s\n", elect_client_text(error));
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGINT, end);
    signal(SIGTERM, end);
    while (!told_to_end) {
        struct pollfd news = {.fd = elect_client_fd(client), .events = POLLIN};
        if (poll(&news, 1, PAUSE) == 1)
            look(client, &answer);
        int64_t left = elect_client_left(&answer);
        if (left > 0)
            work(&answer, left);
    }
    bool leads = elect_client_valid(&answer);
    elect_client_stopped(client);
    if (leads && elect_client_resign(client, 10 * PATIENCE) != ELECT_CLIENT_FINE)
        fprintf(stderr, "client: %s\n", elect_client_why(client));
    elect_client_close(client);
    return 0;
}
