/* Writes to a FILE for code that must not print itself, such as model/: such code is given this
 * function and the FILE as its context. */
#ifndef ELECT_BASE_OUTPUT_H
#define ELECT_BASE_OUTPUT_H

#include <stdio.h>

static inline void output_line(void *file, const char *line) { fputs(line, file); }

#endif
