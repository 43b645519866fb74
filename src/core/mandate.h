/*
 * The mandate: an election only nominates a process. The nominee leads once a majority of the
 * voters has promised to follow it, in one numbered term and for a limited time.
 *
 *     voter.c       grants terms
 *     office.c      asks for a mandate, leads, and steps down
 *     handover.c    replaces a live leader
 *     presence.c    tracks reachable processes, so that no election disturbs a leader
 *     membership.c  changes the voters, and readmits a member that has lost its state
 *
 * The algorithm files do not depend on the mandate.
 */
#ifndef ELECT_CORE_MANDATE_H
#define ELECT_CORE_MANDATE_H

#include "vocabulary.h"

typedef elect_term term;

/* ---- the parts of a process: see elect.h ---- */

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

/* ---- sets of processes ---- */

static inline set all(const struct process *p) { return elect_everyone(p->config); }
static inline set voters(const struct process *p) /* including the previous ones */
{
    return saved(p)->membership.voters | saved(p)->membership.before;
}
unsigned elect__quorum(set electorate);
/* Returns true if `some` contains majorities of both the current and the previous voters. */
bool elect__majority(const struct process *p, set some);
/* Returns the process that owns the term; ELECT_NOBODY if the configuration does not have it. */
number elect__owner(const struct process *p, term e);

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

/* Sends a message of the mandate, with the fields that all such messages carry. */
void elect__say(struct process *p, set to, message m);

/* ---- voter.c ---- */

void elect__upon_request(struct process *p, number c, const message *m);
void elect__upon_prevote(struct process *p, number c, const message *m);
void elect__upon_release(struct process *p, number from, const message *m);
void elect__upon_hand(struct process *p, number from, const message *m);
/* Asks this process's own voter for a term before any other voter is asked, and persists the term.
 * Returns false if the voter refuses, and stores in `wait` how long it will refuse. */
bool elect__own_vote(struct process *p, const message *request, uint32_t *wait);
void elect__end_of_guard(struct process *p);

/* ---- office.c ---- */

void elect__nominate(struct process *p);
/* Nominates this process without an election, because its predecessor has released its term. */
void elect__inherit(struct process *p, const message *release);
/* Returns the voters that granted at least one of the remembered rounds of the current term. */
set elect__granted_lately(const struct process *p);
/* Ends the candidacy, and releases its term if a REQUEST has named that term. */
void elect__withdraw(struct process *p);
/* Shortens a nominee's wait after another process has released a term. `office` is true if this
 * process followed the other one in that term, and false if the other was only a candidate. */
void elect__may_be_free(struct process *p, bool office);
void elect__end_office(struct process *p, enum rule why);
void elect__round(struct process *p); /* sends REQUESTs */
void elect__upon_aye(struct process *p, number from, const message *m);
void elect__upon_grant(struct process *p, number from, const message *m);
void elect__upon_refuse(struct process *p, number from, const message *m);
void elect__alarm(struct process *p);
/* Ends the office if its time is up. Returns true if it has ended. elect_step() calls this function
 * before anything else. */
bool elect__at_until(struct process *p);
/* Follows process `c`, which reports that it leads in term `e`. */
void elect__follow_office(struct process *p, number c, term e);
/* Steps down if `c` leads in a larger term. Returns true if this process has stepped down. */
bool elect__gives_way(struct process *p, number c, const message *m);

/* ---- handover.c ---- */

/* Resigns in favour of `successor`. If `ordered` is not 0, resigns only in the term `ordered`. */
void elect__resign(struct process *p, number successor, term ordered);
void elect__stopped(struct process *p);
/* Returns the other processes heard from recently. */
set elect__roll(const struct process *p);
/* Returns the next leader; ELECT_NOBODY if no process could take over. */
number elect__heir(const struct process *p);
/* Returns true if this follower claims the office of its leader. */
bool elect__claims(const struct process *p);
/* Resigns in favour of `to`, which claims the office, if preemption is allowed and no fitter member
 * claims it. */
void elect__give_place(struct process *p, number to);

/* ---- membership.c ---- */

void elect__change(struct process *p, const struct elect_membership *wanted);
/* Returns true if candidate `c` uses a wrong membership, or an earlier one than this process. */
bool elect__counts_wrongly(const struct process *p, number c, const message *m);
/* Adopts and persists `m` unless it is the current membership or an earlier one. */
void elect__adopt(struct process *p, const struct elect_membership *m);
/* Confirms the latest change of the membership if it was part of `round`, which a majority has
 * granted. */
void elect__confirm_change(struct process *p, uint32_t round);
/* Stamps the membership with the term of this process, the new leader. */
void elect__take_over_members(struct process *p);
void elect__learn_members(struct process *p, const struct elect_membership *m);
/* Returns true if the process `who` has lost its state since it ran as incarnation `life`. */
bool elect__of_a_former_life(const struct process *p, number who, uint32_t life);
/* Returns true if a correct process could have this membership. */
bool elect__can_be_members(const struct process *p, const struct elect_membership *m);
bool elect__knows_later_members(const struct process *p, const struct elect_membership *m);
void elect__upon_forgot(struct process *p, number from, const message *m);
/* Performs a step of a process that has lost its state. Until its readmission, the process ignores
 * all input except REMEMBERS, ASIDE, READY and ALARM. */
void elect__remember(struct process *p, const struct elect_input *in);

/* ---- presence.c ---- */

/* Records a message from another process, and what it says about its sender. */
void elect__hear(struct process *p, number from, const message *m);
void elect__upon_present(struct process *p, number from, const message *m);
void elect__upon_following(struct process *p, number from, const message *m);
bool elect__paused(const struct process *p);
void elect__pause(struct process *p, bool on);
/* Makes this process stand aside (vote, but seek no office), or stand ready again. */
void elect__stand_aside(struct process *p, bool aside);
bool elect__sees_majority(const struct process *p);
/* Returns this process and all processes whose time in `times` is within the suspicion time. */
set elect__lately(const struct process *p, const elect_time *times);
/* Returns true if `a` is fitter than `b`: fewer penalties or, if equal, a higher rank. */
bool elect__outranks(const struct process *p, number a, number b);
/* Returns true if `a` should take the office of `b`. Members halve their penalties at different
 * times, so a difference does not count if the next halving of `b` would remove it. */
bool elect__displaces(const struct process *p, number a, number b);
void elect__penalize(struct process *p, unsigned penalties);
/* Returns true if this process may hold elections and win them. `m` is the message that asks it to
 * take part, or NULL. */
bool elect__takes_part(const struct process *p, const message *m);
void elect__stand_back(struct process *p);
/* Returns true if this process must not take part in an election. `m` is the message that asks it
 * to take part, or NULL if a timer has expired. A process that must not take part tells the sender
 * which leader it follows, or leaves the election and wants another one later. */
bool elect__keeps_out(struct process *p, number from, const message *m);
/* Looks for a leader, because none has been heard from. */
void elect__miss(struct process *p);
/* Delays this process's next election, so that the candidate that holds its grant has time to
 * win. */
void elect__be_patient(struct process *p);
/* Does what is due at ELECT_DECAY, ELECT_LOOK and ELECT_BEGIN. */
void elect__look_on_time(struct process *p);
/* Begins or ends the search for a leader. elect_step() calls this function near the end of every
 * step. */
void elect__keep_watch(struct process *p);

#endif
