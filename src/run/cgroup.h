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

/* Creates a control group below the control group of this process. If `demanded`, also tries to do
 * so if that group has not been delegated to this user. Returns false, with the reason in `why`, if
 * no control group could be created. */
bool cgroup_make(struct cgroup *g, bool demanded, char *why, size_t room);
bool cgroup_enter(const struct cgroup *g); /* moves this process into the group */
bool cgroup_kill(const struct cgroup *g);
bool cgroup_freeze(const struct cgroup *g, bool freeze);
/* `event`: a line of the file cgroup.events, such as "frozen 1". */
bool cgroup_is(const struct cgroup *g, const char *event);
void cgroup_remove(struct cgroup *g);

#endif
