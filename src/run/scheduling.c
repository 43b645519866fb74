/* See scheduling.h. */
#include "scheduling.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>

static struct {
    int policy, nice;
    struct sched_param param;
    bool known, raised;
} before;

/* At the lowest real-time priority, the runner and the keeper run before every ordinary process,
 * but do not delay others for long, because they sleep nearly all the time. Their children do not
 * inherit the policy (SCHED_RESET_ON_FORK). */
void scheduling_raise_again(void)
{
    const struct sched_param least = {.sched_priority = sched_get_priority_min(SCHED_RR)};
    if (before.known && (before.policy == SCHED_OTHER || before.policy == SCHED_BATCH ||
                         before.policy == SCHED_IDLE))
        before.raised = sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &least) == 0;
}

void scheduling_raise(void)
{
    before.policy = sched_getscheduler(0);
    errno = 0;
    before.nice = getpriority(PRIO_PROCESS, 0);
    before.known = before.policy >= 0 && errno == 0 && sched_getparam(0, &before.param) == 0;
    before.policy &= ~SCHED_RESET_ON_FORK;
    scheduling_raise_again();
}

void scheduling_restore(void)
{
    if (!before.raised)
        return;
    sched_setscheduler(0, before.policy, &before.param);
    setpriority(PRIO_PROCESS, 0, before.nice);
}
