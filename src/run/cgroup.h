/* A control group (version 2) for the command and its processes. All processes in the group can be
 * killed or frozen together, including processes that are just being forked and processes of
 * another user. */
#ifndef ELECT_RUN_CGROUP_H
#define ELECT_RUN_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_PATH 4096

struct cgroup {
    int fd; /* the folder of the control group; -1: there is none */
    char path[CGROUP_PATH];
};

#define CGROUP_NONE ((struct cgroup){.fd = -1})

/* Creates a control group below the control group of this process. With `demanded`, tries this even
 * if the control group of this process was not delegated to this user. Returns false, with the
 * reason, if it fails. */
bool cgroup_make(struct cgroup *g, bool demanded, char *why, size_t room);
bool cgroup_enter(const struct cgroup *g); /* moves this process and its future children */
bool cgroup_kill(const struct cgroup *g);
bool cgroup_freeze(const struct cgroup *g, bool freeze);
bool cgroup_is(const struct cgroup *g, const char *event); /* `event`: "populated 1", "frozen 1" */
void cgroup_remove(struct cgroup *g);

#endif
