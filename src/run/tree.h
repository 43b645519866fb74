/* Everything below this process, however it was forked: signalled, stopped, killed and reaped.
 *
 * A subreaper inherits the orphans of its descendants, so that no process leaves the tree; when no
 * child is left, the tree is empty. A process that was sent SIGKILL cannot fork any more. What
 * races is a process that forks and exits before it is found: signals therefore go to the children
 * as fast as the kernel lists them, and orphans are left to the kernel to reap, because a process
 * that has to reap them itself, at the priority of its user, does nothing else. */
#ifndef ELECT_RUN_TREE_H
#define ELECT_RUN_TREE_H

#include "cgroup.h"

#include <signal.h>
#include <sys/types.h>

struct tree {
    pid_t waiter;                /* a child, in a group of our descendants only; 0: none */
    const struct cgroup *cgroup; /* NULL, or one without a folder: none */
    _Atomic int *steps;          /* grows as long as it is at work; NULL: not counted */
};

bool tree_adopt(void); /* this process is a subreaper from now on */

/* What ends from now on is reaped by the kernel, except children that tree_fork() started and that
 * have not executed another program since. */
void tree_let_reap(bool by_kernel);
/* fork(), with namespaces as of clone(2). Its end is announced by TREE_ENDED. */
#define TREE_ENDED SIGUSR1
pid_t tree_fork(int namespaces);

/* Calls back with each child that has ended by now: its id, its status as of waitpid. False if no
 * child is left. */
typedef void tree_ended(void *context, pid_t child, int status);
bool tree_reap(tree_ended *ended, void *context);

/* Until there is no child any more. */
void tree_kill(const struct tree *t, tree_ended *ended, void *context);

void tree_stop(const struct tree *t); /* until all stand still */
void tree_continue(const struct tree *t);

/* The children of a process, at most `room` of them; how many there are. By the kernel's list,
 * where it keeps one, else by looking at every process. */
size_t tree_children(pid_t of, pid_t *children, size_t room);
size_t tree_children_by_parent(pid_t of, pid_t *children, size_t room);

#endif
