/*
 * What is done here under the mandate of a group, and when it has stopped. That the member leads is
 * shown to others when the hook pre-leader agrees. Under its office work
 *
 *     a holder     an elect run: until it says that it is empty (holders.c)
 *     clients      that were told that it leads for some time: until that is over (holders.c)
 *     hooks        what on-leader began, until on-follower has ended it (hooks.c)
 *
 * When the office is over, or is to be handed over, all are told; and only when all have stopped is
 * the member, which may then say that its term is over. Whoever ends without a word may have left
 * something behind: then what it was told last is waited for.
 */
#ifndef ELECT_DAEMON_WORK_H
#define ELECT_DAEMON_WORK_H

#include "config.h"
#include "guardian.h"
#include "pace.h"

struct daemon;
struct talker;

/* One at a time, in this order: what was last, what is to be. */
struct hooked {
    uint32_t serial; /* of the one that runs; 0: none */
    uint8_t hook, tries;
    uint8_t failures; /* offices in a row that a hook did not want */
    bool served;      /* on-leader was run for this office, or is */
    bool led;         /* it was begun, and not undone; in this term: */
    elect_term term;
    bool cancelled;   /* the one that runs is to end */
    bool changes;     /* on-leader-change is to be run */
    elect_time again; /* not before this */
};

struct work {
    bool agreed;      /* pre-leader does, or there is none: it is shown that it leads */
    bool office;      /* it leads, whether that is shown or not */
    elect_time until; /* of its latest office */
    elect_time last;  /* until when it was told that it leads, whoever may not have stopped */
    struct talker *holder;
    bool is_void; /* it has no testament: a talker of this group has `voids` */
    struct hooked hooks;
    struct pace pace; /* of the users whose runs work here */
};

/* ---- work.c ---- */

void work_begin(struct daemon *d, const struct guard *guard);
void work_end(struct daemon *d, bool in_good_order);
/* As the member announced. */
void work_news(struct daemon *d, const struct elect_news *news);
/* What is shown. */
struct elect_news work_shown(const struct daemon *d, unsigned group);
/* Something may be next. */
void work_turn(struct daemon *d, unsigned group);
/* It is asked to hand over. */
struct elect_rule work_resign(struct daemon *d, unsigned group);
/* Testaments, or none, and how late: as it is configured now. */
void work_configure(struct daemon *d);
void work_deposit(void *context, const struct elect_testament *testament);
/* False if it does not hear, now or any more. */
bool work_tell_guardian(struct daemon *d, const struct guard_note *note, int fd);
/* Not later than that something may be next. */
void work_wake(struct daemon *d, elect_time when);
bool work_is_guarded(const struct daemon *d);

/* ---- holders.c ---- */

bool holders_open(struct daemon *d, struct text *complaint);
void holders_close(struct daemon *d);
/* Whose turn it is; who must stop; who is to be told. */
void holders_turn(struct daemon *d, unsigned group);
void holders_acknowledged(struct daemon *d, const struct guard_note *note);
void holders_news(struct daemon *d, unsigned group); /* it is not what it was */
/* A run that was told to stop and does not ask any more is not waited for longer than its lease. A
 * run that still asks is not empty yet. */
void holders_look(struct daemon *d, unsigned group);
void holders_unguarded(struct daemon *d); /* the guardian is dead: nobody is asked any more */
void holders_tick(struct daemon *d);      /* every second */
/* Until when clients were told that it leads. */
elect_time holders_promised(const struct daemon *d, unsigned group);
unsigned holders_waiting(const struct daemon *d, unsigned group);
int holders_pid(const struct talker *t);
const char *holders_containment(const struct talker *t); /* how its work is held together */
elect_term holders_term(const struct talker *t);         /* which it works under */

/* ---- hooks.c ---- */

/* The next one, if it is time. */
void hooks_turn(struct daemon *d, unsigned group);
void hooks_done(struct daemon *d, const struct guard_note *note);
/* Nothing runs, and nothing is to be undone. */
bool hooks_rest(const struct daemon *d, unsigned group);

#endif
