/* Finds all descendants of this process in /proc and signals them by pidfd, so that a signal never
 * reaches an unrelated process with a reused id. */
#include "tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* most processes per walk; the next walk finds the rest */
#define WALK_MAX   4096
#define DELAY_MIN  50000 /* nanoseconds between two walks, doubled each time */
#define DELAY_MAX  1000000
#define LIST_BYTES 32768

bool tree_adopt(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }

void tree_let_reap(bool by_kernel) { signal(SIGCHLD, by_kernel ? SIG_IGN : SIG_DFL); }

/* Forks a child that this process can reap even while it ignores SIGCHLD. The kernel then reaps
 * only children whose exit signal is SIGCHLD, such as orphans and processes that called exec(). */
pid_t tree_fork(int namespaces)
{
    unsigned long flags = (unsigned long)namespaces | TREE_ENDED;
#ifdef __s390__ /* on s390, the stack is the first argument of clone() */
    return (pid_t)syscall(SYS_clone, NULL, flags, NULL, NULL, NULL);
#else
    return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
#endif
}

/* ---- one process ---- */

/* Opens /proc/PID, or returns -1. The descriptor refers to this process even after its id has been
 * reused. */
static int open_process(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Reads a whole file; the kernel returns one page at a time. */
static size_t read_all(int folder, const char *name, char *text, size_t room)
{
    size_t length = 0;
    ssize_t got;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && length < room && (got = read(fd, text + length, room - length)) > 0)
        length += (size_t)got;
    if (fd >= 0)
        close(fd);
    return length;
}

struct look {
    char state;
    pid_t pid, parent;
    unsigned long long start; /* clock ticks; with the id, identifies a process */
};

/* Reads /proc/PID/stat. The program's name may contain any character, and ends at the last
 * bracket. */
static bool look_at(int process, struct look *l)
{
    char text[1024];
    long pid, parent;
    text[read_all(process, "stat", text, sizeof text - 1)] = '\0';
    const char *behind = strrchr(text, ')');
    if (behind == NULL || sscanf(text, "%ld", &pid) != 1 ||
        sscanf(behind + 1,
               " %c %ld %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &l->state, &parent, &l->start) != 3)
        return false;
    l->pid = (pid_t)pid;
    l->parent = (pid_t)parent;
    return true;
}

static bool send_signal(int process, int number)
{
    return syscall(SYS_pidfd_send_signal, process, number, NULL, 0) == 0;
}

/* Signals the process of a /proc/PID descriptor. Without pidfd_send_signal (old kernels, seccomp),
 * the signal goes to the process id if /proc still shows the process, but SIGKILL never does: the
 * id could be reused after the check. signal_child() kills children without this risk, and the
 * children of a killed process become children of this one. */
static bool signal_process(int process, int number)
{
    struct look l;
    if (send_signal(process, number))
        return true;
    return errno != ESRCH && number != SIGKILL && look_at(process, &l) && kill(l.pid, number) == 0;
}

/* ---- the children of a process ---- */

size_t tree_children_by_parent(pid_t of, pid_t *children, size_t room)
{
    size_t count = 0;
    DIR *all = opendir("/proc");
    const struct dirent *entry;
    while (all != NULL && count < room && (entry = readdir(all)) != NULL) {
        pid_t pid =
            isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
        struct look l;
        int process = pid > 0 ? open_process(pid) : -1;
        if (process >= 0 && look_at(process, &l) && l.parent == of)
            children[count++] = pid;
        if (process >= 0)
            close(process);
    }
    if (all != NULL)
        closedir(all);
    return count;
}

/* Parses a list of numbers. A last number without a blank after it may be incomplete, and is
 * omitted. */
static size_t numbers_in(char *text, size_t length, pid_t *to, size_t room)
{
    size_t count = 0;
    char *end;
    while (length > 0 && text[length - 1] != ' ')
        length--;
    text[length] = '\0';
    for (long pid = strtol(text, &end, 10); end != text && count < room;
         text = end, pid = strtol(text, &end, 10))
        to[count++] = (pid_t)pid;
    return count;
}

/* Lists the children of all threads: the kernel lists a child under the thread that forked it. */
static size_t children_of(int process, pid_t *children, size_t room)
{
    static char text[LIST_BYTES + 1];
    char path[16 + sizeof((struct dirent *)0)->d_name];
    size_t count = 0;
    const struct dirent *thread;
    int folder = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *threads = folder >= 0 ? fdopendir(folder) : NULL;
    while (threads != NULL && (thread = readdir(threads)) != NULL) {
        if (!isdigit((unsigned char)thread->d_name[0]))
            continue;
        snprintf(path, sizeof path, "%s/children", thread->d_name);
        size_t length = read_all(folder, path, text, LIST_BYTES);
        count += numbers_in(text, length, children + count, room - count);
    }
    if (threads != NULL)
        closedir(threads);
    else if (folder >= 0)
        close(folder);
    return count;
}

size_t tree_children(pid_t of, pid_t *children, size_t room)
{
    int process = open_process(of);
    size_t count = process >= 0 ? children_of(process, children, room) : 0;
    if (process >= 0)
        close(process);
    if (count == 0 && of == getpid() && access("/proc/thread-self/children", F_OK) != 0)
        return tree_children_by_parent(of, children, room);
    return count;
}

/* ---- signalling all descendants ---- */

static bool has_cgroup(const struct tree *t) { return t->cgroup != NULL && t->cgroup->fd >= 0; }

static void show_life(const struct tree *t)
{
    if (t->steps != NULL)
        atomic_fetch_add(t->steps, 1);
}

/* Returns true if `id` is a child of this process, dead or alive. Works without /proc. */
static bool is_child(idtype_t type, id_t id)
{
    siginfo_t info;
    return waitid(type, id, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/* Signals the command's process group, including processes that are just being forked. The group's
 * number is not reused while the waiter, dead or alive, is in it. */
static void signal_group(const struct tree *t, int number)
{
    pid_t group =
        t->waiter > 0 && is_child(P_PID, (id_t)t->waiter) ? getpgid(t->waiter) : getpgrp();
    if (group > 1 && group != getpgrp())
        kill(-group, number);
}

/* Signals a child by its process id. Until then the kernel must not reap it, because the id could
 * be reused. */
static void signal_child_by_number(pid_t child, int number)
{
    void (*before)(int) = signal(SIGCHLD, SIG_DFL);
    if (is_child(P_PID, (id_t)child))
        kill(child, number);
    signal(SIGCHLD, before);
}

/* Signals a child by pidfd, because the id of a reaped child may have been reused. Kernels before
 * 5.4 and some seccomp filters lack one of the system calls. */
static void signal_child(pid_t child, int number)
{
    int fd = (int)syscall(SYS_pidfd_open, child, 0);
    bool sent = fd >= 0 && is_child(P_PIDFD, (id_t)fd) && send_signal(fd, number);
    /* ESRCH, ECHILD: the child has already ended */
    if (!sent && errno != ESRCH && errno != ECHILD)
        signal_child_by_number(child, number);
    if (fd >= 0)
        close(fd);
}

/* Signals all children as fast as possible, because a process that forks and exits could escape.
 * Begins at the end of the list, with the newest children, which are most likely to be running.
 * Returns true if there may be a child that the previous call did not find. */
static bool signal_children(const struct tree *t, int number, pid_t *newest)
{
    static pid_t child[WALK_MAX];
    signal_group(t, number);
    size_t count = tree_children(getpid(), child, WALK_MAX);
    pid_t before = *newest;
    *newest = count > 0 ? child[count - 1] : 0;
    for (size_t i = count; i-- > 0;) {
        show_life(t);
        signal_child(child[i], number);
    }
    return *newest != before || count == WALK_MAX;
}

struct process {
    pid_t pid;
    unsigned long long start;
};

static int reopen(const struct process *p, struct look *l)
{
    int process = open_process(p->pid);
    if (process < 0 || (look_at(process, l) && l->start == p->start))
        return process;
    close(process);
    return -1;
}

/* Adds the children of `parent`, with the descriptor `process`, to `to`. The id of a listed child
 * may have been reused, so only processes whose parent is still `parent` are added. */
static size_t add_children(int process, pid_t parent, struct process *to, size_t room)
{
    static pid_t listed[WALK_MAX];
    size_t added = 0, count = children_of(process, listed, room);
    for (size_t i = 0; i < count; i++) {
        struct look l;
        int child = open_process(listed[i]);
        if (child >= 0 && look_at(child, &l) && l.parent == parent && signal_process(process, 0))
            to[added++] = (struct process){listed[i], l.start};
        if (child >= 0)
            close(child);
    }
    return added;
}

/* Calls `visit` for every descendant, parents before children. Returns true if a call did, or if
 * there may be more descendants. */
static bool walk(const struct tree *t, bool (*visit)(int process, const struct look *l))
{
    static struct process all[WALK_MAX];
    int self = open_process(getpid());
    size_t count = self >= 0 ? add_children(self, getpid(), all, WALK_MAX) : 0;
    bool any = false;
    if (self >= 0)
        close(self);
    for (size_t i = 0; i < count; i++) {
        struct look l;
        show_life(t);
        int process = reopen(&all[i], &l);
        if (process < 0)
            continue;
        any |= visit(process, &l);
        count += add_children(process, all[i].pid, all + count, WALK_MAX - count);
        close(process);
    }
    return any || count == WALK_MAX;
}

static void rest(long *nanoseconds)
{
    const struct timespec moment = {.tv_nsec = *nanoseconds};
    nanosleep(&moment, NULL);
    if (*nanoseconds < DELAY_MAX)
        *nanoseconds *= 2;
}

/* ---- reaping and killing ---- */

bool tree_reap(tree_ended *ended, void *context)
{
    int status;
    pid_t child;
    while ((child = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
        ended(context, child, status);
    return child == 0 || errno != ECHILD;
}

static bool kill_one(int process, const struct look *l)
{
    (void)l;
    return signal_process(process, SIGKILL);
}

/* A killed process cannot fork, and its children become children of this one. While new children
 * appear, the loop neither sleeps nor looks for deeper descendants. Then it sleeps, because killed
 * processes may need this processor to exit. */
void tree_kill(const struct tree *t, tree_ended *ended, void *context)
{
    long delay = DELAY_MIN;
    pid_t newest = 0;
    while (tree_reap(ended, context)) {
        if (has_cgroup(t))
            cgroup_kill(t->cgroup);
        if (signal_children(t, SIGKILL, &newest)) {
            delay = DELAY_MIN;
            continue;
        }
        walk(t, kill_one);
        if (!tree_reap(ended, context))
            return;
        rest(&delay);
    }
}

/* ---- stopping and continuing ---- */

/* A process with a pending SIGSTOP executes no more of its own code. On a busy machine, it can take
 * long until it is scheduled and actually stops. */
static bool is_told_to_stop(int process)
{
    static const char *const names[] = {"\nSigPnd:", "\nShdPnd:"};
    char text[4096];
    unsigned long long set = 0;
    text[read_all(process, "status", text, sizeof text - 1)] = '\0';
    for (unsigned i = 0; i < 2; i++) {
        const char *at = strstr(text, names[i]);
        set |= at != NULL ? strtoull(at + strlen(names[i]), NULL, 16) : 0;
    }
    return (set >> (SIGSTOP - 1) & 1) != 0;
}

static bool stop_one(int process, const struct look *l)
{
    if (strchr("TtZX", l->state) != NULL || (l->state != 'D' && is_told_to_stop(process)))
        return false;
    signal_process(process, SIGSTOP);
    return true;
}

static bool continue_one(int process, const struct look *l)
{
    (void)l;
    return signal_process(process, SIGCONT);
}

void tree_stop(const struct tree *t)
{
    long delay = DELAY_MIN;
    pid_t newest = 0;
    if (has_cgroup(t) && cgroup_freeze(t->cgroup, true))
        while (!cgroup_is(t->cgroup, "frozen 1") && cgroup_is(t->cgroup, "populated 1"))
            rest(&delay);
    /* processes that have left the control group or could not be frozen */
    while (signal_children(t, SIGSTOP, &newest)) {
    }
    while (walk(t, stop_one)) {
        rest(&delay);
        while (signal_children(t, SIGSTOP, &newest)) {
        }
    }
}

void tree_continue(const struct tree *t)
{
    if (has_cgroup(t))
        cgroup_freeze(t->cgroup, false);
    walk(t, continue_one);
}
