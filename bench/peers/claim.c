/* See claim.h. */
#include "claim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static int file = -1;
static bool leading, contending;
static uint64_t last;

_Noreturn void claim_give_up(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

uint64_t claim_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void note(char what, uint64_t at)
{
    char line[32];
    int length = snprintf(line, sizeof line, "%c %" PRIu64 "\n", what, at);
    if (write(file, line, (size_t)length) != length)
        claim_give_up("cannot write to the file of claims", strerror(errno));
}

void claim_open(const char *path)
{
    prctl(PR_SET_TIMERSLACK, 1000); /* nanoseconds */
    file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        claim_give_up(path, strerror(errno));
    note('b', claim_now());
}

void claim_ready(void)
{
    if (!contending)
        note('r', claim_now());
    contending = true;
}

static void sample(void)
{
    last = claim_now();
    note('c', last);
}

void claim_set(bool leads)
{
    if (leads)
        sample();
    else if (leading)
        note('e', claim_now());
    leading = leads;
}

void claim_at(uint64_t at)
{
    last = at;
    note('c', at);
    leading = true;
}

void claim_end(uint64_t at)
{
    if (leading)
        note('e', at > last ? at : last);
    leading = false;
}

bool claim_leads(void) { return leading; }

int claim_poll(struct pollfd *fds, nfds_t count, int64_t patience)
{
    int64_t longest = leading && (patience < 0 || patience > CLAIM_EVERY) ? CLAIM_EVERY : patience;
    struct timespec t = {.tv_sec = longest / 1000000000, .tv_nsec = longest % 1000000000};
    int found = ppoll(fds, count, longest < 0 ? NULL : &t, NULL);
    /* After an event, the contender may no longer lead: no sample. */
    if (leading && found == 0)
        sample();
    return found;
}
