/*
 * The space of all histories: worlds as a few dozen bytes. A world is a row of numbers: for every
 * process the number of its seat (its node, up or down, and its mailbox), then what is left of the
 * budget for faults. Distinct local values, mailboxes, messages and seats are kept once, in tables;
 * because elect_step is pure, what it does with a local value and an input is worked out once, and
 * what becomes of a seat is remembered. What one thread has worked
 * out all threads find.
 *
 * Comparison is by these numbers, so it is exact.
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
    uint8_t leader; /* whom all follow at first */
    elect_set down; /* who is down at first */
    enum begin_mode begin;
    uint8_t beginners; /* BEGIN_LISTED: in this order */
    uint8_t beginner[SPACE_MAX];
    struct budget budget;
    elect_set mortal;  /* who may crash */
    bool reorder;      /* links keep no order */
    bool any_timeouts; /* timers may run out at any moment, not only when all is quiet */
    bool reduce;       /* follow one process at a time where the order cannot matter */
    /* Under a mandate. */
    enum clocks clocks;
    uint8_t slow, fast;            /* by how much a clock goes on while others do */
    uint32_t max_term, max_rounds; /* counters of terms; questions and rounds of an incarnation */
    uint32_t max_changes;          /* versions of the membership */
    bool hand_over;                /* leaders may resign */
};

/* A world, unpacked. Rows are compared as bytes: no padding, unused entries are 0. */
struct row {
    uint32_t seat[SPACE_MAX];
    union {
        uint16_t begun; /* who has used its beginning */
        uint16_t late;  /* mandate: an office began with a token that was not the largest */
    };
    uint16_t cut;    /* one side of the cut; 0: no cut */
    uint16_t joined; /* who was down at first and has started */
    struct budget left;
};

/* A process with its mailbox, and what there is to know of it without looking into the node. */
struct seat {
    uint32_t local, mailbox;
    uint16_t senders; /* whose letters are in the mailbox */
    uint8_t up, state, leader, running;
    uint8_t leads, broken; /* mandate: it holds one now; what its claims broke */
    uint32_t taken;        /* mandate: its largest token, in short */
    _Atomic(const struct deliveries *) deliveries; /* NULL: not worked out yet */
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
    MOVE_HEAL,
    /* under a mandate */
    MOVE_GRANTS, /* of a round, from all in `cut` */
    MOVE_WIN,    /* an election, knowing of the term `timer` */
    MOVE_STALE,
    MOVE_CLOSED,
    MOVE_STOPPED,
    MOVE_DUE, /* a time has come: `timer` is its name */
    MOVE_RESTART,
    MOVE_TESTAMENT, /* a restart, and the word that it was necessary */
    MOVE_RESIGN,    /* to `timer` */
    MOVE_CHANGE,    /* `timer` votes, if it did not, and the other way round */
    MOVE_TICK
};

struct move {
    uint8_t kind, process, from, timer;
    uint8_t started;  /* timers that the process started, or started again */
    uint32_t message; /* DELIVER, LOSE, DUPLICATE */
    uint16_t cut;
};

#define SPACE_PAGE    4096 /* seats */
#define SPACE_NO_MAIL 0    /* the mailbox without letters is the first one in its table */

/* What came of something that happened to a local value or a seat. */
struct change {
    uint32_t becomes; /* the number of a local value, or of a seat */
    uint32_t message; /* what was taken from the mailbox, if anything */
    uint8_t from;
    uint8_t kind;             /* mandate: enum move_kind */
    uint8_t voters, argument; /* mandate: whose GRANTs were counted; a time, or a term */
    uint8_t started;          /* timers */
    uint8_t sends;
    bool beyond; /* the bounds: it does not happen */
    struct {
        uint16_t to;
        uint32_t message;
    } send[ELECT_MAX_SENDS];
};

/* What is kept of a change: the sends that there are. */
static inline size_t change_size(const struct change *o)
{
    return offsetof(struct change, send) + o->sends * sizeof o->send[0];
}

/* One after the other; change_next leads from each to the next. */
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
    bool watched;         /* faults are possible: leaders are watched */
    pthread_mutex_t lock; /* held by a thread that adds a seat */
    struct table locals, messages, mailboxes;
    struct memo seat_numbers;     /* local value and mailbox -> seat */
    struct seat *seats[1u << 16]; /* pages of SPACE_PAGE */
    struct memo steps;            /* local value and input -> what the real code did */
    struct memo changes;          /* seat and what happens to it -> its change */
    struct memo appends;          /* seat and letter -> seat */
    struct memo heartbeats;       /* local value of a leader -> message */
    struct arena arena;           /* changes */
    atomic_uint seat_count;
    atomic_bool
        full; /* a mailbox or a table has outgrown its limit: what was found is not everything */
};

void space_init(struct space *s, const struct question *q, struct row *first);
void space_settle(struct space *s); /* while no other thread uses it */
void space_free(struct space *s);
size_t space_bytes(const struct space *s);

/* ---- what can happen to a seat ---- */

enum happening_kind {
    HAPPENS_EVENT, /* START, SUSPECT or a timer */
    HAPPENS_CRASH,
    HAPPENS_LETTER, /* a message that is in no mailbox */
    HAPPENS_LOSS,   /* of the k-th letter that could be taken */
    HAPPENS_COPY,   /* of that letter: it arrives twice */
    HAPPENS_CUT,    /* what is on its way across is lost */
    HAPPENS_GRANTS, /* this and what follows: see mandate.c */
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
/* Every letter that can be taken now: the first of each sender, or each different one. Under a
 * mandate all that can happen, but for restarts and ticks. */
const struct deliveries *space_deliveries(struct space *s, uint32_t seat);
/* A letter arrives behind the others of its sender. */
uint32_t space_append(struct space *s, uint32_t seat, unsigned from, uint32_t message);
/* The heartbeat that this leader would send. */
uint32_t space_heartbeat(struct space *s, uint32_t seat, unsigned leader);

static inline const struct seat *space_seat(const struct space *s, uint32_t seat)
{
    return &s->seats[seat / SPACE_PAGE][seat % SPACE_PAGE];
}

/* ---- moves of a world ---- */

/* Called for every world that one move leads to. */
typedef void space_visit(void *context, const struct move *move, const struct row *row);

struct expansion {
    bool quiet; /* nothing is left but beginnings and faults */
};
/* `faults`: also those moves that spend the budget. */
struct expansion space_expand(struct space *s, const struct row *row, bool faults,
                              space_visit *visit, void *context);

/* The same under a mandate. */
void mandate_expand(struct space *s, const struct row *row, space_visit *visit, void *context);

/* Process i begins an election. */
void space_begin(struct space *s, struct row *row, unsigned i);

void space_node(struct space *s, uint32_t seat, struct elect_node *node);
void space_message(struct space *s, uint32_t message, struct elect_message *m);

#endif
