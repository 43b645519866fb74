/* Makes sure that standard input, output and error are open. */
#ifndef ELECT_BASE_STANDARD_H
#define ELECT_BASE_STANDARD_H

/* Opens /dev/null in place of each standard descriptor that was closed when the process started.
 * Otherwise the next socket or file that the process opens would take the number of that
 * descriptor, and would receive the log or become the standard input of a command. */
void standard_fill(void);

#endif
