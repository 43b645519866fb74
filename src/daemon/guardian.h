/*
 * The guardian is the parent of the process of the member; in this file, "the member" means that
 * process. The guardian forks the member before any key is read, so the guardian never holds a key.
 * The guardian keeps the sockets of the member, the testaments that the member deposits, and a
 * channel to each run that works under a mandate of the member. The guardian also runs the hooks.
 * When waitpid() reports that the member is dead, the guardian
 *
 *  1. reads the last notes of the member, which may void a testament;
 *  2. kills the running hooks, and waits until all of their processes are gone;
 *  3. runs on-follower for each group in which on-leader was run, and kills the processes that
 *     on-follower leaves behind;
 *  4. waits until every run that works in the group reports that its work has stopped; if the
 *     channel of a run ends without that report, the testament waits for one lease;
 *  5. waits until the deadlines of all clients have passed;
 *  6. sends the testament three times on all links, unless the lease has ended by then.
 *
 * A member that is stopped (SIGSTOP) is not dead. If the guardian dies, the member runs on-follower
 * where it is due, hands over its offices and ends.
 */
#ifndef ELECT_DAEMON_GUARDIAN_H
#define ELECT_DAEMON_GUARDIAN_H

#include "config.h"
#include "journal.h"

#include <stdatomic.h>

/* Memory that the member and the guardian share. All times are times of CLOCK_BOOTTIME. */
struct guard_page {
    _Atomic int64_t until[STORE_GROUPS];      /* the end of the office; 0: there is none */
    _Atomic uint64_t office[STORE_GROUPS];    /* the first term of the office */
    _Atomic int64_t not_before[STORE_GROUPS]; /* the latest deadline of the clients */
    _Atomic int64_t delay, lease; /* testament-delay, and the longest configured lease */
    struct journal_shared log;
};

/* The notes that the member sends, and DONE, with which the guardian answers. */
enum guard_word {
    GUARD_DEPOSIT, /* a testament, which replaces the previous one of that group */
    GUARD_VOID,    /* removes the testament of that group; acknowledged */
    GUARD_FORGET,  /* removes all testaments, because the member ends in good order */
    GUARD_HOLD,    /* passes on the channel of a run; the guardian answers with DONE */
    GUARD_DROP,    /* the work of the run with that serial has ended, or never began */
    GUARD_HOOK,    /* runs a hook; answered with the outcome of the hook */
    GUARD_CANCEL,  /* ends the hook with that serial */
    GUARD_DONE     /* from the guardian: an acknowledgement, or the outcome of a hook */
};

/* One packet of the channel. After a DEPOSIT comes the used part of struct elect_testament. */
struct guard_note {
    uint8_t word, group, hook; /* enum guard_word, enum hook */
    int32_t outcome;           /* DONE: 0, or the outcome of the hook, or an error */
    uint32_t serial;
    int32_t pid;    /* HOLD: of the elect run */
    uint32_t lease; /* HOOK: how long an office lasts unless it is renewed, in microseconds */
    elect_term term;
    char leader[CONFIG_NAME];
};

/* The descriptors and the memory that the guardian gives to the member. */
struct guard {
    int channel;
    struct guard_page *page;
    int hooks; /* a pipe whose other end the guardian and its hook parents hold open */
    int sockets[ELECT_UV_LINKS];
};

/* Forks a child that calls `member`, and becomes the guardian of that child. In both processes,
 * returns the result of `member`. */
int guardian_run(const struct config *c, const struct config_member *me, const int *sockets,
                 const struct journal_options *log,
                 int (*member)(const struct guard *guard, void *context), void *context);

#endif
