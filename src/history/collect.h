/* Collects the flight recorders of all members that can be reached, and sorts their steps by
 * time. */
#ifndef ELECT_HISTORY_COLLECT_H
#define ELECT_HISTORY_COLLECT_H

#include "../base/text.h"
#include "rule.h"

#include <jansson.h>

#define HISTORY_MEMBERS 64
#define HISTORY_BACK    400 /* how many of the latest steps each member is asked for */
#define HISTORY_TIME    20  /* seconds for all members together */
#define HISTORY_STEPS   (HISTORY_MEMBERS * HISTORY_BACK)

/* A step of a member, or news that it received about another member. Missing texts are "". */
struct history_step {
    int64_t at; /* by the local clock, CLOCK_BOOTTIME in microseconds */
    unsigned member;
    unsigned rule;            /* enum elect_rule_number or enum history_rule */
    unsigned event;           /* enum elect_event or enum history_event */
    const char *rule_word;    /* set even if this version does not know the rule */
    const char *from, *a, *b; /* names of members */
    const char *because;      /* the rule in words */
    uint64_t term;
    unsigned order; /* order of arrival: several steps of a member may have the same time */
    int leads; /* 1: the member leads from this step on; -1: the member has not led since `over` */
    int64_t over;
};

struct history {
    const char *group;
    int64_t asked;  /* when the request was made, by the local clock */
    json_t *status; /* of the local member */
    unsigned members;
    const char *name[HISTORY_MEMBERS]; /* the first is the local member */
    bool complete[HISTORY_MEMBERS];    /* the member sent all its steps */
    /* the member sent only some of its steps, because it was too slow or had too many */
    bool in_part[HISTORY_MEMBERS];
    int64_t error; /* largest error of the times of other members, in microseconds */
    unsigned steps;
    struct history_step step[HISTORY_STEPS]; /* by time */
    json_t *pages;                           /* the answers, which own the texts of the steps */
};

/* The connection to the local daemon. `ask` takes ownership of the request and returns the answer.
 * If there is no answer, `ask` returns NULL and an exit status. `ask` then also adds the reason to
 * `why`, unless it has already printed the reason. */
struct history_daemon {
    json_t *(*ask)(void *context, json_t *request, int *status, struct text *why);
    void *context;
};

/* Returns NULL with an exit status if the daemon does not answer or has several groups, or if there
 * is no memory. The complaint is empty if `ask` has already reported the reason. */
struct history *history_collect(const struct history_daemon *d, int *status,
                                struct text *complaint);
void history_free(struct history *h);

/* Returns the index of a member, or h->members if no member has that name. */
unsigned history_member(const struct history *h, const char *name);
/* Returns the entry of a member in the status of the local daemon. */
const json_t *history_member_json(const struct history *h, unsigned member);
uint16_t history_id(const struct history *h, unsigned member);
/* Returns the entry of the group in the status of the local daemon. */
const json_t *history_group(const struct history *h);
/* Returns true if leaders need a mandate. */
bool history_mandated(const struct history *h);

#endif
