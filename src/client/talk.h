/*
 * The protocol of a member's run socket (member-N.run). Runs and clients register their work with
 * the daemon, which tells them how long the work may continue. The socket is AF_UNIX and
 * SOCK_SEQPACKET; each packet is one `struct talk`.
 *
 *     elect run                                   daemon
 *     HOLD group [why: its command]          ->
 *                                            <-   REFUSED why; or NO, if the run used NOW and
 *                                                 would have to wait
 *                                            <-   WAIT + a descriptor, see below
 *                                            <-   NEWS leader, why: while it waits, of each change
 *                                            <-   GO term: it leads, and the guardian knows the run
 *     ASK stamp                              ->        (every renewal; first before work starts)
 *                                            <-   TOLD stamp, left, term
 *                                            <-   STOP why: the work must end for a hand-over;
 *                                                 LOST why: the mandate has been lost
 *     HEALTH [why]                           ->        while the run waits: its health check
 *                                                      passes, or fails (UNHEALTHY)
 *     EMPTY [why]                            ->        all work of the run has ended; HOLD may
 *                                                      follow, with a new descriptor. YIELDS: the
 *                                                      member hands leadership over
 *
 *     a client
 *     LEASE group, stamp, left               ->        asks for a promise of at most `left`; 0:
 *                                                      no limit
 *                                            <-   TOLD stamp, left, term; left 0: the member does
 *                                                 not lead
 *                                            <-   NEWS group: something has changed, ask again
 *     RESIGN group                           ->
 *                                            <-   DONE, or REFUSED why
 *     EMPTY                                  ->        the client no longer uses any answer
 *
 * The stamp is the CLOCK_BOOTTIME just before the question, repeated in the answer. The promise
 * ends at stamp + left, no matter when the answer arrives.
 *
 * WAIT carries one end of a socket pair (SOCK_SEQPACKET); the guardian has the other end. When all
 * work has ended, or will never begin, the run sends the byte TALK_IS_EMPTY on it, even if the
 * daemon has exited. If the channel closes without that byte, some work may still be running.
 */
#ifndef ELECT_CLIENT_TALK_H
#define ELECT_CLIENT_TALK_H

#include <stdint.h>

#define TALK_MAGIC    0x31524c45u /* the bytes "ELR1" */
#define TALK_NAME     64
#define TALK_WHY      160
#define TALK_IS_EMPTY 'E'

/* word, 1 if the daemon sends it or 0 if a run or a client does */
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
 * LOOSE      HOLD: the work is not killed when the mandate is lost, so the daemon cannot
 *            enforce its end (--on-lose signal, freeze)
 * CGROUP     HOLD: the work has its own control group, which can be killed at once
 * NAMESPACE  HOLD: the work has its own process namespace, which can be killed at once
 * YIELDS     HOLD: the member hands leadership over if this run is killed; EMPTY: it does so now
 * FAILED     EMPTY: the work failed; `why` contains the reason
 * UNHEALTHY  HOLD: the health check has not passed yet; HEALTH: the health check fails
 * RESTARTS   ASK: the command has failed and will be started again */
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

/* Numbers are in host byte order; names end in NUL. */
struct talk {
    uint32_t magic;
    uint8_t word;
    uint8_t flags; /* in HOLD, ASK, EMPTY and HEALTH */
    uint8_t unused[2];
    int64_t stamp, left; /* microseconds */
    uint64_t term;
    uint32_t lease;   /* in WAIT, GO, TOLD: microseconds */
    uint32_t renewal; /* in WAIT, GO, TOLD: microseconds between renewals */
    uint32_t pid;     /* in ASK: process id of the command; 0 if unknown */
    uint32_t unused_too;
    char group[TALK_NAME];
    char node[TALK_NAME];   /* the daemon's member */
    char leader[TALK_NAME]; /* empty if unknown */
    char why[TALK_WHY];
};

#endif
