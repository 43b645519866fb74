/* Raises the priority of the runner and the keeper, which enforce a deadline, above ordinary
 * processes, where the system permits it. The command that they start runs at the user's
 * priority. */
#ifndef ELECT_RUN_SCHEDULING_H
#define ELECT_RUN_SCHEDULING_H

void scheduling_raise(void);       /* call it once, before any fork; stores the user's priority */
void scheduling_raise_again(void); /* call it in a child that also enforces the deadline */
void scheduling_restore(void);     /* call it in a child before it executes a program */

#endif
