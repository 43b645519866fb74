/*
 * The guardian is the parent of the process of the member; in this file, "the member" means that
 * process. The guardian forks the member before any key is read, so the guardian never holds a key.
 * The guardian keeps the sockets of the member, and a channel to each run whose command may be
 * running because the member leads. It also keeps the testaments that the member deposits. A
 * testament is a message that is sent after the death of the member, and releases its term early.
 * The guardian also runs the hooks. When waitpid() reports that the member is dead, the guardian
 *
 *  1. reads the last notes of the member, which may void a testament;
 *  2. kills the running hooks, and waits until all of their processes are gone;
 *  3. runs on-follower for each group in which on-leader was run, and kills the processes that
 *     on-follower leaves behind;
 *  4. waits until every run that works in the group reports that its work has stopped; if the
 *     channel of a run closes without that report, the testament waits for one lease;
 *  5. waits until the deadlines of all clients have passed;
 *  6. sends the testament three times on all links, unless the lease has ended by then.
 *
 * A member that is stopped (SIGSTOP) is not dead. If the guardian dies, the member itself runs
 * on-follower if necessary, hands over leadership in every group, and exits.
 */
#ifndef ELECT_DAEMON_GUARDIAN_H
#define ELECT_DAEMON_GUARDIAN_H

#include "config.h"
#include "journal.h"

#include <stdatomic.h>

/* Memory that the member and the guardian share. All times are measured by CLOCK_BOOTTIME. */
struct guard_page {
    _Atomic int64_t until[STORE_GROUPS];      /* when leadership ends; 0: not leading */
    _Atomic uint64_t office[STORE_GROUPS];    /* the first term of the office */
    _Atomic int64_t not_before[STORE_GROUPS]; /* the latest deadline that a client was given */
    _Atomic int64_t delay, lease; /* testament-delay, and the longest configured lease */
    struct journal_shared log;
};

/* The kinds of notes between the member and the guardian: DONE is an answer of the guardian, and
 * the member sends all others. */
enum guard_word {
    GUARD_DEPOSIT, /* contains a testament, which replaces the previous one of the group */
    GUARD_VOID,    /* removes the testament of the group; the guardian answers with DONE */
    GUARD_FORGET,  /* removes all testaments, because the member exits normally */
    GUARD_HOLD,    /* carries the channel of a run; the guardian answers with DONE */
    GUARD_DROP,    /* says that the work of the run with that serial has ended, or never began */
    GUARD_HOOK,    /* asks for a hook to be run; DONE reports its outcome */
    GUARD_CANCEL,  /* asks for the hook with that serial to be ended */
    GUARD_DONE     /* the guardian's answer: an acknowledgement, or the outcome of a hook */
};

/* One packet of the channel. A packet with DEPOSIT also contains, after the note, the used part of
 * a struct elect_testament. */
struct guard_note {
    uint8_t word, group, hook; /* word: enum guard_word; hook: enum hook */
    int32_t outcome;           /* in DONE: 0, the outcome of the hook, or an error number */
    uint32_t serial;
    int32_t pid;    /* in HOLD: the process id of elect run */
    uint32_t lease; /* in HOOK: how long leadership lasts without a renewal, in microseconds */
    elect_term term;
    char leader[CONFIG_NAME];
};

/* The descriptors and the shared memory that the guardian creates for the member and for itself. */
struct guard {
    int channel;
    struct guard_page *page;
    int hooks; /* one end of a pipe; the guardian and its hook parents hold the other */
    int sockets[ELECT_UV_LINKS];
};

/* Forks a child that calls `member`, and becomes the guardian of that child. In both processes,
 * returns the result of `member`. */
int guardian_run(const struct config *c, const struct config_member *me, const int *sockets,
                 const struct journal_options *log,
                 int (*member)(const struct guard *guard, void *context), void *context);

#endif
