/* Signals, stops, kills and reaps all descendants of this process, no matter how they were forked.
 *
 * A subreaper inherits the orphans of its descendants, so processes cannot leave the tree, and when
 * no child is left, the tree is empty. A process cannot fork after it has received SIGKILL. Only a
 * process that forks and exits before it is found can escape for a while. For this reason, signals
 * go to the children as fast as the kernel lists them, and the kernel reaps orphans. If this
 * process had to reap the orphans itself, at the priority of its user, it would have no time left
 * to kill. */
#ifndef ELECT_RUN_TREE_H
#define ELECT_RUN_TREE_H

#include "cgroup.h"

#include <signal.h>
#include <sys/types.h>

struct tree {
    pid_t waiter; /* a child whose process group contains only descendants; 0: none */
    const struct cgroup *cgroup; /* NULL, or a struct whose `fd` is -1: no control group */
    _Atomic int *steps;          /* counts the signalled processes; NULL: not counted */
};

bool tree_adopt(void); /* makes this process a subreaper */

/* If `by_kernel` is true, the kernel reaps each child that ends from now on, except children that
 * tree_fork() started and that have not executed another program since then. */
void tree_let_reap(bool by_kernel);
/* Forks a child. `namespaces` contains the flags of clone(2) for its new namespaces. When the child
 * ends, the kernel sends TREE_ENDED to this process. */
#define TREE_ENDED SIGUSR1
pid_t tree_fork(int namespaces);

/* Calls `ended` for each child that has ended, with the process id of the child and its status from
 * waitpid(). Returns false if no child is left. */
typedef void tree_ended(void *context, pid_t child, int status);
bool tree_reap(tree_ended *ended, void *context);

/* Kills and reaps descendants until no child is left. */
void tree_kill(const struct tree *t, tree_ended *ended, void *context);

void tree_stop(const struct tree *t); /* returns when all descendants are stopped */
void tree_continue(const struct tree *t);

/* Lists the children of a process, at most `room` of them, and returns their number. Uses the
 * kernel's list of children where it exists; otherwise reads the parent of every process. */
size_t tree_children(pid_t of, pid_t *children, size_t room);
size_t tree_children_by_parent(pid_t of, pid_t *children, size_t room);

#endif
