/*
 * The mandate: an election only nominates; a nominee leads once a majority of the voters has
 * promised to follow it, in one numbered term, for a limited time.
 *
 *     voter.c       promises
 *     office.c      asks for a mandate, leads, and steps down
 *     handover.c    replaces a living leader
 *     presence.c    tracks who is reachable, so that no election disturbs a leader in vain
 *     membership.c  decides who votes
 *
 * The algorithm files do not know of any of it.
 */
#ifndef ELECT_CORE_MANDATE_H
#define ELECT_CORE_MANDATE_H

#include "vocabulary.h"

typedef elect_term term;

/* ---- the roles of a process: see elect.h ---- */

static inline struct elect_voter *voter(const struct process *p) { return &p->node->mandate.voter; }
static inline struct elect_candidate *candidate(const struct process *p)
{
    return &p->node->mandate.candidate;
}
static inline struct elect_leader *leader(const struct process *p)
{
    return &p->node->mandate.leader;
}
static inline struct elect_presence *presence(const struct process *p)
{
    return &p->node->mandate.presence;
}
static inline struct elect_readmission *readmission(const struct process *p)
{
    return &p->node->mandate.readmission;
}
static inline struct elect_saved *saved(const struct process *p) { return &p->node->saved; }
static inline bool in_office(const struct process *p) { return leader(p)->token != 0; }
static inline bool lost_state(const struct process *p)
{
    return readmission(p)->stage != ELECT_NOT_LOST;
}

/* ---- who is who ---- */

static inline set all(const struct process *p) { return elect_everyone(p->config); }
static inline set voters(const struct process *p) /* those that are asked */
{
    return saved(p)->membership.voters | saved(p)->membership.before;
}
unsigned elect__quorum(set electorate);
/* Returns true if `some` has a majority of both electorates, the present and the previous one. */
bool elect__majority(const struct process *p, set some);
number elect__owner(const struct process *p, term e); /* ELECT_NOBODY if it is no member */

static inline bool stands_aside(const struct process *p)
{
    return (presence(p)->aside >> me(p) & 1) != 0;
}

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
static inline bool due(const struct process *p, enum elect_time_name name)
{
    return is_set(p, name) && !before(p, name);
}

static inline void raise_term(term *t, term to) { *t = to > *t ? to : *t; }

/* Sends one of the mandate's messages, with what all of them carry. */
void elect__say(struct process *p, set to, message m);

/* ---- voter.c ---- */

void elect__upon_request(struct process *p, number c, const message *m);
void elect__upon_prevote(struct process *p, number c, const message *m);
void elect__upon_release(struct process *p, number from, const message *m);
void elect__upon_hand(struct process *p, number from, const message *m);
/* The own voter grants a term before anybody is asked, which persists it. False: it refuses, for so
 * long. */
bool elect__own_vote(struct process *p, const message *request, uint32_t *wait);
void elect__end_of_guard(struct process *p);

/* ---- office.c ---- */

void elect__nominate(struct process *p);
/* An election is won without one: the predecessor says that it is over. */
void elect__inherit(struct process *p, const message *release);
/* Who granted one of the latest rounds of its term. */
set elect__granted_lately(const struct process *p);
/* What it asked for will never be used. */
void elect__withdraw(struct process *p);
/* Another process released a term: that of an office which this process followed, or of a
 * candidacy. */
void elect__may_be_free(struct process *p, bool office);
void elect__end_office(struct process *p, enum rule why);
void elect__round(struct process *p); /* of requests */
void elect__upon_aye(struct process *p, number from, const message *m);
void elect__upon_grant(struct process *p, number from, const message *m);
void elect__upon_refuse(struct process *p, number from, const message *m);
void elect__alarm(struct process *p);
/* Before anything else runs: an office that is over ends. True if it did. */
bool elect__at_until(struct process *p);
/* Somebody else leads, and says so. */
void elect__follow_office(struct process *p, number c, term e);
/* Two cannot be right: true if this process, who leads too, steps down because its term is the
 * smaller one. */
bool elect__gives_way(struct process *p, number c, const message *m);

/* ---- handover.c ---- */

/* `ordered`: only in this term; 0: in any. */
void elect__resign(struct process *p, number successor, term ordered);
void elect__stopped(struct process *p);
/* The leader's: who answered lately, and who of them comes next. */
set elect__roll(const struct process *p);
number elect__heir(const struct process *p);
/* This follower would take the place of its leader; this leader gives it. */
bool elect__claims(const struct process *p);
void elect__give_place(struct process *p, number to);

/* ---- membership.c ---- */

void elect__change(struct process *p, const struct elect_membership *wanted);
/* Does a candidate count with a membership that is not, or no longer, right? */
bool elect__counts_wrongly(const struct process *p, number c, const message *m);
void elect__adopt(struct process *p, const struct elect_membership *m);
/* A majority has granted a round: the last change is confirmed, if it was part of it. */
void elect__confirm_change(struct process *p, uint32_t round);
void elect__take_over_members(struct process *p); /* a new leader */
void elect__learn_members(struct process *p, const struct elect_membership *m);
/* Has it lost its state since that incarnation? */
bool elect__of_a_former_life(const struct process *p, number who, uint32_t life);
/* Nobody who keeps the rules counts with others. */
bool elect__can_be_members(const struct process *p, const struct elect_membership *m);
bool elect__knows_later_members(const struct process *p, const struct elect_membership *m);
void elect__upon_forgot(struct process *p, number from, const message *m);
void elect__remember(struct process *p, const struct elect_input *in); /* all that it does */

/* ---- presence.c ---- */

/* Any message from a process shows that it is alive. */
void elect__hear(struct process *p, number from, const message *m);
void elect__upon_present(struct process *p, number from, const message *m);
void elect__upon_following(struct process *p, number from, const message *m);
bool elect__paused(const struct process *p);
void elect__pause(struct process *p, bool on);
/* The host's order: the process votes, but seeks no office (or seeks one again). */
void elect__stand_aside(struct process *p, bool aside);
bool elect__sees_majority(const struct process *p);
/* Of these times, whose are not longer ago than the suspicion time; and oneself. */
set elect__lately(const struct process *p, const elect_time *times);
/* The fewest penalties, then the highest rank. */
bool elect__outranks(const struct process *p, number a, number b);
/* Returns true if `a` should take the office of `b`. Members halve their penalties at different
 * times, so a difference that the next halving of `b` would remove does not count. */
bool elect__displaces(const struct process *p, number a, number b);
void elect__penalize(struct process *p, unsigned penalties);
/* May it hold elections, and win them? `m` asks it to, or nothing does. */
bool elect__takes_part(const struct process *p, const message *m);
void elect__stand_back(struct process *p);
/* True if an election is none of its business: it says why, or whom it follows. A message of it, or
 * (NULL) a timer. */
bool elect__keeps_out(struct process *p, number from, const message *m);
/* There is no leader, it seems. */
void elect__miss(struct process *p);
/* Somebody may be about to lead. */
void elect__be_patient(struct process *p);
void elect__look_on_time(struct process *p); /* what is due */
void elect__keep_watch(struct process *p);   /* at the end of every step */

#endif
