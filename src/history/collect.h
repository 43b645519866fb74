/* Collects the recorded steps of all reachable members, sorted by time. */
#ifndef ELECT_HISTORY_COLLECT_H
#define ELECT_HISTORY_COLLECT_H

#include "../base/text.h"
#include "rule.h"

#include <jansson.h>

#define HISTORY_MEMBERS 64
#define HISTORY_BACK    400 /* latest steps requested per member */
#define HISTORY_TIME    20  /* seconds for all requests together */
#define HISTORY_STEPS   (HISTORY_MEMBERS * HISTORY_BACK)

/* A member's step, or news it received about another member. Missing texts are "". */
struct history_step {
    int64_t at; /* local CLOCK_BOOTTIME in microseconds */
    unsigned member;
    unsigned rule;         /* enum elect_rule_number or enum history_rule */
    unsigned event;        /* enum elect_event or enum history_event */
    const char *rule_word; /* name of the rule, even if unknown to this version */
    const char *from, *a, *b;
    const char *because;
    uint64_t term;
    unsigned order; /* order of arrival, for steps with the same time */
    int leads;      /* 1: the member leads after this step; -1: it has not led since `over` */
    int64_t over;
};

struct history {
    const char *group;
    int64_t asked;
    json_t *status;
    unsigned members;
    const char *name[HISTORY_MEMBERS]; /* the local member comes first */
    bool complete[HISTORY_MEMBERS];    /* all steps were received */
    /* some steps are missing: the member was too slow or had too many */
    bool in_part[HISTORY_MEMBERS];
    int64_t error; /* maximum clock error of other members' times, in microseconds */
    unsigned steps;
    struct history_step step[HISTORY_STEPS]; /* sorted by time */
    json_t *pages;                           /* the answers, which hold the texts of the steps */
};

/* Connection to the local daemon. `ask` frees the request and returns the answer. On failure, it
 * returns NULL, sets `status` to an exit status, and adds the reason to `why` unless it has
 * printed it. */
struct history_daemon {
    json_t *(*ask)(void *context, json_t *request, int *status, struct text *why);
    void *context;
};

/* Returns the history of all members. If the daemon does not answer, has several groups, or
 * memory runs out, returns NULL and an exit status; `complaint` holds the reason unless `ask`
 * has printed it. */
struct history *history_collect(const struct history_daemon *d, int *status,
                                struct text *complaint);
void history_free(struct history *h);

/* Returns the index of the member, or h->members if there is none. */
unsigned history_member(const struct history *h, const char *name);
const json_t *history_member_json(const struct history *h, unsigned member);
uint16_t history_id(const struct history *h, unsigned member);
const json_t *history_group(const struct history *h);
bool history_mandated(const struct history *h);

#endif
