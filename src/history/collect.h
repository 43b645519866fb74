/* Collects the recorded steps of all members that can be reached, and sorts the steps by time. */
#ifndef ELECT_HISTORY_COLLECT_H
#define ELECT_HISTORY_COLLECT_H

#include "../base/text.h"
#include "rule.h"

#include <jansson.h>

#define HISTORY_MEMBERS 64
#define HISTORY_BACK    400 /* how many of its latest steps each member is asked for */
#define HISTORY_TIME    20  /* how many seconds the requests to all members may take */
#define HISTORY_STEPS   (HISTORY_MEMBERS * HISTORY_BACK)

/* A step that a member took, or news that it received about another member. A text that is missing
 * in the record is "". */
struct history_step {
    int64_t at; /* the time of the step: the local CLOCK_BOOTTIME in microseconds */
    unsigned member;
    unsigned rule;            /* a number from enum elect_rule_number or enum history_rule */
    unsigned event;           /* a number from enum elect_event or enum history_event */
    const char *rule_word;    /* the name of the rule, even if this version does not know it */
    const char *from, *a, *b; /* names of members */
    const char *because;      /* the explanation of the rule */
    uint64_t term;
    unsigned order; /* the order of arrival; several steps may have the same time */
    int leads;      /* 1: the member leads after this step; -1: it has not led since `over` */
    int64_t over;
};

struct history {
    const char *group;
    int64_t asked;  /* when the request was made, on the local clock */
    json_t *status; /* the status that the local daemon reports */
    unsigned members;
    const char *name[HISTORY_MEMBERS]; /* the names of the members; the local one comes first */
    bool complete[HISTORY_MEMBERS];    /* true for a member that sent all its steps */
    /* true for a member that sent only some of its steps, because it was too slow or had too
     * many */
    bool in_part[HISTORY_MEMBERS];
    int64_t error; /* the largest error in microseconds of the other members' times */
    unsigned steps;
    struct history_step step[HISTORY_STEPS]; /* sorted by time */
    json_t *pages; /* the answers of the members; they own the texts of the steps */
};

/* The connection to the local daemon. `ask` frees the request and returns the answer. If there is
 * no answer, `ask` returns NULL, sets `status` to an exit status, and adds the reason to `why`
 * unless it has already printed the reason. */
struct history_daemon {
    json_t *(*ask)(void *context, json_t *request, int *status, struct text *why);
    void *context;
};

/* Returns the history of all members. Returns NULL and an exit status if the daemon does not
 * answer, if it has several groups, or if there is not enough memory. `complaint` then contains the
 * reason, unless `ask` has already printed it. */
struct history *history_collect(const struct history_daemon *d, int *status,
                                struct text *complaint);
void history_free(struct history *h);

/* Returns the index of the member with this name, or h->members if there is none. */
unsigned history_member(const struct history *h, const char *name);
/* Returns the part of the local daemon's status that describes this member. */
const json_t *history_member_json(const struct history *h, unsigned member);
uint16_t history_id(const struct history *h, unsigned member);
/* Returns the part of the local daemon's status that describes the group. */
const json_t *history_group(const struct history *h);
/* Returns true if a leader needs a mandate from a majority of the voters. */
bool history_mandated(const struct history *h);

#endif
