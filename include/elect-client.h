/*
 * libelect-client tells a program whether the member on this machine leads. Use it in a program
 * that runs alongside a daemon. (A program that should run only while the member leads is simpler
 * to start with `elect run`; a program that should itself be a member uses libelect-uv.)
 *
 *     struct elect_client *client;
 *     struct elect_client_answer answer = {0};
 *     if (elect_client_open(&client, NULL, "main") != ELECT_CLIENT_FINE) ...
 *     for (;;) {
 *         elect_client_ask(client, 100000, &answer);       if it fails, the latest answer counts
 *         while (elect_client_valid(&answer) && there_is_work())
 *             do_a_little(answer.token);                   checked again before every use
 *         poll(elect_client_fd(client), with the time until the next work as its timeout);
 *     }
 *
 * A positive answer is a promise that this member leads until `deadline`: no other member leads
 * before then, even if the daemon dies. If a later call fails, the previous answer therefore
 * remains unchanged and valid. If an answer reports that the member does not lead, or no longer
 * leads, stop the work immediately. The deadline is a CLOCK_BOOTTIME time in microseconds, as read
 * by this process. The promise begins before the question is sent, so a late reply leaves less time
 * until the deadline, but the deadline is still correct.
 *
 * elect_client_valid() reads the clock when it is called. The process may stall for any length of
 * time between the check and the work; the token protects against such a stall. Every new term of
 * leadership has a larger token. The resource that the work modifies must remember the highest
 * token that it has seen, and must reject lower tokens.
 *
 * A later negative answer does not end a promise. Another member leads only after each client has
 * reported that its work has stopped, or after that client's deadline has passed. The token belongs
 * to the term of leadership, not to the program, so a program that restarts within that term gets
 * the same token. A restarted program must first wait until everything that its previous instance
 * promised to others has expired.
 *
 * A promise has a cost: after a crash or a hand-over, the successor waits until the latest deadline
 * has passed. That deadline is never more than one lease after the program's latest question. A
 * program can ask for shorter deadlines (elect_client_span) and can report that its work has
 * stopped (elect_client_stopped), so that the successor need not wait. A program that only needs
 * the name of the leader can use `elect leader`, which makes no promise.
 *
 * A client belongs to one thread of the process that opened it. After a fork the child must not use
 * its parent's client, but may open another client. Answers are plain values, so they may be copied
 * and checked in any thread. Answers are also valid in a forked child, but not in another time
 * namespace or on another machine. Only elect_client_open() allocates memory. No call raises a
 * signal, and no signal interrupts a call.
 */
#ifndef ELECT_CLIENT_H
#define ELECT_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define ELECT_CLIENT_NAME 64 /* size of a group or member name, with its NUL */

/* name, message */
#define ELECT_CLIENT_ERRORS(X)                                                                     \
    X(FINE, "success")                                                                             \
    X(NO_DAEMON, "no daemon runs here: start it with elect daemon")                                \
    X(SEVERAL, "several members run here: name the socket")                                        \
    X(FORBIDDEN, "this user may not ask: join group elect-run, or run as the user of the daemon")  \
    X(LATE, "the daemon has not answered in time")                                                 \
    X(REFUSED, "the daemon refuses")                                                               \
    X(NONSENSE, "the reply is not from an elect daemon of this version")                           \
    X(INVALID, "the path or the name is too long, or the time is negative")                        \
    X(SYSTEM, "system error, such as no free descriptor or no memory")

enum elect_client_error {
#define X(name, text) ELECT_CLIENT_##name,
    ELECT_CLIENT_ERRORS(X)
#undef X
        ELECT_CLIENT_ERROR_COUNT
};

/* An answer that consists only of zero bytes means that the member does not lead. */
struct elect_client_answer {
    uint64_t token;   /* fencing token; 0 if the member does not lead */
    int64_t deadline; /* the member leads until then (CLOCK_BOOTTIME); 0 if it does not lead */
    /* true if the member led when the daemon answered; elect_client_valid() also checks the
     * deadline */
    bool leads;
    char group[ELECT_CLIENT_NAME];
    char node[ELECT_CLIENT_NAME];   /* the member on this machine */
    char leader[ELECT_CLIENT_NAME]; /* leader known to this member; empty if none */
};

struct elect_client;

/*
 * Opens a client for one group; NULL or "" selects the only group. `socket` is the path of the
 * daemon's socket member-N.run. The path of member-N.status, in the same folder, is also accepted.
 * If `socket` is NULL, the client uses $ELECT_SOCKET, as the elect command does, or else the only
 * socket in /run/elect. This function does not connect, so if `socket` is given, the daemon may
 * start later.
 */
enum elect_client_error elect_client_open(struct elect_client **client, const char *socket,
                                          const char *group);
void elect_client_close(struct elect_client *client); /* NULL is allowed */

/*
 * Asks whether the member leads, and waits at most `patience` microseconds for the answer. Connects
 * to the daemon if necessary, and reconnects after the daemon has restarted. If `patience` is 0,
 * the call never waits: the first call returns ELECT_CLIENT_LATE, the descriptor becomes readable
 * when the answer has arrived, and the next call stores it. A call that fails leaves `answer`
 * unchanged.
 */
enum elect_client_error elect_client_ask(struct elect_client *client, int64_t patience,
                                         struct elect_client_answer *answer);

/* Limits the deadlines of later answers to `span` microseconds after the question. The initial
 * span, 0, means that a deadline may be a whole lease away. A shorter span requires more frequent
 * questions. */
void elect_client_span(struct elect_client *client, int64_t span);

/*
 * Reports that the work has stopped, so that a hand-over need not wait for the deadline. All
 * earlier answers, including copies of them, become invalid: do not use them again. This call never
 * waits. If the report cannot be sent, the deadline stays in force. A later elect_client_ask() asks
 * for a new promise.
 */
void elect_client_stopped(struct elect_client *client);

/* Returns true while the member leads. Call this function before every use of the token. */
bool elect_client_valid(const struct elect_client_answer *answer);
/* Returns the number of microseconds until the deadline; 0 if the member does not lead. */
int64_t elect_client_left(const struct elect_client_answer *answer);

/*
 * Returns a descriptor for poll(), epoll and the like, which stays the same until
 * elect_client_close(). The descriptor becomes readable when an answer has arrived, when the
 * deadline should be renewed, or when the daemon has reported a change, has stopped or may have
 * restarted. It then stays readable until the program calls elect_client_ask().
 */
int elect_client_fd(const struct elect_client *client);

/*
 * Asks the daemon to let another member lead, because this program or its machine is unfit. Stop
 * the work and call elect_client_stopped() first. Returns ELECT_CLIENT_FINE if the hand-over is
 * done or under way, and ELECT_CLIENT_LATE if the daemon has not answered in time. In the latter
 * case, call this function again to find out whether the hand-over succeeded.
 */
enum elect_client_error elect_client_resign(struct elect_client *client, int64_t patience);

/* Returns one line, without a newline, that describes the error. */
const char *elect_client_text(enum elect_client_error error);
/* Returns one line, without a newline, about the latest failed call. The line contains the socket's
 * path and the daemon's reason, if it gave one. */
const char *elect_client_why(const struct elect_client *client);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
