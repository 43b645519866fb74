/*
 * Orders to hand over a group's leadership: `elect resign` and `elect transfer`. Any member accepts
 * an order and sends it to the leader, in notes over their session:
 *
 *     {"order": 8589934593, "group": "main", "term": 327681, "to": "b", "force": false,
 *      "uid": 0, "pid": 4242}                                    to: null if none is named
 *     {"ordered": 8589934593, "group": "main", "outcome": "accepted"}
 *
 * Notes may be lost, so an order is sent every second until its outcome is known. The leader does
 * not carry it out twice: it remembers the number of the last order from each member for each
 * group, and an order names the term that it ends, which is never used again (handover.c). If no
 * outcome arrives, the term of the next leader still shows whether the leader has resigned.
 */
#ifndef ELECT_DAEMON_ORDERS_H
#define ELECT_DAEMON_ORDERS_H

#include "config.h"
#include "elect-uv.h"

#include <jansson.h>
#include <sys/types.h>

struct control_client;
struct daemon;

/* Outcome, its word in notes, and its message. The message follows the leader's name; %s is the
 * successor's name. */
#define ORDER_OUTCOMES(X)                                                                          \
    X(ACCEPTED, "accepted", "accepts the order")                                                   \
    X(NO_GROUP, "no-group", "does not have that group in its configuration: see elect doctor")     \
    X(NO_OFFICE, "no-office", "no longer leads: repeat the command")                               \
    X(OTHER_TERM, "other-term", "leads in another term now: repeat the command")                   \
    X(HANDING_OVER, "handing-over", "is handing over already")                                     \
    X(NOT_HEARD, "not-heard", "has not heard from %s lately: see elect doctor")                    \
    X(ASIDE, "aside", "refuses, because %s stands aside: see elect status there")                  \
    X(CANNOT_LEAD, "cannot-lead", "refuses, because %s may not lead: see its role")                \
    X(NO_SUCCESSOR, "no-successor", "sees no member that could take over (--force: resign anyway)")

enum order_outcome {
#define X(name, word, text) ORDER_##name,
    ORDER_OUTCOMES(X)
#undef X
        ORDER_OUTCOMES_COUNT
};

struct order {
    uint64_t number; /* 0 if none */
    unsigned group;
    elect_term term;
    uint16_t leader;
    const struct config_member *successor; /* NULL if none was named */
    bool force, accepted;
    uid_t uid;
    pid_t pid;
    char late[320]; /* answer if there is no outcome in time */
};

struct order_handled {
    uint64_t number;
    uint8_t outcome; /* enum order_outcome */
};

struct orders {
    uint64_t last;                                             /* latest number given here */
    struct order given[STORE_GROUPS];                          /* latest from a client */
    struct order_handled handled[SESSION_PEERS][STORE_GROUPS]; /* latest from each member */
};

/* Accepts an order from a client, which gets its answer when another member leads or the order has
 * failed. */
void order_give(struct daemon *d, struct control_client *client, unsigned group,
                const struct config_member *successor, bool force);
/* Handles another member's order, and answers with the outcome. */
void order_take(struct daemon *d, uint16_t from, const json_t *note);
/* Handles the outcome of an order sent to another member. */
void order_hear(struct daemon *d, uint16_t from, const json_t *note);
/* Answers the client of an order once the group has a leader in a later term. Called whenever the
 * leader or its term changes. */
void order_news(struct daemon *d, const struct elect_news *news);
/* Sends orders again that have no outcome yet. Called every second. */
void order_tick(struct daemon *d);

#endif
