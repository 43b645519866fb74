/* What the flight recorders of all members that can be reached say, in one order of time. */
#ifndef ELECT_CMD_GATHER_H
#define ELECT_CMD_GATHER_H

#include "ask.h"

#define GATHER_MEMBERS 64
#define GATHER_BACK    400 /* steps of each member */
#define GATHER_TIME    20  /* seconds for all members together */
#define GATHER_STEPS   (GATHER_MEMBERS * GATHER_BACK)

/* One step of a member, or what it heard of another one. */
struct recorded {
    int64_t at; /* by the clock here, CLOCK_BOOTTIME in microseconds */
    unsigned member;
    const char *rule, *event, *from, *a, *b, *because, *message; /* "" if there is none */
    uint64_t term;
    unsigned order; /* in which it was told: several steps of a member may have one time */
    int leads;      /* 1: from this step on; -1: no more, since `over` */
    int64_t over;
};

struct gathered {
    const char *group;
    int64_t asked;  /* when, by the clock here */
    json_t *status; /* of the member here */
    unsigned members;
    const char *name[GATHER_MEMBERS]; /* the first is the one here */
    bool told[GATHER_MEMBERS];        /* it answered, and that was all */
    bool in_part[GATHER_MEMBERS];     /* it answered, but not all: it was too slow, or had no end */
    int64_t error;                    /* microseconds by which the times of others may be wrong */
    unsigned steps;
    struct recorded step[GATHER_STEPS]; /* in order */
    json_t *pages;                      /* what the texts above point into */
};

/* NULL with an exit status, after having complained. */
struct gathered *gather_members(struct asked_for *a, int *status);
void gather_end(struct gathered *g);

unsigned gather_called(const struct gathered *g, const char *name); /* g->members: nobody */
const json_t *gather_member(const struct gathered *g, unsigned member);
unsigned gather_id(const struct gathered *g, unsigned member);
const json_t *gather_group(const struct gathered *g); /* as the member here knows it */
bool gather_mandated(const struct gathered *g);       /* a majority confirms leaders */

#endif
