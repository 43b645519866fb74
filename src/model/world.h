/*
 * The world: a cluster as a value. Nodes, messages in flight, timers, time, crashes, recoveries and
 * cuts, with the moves that can be made in it. Who picks the moves is somebody else's affair: time
 * (world_next), a scenario, dice, or a hand.
 *
 * At equal times faults come first, then messages in the order in which they were sent, then timers
 * in the order in which they were started.
 */
#ifndef ELECT_MODEL_WORLD_H
#define ELECT_MODEL_WORLD_H

#include "claims.h"
#include "dice.h"

#define WORLD_MAX_FLIGHTS 16384 /* a network that holds this many loses what is sent on top */
#define WORLD_MAX_FAULTS  512
#define WORLD_MAX_GROUPS  8
#define WORLD_FOREVER     UINT64_MAX

struct weather {
    uint32_t delay_min, delay_max; /* ticks, uniform */
    uint32_t loss, duplicate;      /* in parts of DICE_CERTAIN, for each copy */
    uint32_t garble;               /* the same */
    bool reorder;                  /* else the copies on one link arrive in order */
};

enum fate {
    FATE_ARRIVES,
    FATE_LOST_ON_THE_WAY,
    FATE_LOST_IN_CUT,
    FATE_LOST_AT_THE_DEAD,
    FATE_LOST_BY_HAND,
    FATE_GARBLED /* and thrown away, because its seal is broken */
};

struct flight {
    struct elect_message message;
    uint64_t leaves, due; /* what has not left its sender dies with it */
    uint32_t order;       /* when it was sent, as a number that grows with every send */
    uint8_t from, to;
    uint8_t fate; /* enum fate */
};

/* name, the word for it; `amount` is what the comment says */
#define WORLD_FAULTS(X)                                                                            \
    X(CRASH, "crash")                                                                              \
    X(RECOVER, "recover")                                                                          \
    X(CUT, "cut")                                                                                  \
    X(HEAL, "heal")                                                                                \
    X(CALM, "calm")                                                                                \
    X(ONE_WAY, "one-way") /* the first group is not heard by the second */                         \
    X(PAUSE, "pause")     /* the process stands still for so long, its clock does not */           \
    X(RATE, "clock")      /* its clock runs by millionths too fast, or slow */                     \
    X(DISK, "disk")       /* its writes take so long from now on */                                \
    X(TICK, "tick")       /* its clock jumps on by so much */                                      \
    X(DUE, "due")         /* whatever its clock says: this elect_time_name has come */             \
    X(HEARS, "hears")     /* it hears of terms up to this counter */                               \
    /* Only under a mandate. */                                                                    \
    X(WIN, "wins")            /* it is nominated, whoever else is there */                         \
    X(LEASE, "new-lease")     /* all are told of another lease */                                  \
    X(TESTAMENT, "testament") /* it crashes, and its guardian says so */                           \
    /* What hosts are told. */                                                                     \
    X(RESIGN, "resign")                                                                            \
    X(TRANSFER, "transfer") /* to this number */                                                   \
    X(ADD, "add")           /* the leader: this one becomes a member */                            \
    X(REMOVE, "remove")     /* the leader: this one votes no more */                               \
    X(READMIT, "readmit")   /* one that is down comes back without its state */                    \
    X(HALT, "pause-elections")                                                                     \
    X(RESUME, "resume-elections")                                                                  \
    /* Outside of what a mandate assumes. */                                                       \
    X(FREEZE, "freeze")   /* the process stands still for so long, and so does its clock */        \
    X(BACKUP, "backup")   /* what is on its disk is copied */                                      \
    X(RESTORE, "restore") /* the disk of one that is down is what it was then */                   \
    X(WIPE, "wipe")       /* the disk of one that is down is lost */                               \
    X(CLONE, "clone")     /* the process and its disk are copied, as they are now */               \
    X(SWAP, "swap")       /* the clone goes on in its place, and it in the clone's */

enum fault_kind {
#define X(name, word) FAULT_##name,
    WORLD_FAULTS(X)
#undef X
        FAULT_KINDS,
    FAULT_FIRST_MANDATE = FAULT_WIN,
    FAULT_LAST_MANDATE = FAULT_RESUME
};

struct fault {
    uint64_t time;
    int64_t amount;
    uint8_t kind; /* enum fault_kind */
    uint8_t rank; /* of whom */
    uint8_t groups;
    elect_set group[WORLD_MAX_GROUPS]; /* FAULT_CUT: nothing passes between different groups */
};

/* What a process's own clock says: `base` at the time `since`, and from then on by its own rate. */
struct clock {
    elect_time base;
    uint64_t since;
    int64_t rate; /* in millionths more or less than one */
};

/* A write that takes its time. Until it is done a crash may leave what was there before. */
struct disk {
    struct elect_saved saved, before;
    uint64_t takes, done;
};

struct books {
    uint64_t
        sent[ELECT_EVENT_COUNT]; /* copies handed to a link, by type; failed hops are not here */
    uint64_t delivered;          /* copies that a live process took */
    uint64_t failed_hops, acks, heartbeats;
};

struct world {
    struct elect_config config;
    struct weather weather;
    struct dice dice[DICE_KINDS];
    struct books books;
    uint64_t now;
    uint64_t changed; /* when a step last changed the election part of a node */
    elect_set up;
    struct disk disk[ELECT_MAX];
    struct clock clock[ELECT_MAX];
    uint64_t stopping;          /* how long the work of an office that is over takes to stop */
    uint64_t stops[ELECT_MAX];  /* when it has */
    uint64_t paused[ELECT_MAX]; /* until then nothing reaches it */
    elect_set cut[ELECT_MAX];   /* from -> to whom nothing passes */
    struct claims claims[ELECT_MAX];
    elect_term latest;               /* the largest token ever taken */
    elect_term testament[ELECT_MAX]; /* deposited with its guardian */
    unsigned broken;                 /* what claims broke, ever */
    bool disturbed; /* something was lost, crashed or fired by hand: nothing is promised */
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
    uint32_t flights, elections;             /* in flight; of them neither ACK nor HEARTBEAT */
    struct flight flight[WORLD_MAX_FLIGHTS]; /* a heap by (due, order) */
};

/* What a move did, for whoever tells the story. */
enum happened { HAPPENED_STEP, HAPPENED_LOSS, HAPPENED_FAULT, HAPPENED_NOTHING };

struct happening {
    uint8_t what;               /* enum happened */
    uint8_t rank;               /* whose step; or the receiver of what was lost */
    uint8_t fate;               /* enum fate: of what was lost */
    struct elect_input input;   /* of a step; or the message that was lost */
    struct elect_output output; /* of a step */
    struct fault fault;         /* a recovery has a step as well */
};

/* Everybody up, following `leader` (a rank, or ELECT_NOBODY). */
void world_init(struct world *w, const struct elect_config *config, const struct weather *weather,
                uint64_t seed, uint8_t leader);
void world_down(struct world *w, uint8_t rank); /* was never up */

/* Moves. */
void world_suspect(struct world *w, uint8_t rank, struct happening *h);
/* Answers that nobody sent. This voter would grant what the process asks for; false if it asks for
 * nothing, or is no voter. The own voter has promised that term, or knows its office to be over. */
bool world_assent(struct world *w, uint8_t rank, uint8_t from, struct happening *h);
void world_refuse(struct world *w, uint8_t rank, enum elect_refusal why, elect_term counter,
                  struct happening *h);
/* A message from somewhere, whatever is in flight. */
void world_take(struct world *w, uint8_t rank, uint8_t from, const struct elect_message *m,
                struct happening *h);
void world_alarm(struct world *w, uint8_t rank, struct happening *h);   /* it is told the time */
void world_stopped(struct world *w, uint8_t rank, struct happening *h); /* its work has */
void world_fire(struct world *w, uint8_t rank, enum elect_event timer, struct happening *h);
void world_deliver(struct world *w, uint32_t flight, struct happening *h);
void world_lose(struct world *w, uint32_t flight, struct happening *h);
void world_duplicate(struct world *w, uint32_t flight);
void world_delay(struct world *w, uint32_t flight, uint64_t until);
void world_inject(struct world *w, const struct flight *f); /* once more, from now on */
void world_fault(struct world *w, const struct fault *fault, struct happening *h);
const char *world_fault_name(enum fault_kind kind);
/* A fault that is a step of the process, too. */
bool world_fault_steps(const struct fault *fault);

/* The next move by time, no later than `until`; false if there is none. */
bool world_next(struct world *w, uint64_t until, struct happening *h);
void world_schedule(struct world *w, const struct fault *fault);

/* The oldest message in flight from one to another, of a type; WORLD_MAX_FLIGHTS if none. */
uint32_t world_find(const struct world *w, uint8_t from, uint8_t to, enum elect_event type);

bool world_up(const struct world *w, uint8_t rank);
elect_time world_clock(const struct world *w, uint8_t rank); /* what its clock says */
void world_set_clock(struct world *w, uint8_t rank, elect_time says, int64_t rate);
bool world_leads(const struct world *w, uint8_t rank);
bool world_in_office(const struct world *w, uint8_t rank);  /* nobody else can lead */
uint8_t world_follows(const struct world *w, uint8_t rank); /* ELECT_NOBODY: it is electing */
bool world_timer_runs(const struct world *w, uint8_t rank, enum elect_event timer);
/* Its disk is empty: it has lost its state, and has not been readmitted. */
bool world_forgot(const struct world *w, uint8_t rank);
uint8_t world_in_charge(const struct world *w); /* who is in office; ELECT_NOBODY if nobody is */
uint8_t world_leader(const struct world *w);    /* whom all live processes follow and who is up */
bool world_settled(
    const struct world *w); /* each part of the cluster has its one leader, all calm */
/* But for the time, which goes on, and for what was counted. */
bool world_same(const struct world *a, const struct world *b);
bool world_at_rest(const struct world *w);   /* nothing is left to happen */
uint64_t world_total(const struct world *w); /* sent by the election, all types */
elect_set world_reach(const struct world *w,
                      uint8_t rank); /* live, and no cut between; itself too */

#endif
