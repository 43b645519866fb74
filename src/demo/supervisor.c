/* The supervisor starts the daemons, sends them signals, relays their packets, and finally
 * removes all files. */
#include "supervisor.h"

#include "../run/tree.h"
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PACKET 2048
/* Attempts to remove the folder, 10 ms apart, because daemons take a while to exit. */
#define TRIES 3000

struct supervisor {
    struct cluster *cluster;
    int channel, signals;
    pid_t child[CLUSTER_MEMBERS]; /* guardians; 0 if down */
};

/* ---- the end ---- */

static void nothing(void *context, pid_t child, int status)
{
    (void)context;
    (void)child;
    (void)status;
}

static void restore_terminal(const struct cluster *g)
{
    static const char leave[] = "\x1b[?25h\x1b[?1049l\x1b[0m";
    if (g->terminal < 0 || !atomic_exchange(&g->page->terminal, false))
        return;
    tcsetattr(g->terminal, TCSANOW, &g->page->before);
    (void)!write(g->terminal, leave, sizeof leave - 1);
}

/* Removes the folder. Retries, because daemons that are still exiting may create files in it. */
void supervisor_clean_up(const struct cluster *g)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    for (unsigned i = 0; i < TRIES && access(g->folder, F_OK) == 0; i++) {
        if (i > 0)
            nanosleep(&moment, NULL);
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        folder_remove(g->folder);
    }
    if (g->page != NULL)
        restore_terminal(g);
}

/* ---- daemons ---- */

static _Noreturn void be_daemon(const struct cluster *g, unsigned member, pid_t supervisor)
{
    char config[CLUSTER_PATH + 16], log[CLUSTER_PATH + 16], number[8];
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) /* it is already gone: no signal will come */
        _exit(1);
    snprintf(config, sizeof config, "%s/%u.conf", g->folder, member + 1);
    snprintf(log, sizeof log, "%s/%u.log", g->folder, member + 1);
    snprintf(number, sizeof number, "%u", member + 1);
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execl("/proc/self/exe", "elect", "daemon", "-c", config, "--id", number, "--with-parent",
          (char *)NULL);
    _exit(127);
}

static void start(struct supervisor *k, unsigned member)
{
    if (k->child[member] != 0)
        return;
    pid_t supervisor = getpid(), child = fork();
    if (child == 0)
        be_daemon(k->cluster, member, supervisor);
    k->child[member] = child > 0 ? child : 0;
    atomic_store(&k->cluster->page->runs[member], child > 0);
    atomic_store(&k->cluster->page->stands[member], false);
}

static void reap(struct supervisor *k)
{
    pid_t child;
    while ((child = waitpid(-1, NULL, WNOHANG)) > 0)
        for (unsigned i = 0; i < k->cluster->members; i++)
            if (k->child[i] == child) {
                k->child[i] = 0;
                atomic_store(&k->cluster->page->runs[i], false);
                atomic_store(&k->cluster->page->stands[i], false);
            }
}

/* Signals the member, which is its guardian's only child, and also the guardian if `guardian` is
 * true. */
static void signal_both(const struct supervisor *k, unsigned member, int number, bool guardian)
{
    pid_t below;
    size_t count = tree_children(k->child[member], &below, 1);
    if (guardian)
        kill(k->child[member], number);
    if (count == 1)
        kill(below, number);
}

static void obey(struct supervisor *k, enum order order, unsigned member)
{
    struct cluster_page *page = k->cluster->page;
    /* Take the time before the signal: another member may become leader before this process runs
     * again. */
    int64_t began = boottime_now();
    if (order == ORDER_START) {
        start(k, member);
    } else if (k->child[member] != 0) {
        static const int numbers[] = {[ORDER_KILL] = SIGKILL,
                                      [ORDER_CRASH] = SIGKILL,
                                      [ORDER_STOP] = SIGSTOP,
                                      [ORDER_CONTINUE] = SIGCONT};
        signal_both(k, member, numbers[order], order != ORDER_KILL);
        if (order == ORDER_STOP || order == ORDER_CONTINUE)
            atomic_store(&page->stands[member], order == ORDER_STOP);
    }
    atomic_store(&page->done[member], began);
}

static bool take_orders(struct supervisor *k)
{
    uint8_t packet[2];
    ssize_t got = recv(k->channel, packet, sizeof packet, 0);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
        return false;
    if (got == (ssize_t)sizeof packet && packet[1] < k->cluster->members)
        obey(k, (enum order)packet[0], packet[1]);
    if (got > 0)
        send(k->channel, packet, 1, MSG_NOSIGNAL);
    return true;
}

/* ---- the network ---- */

static bool same(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
    return a->sin_port == b->sin_port && a->sin_addr.s_addr == b->sin_addr.s_addr;
}

/* Relays a packet, from the address where the receiver expects its sender. Drops it if a cut
 * separates the two. */
static void pass_on(const struct cluster *g, unsigned from, unsigned to)
{
    uint8_t packet[PACKET];
    struct sockaddr_in who;
    socklen_t size = sizeof who;
    ssize_t length = recvfrom(g->relay[from][to], packet, sizeof packet, MSG_DONTWAIT,
                              (struct sockaddr *)&who, &size);
    if (length < 0 || !same(&who, &g->place[from]))
        return;
    if (atomic_load(&g->page->part[from]) != atomic_load(&g->page->part[to]))
        return;
    sendto(g->relay[to][from], packet, (size_t)length, MSG_DONTWAIT,
           (const struct sockaddr *)&g->place[to], sizeof g->place[to]);
}

/* ---- the loop ---- */

static int take_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGQUIT);
    sigprocmask(SIG_SETMASK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool take_signal(struct supervisor *k)
{
    struct signalfd_siginfo info;
    bool goes_on = true;
    while (read(k->signals, &info, sizeof info) == (ssize_t)sizeof info)
        goes_on = goes_on && info.ssi_signo == SIGCHLD;
    reap(k);
    return goes_on;
}

void supervisor_run(struct cluster *g, int channel)
{
    const struct tree all = {0};
    struct supervisor k = {.cluster = g, .channel = channel, .signals = take_signals()};
    struct pollfd fd[2 + CLUSTER_MEMBERS * CLUSTER_MEMBERS];
    unsigned pair[2 + CLUSTER_MEMBERS * CLUSTER_MEMBERS], count = 0;
    setsid();
    tree_adopt();
    /* SIGCONT, so that even a stopped supervisor wakes up and cleans up when its parent exits. */
    prctl(PR_SET_PDEATHSIG, SIGCONT);
    prctl(PR_SET_NAME, "elect-demo");
    fd[count++] = (struct pollfd){.fd = channel, .events = POLLIN};
    fd[count++] = (struct pollfd){.fd = k.signals, .events = POLLIN};
    for (unsigned i = 0; i < g->members; i++)
        for (unsigned j = 0; j < g->members; j++)
            if (i != j) {
                pair[count] = i * CLUSTER_MEMBERS + j;
                fd[count++] = (struct pollfd){.fd = g->relay[i][j], .events = POLLIN};
            }
    for (bool goes_on = true; goes_on;) {
        if (poll(fd, count, -1) < 0 && errno != EINTR)
            break;
        if (fd[0].revents != 0)
            goes_on = take_orders(&k);
        if (fd[1].revents != 0)
            goes_on = take_signal(&k) && goes_on;
        for (unsigned i = 2; i < count; i++)
            if ((fd[i].revents & POLLIN) != 0)
                pass_on(g, pair[i] / CLUSTER_MEMBERS, pair[i] % CLUSTER_MEMBERS);
    }
    tree_kill(&all, nothing, NULL);
    supervisor_clean_up(g);
    _exit(0);
}
