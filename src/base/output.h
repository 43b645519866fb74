/* Writes a line to a FILE, which is the context. Code that must not print by itself, such as
 * model/, is passed this function. */
#ifndef ELECT_BASE_OUTPUT_H
#define ELECT_BASE_OUTPUT_H

#include <stdio.h>

static inline void output_line(void *file, const char *line) { fputs(line, file); }

#endif
