/* The three standard descriptors. */
#ifndef ELECT_BASE_STANDARD_H
#define ELECT_BASE_STANDARD_H

/* Opens those that were inherited closed, as /dev/null. Otherwise a socket or file that is opened
 * later would take their place, and get what is logged, or be the standard input of a command. */
void standard_fill(void);

#endif
