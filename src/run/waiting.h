/* While a run waits for its turn, tells the user who leads. Prints a line when the leader changes,
 * and when no leader is known, but not when the same leader only starts a new term. */
#ifndef ELECT_RUN_WAITING_H
#define ELECT_RUN_WAITING_H

#include "../client/talk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAITING_TEXT  512
#define WAITING_BURST 5                 /* lines that may follow each other immediately */
#define WAITING_EVERY INT64_C(10000000) /* microseconds between lines after a burst */

struct waiting {
    bool told;                   /* the user has been told who leads, or that no leader is known */
    char told_leader[TALK_NAME]; /* that leader; empty: none */
    char leader[TALK_NAME];      /* the leader in the line that is due */
    char line[WAITING_TEXT];     /* not yet printed; empty: there is none */
    char state[WAITING_TEXT];    /* the latest news about the leader, and a reason to wait */
    int64_t paid;                /* when the rate allows a whole burst again */
};

/* Lets the next packet cause a line even if it names the same leader. */
void waiting_renew(struct waiting *w);
/* Handles a WAIT, whose `why` is a reason to wait, or a NEWS, whose `why` is the cause of the
 * change. */
void waiting_hear(struct waiting *w, const struct talk *t);
/* Returns the line to print now, and returns it only once; NULL if no line is due, or if the rate
 * does not allow one. A line that was delayed shows the latest state. */
const char *waiting_due(struct waiting *w, int64_t now);
/* Returns the time at which the next line is due; INT64_MAX if there is none. */
int64_t waiting_next(const struct waiting *w);

/* Writes who leads the group of a packet, such as "b leads group main in term 2.2". */
void waiting_describe(const struct talk *t, char *text, size_t room);

#endif
