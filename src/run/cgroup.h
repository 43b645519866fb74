/* A control group (version 2) for the command and its processes, to kill or freeze them all at
 * once, including processes of other users and those that are just being forked. */
#ifndef ELECT_RUN_CGROUP_H
#define ELECT_RUN_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_PATH 4096

struct cgroup {
    int fd; /* the group's folder; -1 if there is no group */
    char path[CGROUP_PATH];
};

#define CGROUP_NONE ((struct cgroup){.fd = -1})

/* Creates a control group below that of this process, which must be delegated to this user unless
 * `demanded`. Returns false, with the reason in `why`, if that fails. */
bool cgroup_make(struct cgroup *g, bool demanded, char *why, size_t room);
bool cgroup_enter(const struct cgroup *g);
bool cgroup_kill(const struct cgroup *g);
bool cgroup_freeze(const struct cgroup *g, bool freeze);
/* `event` is a line of cgroup.events, such as "frozen 1". */
bool cgroup_is(const struct cgroup *g, const char *event);
void cgroup_remove(struct cgroup *g);

#endif
