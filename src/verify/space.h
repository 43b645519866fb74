/*
 * This file describes the space of all histories. A world takes only a few dozen bytes, because it
 * is a row of numbers: one seat number for each process, and the remaining budget for faults. A
 * seat consists of the state of a process (its local value), its mailbox, and whether the process
 * is up. Tables hold each distinct local value, mailbox, message and seat once. elect_step is a
 * pure function, so its result for a local value and an input is computed only once. The effect of
 * an event on a seat is also computed only once. All threads share these results.
 *
 * Two worlds are equal if all their numbers are equal, so the comparison is exact.
 */
#ifndef ELECT_VERIFY_SPACE_H
#define ELECT_VERIFY_SPACE_H

#include "../model/world.h"
#include "table.h"

#define SPACE_MAX 16 /* the largest number of processes */

enum begin_mode { BEGIN_ANY, BEGIN_LISTED };
enum clocks { CLOCKS_ANY, CLOCKS_BOUNDED, CLOCKS_BEYOND };

struct budget {
    uint8_t crashes, recoveries, losses, duplicates, cuts, joins;
};

static inline bool budget_is_none(const struct budget *b)
{
    return b->crashes + b->recoveries + b->losses + b->duplicates + b->cuts + b->joins == 0;
}

struct question {
    struct elect_config config;
    uint8_t leader; /* the process that all processes follow at first, or ELECT_NOBODY */
    elect_set down; /* processes that are down at first */
    enum begin_mode begin;
    uint8_t beginners; /* with BEGIN_LISTED: the number of entries in `beginner` */
    uint8_t beginner[SPACE_MAX];
    struct budget budget;
    elect_set mortal;  /* processes that may crash */
    bool reorder;      /* messages on a link may overtake each other */
    bool any_timeouts; /* timers may expire even while messages are in flight */
    bool reduce;       /* if the order has no effect, try the moves of only one process at a time */
    /* The remaining fields are used only under a mandate. */
    enum clocks clocks;
    uint8_t slow, fast; /* how many ticks slow and fast clocks advance in one MOVE_TICK */
    /* The largest counter of a term, and the number of rounds of each term that may arrive. */
    uint32_t max_term, max_rounds;
    uint32_t max_changes; /* the largest version of the membership */
    bool hand_over;       /* leaders may resign */
};

/* A world in unpacked form. Rows are compared byte by byte, so there is no padding and unused
 * entries are 0. */
struct row {
    uint32_t seat[SPACE_MAX];
    union {
        uint16_t begun; /* processes that have begun an election */
        uint16_t late;  /* mandate: an office has begun with a token that was not the largest */
    };
    uint16_t cut;    /* the processes on one side of the cut; 0: no cut */
    uint16_t joined; /* processes that were down at first and have started */
    struct budget left;
};

/* A process with its mailbox. The other fields are copies of values that are needed often. */
struct seat {
    uint32_t local, mailbox;
    uint16_t senders; /* senders of the messages in the mailbox */
    uint8_t up, state, leader, running;
    uint8_t leads, broken; /* mandate: whether the process leads, and its violations (CLAIMED_*) */
    uint32_t taken;        /* mandate: the largest token of the process, in 32 bits */
    _Atomic(const struct deliveries *) deliveries; /* NULL: not computed yet */
};

enum move_kind {
    MOVE_BEGIN,
    MOVE_DELIVER,
    MOVE_TIMEOUT,
    MOVE_SUSPECT, /* the process suspects its leader, which it cannot hear */
    MOVE_HEAR,    /* the process receives a heartbeat from the leader `from` */
    MOVE_LOSE,
    MOVE_DUPLICATE,
    MOVE_CRASH,
    MOVE_RECOVER,
    MOVE_CUT,
    MOVE_HEAL,
    /* These moves exist only under a mandate. */
    MOVE_GRANTS, /* the GRANTs of one round arrive from all voters in `cut` */
    MOVE_WIN,    /* the process wins an election after it saw a term with the counter `timer` */
    MOVE_STALE,
    MOVE_CLOSED,
    MOVE_STOPPED,
    MOVE_DUE, /* the time `timer` (an elect_time_name) has been reached */
    MOVE_RESTART,
    MOVE_TESTAMENT, /* a restart, in which the testament of the process is also sent */
    MOVE_RESIGN,    /* the process resigns and hands over to the process `timer` */
    MOVE_CHANGE,    /* the process `timer` is added to the membership, or removed from it */
    MOVE_TICK
};

struct move {
    uint8_t kind, process, from, timer;
    uint8_t started;  /* timers that the process started or restarted */
    uint32_t message; /* for MOVE_DELIVER, MOVE_LOSE and MOVE_DUPLICATE: which message */
    uint16_t cut;
};

#define SPACE_PAGE    4096 /* seats on each page */
#define SPACE_NO_MAIL 0    /* the empty mailbox is the first entry in its table */

/* The effect of an event on a local value or a seat. */
struct change {
    uint32_t becomes; /* the number of the new local value or seat */
    uint32_t message; /* the message that was received, lost or copied, if any */
    uint8_t from;
    uint8_t kind; /* under a mandate: the enum move_kind of the event */
    /* Under a mandate: the voters whose GRANTs are counted, and the value of `timer` in struct
     * move. */
    uint8_t voters, argument;
    uint8_t started; /* the timers that were started */
    uint8_t sends;
    bool beyond; /* the change would exceed the bounds, so it is not made */
    struct {
        uint16_t to;
        uint32_t message;
    } send[ELECT_MAX_SENDS];
};

/* Returns the size of a change, counting only the used entries of `send`. */
static inline size_t change_size(const struct change *o)
{
    return offsetof(struct change, send) + o->sends * sizeof o->send[0];
}

/* Changes of different sizes, stored one after the other; change_next finds the next one. */
struct deliveries {
    unsigned count;
    struct change first[];
};

static inline const struct change *change_next(const struct change *o)
{
    return (const struct change *)((const unsigned char *)o + change_size(o));
}

/* Tables that all threads share. */
struct space {
    struct question question;
    bool watched;         /* faults are possible, so processes watch their leader */
    pthread_mutex_t lock; /* held while a thread adds a seat */
    struct table locals, messages, mailboxes;
    struct memo seat_numbers;     /* maps a local value and a mailbox to a seat */
    struct seat *seats[1u << 16]; /* pages of SPACE_PAGE seats */
    struct memo steps;            /* maps a local value and an input to the effect of elect_step */
    struct memo changes;          /* maps a seat and an event to the change that results */
    struct memo appends;          /* maps a seat and a message to the seat with that message */
    struct memo heartbeats;       /* maps the local value of a leader to its heartbeat */
    struct arena arena;           /* the memory for all changes */
    atomic_uint seat_count;
    atomic_bool full; /* a mailbox or a table outgrew its limit, so the result is incomplete */
};

void space_init(struct space *s, const struct question *q, struct row *first);
void space_settle(struct space *s); /* call this while no other thread uses the space */
void space_free(struct space *s);
size_t space_bytes(const struct space *s);

/* ---- events of a seat ---- */

enum happening_kind {
    HAPPENS_EVENT, /* the process starts, suspects its leader, or a timer expires */
    HAPPENS_CRASH,
    HAPPENS_LETTER, /* a message is received */
    HAPPENS_LOSS,   /* the k-th message that could be received is lost */
    HAPPENS_COPY,   /* the k-th message arrives twice */
    HAPPENS_CUT,    /* messages in flight across the cut are lost */
    HAPPENS_GRANTS, /* this and all later kinds exist only under a mandate: see mandate.c */
    HAPPENS_WIN,
    HAPPENS_STALE,
    HAPPENS_CLOSED,
    HAPPENS_DUE,
    HAPPENS_RESTART,
    HAPPENS_RESIGN,
    HAPPENS_CHANGE,
    HAPPENS_TICK
};
#define HAPPENS_WITH(kind, argument)   ((uint32_t)HAPPENS_##kind << 28 | (uint32_t)(argument))
#define HAPPENS_MESSAGE(message, from) HAPPENS_WITH(LETTER, (message) << 4 | (from))
#define HAPPENS_VOTES(message, voters) HAPPENS_WITH(GRANTS, (message) << 8 | (voters))

const struct change *space_change(struct space *s, uint32_t seat, uint32_t what);
/* Returns the effects of all messages that can be received now: the first message of each sender
 * or, with reordering, every distinct message. Under a mandate, the result contains the effects of
 * all events except restarts and ticks. */
const struct deliveries *space_deliveries(struct space *s, uint32_t seat);
/* Adds a message after the other messages of its sender, and returns the new seat. */
uint32_t space_append(struct space *s, uint32_t seat, unsigned from, uint32_t message);
/* Returns the heartbeat that this leader would send. */
uint32_t space_heartbeat(struct space *s, uint32_t seat, unsigned leader);

static inline const struct seat *space_seat(const struct space *s, uint32_t seat)
{
    return &s->seats[seat / SPACE_PAGE][seat % SPACE_PAGE];
}

/* ---- moves of a world ---- */

/* Called for every world that one move can reach. */
typedef void space_visit(void *context, const struct move *move, const struct row *row);

struct expansion {
    bool quiet; /* the only possible moves are new elections and faults */
};
/* Visits the worlds that one move can reach. If `faults` is true, the moves include new elections,
 * and the faults for which the budget still has room. */
struct expansion space_expand(struct space *s, const struct row *row, bool faults,
                              space_visit *visit, void *context);

/* Visits the worlds that one move can reach under a mandate. */
void mandate_expand(struct space *s, const struct row *row, space_visit *visit, void *context);

/* Makes process i begin an election. */
void space_begin(struct space *s, struct row *row, unsigned i);

void space_node(struct space *s, uint32_t seat, struct elect_node *node);
void space_message(struct space *s, uint32_t message, struct elect_message *m);

#endif
