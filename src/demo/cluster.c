/* Sets up the demonstration's cluster (addresses, files, supervisor) and sends orders to the
 * supervisor. */
#include "cluster.h"

#include "../daemon/keys.h"
#include "../run/tree.h"
#include "elect-uv.h"
#include "folder.h"
#include "supervisor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ORDER_SECONDS 60 /* per order; generous, for busy machines */
/* Time limit for the supervisor's exit. After that, this process cleans up. */
#define END_SECONDS 5

const char *cluster_mandate(const struct cluster *g)
{
    return g->mandate == ELECT_NO_MANDATE ? "none" : "majority";
}

void cluster_socket(const struct cluster *g, unsigned member, const char *which, char *path,
                    size_t room)
{
    snprintf(path, room, "%s/member-%u.%s", g->folder, member + 1, which);
}

/* ---- the network ---- */

static bool bind_at(const char *host, struct sockaddr_in *at, int *fd)
{
    socklen_t size = sizeof *at;
    *at = (struct sockaddr_in){.sin_family = AF_INET};
    inet_pton(AF_INET, host, &at->sin_addr);
    *fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return *fd >= 0 && bind(*fd, (struct sockaddr *)at, sizeof *at) == 0 &&
           getsockname(*fd, (struct sockaddr *)at, &size) == 0;
}

/* Opens the supervisor's sockets and chooses the members' addresses. Members send their packets
 * to the supervisor, which relays them. Their loopback addresses are random, so that no other
 * process takes their ports while they are down. */
static bool make_network(struct cluster *g, struct text *complaint)
{
    bool fine = true;
    uint32_t net = 1 + randombytes_uniform(254), part = randombytes_uniform(256);
    for (unsigned i = 0; i < g->members && fine; i++) {
        char host[INET_ADDRSTRLEN];
        int probe = -1;
        snprintf(host, sizeof host, "127.%u.%u.%u", net, part, i + 1);
        for (unsigned j = 0; j < g->members && fine; j++)
            fine = i == j || bind_at("127.0.0.1", &g->seen[i][j], &g->relay[i][j]);
        fine = fine && bind_at(host, &g->place[i], &probe);
        if (probe >= 0)
            close(probe); /* the daemon will bind it */
    }
    return fine || text_complain(complaint, "127.0.0.1", strerror(errno), ": no sockets");
}

/* ---- files ---- */

static bool write_config(const struct cluster *g, unsigned me, const char *cluster,
                         struct text *complaint)
{
    char path[CLUSTER_PATH + 16];
    snprintf(path, sizeof path, "%s/%u.conf", g->folder, me + 1);
    FILE *out = fopen(path, "we");
    if (out == NULL)
        return text_complain(complaint, path, strerror(errno), "");
    fprintf(out,
            "[cluster]\nid = %s\nkey-file = key\nstate-dir = state\nrun-dir = .\n"
            "algorithm = %s\nmandate = %s\n",
            cluster, elect_algorithm_name((enum elect_algorithm)g->algorithm), cluster_mandate(g));
    for (unsigned i = 0; i < g->members; i++) {
        const struct sockaddr_in *at = i == me ? &g->place[i] : &g->seen[me][i];
        char host[INET_ADDRSTRLEN];
        inet_ntop(AF_INET, &at->sin_addr, host, sizeof host);
        fprintf(out, "\n[member %u]\nid = %u\naddress = %s:%u\n", i + 1, i + 1, host,
                ntohs(at->sin_port));
    }
    fputs("\n[group main]\n", out);
    return fclose(out) == 0 || text_complain(complaint, path, strerror(errno), "");
}

/* Writes all members' configurations, and their state files unless they exist. */
bool cluster_configure(struct cluster *g, struct text *complaint)
{
    char hex[2 * ELECT_UV_CLUSTER + 1];
    if (sodium_is_zero(g->identity, sizeof g->identity))
        randombytes_buf(g->identity, sizeof g->identity);
    sodium_bin2hex(hex, sizeof hex, g->identity, sizeof g->identity);
    bool fine = true;
    for (unsigned i = 0; i < g->members && fine; i++)
        fine = write_config(g, i, hex, complaint);
    for (unsigned i = 0; i < g->members && fine; i++) {
        char path[CLUSTER_PATH + 32], why[256];
        snprintf(path, sizeof path, "%s/state/member-%u.state", g->folder, i + 1);
        if (access(path, F_OK) == 0)
            continue;
        fine = elect_member_create(path, g->identity, (uint16_t)(i + 1), why, sizeof why) ||
               text_complain(complaint, path, why, "");
    }
    return fine;
}

static bool make_files(struct cluster *g, struct text *complaint)
{
    struct keys keys = {.count = 1};
    char path[CLUSTER_PATH + 8];
    snprintf(path, sizeof path, "%s/state", g->folder);
    if (mkdir(path, 0700) != 0)
        return text_complain(complaint, path, strerror(errno), "");
    snprintf(path, sizeof path, "%s/key", g->folder);
    keys_draw(&(struct keys){0}, &keys.key[0]);
    bool fine = keys_write(&keys, path, true, complaint);
    keys_wipe(&keys);
    return fine && cluster_configure(g, complaint);
}

/* ---- the supervisor ---- */

static bool fork_supervisor(struct cluster *g, struct text *complaint)
{
    const struct timeval patience = {.tv_sec = ORDER_SECONDS};
    int pair[2];
    void *page =
        mmap(NULL, sizeof *g->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g->page = page != MAP_FAILED ? page : NULL;
    if (g->page == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return text_complain(complaint, "demo", strerror(errno), "");
    if (g->terminal >= 0)
        tcgetattr(g->terminal, &g->page->before);
    g->channel = pair[0];
    setsockopt(g->channel, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    g->supervisor = fork();
    if (g->supervisor == 0) {
        close(pair[0]);
        supervisor_run(g, pair[1]);
    }
    close(pair[1]);
    return g->supervisor > 0 || text_complain(complaint, "fork", strerror(errno), "");
}

bool cluster_begin(struct cluster *g, struct text *complaint)
{
    g->lock = g->channel = -1;
    /* With SIGCHLD ignored, waitpid could not report children. */
    signal(SIGCHLD, SIG_DFL);
    if (sodium_init() < 0)
        return text_complain(complaint, "cannot use keys", "libsodium finds no random numbers",
                             ", check /dev/urandom");
    tree_adopt(); /* if the supervisor is killed, its daemons become children of this process */
    folder_clean_up();
    g->lock = folder_make(g->folder, sizeof g->folder, complaint);
    if (g->lock < 0)
        return false;
    bool fine = make_network(g, complaint) && fork_supervisor(g, complaint);
    for (unsigned i = 0; i < g->members && fine; i++)
        for (unsigned j = 0; j < g->members; j++)
            if (i != j)
                close(g->relay[i][j]);
    if (fine && make_files(g, complaint))
        return true;
    cluster_end(g);
    return false;
}

bool cluster_order(struct cluster *g, enum order order, unsigned member)
{
    const uint8_t packet[2] = {(uint8_t)order, (uint8_t)member};
    uint8_t done;
    if (send(g->channel, packet, sizeof packet, MSG_NOSIGNAL) != (ssize_t)sizeof packet)
        return false;
    ssize_t got;
    do
        got = recv(g->channel, &done, 1, 0);
    while (got < 0 && errno == EINTR); /* SIGCONT or a freezer may interrupt recv */
    return got == 1;
}

/* Waits for the supervisor to clean up and exit. Returns false if it had to be killed or failed. */
static bool supervisor_has_cleaned_up(const struct cluster *g)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    int64_t until = boottime_now() + (int64_t)END_SECONDS * 1000000;
    int status = 1;
    pid_t ended = 0;
    while (g->supervisor > 0 && (ended = waitpid(g->supervisor, &status, WNOHANG)) == 0) {
        if (boottime_now() > until)
            kill(g->supervisor, SIGKILL); /* the kernel then kills the daemons, too */
        nanosleep(&moment, NULL);
    }
    return g->supervisor > 0 && ended == g->supervisor && status == 0;
}

void cluster_end(struct cluster *g)
{
    if (g->channel >= 0)
        close(g->channel);
    if (!supervisor_has_cleaned_up(g))
        supervisor_clean_up(g);
    close(g->lock);
}
