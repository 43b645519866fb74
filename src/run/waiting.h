/* Tells the user of a waiting run which member leads: a line for each new leader, and when no
 * leader is known, but none when the same leader starts a new term. */
#ifndef ELECT_RUN_WAITING_H
#define ELECT_RUN_WAITING_H

#include "../client/talk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAITING_TEXT  512
#define WAITING_BURST 5                 /* lines without a delay */
#define WAITING_EVERY INT64_C(10000000) /* microseconds between lines after a burst */

struct waiting {
    bool told;                   /* the user has been told of `told_leader` */
    char told_leader[TALK_NAME]; /* empty if no leader is known */
    char leader[TALK_NAME];
    char line[WAITING_TEXT];  /* not yet printed; empty if none */
    char state[WAITING_TEXT]; /* latest news about the leader, and a reason to wait */
    int64_t paid;             /* when a whole burst is allowed again */
};

/* The next packet causes a line even if it names the same leader. */
void waiting_renew(struct waiting *w);
/* Handles a WAIT (`why`: reason to wait) or a NEWS (`why`: cause of the change). */
void waiting_hear(struct waiting *w, const struct talk *t);
/* Returns the line to print now, only once, or NULL. A delayed line shows the latest state. */
const char *waiting_due(struct waiting *w, int64_t now);
/* Returns INT64_MAX if no line is due. */
int64_t waiting_next(const struct waiting *w);

/* e.g. "b leads group main in term 2.2" */
void waiting_describe(const struct talk *t, char *text, size_t room);

#endif
