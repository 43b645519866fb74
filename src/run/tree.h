/* All descendants of this process, however they were forked: signals, stops, kills and reaps them.
 *
 * A subreaper inherits the orphans of its descendants, so that no process leaves the tree; when no
 * child is left, the tree is empty. A process that was sent SIGKILL cannot fork any more. Only a
 * process that forks and exits before it is found can escape for a while. Therefore signals go to
 * the children as fast as the kernel lists them, and the kernel reaps orphans. A process that had
 * to reap them itself, at the priority of its user, would do nothing else. */
#ifndef ELECT_RUN_TREE_H
#define ELECT_RUN_TREE_H

#include "cgroup.h"

#include <signal.h>
#include <sys/types.h>

struct tree {
    pid_t waiter;                /* a child; its group has only descendants; 0: none */
    const struct cgroup *cgroup; /* NULL, or one without a folder: none */
    _Atomic int *steps;          /* grows with the work that is done; NULL: not counted */
};

bool tree_adopt(void); /* makes this process a subreaper */

/* If `by_kernel`, the kernel reaps each child that ends from now on, except children that
 * tree_fork() started and that have not executed another program since. */
void tree_let_reap(bool by_kernel);
/* Like fork(), but with new namespaces, given as flags of clone(2). The child's end is announced by
 * TREE_ENDED. */
#define TREE_ENDED SIGUSR1
pid_t tree_fork(int namespaces);

/* Calls back with each child that has ended by now: its id, and its status as of waitpid. Returns
 * false if no child is left. */
typedef void tree_ended(void *context, pid_t child, int status);
bool tree_reap(tree_ended *ended, void *context);

/* Kills and reaps until no child is left. */
void tree_kill(const struct tree *t, tree_ended *ended, void *context);

void tree_stop(const struct tree *t); /* returns when all are stopped */
void tree_continue(const struct tree *t);

/* Lists the children of a process, at most `room` of them, and returns their number. Uses the
 * kernel's list where there is one, otherwise it looks at every process. */
size_t tree_children(pid_t of, pid_t *children, size_t room);
size_t tree_children_by_parent(pid_t of, pid_t *children, size_t room);

#endif
