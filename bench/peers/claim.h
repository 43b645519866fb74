/* Each contender records in its own file whether it believes that it leads. Each line is a
 * sample:
 *
 *   b TIME   the contender has started
 *   r TIME   it competes for leadership
 *   c TIME   it claims to lead; at least one line every millisecond
 *   e TIME   it no longer leads
 *
 * TIME is CLOCK_BOOTTIME in microseconds. The claim of a contender that was killed ends with its
 * last sample. */
#ifndef BENCH_CLAIM_H
#define BENCH_CLAIM_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define CLAIM_EVERY 800000 /* nanoseconds between two samples */

uint64_t claim_now(void);
void claim_open(const char *path);
void claim_ready(void); /* only the first call has an effect */
void claim_set(bool leads);
bool claim_leads(void);

/* Records a claim for the time `at`, which may be in the recent past. */
void claim_at(uint64_t at);

/* Records that leadership ended at time `at`, but not before the latest recorded claim. */
void claim_end(uint64_t at);

/* Works like poll(), but records samples while this contender leads. `patience` is in nanoseconds;
 * with -1, the function waits without a limit. */
int claim_poll(struct pollfd *fds, nfds_t count, int64_t patience);

/* Prints a line on standard error and exits with 1. */
_Noreturn void claim_give_up(const char *what, const char *why);

#endif
