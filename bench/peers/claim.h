/* What a contender believes, as it believes it: one file each, one line per sample.
 *
 *   b TIME   it has begun
 *   r TIME   it contends
 *   c TIME   it claims to lead, at least every millisecond
 *   e TIME   it no longer does
 *
 * TIME: microseconds of CLOCK_BOOTTIME. Who is killed writes nothing more: its last sample is its
 * end. */
#ifndef BENCH_CLAIM_H
#define BENCH_CLAIM_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define CLAIM_EVERY 800000 /* nanoseconds */

uint64_t claim_now(void);
void claim_open(const char *path);
void claim_ready(void); /* again and again is fine: the first one counts */
void claim_set(bool leads);
bool claim_leads(void);

/* It was so at that time, which may be a moment ago. */
void claim_at(uint64_t at);

/* It ended then, which is found out now; a claim that was made stays made. */
void claim_end(uint64_t at);

/* poll() that samples while this contender leads; patience in nanoseconds, or -1 */
int claim_poll(struct pollfd *fds, nfds_t count, int64_t patience);

/* a line on standard error, and the end */
_Noreturn void claim_give_up(const char *what, const char *why);

#endif
