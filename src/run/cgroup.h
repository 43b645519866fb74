/* A control group (version 2) for the command and its processes. All of them can be killed or
 * frozen at once, also those that are being forked, and those of another user. */
#ifndef ELECT_RUN_CGROUP_H
#define ELECT_RUN_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_PATH 4096

struct cgroup {
    int fd; /* of its folder; -1: there is none */
    char path[CGROUP_PATH];
};

#define CGROUP_NONE ((struct cgroup){.fd = -1})

/* Below the one that this process is in; `demanded`: also where nobody has delegated that one to
 * us. False, with the reason, if there is none then. */
bool cgroup_make(struct cgroup *g, bool demanded, char *why, size_t room);
bool cgroup_enter(const struct cgroup *g); /* this process, and all that it will start */
bool cgroup_kill(const struct cgroup *g);
bool cgroup_freeze(const struct cgroup *g, bool freeze);
bool cgroup_is(const struct cgroup *g, const char *event); /* "populated 1", "frozen 1" */
void cgroup_remove(struct cgroup *g);

#endif
