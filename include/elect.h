/*
 * libelect: leader election as a pure state machine.
 *
 * The whole interface is one call: elect_step() takes what happened to a process and says what the
 * process does. It performs no I/O, reads no clock, draws no random number, allocates nothing and
 * cannot fail; whatever does not belong to the protocol is ignored, with a rule that says so.
 *
 *     struct elect_config config;
 *     struct elect_node node;
 *     struct elect_output out;
 *
 *     elect_config_init(&config, ELECT_BULLY, ids, n, message_bound, processing_bound);
 *     elect_init(&config, &node, me, ELECT_NOBODY, saved, &out);   perform(&out);
 *     for (;;) {
 *         struct elect_input in = whatever happens next;
 *         elect_step(&config, &node, &in, &out);                   perform(&out);
 *     }
 *
 * A node is a value: it holds no pointer, copying is assignment, and equal nodes are equal bytes.
 *
 * Processes have numbers (0 ... 65535), the highest live number should lead. Inside, a process is
 * known by its rank: 0 is the lowest number of the configuration, n-1 the highest. Everything below
 * that is called `rank` or sits in an elect_set is a rank; config.id[rank] is the number.
 */
#ifndef ELECT_H
#define ELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define ELECT_VERSION   "0.1.0"
#define ELECT_MAX       64    /* processes in a cluster: a set of them is one 64-bit word */
#define ELECT_MAX_ID    65535 /* the highest number that a process may have */
#define ELECT_MAX_SENDS 4     /* sends in one output; a destination is a set */
#define ELECT_MAX_QUEUE 64    /* ring messages that wait for the one before them */
#define ELECT_NOBODY    0xff  /* a rank that is no process */

typedef uint64_t elect_set; /* a set of ranks */

/* name, the word that users write, what it is */
#define ELECT_ALGORITHMS(X)                                                                        \
    X(BULLY, "bully", "Garcia-Molina 1982: the highest process that answers takes over")           \
    X(RING, "ring", "Tanenbaum: a list goes round, the highest on it leads")                       \
    X(ACTIVE_RING, "active-ring", "every number goes round by itself, everybody decides alone")    \
    X(CHANG_ROBERTS, "chang-roberts", "Chang & Roberts 1979: higher numbers swallow lower ones")

enum elect_algorithm {
#define X(name, word, text) ELECT_##name,
    ELECT_ALGORITHMS(X)
#undef X
        ELECT_ALGORITHM_COUNT
};

enum elect_form { ELECT_CIRCULATE, ELECT_MULTICAST };     /* how the ring announces its leader */
enum elect_announce { ELECT_TELL_LOWER, ELECT_TELL_ALL }; /* whom the bully's winner tells */
enum elect_state { ELECT_NORMAL, ELECT_ELECTING, ELECT_WAITING };

/* Everything that can happen to a process: two inputs of the host's, the messages, the timers. */
#define ELECT_EVENTS(X)                                                                            \
    X(START, "START")     /* this process has just started, or recovered */                        \
    X(SUSPECT, "SUSPECT") /* the host says: the leader has failed, or there is none */             \
    X(ELECTION, "ELECTION")                                                                        \
    X(OK, "OK")                                                                                    \
    X(COORDINATOR, "COORDINATOR")                                                                  \
    X(LEADER, "LEADER")                                                                            \
    X(ELECT, "ELECT")                                                                              \
    X(ELECTED, "ELECTED")                                                                          \
    X(ACK, "ACK")                                                                                  \
    X(HEARTBEAT, "HEARTBEAT")                                                                      \
    X(HOP_TIMER, "hop")                                                                            \
    X(ANSWER_TIMER, "answer")                                                                      \
    X(DEADLINE_TIMER, "deadline")                                                                  \
    X(RING_TIMER, "ring")                                                                          \
    X(HEARTBEAT_TIMER, "heartbeat")                                                                \
    X(SUSPICION_TIMER, "suspicion")

enum elect_event {
#define X(name, word) ELECT_##name,
    ELECT_EVENTS(X)
#undef X
        ELECT_EVENT_COUNT
};
#define ELECT_FIRST_MESSAGE    ELECT_ELECTION
#define ELECT_FIRST_TIMER      ELECT_HOP_TIMER
#define ELECT_TIMER_COUNT      (ELECT_EVENT_COUNT - ELECT_FIRST_TIMER)
#define ELECT_TIMER_BIT(timer) (1u << ((timer)-ELECT_FIRST_TIMER))

/*
 * Why a step did what it did: one rule for every step, also for "nothing, because". The core never
 * formats text; whoever narrates fills in %p (the process), %a and %b (the rule's arguments), %h
 * (the processes higher than %p) and %l (the list in the message). Quiet rules are housekeeping.
 */
#define ELECT_LOUD  false
#define ELECT_QUIET true
#define ELECT_RULES(X)                                                                             \
    /* any algorithm */                                                                            \
    X(NOTHING, ELECT_QUIET, "nothing to do")                                                       \
    X(MALFORMED, ELECT_LOUD, "no process that keeps the rules sends this -> %p ignores it")        \
    X(STARTED, ELECT_LOUD, "%p has just started -> begins an election")                            \
    X(SUSPECTS, ELECT_LOUD, "%p suspects %a -> begins an election")                                \
    X(NO_LEADER, ELECT_LOUD, "%p notices that nobody leads -> begins an election")                 \
    X(ALREADY_ELECTING, ELECT_LOUD, "%p is holding an election already -> does nothing")           \
    X(LEADS_ITSELF, ELECT_LOUD, "%p leads, it cannot suspect itself -> does nothing")              \
    X(LOWER_LEADS, ELECT_LOUD, "%a says that it leads but is lower -> %p begins an election")      \
    X(FOLLOWS_HEARTBEAT, ELECT_LOUD, "%a says that it leads and is higher -> %p follows %a")       \
    X(TELLS_LOWER, ELECT_LOUD, "%a is lower and %p leads -> %p tells %a that it leads")            \
    X(HEARD_LEADER, ELECT_QUIET, "%a leads and is alive")                                          \
    X(BEATS, ELECT_QUIET, "%p leads and says so")                                                  \
    X(EARLIER_REIGN, ELECT_QUIET, "%a leads since an earlier round -> %p ignores it")              \
    X(STILL_FOLLOWS, ELECT_QUIET, "%p follows %b, who is higher than %a -> ignores it")            \
    X(ELECTION_IS_ON, ELECT_LOUD, "%p is holding an election, which %a will hear of")              \
    /* bully */                                                                                    \
    X(NOBODY_HIGHER, ELECT_LOUD, "nobody is higher than %p -> %p wins at once")                    \
    X(CHALLENGED, ELECT_LOUD, "%a is lower -> %p answers OK and begins an election itself")        \
    X(ANSWERS, ELECT_LOUD, "%a is lower -> %p answers OK; its own election is on already")         \
    X(HELD_ONE, ELECT_LOUD, "%a is lower -> %p answers OK; it has held an election just now")      \
    X(LEADER_ANSWERS, ELECT_LOUD, "%a is lower and %p leads -> %p answers OK and tells it so")     \
    X(STEPS_BACK, ELECT_LOUD,                                                                      \
      "%a is higher and alive -> %p's part is done, it waits for a leader")                        \
    X(WAITS_ALREADY, ELECT_LOUD, "%a is alive too -> %p goes on waiting")                          \
    X(OK_TOO_LATE, ELECT_LOUD, "the election that %a answers is over -> %p ignores it")            \
    X(NOBODY_ANSWERED, ELECT_LOUD, "%h did not answer within T -> %p wins")                        \
    X(NO_COORDINATOR, ELECT_LOUD, "whoever took over did not win within 2T -> %p begins again")    \
    X(FOLLOWS, ELECT_LOUD, "%a is higher -> %p follows %a")                                        \
    /* all rings */                                                                                \
    X(ACKED, ELECT_QUIET, "%a has taken the message")                                              \
    X(LATE_ACK, ELECT_QUIET, "%a acknowledges what is no longer waited for")                       \
    X(HOP_FAILED, ELECT_LOUD, "%a did not acknowledge within T -> %p passes it on to %b instead")  \
    X(ROUND_IS_OVER, ELECT_LOUD, "an earlier round, a later one is under way -> %p drops it")      \
    X(TELLS_ROUND, ELECT_LOUD, "that round is decided, or a later one -> %p tells %a so")          \
    X(BEHIND, ELECT_LOUD, "%a is in a later round -> %p begins again in a new one")                \
    X(RING_TIMEOUT, ELECT_LOUD, "no outcome within T_ring -> %p begins again in a new round")      \
    X(PASSED_ON_BEFORE, ELECT_LOUD, "%p has passed this on before -> drops it")                    \
    X(DECIDED_BEFORE, ELECT_LOUD, "%p has decided in this round already -> drops it")              \
    X(LOWER_ANNOUNCED, ELECT_LOUD, "%a is announced but lower than %p -> %p begins an election")   \
    X(FORGOTTEN, ELECT_LOUD, "%p sent this before it restarted -> begins anew")                    \
    /* ring with a list */                                                                         \
    X(APPENDS, ELECT_LOUD, "%p adds itself to the list and passes it on")                          \
    X(LIST_BACK, ELECT_LOUD, "its list %l has come back -> %p announces the highest, %b")          \
    X(ORPHAN, ELECT_LOUD, "%a has died, its list %l is an orphan -> %p announces the highest, %b") \
    X(ANNOUNCED_BEFORE, ELECT_LOUD, "%p has announced this before -> drops it")                    \
    X(ACCEPTS, ELECT_LOUD, "%b is the highest of the list -> %p follows %b")                       \
    X(OUTRANKED, ELECT_LOUD, "%p follows %b, who is higher -> only passes it on")                  \
    X(IS_HIGHEST, ELECT_LOUD, "%p is the highest of the list -> %p leads")                         \
    X(ANNOUNCEMENT_BACK, ELECT_LOUD, "its announcement has come back -> %p removes it")            \
    /* ring with an active list */                                                                 \
    X(JOINS, ELECT_LOUD, "the first number that %p sees -> sends its own, then %a")                \
    X(ADDS, ELECT_LOUD, "%a is new to %p -> adds it and passes it on")                             \
    X(KNOWS, ELECT_LOUD, "%a is on its active list already -> %p drops it")                        \
    X(DECIDES, ELECT_LOUD, "its own number is back, the list is complete -> %p follows %b")        \
    X(DECIDES_ITSELF, ELECT_LOUD, "its own number is back, the list is complete -> %p leads")      \
    /* Chang & Roberts */                                                                          \
    X(PASSES_HIGHER, ELECT_LOUD, "%a is higher than %p -> %p passes it on")                        \
    X(REPLACES_LOWER, ELECT_LOUD, "%a is lower than %p -> %p sends its own number instead")        \
    X(SWALLOWS_LOWER, ELECT_LOUD, "%a is lower and %p takes part already -> %p swallows it")       \
    X(OWN_NUMBER_BACK, ELECT_LOUD, "its own number has come back -> %p leads")                     \
    X(ELECTED_FOLLOWS, ELECT_LOUD, "%a is elected -> %p follows %a and passes it on")              \
    X(ELECTED_BACK, ELECT_LOUD, "everybody has heard it -> %p removes it")

enum elect_rule_number {
#define X(name, quiet, text) ELECT_RULE_##name,
    ELECT_RULES(X)
#undef X
        ELECT_RULE_COUNT
};

struct elect_rule {
    uint8_t number; /* enum elect_rule_number */
    uint8_t a, b;   /* ranks, or ELECT_NOBODY */
};

/* What every member must be told alike. Filled by elect_config_init; `form`, `announce`,
 * `detector`, `reliable` and the durations may be changed afterwards. */
struct elect_config {
    uint8_t algorithm; /* enum elect_algorithm */
    uint8_t form;      /* enum elect_form */
    uint8_t announce;  /* enum elect_announce */
    bool detector;     /* heartbeats from the leader, suspicion without them */
    bool reliable;     /* nothing is lost and nobody fails: hops of a ring are not acknowledged */
    uint8_t n;
    uint8_t ring[ELECT_MAX];              /* place on the ring -> rank */
    uint8_t place[ELECT_MAX];             /* rank -> place on the ring */
    uint16_t id[ELECT_MAX];               /* rank -> number, ascending */
    uint32_t answer_bound;                /* T = 2 T_m + T_p */
    uint32_t duration[ELECT_TIMER_COUNT]; /* by timer - ELECT_FIRST_TIMER; unit: the host's */
};

struct elect_message {
    elect_set set;  /* ring: the list of those who took part */
    uint32_t round; /* rings: which election this belongs to; 0 in the bully algorithm */
    uint32_t seen;  /* ACK: the receiver has decided in this round, begin beyond it; 0: go on */
    uint8_t type;   /* enum elect_event */
    uint8_t what;   /* ACK: the type that is acknowledged */
    uint8_t origin; /* rings: whose number or list this is */
    uint8_t unused[5];
};

/* A ring message that waits: its round is the node's. */
struct elect_hop {
    elect_set set;
    uint8_t type, origin;
    uint8_t unused[6];
};

struct elect_node {
    elect_set active;    /* active-ring: the numbers seen in this round */
    elect_set silent;    /* rings: who did not acknowledge in this round */
    elect_set passed[2]; /* rings: whose election, whose announcement was passed on in this round */
    uint32_t round;      /* rings: the latest round known */
    uint8_t me, state, leader;
    uint8_t running;      /* timers: set of ELECT_TIMER_BIT */
    uint8_t queued, next; /* messages in queue[]; whom queue[0] was sent to */
    uint8_t unused[6];
    struct elect_hop queue[ELECT_MAX_QUEUE];
};

struct elect_input {
    uint8_t event; /* enum elect_event */
    uint8_t from;  /* messages: the sender's rank */
    struct elect_message message;
};

struct elect_send {
    elect_set to;
    struct elect_message message;
};

/* What to do, in this order: persist, send, stop timers, start timers (again), announce. */
struct elect_output {
    bool persist; /* node->round must survive a crash before anything is sent */
    uint8_t sends;
    struct elect_send send[ELECT_MAX_SENDS];
    uint32_t stop, start; /* sets of ELECT_TIMER_BIT; a timer lasts config->duration */
    bool announced;       /* node->leader is not what it was */
    struct elect_rule rule;
};

enum elect_error {
    ELECT_FINE,
    ELECT_EMPTY,
    ELECT_TOO_MANY,
    ELECT_TWICE,
    ELECT_TOO_LONG,
    ELECT_UNKNOWN_ALGORITHM
};

/* `ids` in the order of the ring. The bounds are T_m and T_p in ticks of the host. */
enum elect_error elect_config_init(struct elect_config *config, enum elect_algorithm algorithm,
                                   const uint16_t *ids, size_t n, uint32_t message_bound,
                                   uint32_t processing_bound);

/* A process that follows `leader` (or ELECT_NOBODY) and takes no part in an election. `round` is
 * what it persisted before it crashed, 0 if it never ran: nobody takes part in the same round
 * twice. */
void elect_init(const struct elect_config *config, struct elect_node *node, uint8_t me,
                uint8_t leader, uint32_t round, struct elect_output *out);

void elect_step(const struct elect_config *config, struct elect_node *node,
                const struct elect_input *in, struct elect_output *out);

/* Inputs, spelled out. */
struct elect_input
elect_happens(enum elect_event event); /* START, SUSPECT, or a timer that ran out */
struct elect_input elect_received(uint8_t from, const struct elect_message *message);

bool elect_leads(const struct elect_node *node);
uint8_t elect_rank(const struct elect_config *config, uint32_t id); /* ELECT_NOBODY if absent */
bool elect_sends(const struct elect_config *config, enum elect_event message);

const char *elect_algorithm_name(enum elect_algorithm algorithm);
const char *elect_algorithm_text(enum elect_algorithm algorithm);
const char *elect_event_name(enum elect_event event);
const char *elect_rule_name(enum elect_rule_number rule);
const char *elect_rule_text(enum elect_rule_number rule);
bool elect_rule_quiet(enum elect_rule_number rule);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
