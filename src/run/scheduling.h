/* Whoever watches a deadline goes first, where that is permitted; what it starts does not. */
#ifndef ELECT_RUN_SCHEDULING_H
#define ELECT_RUN_SCHEDULING_H

void scheduling_raise(void); /* once, before anything is forked; what was so far is kept in mind */
void scheduling_raise_again(void); /* in a child that is to be as urgent */
void scheduling_restore(void);     /* in one that is to be as the user wanted it */

#endif
