/*
 * The mandate: an election only nominates; a nominee leads once a majority of the voters has
 * promised to follow it, in one numbered term, for a limited time. voter.c promises, office.c asks,
 * leads and steps down. The algorithm files do not know of it.
 */
#ifndef ELECT_MANDATE_H
#define ELECT_MANDATE_H

#include "vocabulary.h"

typedef elect_term term;

/* ---- who is who ---- */

static inline set voters(const struct process *p) { return p->config->voters; }
bool elect__majority(const struct process *p, set some);
number elect__owner(const struct process *p, term e); /* ELECT_NOBODY if no member */

/* ---- times ---- */

static inline elect_time *at(struct process *p, enum elect_time_name name)
{
    return &p->node->mandate.time[name];
}
static inline bool before(const struct process *p, enum elect_time_name name)
{
    return p->now < p->node->mandate.time[name];
}
static inline bool is_set(const struct process *p, enum elect_time_name name)
{
    return p->node->mandate.time[name] != ELECT_UNSET;
}

/* One of the mandate's messages, with all that they have in common. */
void elect__say(struct process *p, set to, message m);

/* ---- voter.c ---- */

void elect__upon_request(struct process *p, number c, const message *m);
void elect__upon_prevote(struct process *p, number c, const message *m);
void elect__upon_release(struct process *p, number from, const message *m);
/* The own voter grants a term before anybody is asked, which persists it. False: it refuses, for so
 * long. */
bool elect__own_vote(struct process *p, const message *request, uint32_t *wait);
void elect__end_of_guard(struct process *p);

/* ---- office.c ---- */

void elect__nominate(struct process *p);
void elect__upon_aye(struct process *p, number from, const message *m);
void elect__upon_grant(struct process *p, number from, const message *m);
void elect__upon_refuse(struct process *p, number from, const message *m);
void elect__alarm(struct process *p);
/* Before anything else runs: an office that is over ends. True if it did. */
bool elect__at_until(struct process *p);
void elect__stopped(struct process *p);
/* Somebody else leads, and says so. */
void elect__follow_office(struct process *p, number c);
/* Two cannot be right: true if this process, who leads too, steps down because its term is the
 * smaller one. */
bool elect__gives_way(struct process *p, number c, term e);

#endif
