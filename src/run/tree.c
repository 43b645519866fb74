#include "tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WALK_MAX   4096 /* in one walk; the rest in the next */
#define PAUSE_MIN  50000
#define PAUSE_MAX  1000000 /* nanoseconds */
#define LIST_BYTES 32768

bool tree_adopt(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }

/* ---- who is there ---- */

/* What stands behind the name, which may contain anything: state and parent. */
static bool look_at(pid_t pid, char *state, pid_t *parent)
{
    char path[64], text[512];
    long ppid;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    const char *behind = strrchr(text, ')');
    if (behind == NULL || sscanf(behind + 1, " %c %ld", state, &ppid) != 2)
        return false;
    *parent = (pid_t)ppid;
    return true;
}

size_t tree_children_by_parent(pid_t of, pid_t *children, size_t room)
{
    size_t count = 0;
    DIR *all = opendir("/proc");
    const struct dirent *entry;
    while (all != NULL && count < room && (entry = readdir(all)) != NULL) {
        pid_t parent, pid = isdigit((unsigned char)entry->d_name[0])
                                ? (pid_t)strtol(entry->d_name, NULL, 10)
                                : 0;
        char state;
        if (pid > 0 && look_at(pid, &state, &parent) && parent == of)
            children[count++] = pid;
    }
    if (all != NULL)
        closedir(all);
    return count;
}

/* The kernel gives a page at a time. */
static size_t read_all(int fd, char *text, size_t room)
{
    size_t length = 0;
    ssize_t got;
    while (fd >= 0 && length < room && (got = read(fd, text + length, room - length)) > 0)
        length += (size_t)got;
    return length;
}

/* A number that is cut off at the end of it is none. */
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

/* Of all its threads: a child belongs to the one that forked it. */
size_t tree_children(pid_t of, pid_t *children, size_t room)
{
    static char text[LIST_BYTES + 1];
    char path[64 + sizeof((struct dirent *)0)->d_name];
    size_t count = 0;
    const struct dirent *thread;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)of);
    DIR *threads = opendir(path);
    while (threads != NULL && (thread = readdir(threads)) != NULL) {
        if (!isdigit((unsigned char)thread->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%ld/task/%s/children", (long)of, thread->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT && of == getpid()) { /* a kernel that keeps no list */
            closedir(threads);
            return tree_children_by_parent(of, children, room);
        }
        count += numbers_in(text, read_all(fd, text, LIST_BYTES), children + count, room - count);
        if (fd >= 0)
            close(fd);
    }
    if (threads != NULL)
        closedir(threads);
    return count;
}

static bool has_cgroup(const struct tree *t) { return t->cgroup != NULL && t->cgroup->fd >= 0; }

/* A descendant can join any group of its session: of those of ours only what is known to be ours,
 * or is led by itself, is signalled as a whole. */
static void signal_one(const struct tree *t, pid_t pid, int number)
{
    pid_t group = getpgid(pid);
    if (group > 1 && group != getpgrp() &&
        (group == t->group || group == pid || getsid(pid) != getsid(0)))
        kill(-group, number);
    kill(pid, number);
}

/* Each descendant, parents before their children, as soon as it is found; whether it was worth
 * it for any of them. */
static bool walk(const struct tree *t, bool (*visit)(const struct tree *t, pid_t pid))
{
    static pid_t all[WALK_MAX];
    size_t count = tree_children(getpid(), all, WALK_MAX);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        count += tree_children(all[i], all + count, WALK_MAX - count);
        any |= visit(t, all[i]);
    }
    return any || count == WALK_MAX; /* then there may be more */
}

/* ---- the end ---- */

bool tree_reap(tree_ended *ended, void *context)
{
    int status;
    pid_t child;
    while ((child = waitpid(-1, &status, WNOHANG)) > 0)
        ended(context, child, status);
    return child == 0 || errno != ECHILD;
}

static void rest(long *nanoseconds)
{
    const struct timespec moment = {.tv_nsec = *nanoseconds};
    nanosleep(&moment, NULL);
    if (*nanoseconds < PAUSE_MAX)
        *nanoseconds *= 2;
}

/* Whether it is a child of ours, so that its number is nobody else's: that much can be known
 * without /proc. */
static bool leads_group(pid_t child)
{
    siginfo_t info;
    return child > 1 && waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static bool kill_one(const struct tree *t, pid_t pid)
{
    signal_one(t, pid, SIGKILL);
    return true;
}

void tree_kill(const struct tree *t, tree_ended *ended, void *context)
{
    long moment = PAUSE_MIN;
    while (tree_reap(ended, context)) {
        if (has_cgroup(t))
            cgroup_kill(t->cgroup);
        if (leads_group(t->group))
            kill(-t->group, SIGKILL);
        walk(t, kill_one);
        if (!tree_reap(ended, context))
            return;
        rest(&moment);
    }
}

/* ---- standing still ---- */

/* What was signalled, but has had no processor since, does not come back to its own code: on a busy
 * machine that can take long. */
static bool is_told_to_stop(pid_t pid)
{
    static const char *const names[] = {"\nSigPnd:", "\nShdPnd:"};
    char path[64], text[4096];
    unsigned long long set = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    text[read_all(fd, text, sizeof text - 1)] = '\0';
    if (fd >= 0)
        close(fd);
    for (unsigned i = 0; i < 2; i++) {
        const char *at = strstr(text, names[i]);
        set |= at != NULL ? strtoull(at + strlen(names[i]), NULL, 16) : 0;
    }
    return (set >> (SIGSTOP - 1) & 1) != 0;
}

static bool stop_one(const struct tree *t, pid_t pid)
{
    char state;
    pid_t parent;
    if (!look_at(pid, &state, &parent) || strchr("TtZX", state) != NULL ||
        (state != 'D' && is_told_to_stop(pid)))
        return false;
    signal_one(t, pid, SIGSTOP);
    return true;
}

static bool continue_one(const struct tree *t, pid_t pid)
{
    (void)t;
    return kill(pid, SIGCONT) == 0;
}

void tree_stop(const struct tree *t)
{
    long moment = PAUSE_MIN;
    if (has_cgroup(t) && cgroup_freeze(t->cgroup, true))
        while (!cgroup_is(t->cgroup, "frozen 1") && cgroup_is(t->cgroup, "populated 1"))
            rest(&moment);
    while (walk(t, stop_one)) /* what has left the control group, or could not be frozen there */
        rest(&moment);
}

void tree_continue(const struct tree *t)
{
    if (has_cgroup(t))
        cgroup_freeze(t->cgroup, false);
    walk(t, continue_one);
}
