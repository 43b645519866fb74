/*
 * The space of all histories. A world is a row of numbers: a seat for each process, and the budget
 * left for faults. A seat stands for the state of a process (its local value), its mailbox, and
 * whether it is up. Tables hold each distinct local value, mailbox, message and seat once, so a
 * world takes only a few dozen bytes. elect_step is a pure function: its result for a local value
 * and an input, and the effect of an event on a seat, are computed once and shared by all threads.
 *
 * Two worlds are equal if all their numbers are equal, so the comparison is exact.
 */
#ifndef ELECT_VERIFY_SPACE_H
#define ELECT_VERIFY_SPACE_H

#include "../model/world.h"
#include "table.h"

#define SPACE_MAX 16 /* processes */

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
    uint8_t leader; /* first leader, or ELECT_NOBODY */
    elect_set down;
    enum begin_mode begin;
    uint8_t beginners; /* entries of `beginner`, with BEGIN_LISTED */
    uint8_t beginner[SPACE_MAX];
    struct budget budget;
    elect_set mortal;  /* processes that may crash */
    bool reorder;      /* messages on a link may overtake each other */
    bool any_timeouts; /* timers may expire even while messages are in flight */
    bool reduce;       /* where the order has no effect, move only one process at a time */
    /* Only under a mandate: */
    enum clocks clocks;
    uint8_t slow, fast; /* ticks per MOVE_TICK of slow and fast clocks */
    /* Largest counter of a term, and rounds of each term that may arrive. */
    uint32_t max_term, max_rounds;
    uint32_t max_changes; /* largest version of the membership */
    bool hand_over;
};

/* A world in unpacked form. Compared byte by byte: no padding, and unused entries are 0. */
struct row {
    uint32_t seat[SPACE_MAX];
    union {
        uint16_t begun; /* processes that began an election */
        uint16_t late;  /* mandate: a term began with a token that was not the largest */
    };
    uint16_t cut;    /* one side of the cut; 0: no cut */
    uint16_t joined; /* processes down at first that have started */
    struct budget left;
};

/* A process with its mailbox. The other fields are copies, for speed. */
struct seat {
    uint32_t local, mailbox;
    uint16_t senders;
    uint8_t up, state, leader, running;
    uint8_t leads, broken; /* mandate: whether it leads, and a set of CLAIMED_* */
    uint32_t taken;        /* mandate: largest token, in 32 bits */
    _Atomic(const struct deliveries *) deliveries; /* NULL: not computed yet */
};

enum move_kind {
    MOVE_BEGIN,
    MOVE_DELIVER,
    MOVE_TIMEOUT,
    MOVE_SUSPECT, /* the process suspects a leader that it cannot hear */
    MOVE_HEAR,    /* a heartbeat from the leader `from` arrives */
    MOVE_LOSE,
    MOVE_DUPLICATE,
    MOVE_CRASH,
    MOVE_RECOVER,
    MOVE_CUT,
    MOVE_HEAL,
    /* Only under a mandate: */
    MOVE_GRANTS, /* GRANTs of one round arrive from all voters in `cut` */
    MOVE_WIN,    /* wins an election after a term with the counter `timer` */
    MOVE_STALE,
    MOVE_CLOSED,
    MOVE_STOPPED,
    MOVE_DUE, /* the elect_time_name `timer` has been reached */
    MOVE_RESTART,
    MOVE_TESTAMENT, /* a restart; the death report is sent, too */
    MOVE_RESIGN,    /* resigns in favour of the process `timer` */
    MOVE_CHANGE,    /* the process `timer` becomes a member or stops being one */
    MOVE_TICK
};

struct move {
    uint8_t kind, process, from, timer;
    uint8_t started;
    uint32_t message; /* for MOVE_DELIVER, MOVE_LOSE and MOVE_DUPLICATE */
    uint16_t cut;
};

#define SPACE_PAGE    4096 /* seats per page */
#define SPACE_NO_MAIL 0    /* index of the empty mailbox in its table */

/* The effect of an event on a local value or a seat. */
struct change {
    uint32_t becomes; /* index of the new local value or seat */
    uint32_t message; /* received, lost or copied, if any */
    uint8_t from;
    uint8_t kind; /* mandate: enum move_kind */
    /* Mandate: voters whose GRANTs are counted, and `timer` of struct move. */
    uint8_t voters, argument;
    uint8_t started;
    uint8_t sends;
    bool beyond; /* would exceed a bound, so it is not made */
    struct {
        uint16_t to;
        uint32_t message;
    } send[ELECT_MAX_SENDS];
};

/* Counts only the used entries of `send`. */
static inline size_t change_size(const struct change *o)
{
    return offsetof(struct change, send) + o->sends * sizeof o->send[0];
}

/* Changes of different sizes, one after the other: see change_next. */
struct deliveries {
    unsigned count;
    struct change first[];
};

static inline const struct change *change_next(const struct change *o)
{
    return (const struct change *)((const unsigned char *)o + change_size(o));
}

struct space {
    struct question question;
    bool watched;         /* processes watch their leader, because faults are possible */
    pthread_mutex_t lock; /* held while a thread adds a seat */
    struct table locals, messages, mailboxes;
    struct memo seat_numbers;     /* local value and mailbox -> seat */
    struct seat *seats[1u << 16]; /* pages of SPACE_PAGE seats */
    struct memo steps;            /* local value and input -> effect of elect_step */
    struct memo changes;          /* seat and event -> change */
    struct memo appends;          /* seat and message -> seat with that message */
    struct memo heartbeats;       /* leader's local value -> its heartbeat */
    struct arena arena;
    atomic_uint seat_count;
    atomic_bool full; /* a mailbox or a table outgrew its limit: the result is incomplete */
};

void space_init(struct space *s, const struct question *q, struct row *first);
void space_settle(struct space *s); /* only while no other thread uses the space */
void space_free(struct space *s);
size_t space_bytes(const struct space *s);

/* ---- events of a seat ---- */

enum happening_kind {
    HAPPENS_EVENT, /* start, suspicion or timeout */
    HAPPENS_CRASH,
    HAPPENS_LETTER,
    HAPPENS_LOSS, /* the k-th message that could be received is lost */
    HAPPENS_COPY, /* the k-th message arrives twice */
    HAPPENS_CUT,
    HAPPENS_GRANTS, /* from here on only under a mandate: see mandate.c */
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
/* Returns the effects of all messages that can be received now: the first of each sender or, with
 * reordering, every distinct one. Under a mandate, includes all events except restarts and
 * ticks. */
const struct deliveries *space_deliveries(struct space *s, uint32_t seat);
/* Adds a message after the others of its sender and returns the new seat. */
uint32_t space_append(struct space *s, uint32_t seat, unsigned from, uint32_t message);
uint32_t space_heartbeat(struct space *s, uint32_t seat, unsigned leader);

static inline const struct seat *space_seat(const struct space *s, uint32_t seat)
{
    return &s->seats[seat / SPACE_PAGE][seat % SPACE_PAGE];
}

/* ---- moves of a world ---- */

typedef void space_visit(void *context, const struct move *move, const struct row *row);

struct expansion {
    bool quiet; /* only new elections and faults are possible */
};
/* Visits the worlds one move away. With `faults`, includes new elections, and faults within the
 * budget. */
struct expansion space_expand(struct space *s, const struct row *row, bool faults,
                              space_visit *visit, void *context);

void mandate_expand(struct space *s, const struct row *row, space_visit *visit, void *context);

void space_begin(struct space *s, struct row *row, unsigned i);

void space_node(struct space *s, uint32_t seat, struct elect_node *node);
void space_message(struct space *s, uint32_t message, struct elect_message *m);

#endif
