/*
 * The guardian: the parent of the member. It forks the member before any key is read, so it has no
 * key. It keeps the sockets of the member, the testaments that the member deposits, and a channel
 * to each run that works under its mandate. It runs the hooks. When waitpid says that the member is
 * dead:
 *
 *  1. the guardian reads what the member sent last: it may void a testament;
 *  2. it kills the hooks that run, and waits until no process of them is left;
 *  3. it runs on-follower for each group in which on-leader was run, and kills what that leaves;
 *  4. every run that works in the group must report that its work has ended; if its channel ends
 *     without that report, the testament waits for one lease;
 *  5. the deadlines that clients were given must be over;
 *  6. then it sends the testament, on all links, three times, unless the lease is over by then.
 *
 * A member that is stopped is not dead. If the guardian dies, the member runs on-follower where it
 * is due, hands over and ends.
 */
#ifndef ELECT_DAEMON_GUARDIAN_H
#define ELECT_DAEMON_GUARDIAN_H

#include "config.h"
#include "journal.h"

#include <stdatomic.h>

/* A page of memory that the member and the guardian share. Times are of CLOCK_BOOTTIME. */
struct guard_page {
    _Atomic int64_t until[STORE_GROUPS];      /* of the office; 0: there is none */
    _Atomic uint64_t office[STORE_GROUPS];    /* its first term */
    _Atomic int64_t not_before[STORE_GROUPS]; /* what was promised to clients is over then */
    _Atomic int64_t delay, lease;             /* as configured, in microseconds */
    struct journal_shared log;
};

/* What the member says, and what the guardian answers. */
enum guard_word {
    GUARD_DEPOSIT, /* a testament, in place of the one before of that group */
    GUARD_VOID,    /* that group has none from now on; acknowledged */
    GUARD_FORGET,  /* none has: the member ends in good order */
    GUARD_HOLD,    /* with a descriptor: the channel of a holder of that group; acknowledged */
    GUARD_DROP,    /* the holder of that serial is empty, or never worked */
    GUARD_HOOK,    /* run it; answered with its outcome */
    GUARD_CANCEL,  /* the hook of that serial is to end */
    GUARD_DONE     /* the guardian's: acknowledged, or the outcome */
};

/* One packet of the channel; behind DEPOSIT comes struct elect_testament, as far as it is used. */
struct guard_note {
    uint8_t word, group, hook; /* enum guard_word, enum hook */
    int32_t outcome;           /* DONE: 0, or what went wrong */
    uint32_t serial;
    uint32_t lease; /* HOOK: how long an office lasts unless it is renewed, in microseconds */
    elect_term term;
    char leader[CONFIG_NAME];
};

/* What the member gets from its guardian. */
struct guard {
    int channel;
    struct guard_page *page;
    int hooks; /* the end of a pipe; its other end is open in the guardian and its hook parents */
    int sockets[ELECT_UV_LINKS];
};

/* Forks a child that calls `member`, and becomes its guardian. Returns, in both processes, what
 * `member` returned. */
int guardian_run(const struct config *c, const struct config_member *me, const int *sockets,
                 const struct journal_options *log,
                 int (*member)(const struct guard *guard, void *context), void *context);

#endif
