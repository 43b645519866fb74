/*
 * The space of all histories: worlds as a few dozen bytes. A world is a row of numbers: for every
 * process the number of its local value (node, up or down) and of its mailbox, then what is left of
 * the budget for faults. Distinct local values, mailboxes and messages are kept once, in tables;
 * because elect_step is pure, what it does with a local value and an input is worked out once and
 * remembered.
 *
 * Comparison is by these numbers, so it is exact.
 */
#ifndef ELECT_SPACE_H
#define ELECT_SPACE_H

#include "../model/world.h"

#include <pthread.h>

#define SPACE_MAX 16 /* processes */

enum begin_mode { BEGIN_ANY, BEGIN_LISTED };

struct budget {
    uint8_t crashes, recoveries, losses, duplicates, cuts, joins;
};

struct question {
    struct elect_config config;
    uint8_t leader; /* whom all follow at first */
    elect_set down; /* who is down at first */
    enum begin_mode begin;
    uint8_t beginners; /* BEGIN_LISTED: in this order */
    uint8_t beginner[SPACE_MAX];
    struct budget budget;
    bool reorder;      /* links keep no order */
    bool any_timeouts; /* timers may run out at any moment, not only when all is quiet */
    bool reduce;       /* follow one process at a time where the order cannot matter */
};

/* A world, unpacked. Rows are compared as bytes: no padding, unused entries are 0. */
struct row {
    uint32_t local[SPACE_MAX], mailbox[SPACE_MAX];
    uint16_t begun;  /* who has used its beginning */
    uint16_t cut;    /* one side of the cut; 0: no cut */
    uint16_t joined; /* who was down at first and has started */
    struct budget left;
};

/* What there is to know of a local value without looking into the node. */
struct brief {
    uint8_t up, state, leader, running;
};

enum move_kind {
    MOVE_BEGIN,
    MOVE_DELIVER,
    MOVE_TIMEOUT,
    MOVE_SUSPECT, /* the leader that it follows cannot be heard */
    MOVE_HEAR,    /* a heartbeat of `from`, who leads */
    MOVE_LOSE,
    MOVE_DUPLICATE,
    MOVE_CRASH,
    MOVE_RECOVER,
    MOVE_CUT,
    MOVE_HEAL
};

struct move {
    uint8_t kind, process, from, timer;
    uint32_t message; /* DELIVER, LOSE, DUPLICATE */
    uint16_t cut;
};

/* Tables that all threads share. */
struct table {
    unsigned char *bytes;
    size_t used, room;
    uint64_t *offset; /* count + 1 of them: where each value begins */
    uint32_t *slot;
    uint32_t count, offsets, slots;
};

struct space {
    struct question question;
    pthread_mutex_t lock; /* around the tables; the threads remember what they were told */
    struct table locals, messages, mailboxes;
    struct brief *briefs[4096]; /* pages of SPACE_PAGE */
    uint64_t step_count;        /* how often the real code ran */
    bool full; /* a mailbox or a table has outgrown its limit: what was found is not everything */
};
#define SPACE_PAGE 4096

/* What elect_step did with a local value and an input. */
struct result {
    uint32_t local;
    uint8_t sends;
    struct {
        uint16_t to;
        uint32_t message;
    } send[ELECT_MAX_SENDS];
};

/* What one thread remembers. */
struct memory {
    struct memo *steps, *appends, *takes;
    struct result *result;
    uint32_t results, room;
};

void space_init(struct space *s, const struct question *q, struct memory *m, struct row *first);
void space_free(struct space *s);
size_t space_bytes(const struct space *s);
void memory_init(struct memory *m);
void memory_free(struct memory *m);
size_t memory_bytes(const struct memory *m);

/* Called for every world that one move leads to. */
typedef void space_visit(void *context, const struct move *move, const struct row *row);

struct expansion {
    bool quiet; /* nothing is left but beginnings and faults */
};
/* `faults`: also those moves that spend the budget. */
struct expansion space_expand(struct space *s, struct memory *m, const struct row *row, bool faults,
                              space_visit *visit, void *context);

struct brief space_brief(const struct space *s, uint32_t local);
void space_message(struct space *s, uint32_t message, struct elect_message *m);

#endif
