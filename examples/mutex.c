/*
 * Mutual exclusion by a coordinator: who wants in sends it a REQUEST; it answers the first of them
 * with a GRANT, lets the others wait in a queue, and a RELEASE makes room for the next. The
 * coordinator is whoever leads.
 *
 *     mutex serve SOCKET PORT                beside each member, on a port of its own
 *     mutex lock PORT... -- CMD [ARG...]     runs CMD when and while nobody else is in
 *
 * Without Elect nobody gets in any more when the coordinator dies; or another one takes over
 * because it seems to be dead, and lets somebody in while somebody is.
 *
 * So a grant is a span. It ends before the coordinator's mandate does, and is asked for again and
 * again; CMD is killed when it does not come in time (exit status 75). The next leader knows,
 * without being told, that no process is in.
 *
 * If `mutex lock` returns the status of CMD, then CMD began and ended within its grant: deadlines
 * prove that, however slow the machine is. If `mutex lock` itself stood still when it had to kill,
 * CMD outlived its grant; then the exit status is 75, and the message says since when. Such a CMD
 * has ELECT_TOKEN and MUTEX_GRANT, a pair that is larger in every later grant, for what it writes
 * to: see fenced.c. Any process that can send to these ports is believed. The lease of the members
 * must be longer than half a second: of a shorter one too little is left to run anything in.
 */
#include <arpa/inet.h>
#include <elect-client.h>
#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Microseconds. */
#define SPAN   1000000 /* of a grant, at most */
#define REPEAT 50000   /* from one REQUEST to the next */
#define MARGIN 200000  /* before the end of a grant, to kill in: a busy machine may need it all */

#define QUEUE 64 /* who does not fit in asks again */
#define LOST  75 /* exit status */

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static struct sockaddr_in at(const char *port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* ---- the coordinator ---- */

static struct asker {
    uint64_t id;
    int64_t heard; /* a span later no grant of it is left, and it is forgotten */
} queue[QUEUE];    /* only the first one is ever granted anything */
static unsigned waiting;

static void forget(uint64_t id, int64_t time)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < waiting; i++)
        if (queue[i].id != id && queue[i].heard + SPAN > time)
            queue[kept++] = queue[i];
    waiting = kept;
}

static bool is_first(uint64_t id, int64_t time)
{
    unsigned place = 0;
    while (place < waiting && queue[place].id != id)
        place++;
    if (place == QUEUE)
        return false;
    waiting += place == waiting;
    queue[place] = (struct asker){.id = id, .heard = time};
    return place == 0;
}

/* What is left counts from the stamp of the question, by the clock of whoever asked: an answer that
 * comes late is worth less, never more. */
static void serve(int door, const struct elect_client_answer *answer)
{
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    char text[128] = "", word[8];
    uint64_t id;
    int64_t stamp;
    if (recvfrom(door, text, sizeof text - 1, 0, (struct sockaddr *)&from, &length) <= 0 ||
        sscanf(text, "%7s %" SCNu64 " %" SCNd64, word, &id, &stamp) != 3)
        return;
    int64_t time = now(), until = answer->deadline < time + SPAN ? answer->deadline : time + SPAN;
    forget(strcmp(word, "RELEASE") == 0 ? id : 0, time);
    if (strcmp(word, "REQUEST") != 0 || until <= time || !is_first(id, time))
        return;
    int size = snprintf(text, sizeof text, "GRANT %" PRId64 " %" PRId64 " %" PRIu64 " %" PRId64,
                        stamp, until - time, answer->token, time);
    sendto(door, text, (size_t)size, 0, (struct sockaddr *)&from, length);
}

static void coordinate(int door, struct elect_client *client)
{
    struct elect_client_answer answer = {0};
    struct pollfd news[] = {{.fd = door, .events = POLLIN},
                            {.fd = elect_client_fd(client), .events = POLLIN}};
    /* A process before this one, beside the same leader, may have let somebody in. */
    queue[waiting++] = (struct asker){.id = UINT64_MAX, .heard = now()};
    elect_client_span(client, SPAN);
    while (poll(news, 2, -1) > 0) {
        if (news[0].revents != 0)
            serve(door, &answer);
        if (news[1].revents == 0)
            continue;
        elect_client_ask(client, 0, &answer); /* if it fails, the latest answer counts */
        forget(0, now());
        if (!answer.leads && waiting == 0)
            elect_client_stopped(client); /* nobody is in: whoever leads next need not wait */
    }
}

/* ---- who wants in ---- */

/* To all: only who leads answers. */
static void tell(int door, char **ports, const char *word, uint64_t id)
{
    char text[64];
    int size = snprintf(text, sizeof text, "%s %" PRIu64 " %" PRId64, word, id, now());
    for (; strcmp(*ports, "--") != 0; ports++) {
        struct sockaddr_in to = at(*ports);
        sendto(door, text, (size_t)size, 0, (struct sockaddr *)&to, sizeof to);
    }
}

/* Returns until when this process is in; `deadline` is what it knew before. A grant that is heard
 * after the deadline does not extend it: another process may have been in meanwhile. */
static int64_t hear(int door, int64_t deadline, bool is_in)
{
    char text[128] = "", token[24], grant[24];
    int64_t stamp, left;
    if (recv(door, text, sizeof text - 1, 0) <= 0 ||
        sscanf(text, "GRANT %" SCNd64 " %" SCNd64 " %23s %23s", &stamp, &left, token, grant) != 4 ||
        stamp + left <= deadline || (is_in && now() >= deadline))
        return deadline;
    setenv("ELECT_TOKEN", token, 1);
    setenv("MUTEX_GRANT", grant, 1);
    return stamp + left;
}

static pid_t start(char **command)
{
    pid_t child = fork();
    if (child < 0)
        err(1, "fork");
    setpgid(child, child); /* by both: whoever is first */
    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(command[0], command);
    err(127, "%s", command[0]);
}

static int lock(int door, char **ports, char **command)
{
    uint64_t id = (uint64_t)now() << 22 | (uint64_t)getpid(); /* nobody else's on this machine */
    struct pollfd news[] = {{.fd = door, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    int64_t next = 0, deadline = 0, time = now(), before = time;
    pid_t child = 0;
    int status = 0;
    while (child == 0 || (news[1].revents == 0 && time < deadline - MARGIN)) {
        if (time >= next) {
            tell(door, ports, "REQUEST", id);
            next = time + REPEAT;
        }
        poll(news, 2, REPEAT / 10000);
        if (news[0].revents != 0)
            deadline = hear(door, deadline, child != 0);
        before = time; /* the grant held then, and for MARGIN more */
        time = now();
        if (child == 0 && time < deadline - MARGIN) {
            child = start(command);
            news[1].fd = pidfd_open(child, 0);
        }
    }
    kill(-child, SIGKILL); /* and what it leaves behind; until it is reaped the number is its own */
    time = now();          /* from here on none of them does anything */
    waitpid(child, &status, 0);
    tell(door, ports, "RELEASE", id);
    if (time >= deadline)
        errx(LOST,
             "process %d was killed too late, at %" PRId64 " us; its grant ended at %" PRId64
             " us, and mutex stood still since %" PRId64 " us",
             child, time, deadline, before);
    if (news[1].revents == 0)
        errx(LOST, "%s: killed because its grant was not renewed", command[0]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    struct elect_client *client;
    int door = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), split = 2;
    while (split < argc && strcmp(argv[split], "--") != 0)
        split++;
    if (split + 1 < argc && strcmp(argv[1], "lock") == 0)
        return lock(door, argv + 2, argv + split + 1);
    if (argc != 4 || strcmp(argv[1], "serve") != 0)
        errx(64, "usage: mutex serve SOCKET PORT | mutex lock PORT... -- CMD [ARG...]");
    struct sockaddr_in here = at(argv[3]);
    if (bind(door, (struct sockaddr *)&here, sizeof here) != 0)
        err(1, "port %s", argv[3]);
    enum elect_client_error error = elect_client_open(&client, argv[2], NULL);
    if (error != ELECT_CLIENT_FINE)
        errx(1, "%s", elect_client_text(error));
    coordinate(door, client);
    return 1;
}
