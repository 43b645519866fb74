/* Signals, stops, kills and reaps all descendants of this process, no matter how they were forked.
 *
 * Orphans become children of a subreaper, so processes cannot leave the tree, and when no child is
 * left, the tree is empty. A process cannot fork after SIGKILL. Only a process that forks and exits
 * before it is found can escape for a while. Therefore children are signalled as fast as the kernel
 * lists them, and the kernel reaps orphans: reaping them here, at the user's priority, would leave
 * no time to kill. */
#ifndef ELECT_RUN_TREE_H
#define ELECT_RUN_TREE_H

#include "cgroup.h"

#include <signal.h>
#include <sys/types.h>

struct tree {
    pid_t waiter;                /* its process group contains only descendants; 0 if none */
    const struct cgroup *cgroup; /* NULL or CGROUP_NONE if none */
    _Atomic int *steps;          /* counts the signalled processes; may be NULL */
};

bool tree_adopt(void); /* makes this process a subreaper */

/* If `by_kernel`, the kernel reaps all children from now on, except those of tree_fork() that have
 * not called exec(). */
void tree_let_reap(bool by_kernel);
/* `namespaces` are flags of clone(2). When the child ends, the kernel sends TREE_ENDED. */
#define TREE_ENDED SIGUSR1
pid_t tree_fork(int namespaces);

/* Calls `ended` for each child that has ended, with its status from waitpid(). Returns false if no
 * child is left. */
typedef void tree_ended(void *context, pid_t child, int status);
bool tree_reap(tree_ended *ended, void *context);

/* Kills and reaps descendants until no child is left. */
void tree_kill(const struct tree *t, tree_ended *ended, void *context);

void tree_stop(const struct tree *t); /* and waits until all descendants are stopped */
void tree_continue(const struct tree *t);

/* Lists at most `room` children of a process, and returns their number. Kernels without lists of
 * children need tree_children_by_parent(), which reads the parent of every process. */
size_t tree_children(pid_t of, pid_t *children, size_t room);
size_t tree_children_by_parent(pid_t of, pid_t *children, size_t room);

#endif
