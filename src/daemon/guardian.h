/*
 * The guardian is the parent of the member process. It forks the member before any key is read, so
 * it never holds a key. It keeps the member's sockets, a channel to each run whose command may be
 * running, and the member's testaments. A testament is a death report: a message to the other
 * members that releases the dead member's term early. The guardian also runs the hooks. When
 * waitpid() reports the member's death, the guardian
 *
 *  1. reads the member's last notes, which may void a testament;
 *  2. kills the running hooks, and waits until all of their processes are gone;
 *  3. runs on-follower for each group with an on-leader to undo, and kills the processes that
 *     on-follower leaves behind;
 *  4. waits until every run in the group reports that its work has stopped; if a run's channel
 *     closes without a report, the testament waits for one lease;
 *  5. waits until all deadlines given to clients have passed;
 *  6. sends the testament three times on all links, unless the lease has ended by then.
 *
 * A member that is stopped (SIGSTOP) is not dead. If the guardian dies, the member itself runs
 * on-follower if necessary, hands over all groups, and exits.
 */
#ifndef ELECT_DAEMON_GUARDIAN_H
#define ELECT_DAEMON_GUARDIAN_H

#include "config.h"
#include "journal.h"

#include <stdatomic.h>

/* Shared by the member and the guardian. Times are CLOCK_BOOTTIME. */
struct guard_page {
    _Atomic int64_t until[STORE_GROUPS];      /* end of leadership; 0 if not leading */
    _Atomic uint64_t office[STORE_GROUPS];    /* first term of this leadership */
    _Atomic int64_t not_before[STORE_GROUPS]; /* latest deadline given to a client */
    _Atomic int64_t delay, lease;             /* testament-delay, and longest configured lease */
    struct journal_shared log;
};

/* Notes between the member and the guardian. The member sends all of them but DONE. */
enum guard_word {
    GUARD_DEPOSIT, /* with the group's new testament */
    GUARD_VOID,    /* remove the group's testament; answered with DONE */
    GUARD_FORGET,  /* remove all testaments: the member exits normally */
    GUARD_HOLD,    /* with a run's channel; answered with DONE */
    GUARD_DROP,    /* a run's work has ended, or never began */
    GUARD_HOOK,    /* run a hook; DONE reports its outcome */
    GUARD_CANCEL,
    GUARD_DONE /* acknowledgement, or outcome of a hook */
};

/* A packet of the channel. In a DEPOSIT, the used part of a struct elect_testament follows. */
struct guard_note {
    uint8_t word, group, hook; /* enum guard_word, index, enum hook */
    int32_t outcome;           /* DONE: 0, the hook's outcome, or an error number */
    uint32_t serial;
    int32_t pid;    /* HOLD: process id of elect run */
    uint32_t lease; /* HOOK: microseconds of leadership without a renewal */
    elect_term term;
    char leader[CONFIG_NAME];
};

struct guard {
    int channel;
    struct guard_page *page;
    int hooks; /* pipe end; the guardian and its hook parents hold the other one */
    int sockets[ELECT_UV_LINKS];
};

/* Forks a child that calls `member`, and becomes its guardian. Returns the result of `member` in
 * both processes. */
int guardian_run(const struct config *c, const struct config_member *me, const int *sockets,
                 const struct journal_options *log,
                 int (*member)(const struct guard *guard, void *context), void *context);

#endif
