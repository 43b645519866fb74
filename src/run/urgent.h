/* Whoever watches a deadline goes first, where that is permitted; what it starts does not. */
#ifndef ELECT_RUN_URGENT_H
#define ELECT_RUN_URGENT_H

void urgent_begin(void);   /* once, before anything is forked; what was so far is kept in mind */
void urgent_again(void);   /* in a child that is to be as urgent */
void urgent_restore(void); /* in one that is to be as the user wanted it */

#endif
