/*
 * A world is a simulated cluster, stored as one value that can be copied. A world holds nodes,
 * messages in flight, timers, clocks, disks and cuts. The functions below are the moves that change
 * them. The caller chooses each move: the next one in chronological order (world_next), a step of a
 * scenario, a random move, or any move that a test needs.
 *
 * At equal times, faults come first, then messages in the order in which they were sent, then
 * timers in the order in which they were started.
 */
#ifndef ELECT_MODEL_WORLD_H
#define ELECT_MODEL_WORLD_H

#include "claims.h"
#include "dice.h"

#define WORLD_MAX_FLIGHTS 16384 /* once this limit is reached, new messages are lost */
#define WORLD_MAX_FAULTS  512
#define WORLD_MAX_PARTS   8
#define WORLD_FOREVER     UINT64_MAX

struct weather {
    uint32_t delay_min, delay_max; /* delay of a message in ticks: uniform between these limits */
    uint32_t loss, duplicate; /* the probability for each copy of a message, out of DICE_CERTAIN */
    uint32_t garble;          /* the probability that a copy arrives damaged */
    bool reorder;             /* messages on the same link may overtake each other */
};

enum fate {
    FATE_ARRIVES,
    FATE_LOST_ON_THE_WAY,
    FATE_LOST_IN_CUT,
    FATE_LOST_AT_THE_DEAD,
    FATE_LOST_BY_HAND,
    FATE_GARBLED /* the receiver drops the message, because authentication fails */
};

struct flight {
    struct elect_message message;
    uint64_t leaves, due; /* when the message leaves its sender, and when it arrives */
    uint32_t order;       /* the number of the message, in the order of sending */
    uint8_t from, to;
    uint8_t fate; /* enum fate */
};

/* For each fault: its name and the word for it in a scenario. The comment says what happens or what
 * `amount` means. */
#define WORLD_FAULTS(X)                                                                            \
    X(CRASH, "crash")                                                                              \
    X(RECOVER, "recover")                                                                          \
    X(CUT, "cut")                                                                                  \
    X(HEAL, "heal")                                                                                \
    X(CALM, "calm")                                                                                \
    X(ONE_WAY, "one-way") /* the second part of the cluster receives nothing from the first */     \
    X(STALL, "pause")     /* the ticks for which the process stands still; its clock runs on */    \
    X(RATE, "clock")      /* by how many millionths the clock is fast or, if negative, slow */     \
    X(DISK, "disk")       /* the number of ticks that each later write of the process takes */     \
    X(TICK, "tick")       /* the number of ticks by which its clock jumps forward */               \
    X(DUE, "due") /* the elect_time_name of a time that becomes due, whatever the clock shows */   \
    X(HEARS, "hears") /* the process learns of a term with this counter */                         \
    /* These faults need a mandate. */                                                             \
    X(WIN, "wins")            /* the process is nominated, even if a higher process is up */       \
    X(LEASE, "new-lease")     /* the lease, in ticks, that all processes use from now on */        \
    X(TESTAMENT, "testament") /* the process crashes, and its guardian sends its testament */      \
    /* These are orders from a host to its process. */                                             \
    X(RESIGN, "resign")                                                                            \
    X(TRANSFER, "transfer") /* the number of the process that should lead next */                  \
    X(ORDER, "order")     /* an order tells the process to resign in the term with this counter */ \
    X(ADD, "add")         /* the leader is told to let this process vote and lead */               \
    X(REMOVE, "remove")   /* the leader is told to remove this process from the membership */      \
    X(READMIT, "readmit") /* a process that is down starts without its state */                    \
    X(PAUSE_ELECTIONS, "pause-elections")                                                          \
    X(RESUME_ELECTIONS, "resume-elections")                                                        \
    X(ASIDE, "aside") /* the process is told to vote without seeking office */                     \
    X(READY, "ready") /* the process is told to seek office again */                               \
    /* These faults exceed what a mandate tolerates. */                                            \
    X(FREEZE, "freeze")   /* the ticks for which the process and its clock stand still */          \
    X(BACKUP, "backup")   /* the disk of the process is copied to a backup */                      \
    X(RESTORE, "restore") /* the disk of a process that is down is replaced by its backup */       \
    X(WIPE, "wipe")       /* the disk of a process that is down is lost */                         \
    X(CLONE, "clone")     /* the process and its disk are copied in their present state */         \
    X(SWAP, "swap")       /* the clone and the process swap places */

enum fault_kind {
#define X(name, word) FAULT_##name,
    WORLD_FAULTS(X)
#undef X
        FAULT_KINDS,
    FAULT_FIRST_MANDATE = FAULT_WIN,
    FAULT_LAST_MANDATE = FAULT_READY
};

struct fault {
    uint64_t time;
    int64_t amount;
    uint8_t kind; /* enum fault_kind */
    uint8_t rank; /* the rank of the process */
    uint8_t parts;
    elect_set part[WORLD_MAX_PARTS]; /* FAULT_CUT: no message passes from one part to another */
};

/* The clock of a process shows `base` at the time `since`, and runs at `rate` from then on. */
struct clock {
    elect_time base;
    uint64_t since;
    int64_t rate; /* the error of the clock's rate, in millionths; positive: too fast */
};

/* A write takes time. If the process crashes before the write is done, the disk may still hold the
 * previous content. */
struct disk {
    struct elect_saved saved, before;
    uint64_t takes, done;
};

struct books {
    uint64_t sent[ELECT_EVENT_COUNT]; /* copies sent of each message type, except failed hops */
    uint64_t delivered;               /* copies that arrived at a live process */
    uint64_t failed_hops, acks, heartbeats;
};

struct world {
    struct elect_config config;
    struct weather weather;
    struct dice dice[DICE_KINDS];
    struct books books;
    uint64_t now;
    uint64_t changed; /* when a step last changed the election state of a node */
    elect_set up;
    struct disk disk[ELECT_MAX];
    struct clock clock[ELECT_MAX];
    uint64_t stopping; /* how long the work of a process continues after its office has ended */
    uint64_t stops[ELECT_MAX];         /* when the work of each process will have stopped */
    uint64_t stalled_until[ELECT_MAX]; /* until then, no message reaches the process */
    elect_set cut[ELECT_MAX]; /* for each sender, the processes that do not receive its messages */
    struct claims claims[ELECT_MAX];
    elect_term latest;               /* the largest token of any office so far */
    elect_term testament[ELECT_MAX]; /* the term in the testament of each process */
    unsigned broken;                 /* all violations that claims_note has reported */
    /* True once a message has been lost, a process has crashed or a move has been made by hand.
     * From then on, agreement is not promised. */
    bool disturbed;
    uint32_t order;
    struct {
        uint64_t due;
        uint32_t order;
    } timer[ELECT_MAX][ELECT_TIMER_COUNT];
    uint32_t fault_count, next_fault;
    struct fault fault[WORLD_MAX_FAULTS]; /* in order of time */
    elect_set backed_up, cloned;
    struct elect_node node[ELECT_MAX];
    struct elect_saved backup[ELECT_MAX];
    struct {
        struct elect_node node;
        struct disk disk;
    } clone[ELECT_MAX];
    uint32_t flights, elections; /* messages in flight; how many of them belong to an election */
    struct flight flight[WORLD_MAX_FLIGHTS]; /* a heap, ordered by `due` and then by `order` */
};

/* The effect of a move, as narrate.c reports it. */
enum happened { HAPPENED_STEP, HAPPENED_LOSS, HAPPENED_FAULT, HAPPENED_NOTHING };

struct happening {
    uint8_t what; /* enum happened */
    uint8_t rank; /* the process that took the step, or the receiver of the lost message */
    uint8_t fate; /* the fate of a lost message (enum fate) */
    struct elect_input input;   /* the input of the step, or the lost message */
    struct elect_output output; /* the output of the step */
    struct fault fault; /* the fault; it may also have caused a step: see world_fault_steps */
};

/* Begins a world in which all processes are up and follow `leader` (a rank, or ELECT_NOBODY). */
void world_init(struct world *w, const struct elect_config *config, const struct weather *weather,
                uint64_t seed, uint8_t leader);
/* Stops a process. Its disk is unchanged, but its timers and its state under the mandate are
 * cleared. */
void world_down(struct world *w, uint8_t rank);

/* ---- moves ---- */
void world_suspect(struct world *w, uint8_t rank, struct happening *h);
/* These functions deliver an answer that no voter sent. world_assent() delivers an AYE (a yes) from
 * the voter `from`, or returns false if the process has no PREVOTE under way or `from` does not
 * vote. world_refuse() delivers a REFUSE from the process's own voter. The reason is either that
 * the voter has promised the term `counter`, or that it knows that the office has ended. */
bool world_assent(struct world *w, uint8_t rank, uint8_t from, struct happening *h);
void world_refuse(struct world *w, uint8_t rank, enum elect_refusal why, elect_term counter,
                  struct happening *h);
/* Delivers a message that was not in flight. */
void world_take(struct world *w, uint8_t rank, uint8_t from, const struct elect_message *m,
                struct happening *h);
/* Tells the process that one of its times has been reached (ALARM). */
void world_alarm(struct world *w, uint8_t rank, struct happening *h);
/* Tells the process that the work it started as leader has stopped. */
void world_stopped(struct world *w, uint8_t rank, struct happening *h);
void world_fire(struct world *w, uint8_t rank, enum elect_event timer, struct happening *h);
void world_deliver(struct world *w, uint32_t flight, struct happening *h);
void world_lose(struct world *w, uint32_t flight, struct happening *h);
void world_duplicate(struct world *w, uint32_t flight);
void world_delay(struct world *w, uint32_t flight, uint64_t until);
void world_inject(struct world *w, const struct flight *f); /* sends a copy of `f` now */
void world_fault(struct world *w, const struct fault *fault, struct happening *h);
const char *world_fault_name(enum fault_kind kind);
/* Returns true if the fault also makes a process take a step. */
bool world_fault_steps(const struct fault *fault);

/* Makes the next move in chronological order, unless it comes after `until`. Returns false if there
 * is no such move. */
bool world_next(struct world *w, uint64_t until, struct happening *h);
void world_schedule(struct world *w, const struct fault *fault);

/* Returns the oldest message of this type in flight from one process to another, or
 * WORLD_MAX_FLIGHTS if there is none. */
uint32_t world_find(const struct world *w, uint8_t from, uint8_t to, enum elect_event type);

bool world_up(const struct world *w, uint8_t rank);
/* Returns the time that the clock of the process shows. */
elect_time world_clock(const struct world *w, uint8_t rank);
void world_set_clock(struct world *w, uint8_t rank, elect_time says, int64_t rate);
bool world_leads(const struct world *w, uint8_t rank);
/* Returns true while the mandate of the process forbids any other process to lead. */
bool world_in_office(const struct world *w, uint8_t rank);
/* Returns the leader that the process follows, or ELECT_NOBODY during an election. */
uint8_t world_follows(const struct world *w, uint8_t rank);
bool world_timer_runs(const struct world *w, uint8_t rank, enum elect_event timer);
/* Returns true if the disk of the process is empty, because it has lost its state and has not been
 * readmitted. */
bool world_forgot(const struct world *w, uint8_t rank);
uint8_t world_in_charge(const struct world *w); /* the process in office, or ELECT_NOBODY */
/* Returns the live leader that all live processes follow, or ELECT_NOBODY. */
uint8_t world_leader(const struct world *w);
/* Returns true if each part of the cluster has one leader and no election is under way. */
bool world_settled(const struct world *w);
/* Returns true if the worlds are equal, apart from the time and the counts in `books`. */
bool world_same(const struct world *a, const struct world *b);
bool world_at_rest(const struct world *w);   /* no message, timer or fault is left */
uint64_t world_total(const struct world *w); /* how many messages elections have sent */
/* Returns the live processes that messages from this process can reach, including the process
 * itself. */
elect_set world_reach(const struct world *w, uint8_t rank);

#endif
