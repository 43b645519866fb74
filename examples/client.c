/*
 * Works only while the member on this machine leads.
 *
 *     client [SOCKET [GROUP]]
 *
 * Run one copy beside each member of a cluster. At most one copy works at a time. On SIGINT or
 * SIGTERM, a copy stops its work and, if its member leads, hands leadership over.
 */
#include <elect-client.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE 100000 /* microseconds to wait for the daemon */
#define PAUSE    50     /* milliseconds between pieces of work */

static volatile sig_atomic_t told_to_end;

static void end(int number)
{
    (void)number;
    told_to_end = 1;
}

/* Does work that only a leader may do. If this process is suspended between checking the
 * deadline and working, another member may lead when it continues. A real program therefore
 * passes the token to its store, which refuses any token below the largest one it has seen (see
 * fenced.c). */
static void work(const struct elect_client_answer *answer, int64_t left)
{
    printf("works with token %" PRIu64 ", %" PRId64 " us left\n", answer->token, left);
}

static void print_if_changed(const char *line)
{
    static char previous[512];
    if (strcmp(previous, line) != 0)
        puts(line);
    snprintf(previous, sizeof previous, "%s", line);
}

/* Asks the daemon whether this member leads. On error, the previous answer stays valid until its
 * deadline. */
static void ask(struct elect_client *client, struct elect_client_answer *answer)
{
    char line[512];
    if (elect_client_ask(client, PATIENCE, answer) != ELECT_CLIENT_FINE)
        snprintf(line, sizeof line, "%s", elect_client_why(client));
    else if (answer->leads)
        snprintf(line, sizeof line, "leads %s with token %" PRIu64, answer->group, answer->token);
    else
        snprintf(line, sizeof line, "does not lead %s (leader: %s)", answer->group,
                 answer->leader[0] != '\0' ? answer->leader : "unknown");
    print_if_changed(line);
    if (!answer->leads) /* no work is in progress: the next leader need not wait */
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
            ask(client, &answer);
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
