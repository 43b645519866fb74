/*
 * What is said on a member's run socket (member-N.run): who works under its mandate, and until when
 * it may. One packet, one of these (AF_UNIX, SOCK_SEQPACKET; both ends are on one machine).
 *
 *     elect run                                   daemon
 *     HOLD group                             ->
 *                                            <-   REFUSED why; or NO, if it would have to wait and
 *                                                 must not (NOW)
 *                                            <-   WAIT + a descriptor, see below
 *                                            <-   GO term: it is, and the guardian knows of it
 *     ASK stamp                              ->        (every renewal; the first before it works)
 *                                            <-   TOLD stamp, left, term
 *                                            <-   STOP why: to be handed over; LOST why: it is over
 *     HEALTH [why]                           ->        while it waits: its health check passes, or
 *                                                      fails (UNHEALTHY)
 *     EMPTY [why]                            ->        nothing works any more; HOLD may follow,
 *                                                      with a descriptor of its own. YIELDS: the
 *                                                      member hands leadership over
 *
 *     a client
 *     LEASE group, stamp, left               ->        for so long, at most; 0: as long as it is
 *                                            <-   TOLD stamp, left, term; left 0: it does not lead
 *                                            <-   NEWS group: it is not what it was, ask again
 *     RESIGN group                           ->
 *                                            <-   DONE, or REFUSED why
 *     EMPTY                                  ->        whatever it was told before is void
 *
 * The stamp is the asker's own CLOCK_BOOTTIME, read before it asks, and comes back as it was:
 * stamp + left is until when, by that clock. The time at which an answer comes says nothing.
 *
 * With WAIT comes one end of a socket pair (SOCK_SEQPACKET); the guardian has the other one. When
 * nothing works any more, or never will, TALK_IS_EMPTY is sent there, whoever else is dead by then.
 * Its end without that word means that something may have survived.
 */
#ifndef ELECT_CLIENT_TALK_H
#define ELECT_CLIENT_TALK_H

#include <stdint.h>

#define TALK_MAGIC    0x31524c45u /* "ELR1" */
#define TALK_NAME     64
#define TALK_WHY      160
#define TALK_IS_EMPTY 'E'

/* name, whether the daemon says it */
#define TALK_WORDS(X)                                                                              \
    X(HOLD, 0)                                                                                     \
    X(ASK, 0)                                                                                      \
    X(EMPTY, 0)                                                                                    \
    X(RESIGN, 0)                                                                                   \
    X(LEASE, 0)                                                                                    \
    X(HEALTH, 0)                                                                                   \
    X(REFUSED, 1)                                                                                  \
    X(NO, 1)                                                                                       \
    X(WAIT, 1)                                                                                     \
    X(GO, 1)                                                                                       \
    X(TOLD, 1)                                                                                     \
    X(STOP, 1)                                                                                     \
    X(LOST, 1)                                                                                     \
    X(NEWS, 1)                                                                                     \
    X(DONE, 1)

enum talk_word {
#define X(name, daemon) TALK_##name,
    TALK_WORDS(X)
#undef X
        TALK_WORD_COUNT
};

/* NOW        HOLD: answer NO instead of waiting
 * LOOSE      HOLD: work that loses its mandate is not killed, so that its end cannot be announced
 *            (--on-lose signal, freeze)
 * CGROUP     HOLD: the work is in a control group of its own, which is killed as one
 * NAMESPACE  HOLD: the same of a process namespace
 * YIELDS     HOLD: the member hands leadership over if this run dies; EMPTY: it does so now
 * FAILED     EMPTY: the work failed; `why` says how
 * UNHEALTHY  HOLD: its health check has not passed yet; HEALTH: its health check fails
 * RESTARTS   ASK: its command has failed, and will be started again */
enum {
    TALK_NOW = 1,
    TALK_LOOSE = 2,
    TALK_CGROUP = 4,
    TALK_NAMESPACE = 8,
    TALK_YIELDS = 16,
    TALK_FAILED = 32,
    TALK_UNHEALTHY = 64,
    TALK_RESTARTS = 128
};
#define TALK_FLAGS 255

/* Host byte order; names end in NUL. */
struct talk {
    uint32_t magic;
    uint8_t word;  /* enum talk_word */
    uint8_t flags; /* HOLD, ASK, EMPTY, HEALTH */
    uint8_t unused[2];
    int64_t stamp, left; /* microseconds */
    uint64_t term;       /* the fencing token */
    uint32_t lease;      /* WAIT, GO, TOLD: D_L, how long an office lasts unless it is renewed */
    uint32_t renewal;    /* and R; microseconds */
    uint32_t pid;        /* ASK: the command, 0 if unknown */
    uint32_t unused_too;
    char group[TALK_NAME];
    char node[TALK_NAME];   /* the daemon's member */
    char leader[TALK_NAME]; /* empty: nobody is known to lead */
    char why[TALK_WHY];
};

#endif
