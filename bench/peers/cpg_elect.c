/* Elects a leader from corosync's membership: cpg_elect CLAIMS GROUP MEMBERS.
 *
 * The process on the lowest node of the process group GROUP leads while its partition has quorum.
 * The group is complete when it has MEMBERS processes. */
#include "claim.h"

#include <corosync/cpg.h>
#include <corosync/quorum.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RETRY 20000000 /* nanoseconds between attempts to connect */

static unsigned all;
static uint32_t self;
static bool quorate, lowest;

static void decide(void)
{
    if (claim_leads() != (quorate && lowest))
        claim_set(quorate && lowest);
}

static void on_members(cpg_handle_t handle, const struct cpg_name *group,
                       const struct cpg_address *members, size_t count,
                       const struct cpg_address *left, size_t left_count,
                       const struct cpg_address *joined, size_t joined_count)
{
    (void)handle, (void)group, (void)left, (void)left_count, (void)joined, (void)joined_count;
    bool is_in = false, is_lowest = true;
    for (size_t i = 0; i < count; i++) {
        is_in |= members[i].nodeid == self;
        is_lowest &= members[i].nodeid >= self;
    }
    lowest = is_in && is_lowest;
    if (count == all)
        claim_ready();
    decide();
}

static void on_quorum(quorum_handle_t handle, uint32_t is, uint64_t ring, uint32_t count,
                      uint32_t *nodes)
{
    (void)handle, (void)ring, (void)count, (void)nodes;
    quorate = is != 0;
    decide();
}

static bool is_open(cpg_handle_t *cpg, quorum_handle_t *quorum)
{
    cpg_callbacks_t cpg_calls = {.cpg_confchg_fn = on_members};
    quorum_callbacks_t quorum_calls = {.quorum_notify_fn = on_quorum};
    uint32_t type;
    if (cpg_initialize(cpg, &cpg_calls) != CS_OK)
        return false;
    if (quorum_initialize(quorum, &quorum_calls, &type) == CS_OK)
        return true;
    cpg_finalize(*cpg);
    return false;
}

int main(int count, char **argument)
{
    struct cpg_name group = {.length = 0};
    cpg_handle_t cpg;
    quorum_handle_t quorum;
    int cpg_fd, quorum_fd;
    if (count != 4 || strlen(argument[2]) >= sizeof group.value)
        claim_give_up("usage", "cpg_elect CLAIMS GROUP MEMBERS");
    all = (unsigned)strtoul(argument[3], NULL, 10);
    group.length = (uint32_t)strlen(argument[2]);
    memcpy(group.value, argument[2], group.length);
    claim_open(argument[1]);
    while (!is_open(&cpg, &quorum))
        claim_poll(NULL, 0, RETRY);
    if (cpg_local_get(cpg, &self) != CS_OK || cpg_fd_get(cpg, &cpg_fd) != CS_OK ||
        quorum_fd_get(quorum, &quorum_fd) != CS_OK ||
        quorum_trackstart(quorum, CS_TRACK_CURRENT | CS_TRACK_CHANGES) != CS_OK)
        claim_give_up("cpg_elect", "corosync does not answer");
    while (cpg_join(cpg, &group) == CS_ERR_TRY_AGAIN)
        claim_poll(NULL, 0, RETRY);
    struct pollfd fds[] = {{.fd = quorum_fd, .events = POLLIN}, {.fd = cpg_fd, .events = POLLIN}};
    for (;;) {
        if (claim_poll(fds, 2, -1) < 1)
            continue;
        if ((fds[0].revents != 0 && quorum_dispatch(quorum, CS_DISPATCH_ALL) != CS_OK) ||
            (fds[1].revents != 0 && cpg_dispatch(cpg, CS_DISPATCH_ALL) != CS_OK)) {
            claim_set(false);
            claim_give_up("cpg_elect", "the connection to corosync was lost");
        }
    }
}
