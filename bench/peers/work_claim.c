/* Stands in for work that only a leader does: records a claim to lead for as long as it runs.
 * Usage: work_claim CLAIMS */
#include "claim.h"

#include <signal.h>
#include <time.h>

static volatile sig_atomic_t told;

static void end(int number)
{
    (void)number;
    told = 1;
}

int main(int count, char **argument)
{
    const struct timespec pause = {.tv_nsec = CLAIM_EVERY};
    if (count != 2)
        claim_give_up("usage", "work_claim CLAIMS");
    signal(SIGTERM, end);
    claim_open(argument[1]);
    claim_ready();
    while (!told) {
        claim_set(true);
        nanosleep(&pause, NULL);
    }
    claim_set(false);
    return 0;
}
