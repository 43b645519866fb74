/* Compiles the Chang-Roberts algorithm of the core with the vocabulary of the lab (lab.h), so that
 * it runs with millions of processes. The order of the includes matters. */
#include "lab.h"
#include "../core/chang_roberts.c"
#include "lab_loop.h"

void lab_chang_roberts(struct lab *lab, const uint32_t *begins, uint32_t count,
                       lab_progress *progress)
{
    lab_loop(lab, begins, count, progress);
}
