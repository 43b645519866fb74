/* Raises the priority of the runner and the keeper, which enforce a deadline, above ordinary
 * processes, where the system permits it. The command that they start runs at the user's
 * priority. */
#ifndef ELECT_RUN_SCHEDULING_H
#define ELECT_RUN_SCHEDULING_H

void scheduling_raise(void);       /* stores the user's policy; call once, before any fork */
void scheduling_raise_again(void); /* in a child that also enforces the deadline */
void scheduling_restore(void);     /* in a child that runs for the user */

#endif
