/* Everything below this process, however it was forked: signalled, stopped, killed and reaped.
 *
 * A subreaper inherits whatever its descendants leave behind, so that nothing leaves the tree. A
 * signal to a process group reaches also what fork is making at that moment; one to a single
 * process ends its forking. Whoever is missed in one walk is found by the next: when no child is
 * left, nothing is. */
#ifndef ELECT_RUN_TREE_H
#define ELECT_RUN_TREE_H

#include "cgroup.h"

#include <sys/types.h>

struct tree {
    pid_t group;                 /* known to be of our descendants only; 0: none */
    const struct cgroup *cgroup; /* NULL, or one without a folder: none */
};

bool tree_adopt(void); /* this process is a subreaper from now on */

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
