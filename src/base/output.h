/* Writes a line to a FILE. Code that must not print by itself, such as model/, receives this
 * function and the FILE from its caller. */
#ifndef ELECT_BASE_OUTPUT_H
#define ELECT_BASE_OUTPUT_H

#include <stdio.h>

static inline void output_line(void *file, const char *line) { fputs(line, file); }

#endif
