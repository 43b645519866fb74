/*
 * The guardian: the parent of a member. It is forked off before there is a key, so it has none; it
 * keeps the member's sockets, the testaments that the member deposits, and a channel to whatever
 * works under its mandate. It runs the hooks. When the member is dead, by waitpid and not by guess:
 *
 *  1. what the member still said is read: it may be that a testament is void;
 *  2. whatever the guardian runs is killed, and waited for until nothing is left;
 *  3. on-follower is run for each group whose on-leader was, and whatever that leaves is killed;
 *  4. every holder of the group must have said that it is empty; if its channel ends without that
 *     word the testament is burnt;
 *  5. what was promised to clients, for a time, must be over;
 *  6. then it is sent, on all links, three times. Not if the office would be over by now anyway.
 *
 * A member that stands still is not dead. If the guardian dies the member goes on without
 * testaments, unless there are hooks, which only a guardian can run.
 */
#ifndef ELECT_DAEMON_GUARDIAN_H
#define ELECT_DAEMON_GUARDIAN_H

#include "config.h"

#include <stdatomic.h>

/* What both see, in a page that they share. Times by the clock of leases. */
struct guard_page {
    _Atomic int64_t until[STORE_GROUPS];      /* of the office; 0: there is none */
    _Atomic uint64_t office[STORE_GROUPS];    /* its first term */
    _Atomic int64_t not_before[STORE_GROUPS]; /* what was promised to clients is over then */
    _Atomic int64_t delay, lease;             /* as configured, in microseconds */
};

/* name: what the member says, and what the guardian answers */
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

/* What the member gets of it. */
struct guard {
    int channel;
    struct guard_page *page;
    int sockets[ELECT_UV_LINKS];
};

/* The process becomes a guardian, and the member runs in a child: what `member` returns is its exit
 * status, and that of both. */
int guardian_run(const struct config *c, const struct config_member *me, const int *sockets,
                 bool json, bool quiet, int (*member)(const struct guard *guard, void *context),
                 void *context);

#endif
