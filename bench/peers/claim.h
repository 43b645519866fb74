/* Each contender has a file of claims, where it records whether it believes that it leads. Each
 * line is one sample:
 *
 *   b TIME   the contender has started
 *   r TIME   it competes for leadership
 *   c TIME   it claims to lead; at least one line every millisecond
 *   e TIME   it no longer leads
 *
 * TIME is CLOCK_BOOTTIME in microseconds. If a contender is killed, its claim ends with its last
 * sample. */
#ifndef BENCH_CLAIM_H
#define BENCH_CLAIM_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define CLAIM_EVERY 800000 /* nanoseconds between samples */

uint64_t claim_now(void);
void claim_open(const char *path);
void claim_ready(void); /* only the first call has an effect */
void claim_set(bool leads);
bool claim_leads(void);

/* Records that the contender led at the time `at`, possibly in the recent past. */
void claim_at(uint64_t at);

/* Records that the contender stopped leading at `at`, or at its latest claim if that is later. */
void claim_end(uint64_t at);

/* Like poll(), but also records samples while this contender leads. `patience` is in
 * nanoseconds; -1 waits forever. */
int claim_poll(struct pollfd *fds, nfds_t count, int64_t patience);

_Noreturn void claim_give_up(const char *what, const char *why);

#endif
