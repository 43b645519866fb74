/* The bully algorithm of the core, compiled for the lab. Keep the order of the includes: see
 * lab.h. */
#include "lab.h"
#include "../core/bully.c"
#include "lab_loop.h"

void lab_bully(struct lab *lab, const uint32_t *begins, uint32_t count, lab_progress *progress)
{
    lab_loop(lab, begins, count, progress);
}
