/* Raises the runner and the keeper, which enforce a deadline, above ordinary processes, if
 * permitted. The command runs at the user's priority. */
#ifndef ELECT_RUN_SCHEDULING_H
#define ELECT_RUN_SCHEDULING_H

void scheduling_raise(void);       /* once, before any fork; stores the user's priority */
void scheduling_raise_again(void); /* in a child that also enforces the deadline */
void scheduling_restore(void);     /* in a child before exec() */

#endif
