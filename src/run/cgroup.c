/* Creates, kills, freezes and removes a control group below that of this process (cgroup v2). */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* ---- the control group of this process ---- */

static bool own_path(char *path, size_t room)
{
    char line[CGROUP_PATH];
    FILE *in = fopen("/proc/self/cgroup", "re");
    bool found = false;
    while (in != NULL && !found && fgets(line, sizeof line, in) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        found =
            strncmp(line, "0::/", 4) == 0 &&
            (size_t)snprintf(path, room, "%s", strcmp(line, "0::/") == 0 ? "" : line + 3) < room;
    }
    if (in != NULL)
        fclose(in);
    return found;
}

/* Finds the mount point of cgroup v2, if it has no blank (\040 in /proc/self/mounts). */
static bool mount_point(char *path, size_t room)
{
    char line[CGROUP_PATH], where[CGROUP_PATH], kind[64];
    FILE *in = fopen("/proc/self/mounts", "re");
    bool found = false;
    while (in != NULL && !found && fgets(line, sizeof line, in) != NULL)
        found = sscanf(line, "%*s %4095s %63s", where, kind) == 2 && strcmp(kind, "cgroup2") == 0;
    if (in != NULL)
        fclose(in);
    return found && (size_t)snprintf(path, room, "%s", where) < room;
}

static bool delegated(const char *path)
{
    static const char *const marks[] = {"user.delegate", "trusted.delegate"};
    char value[2];
    for (unsigned i = 0; i < 2; i++)
        if (getxattr(path, marks[i], value, sizeof value) == 1 && value[0] == '1')
            return true;
    return false;
}

/* ---- a control group below that of this process ---- */

static bool make_below(struct cgroup *g, const char *parent)
{
    int length = snprintf(g->path, sizeof g->path, "%s/elect-run-%ld", parent, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof g->path) {
        errno = ENAMETOOLONG;
        return false;
    }
    /* left behind by an earlier process with the same pid */
    if (mkdir(g->path, 0755) != 0 && errno == EEXIST)
        if (rmdir(g->path) != 0 || mkdir(g->path, 0755) != 0)
            return false;
    g->fd = open(g->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (g->fd >= 0 && faccessat(g->fd, "cgroup.kill", W_OK, 0) == 0)
        return true;
    int error = errno;
    cgroup_remove(g);
    rmdir(g->path);
    errno = error;
    return false;
}

bool cgroup_make(struct cgroup *g, bool demanded, char *why, size_t room)
{
    char mount[CGROUP_PATH / 2], own[CGROUP_PATH / 2], parent[CGROUP_PATH - 64];
    *g = CGROUP_NONE;
    if (!mount_point(mount, sizeof mount) || !own_path(own, sizeof own)) {
        snprintf(why, room, "this machine has no control groups of version 2");
        return false;
    }
    if ((size_t)snprintf(parent, sizeof parent, "%s%s", mount, own) >= sizeof parent) {
        snprintf(why, room,
                 "the path of the control group of this process is too long: start elect run where "
                 "it has at most %zu bytes, or without --cgroup",
                 sizeof parent - 1);
        return false;
    }
    if (!demanded && !delegated(parent)) {
        snprintf(why, room, "%s: not delegated", parent);
        return false;
    }
    if (make_below(g, parent))
        return true;
    snprintf(why, room, "cannot create a control group below %.200s: %s", parent, strerror(errno));
    return false;
}

static bool put(const struct cgroup *g, const char *name, const char *word)
{
    int fd = openat(g->fd, name, O_WRONLY | O_CLOEXEC);
    bool fine = fd >= 0 && write(fd, word, strlen(word)) == (ssize_t)strlen(word);
    if (fd >= 0)
        close(fd);
    return fine;
}

bool cgroup_enter(const struct cgroup *g) { return put(g, "cgroup.procs", "0"); }

bool cgroup_kill(const struct cgroup *g) { return put(g, "cgroup.kill", "1"); }

bool cgroup_freeze(const struct cgroup *g, bool freeze)
{
    return put(g, "cgroup.freeze", freeze ? "1" : "0");
}

bool cgroup_is(const struct cgroup *g, const char *event)
{
    char text[256];
    int fd = openat(g->fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    return strstr(text, event) != NULL;
}

/* The kernel needs a moment after the last process was reaped, so rmdir() is retried. */
void cgroup_remove(struct cgroup *g)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    if (g->fd < 0)
        return;
    close(g->fd);
    g->fd = -1;
    for (unsigned i = 0; i < 100 && rmdir(g->path) != 0 && errno == EBUSY; i++)
        nanosleep(&moment, NULL);
}
