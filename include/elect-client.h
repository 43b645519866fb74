/*
 * libelect-client: whether the member on this machine leads, for programs beside its daemon. (A
 * program that is to run only while it leads is simpler under `elect run`; one that wants to be a
 * member itself takes libelect-uv.)
 *
 *     struct elect_client *client;
 *     struct elect_client_answer answer = {0};
 *     if (elect_client_open(&client, NULL, "main") != ELECT_CLIENT_FINE) ...
 *     for (;;) {
 *         elect_client_ask(client, 100000, &answer);       if it fails, the latest answer counts
 *         while (elect_client_valid(&answer) && there_is_work())
 *             do_a_little(answer.token);                   looked at again before every use
 *         poll(elect_client_fd(client), for at most as long as there is no work);
 *     }
 *
 * An answer says: this member leads, until `deadline`. That is a promise, and it holds whatever
 * becomes of the daemon: nobody else leads before. So a call that fails leaves the answer as it
 * was. When an answer says that it does not lead (any more), stop at once. The deadline belongs to
 * CLOCK_BOOTTIME of this process, in microseconds, and is counted from before the question was
 * sent: a daemon that answers late makes it shorter, never longer.
 *
 * elect_client_valid() reads the clock at the call. Between that and the use a process can stand
 * still for any length of time: that is what the token is for. It grows with every change of
 * leader; whoever is worked upon remembers the highest one that it has seen, and refuses lower
 * ones.
 *
 * What was promised holds also after a "no": nobody else leads before the deadlines that were given
 * out are over, or it is said that the work has stopped. And the token is of the office, not of the
 * program: one that is started again beside the same leader gets the same token, and must wait
 * until whatever it has promised to others in its former life is over.
 *
 * What it costs: nobody succeeds this member before the deadlines it has given out are over. A
 * client that has one delays the successor after a crash, or a hand-over, until then at most; that
 * is never more than one lease from the latest question. Whoever needs less asks for less
 * (elect_client_span), and whoever has stopped says so (elect_client_stopped): then nobody waits.
 * Whoever only wants to know who leads asks `elect leader`, which promises nothing.
 *
 * One client belongs to one thread, and to the process that opened it: after a fork the child
 * leaves it alone and opens its own. Answers are plain values: copy them, look at them in any
 * thread; they hold in a forked child, too, but not in another time namespace nor on another
 * machine. Nothing is allocated but in elect_client_open(); no signal is raised; a signal does not
 * cut a call short.
 */
#ifndef ELECT_CLIENT_H
#define ELECT_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define ELECT_CLIENT_NAME 64 /* of a group or a member, with its NUL */

/* name, what to say of it */
#define ELECT_CLIENT_ERRORS(X)                                                                     \
    X(FINE, "fine")                                                                                \
    X(NO_DAEMON, "no daemon runs here: start it with elect daemon")                                \
    X(SEVERAL, "several members run here: say which socket")                                       \
    X(FORBIDDEN, "this user may not: be of group elect-run, or whoever runs the daemon")           \
    X(LATE, "the daemon has not answered in time")                                                 \
    X(REFUSED, "the daemon refuses")                                                               \
    X(NONSENSE, "what answers is no daemon, or one of another version")                            \
    X(INVALID, "too long a path or name, or no time")                                              \
    X(SYSTEM, "no descriptor, no memory, or the like")

enum elect_client_error {
#define X(name, text) ELECT_CLIENT_##name,
    ELECT_CLIENT_ERRORS(X)
#undef X
        ELECT_CLIENT_ERROR_COUNT
};

/* All zero: it does not lead, nothing is known. */
struct elect_client_answer {
    uint64_t token;   /* the fencing token, if it leads; else 0 */
    int64_t deadline; /* until when it does, by CLOCK_BOOTTIME in microseconds; else 0 */
    bool leads;       /* ask elect_client_valid(), which looks at the deadline */
    char group[ELECT_CLIENT_NAME];
    char node[ELECT_CLIENT_NAME];   /* the member here */
    char leader[ELECT_CLIENT_NAME]; /* whoever leads, as it knows; empty: nobody is known to */
};

struct elect_client;

/* For one group; NULL or "": the only one. The socket is member-N.run, or member-N.status beside
 * it; NULL: what $ELECT_SOCKET says (as for the command), or else the only one in /run/elect.
 * Connects nowhere yet: if the socket is named, the daemon may start later. */
enum elect_client_error elect_client_open(struct elect_client **client, const char *socket,
                                          const char *group);
void elect_client_close(struct elect_client *client); /* NULL is fine */

/* Does it lead? Takes no longer than `patience` microseconds; connects, and connects again when the
 * daemon was restarted. With 0 it never waits: it is ELECT_CLIENT_LATE at first, the descriptor
 * becomes readable when the answer is there, and another call takes it. */
enum elect_client_error elect_client_ask(struct elect_client *client, int64_t patience,
                                         struct elect_client_answer *answer);

/* From now on, answers for no longer than that, in microseconds; 0: for as long as the lease lasts,
 * which is so at first. A shorter one has to be asked for more often. */
void elect_client_span(struct elect_client *client, int64_t span);

/* The work has stopped: whatever was answered before is void, also in copies: do not look at it any
 * more. So a hand-over need not wait for the deadline. Never waits; if it cannot be said the
 * deadline is waited for. To ask again is to want another promise. */
void elect_client_stopped(struct elect_client *client);

/* True while it leads: call it before every use of the token. And how many microseconds are left,
 * for whoever must be done by then; 0: none. */
bool elect_client_valid(const struct elect_client_answer *answer);
int64_t elect_client_left(const struct elect_client_answer *answer);

/* For poll, epoll and the like; the same one until elect_client_close(). It is readable when it is
 * time to call elect_client_ask(): something has changed, a deadline should be renewed, an answer
 * has come, the daemon is gone or may be back. Only that call makes it unreadable. */
int elect_client_fd(const struct elect_client *client);

/* Somebody else shall lead: this program, or its machine, is sick. Stop first, and say so. Fine: it
 * is done, or under way. LATE: it was said, and what came of it another call may tell. */
enum elect_client_error elect_client_resign(struct elect_client *client, int64_t patience);

/* In one line, without an end of line: what an error means; and what was wrong with the latest call
 * that failed, with the name of the socket and, if there is one, the daemon's reason. */
const char *elect_client_text(enum elect_client_error error);
const char *elect_client_why(const struct elect_client *client);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
