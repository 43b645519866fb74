/* A control group (version 2) for the command and its processes. They can be killed or frozen
 * together, including processes that are being forked and those of another user. */
#ifndef ELECT_RUN_CGROUP_H
#define ELECT_RUN_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_PATH 4096

struct cgroup {
    int fd; /* its folder; -1: there is no control group */
    char path[CGROUP_PATH];
};

#define CGROUP_NONE ((struct cgroup){.fd = -1})

/* Creates a control group below that of this process. With `demanded`, does so even if that group
 * was not delegated to this user. If it fails, returns false and the reason. */
bool cgroup_make(struct cgroup *g, bool demanded, char *why, size_t room);
bool cgroup_enter(const struct cgroup *g); /* moves this process, and all that it will start */
bool cgroup_kill(const struct cgroup *g);
bool cgroup_freeze(const struct cgroup *g, bool freeze);
bool cgroup_is(const struct cgroup *g, const char *event); /* `event`: "populated 1", "frozen 1" */
void cgroup_remove(struct cgroup *g);

#endif
