/*
 * Mutual exclusion by a coordinator. A process that wants the lock sends a REQUEST to the
 * coordinator, which answers the first one with a GRANT and queues the others. After a RELEASE, the
 * lock passes to the next process in the queue. The coordinator is the server whose member leads.
 *
 *     mutex serve SOCKET PORT                beside each member, on a port of its own
 *     mutex lock PORT... -- CMD [ARG...]     runs CMD while no other process holds the lock
 *
 * With a fixed coordinator, no process would get the lock after a crash of the coordinator. If a
 * second one took over while the first was still running, two processes could hold the lock.
 *
 * Here, every grant ends before the coordinator's mandate does. `mutex lock` keeps renewing its
 * grant, and kills CMD if a renewal does not arrive in time (exit status 75). When a new leader
 * takes over, all earlier grants have therefore ended.
 *
 * If `mutex lock` returns CMD's exit status, CMD ran entirely within its grant, even on a slow
 * machine. If `mutex lock` was itself suspended when it had to kill CMD, CMD may have run longer.
 * The exit status is then 75, and an error message shows the times. CMD can protect its data with
 * ELECT_TOKEN and MUTEX_GRANT: this pair grows with every grant (see fenced.c).
 *
 * Messages are not authenticated: any process that can send to these ports is trusted. The
 * members' lease must be longer than half a second, or too little time is left for CMD.
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

/* microseconds */
#define SPAN   1000000 /* longest grant */
#define REPEAT 50000   /* between two REQUESTs of a process */
#define MARGIN 200000  /* CMD is killed this long before its grant ends */

/* if full, processes repeat their REQUEST until there is room */
#define QUEUE 64
#define LOST  75

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static struct sockaddr_in local_address(const char *port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* ---- the coordinator ---- */

/* Processes that want the lock. Only the first one receives grants. One that has been silent for
 * SPAN is removed, because its grant must have ended. */
static struct requester {
    uint64_t id;
    int64_t heard;
} queue[QUEUE];
static unsigned waiting;

static void remove_requesters(uint64_t id, int64_t time)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < waiting; i++)
        if (queue[i].id != id && queue[i].heard + SPAN > time)
            queue[kept++] = queue[i];
    waiting = kept;
}

/* Queues process `id` if there is room. Returns true if it is first. */
static bool is_first(uint64_t id, int64_t time)
{
    unsigned place = 0;
    while (place < waiting && queue[place].id != id)
        place++;
    if (place == QUEUE)
        return false;
    waiting += place == waiting;
    queue[place] = (struct requester){.id = id, .heard = time};
    return place == 0;
}

/* Answers one message. A GRANT counts from the time in the REQUEST, read from the requester's
 * own clock. If the GRANT is late, the requester has less time, but never believes that it has
 * more. */
static void serve(int sock, const struct elect_client_answer *answer)
{
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    char text[128] = "", word[8];
    uint64_t id;
    int64_t stamp;
    if (recvfrom(sock, text, sizeof text - 1, 0, (struct sockaddr *)&from, &length) <= 0 ||
        sscanf(text, "%7s %" SCNu64 " %" SCNd64, word, &id, &stamp) != 3)
        return;
    int64_t time = now(), until = answer->deadline < time + SPAN ? answer->deadline : time + SPAN;
    remove_requesters(strcmp(word, "RELEASE") == 0 ? id : 0, time);
    if (strcmp(word, "REQUEST") != 0 || until <= time || !is_first(id, time))
        return;
    int size = snprintf(text, sizeof text, "GRANT %" PRId64 " %" PRId64 " %" PRIu64 " %" PRId64,
                        stamp, until - time, answer->token, time);
    sendto(sock, text, (size_t)size, 0, (struct sockaddr *)&from, length);
}

static void coordinate(int sock, struct elect_client *client)
{
    struct elect_client_answer answer = {0};
    struct pollfd news[] = {{.fd = sock, .events = POLLIN},
                            {.fd = elect_client_fd(client), .events = POLLIN}};
    /* An earlier server on this machine may have granted the lock just before it stopped. This
     * entry belongs to no process, and reserves the lock until such a grant must have ended. */
    queue[waiting++] = (struct requester){.id = UINT64_MAX, .heard = now()};
    elect_client_span(client, SPAN);
    while (poll(news, 2, -1) > 0) {
        if (news[0].revents != 0)
            serve(sock, &answer);
        if (news[1].revents == 0)
            continue;
        elect_client_ask(client, 0, &answer); /* on error, the old answer stays valid */
        remove_requesters(0, now());
        if (!answer.leads && waiting == 0)
            /* All grants have ended: the next leader need not wait for them. */
            elect_client_stopped(client);
    }
}

/* ---- a process that wants the lock ---- */

/* Sends a message to all servers, because any of them may be the coordinator. */
static void send_all(int sock, char **ports, const char *word, uint64_t id)
{
    char text[64];
    int size = snprintf(text, sizeof text, "%s %" PRIu64 " %" PRId64, word, id, now());
    for (; strcmp(*ports, "--") != 0; ports++) {
        struct sockaddr_in to = local_address(*ports);
        sendto(sock, text, (size_t)size, 0, (struct sockaddr *)&to, sizeof to);
    }
}

/* Reads one message. Returns the grant's new deadline, or `deadline` if it stays the same. A
 * GRANT that arrives after the deadline does not count, because another process may have held
 * the lock since. */
static int64_t receive_grant(int sock, int64_t deadline, bool is_running)
{
    char text[128] = "", token[24], grant[24];
    int64_t stamp, left;
    if (recv(sock, text, sizeof text - 1, 0) <= 0 ||
        sscanf(text, "GRANT %" SCNd64 " %" SCNd64 " %23s %23s", &stamp, &left, token, grant) != 4 ||
        stamp + left <= deadline || (is_running && now() >= deadline))
        return deadline;
    setenv("ELECT_TOKEN", token, 1);
    setenv("MUTEX_GRANT", grant, 1);
    return stamp + left;
}

static pid_t start(char **command)
{
    pid_t child = fork();
    if (child < 0)
        err(1, "cannot fork");
    /* Both parent and child call setpgid, because either may run first. */
    setpgid(child, child);
    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(command[0], command);
    err(127, "cannot run %s", command[0]);
}

static int lock(int sock, char **ports, char **command)
{
    uint64_t id = (uint64_t)now() << 22 | (uint64_t)getpid(); /* unique on this machine */
    struct pollfd news[] = {{.fd = sock, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    int64_t next = 0, deadline = 0, time = now(), before = time;
    pid_t child = 0;
    int status = 0;
    while (child == 0 || (news[1].revents == 0 && time < deadline - MARGIN)) {
        if (time >= next) {
            send_all(sock, ports, "REQUEST", id);
            next = time + REPEAT;
        }
        poll(news, 2, REPEAT / 10000);
        if (news[0].revents != 0)
            deadline = receive_grant(sock, deadline, child != 0);
        before = time; /* more than MARGIN was left at this time */
        time = now();
        if (child == 0 && time < deadline - MARGIN) {
            child = start(command);
            news[1].fd = pidfd_open(child, 0);
        }
    }
    kill(-child, SIGKILL); /* with its children; the pid stays reserved until waitpid */
    time = now();
    waitpid(child, &status, 0);
    send_all(sock, ports, "RELEASE", id);
    if (time >= deadline)
        errx(LOST,
             "process %d was killed too late, at %" PRId64 " us: its grant ended at %" PRId64
             " us, and mutex was suspended from %" PRId64 " us on",
             child, time, deadline, before);
    if (news[1].revents == 0)
        errx(LOST, "%s: killed because its grant was not renewed", command[0]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    struct elect_client *client;
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), split = 2;
    while (split < argc && strcmp(argv[split], "--") != 0)
        split++;
    if (split + 1 < argc && strcmp(argv[1], "lock") == 0)
        return lock(sock, argv + 2, argv + split + 1);
    if (argc != 4 || strcmp(argv[1], "serve") != 0)
        errx(64, "usage: mutex serve SOCKET PORT | mutex lock PORT... -- CMD [ARG...]");
    struct sockaddr_in here = local_address(argv[3]);
    if (bind(sock, (struct sockaddr *)&here, sizeof here) != 0)
        err(1, "cannot bind port %s", argv[3]);
    enum elect_client_error error = elect_client_open(&client, argv[2], NULL);
    if (error != ELECT_CLIENT_FINE)
        errx(1, "%s", elect_client_text(error));
    coordinate(sock, client);
    return 1;
}
