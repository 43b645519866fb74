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
 *     elect_init(&config, &node, me, ELECT_NOBODY, saved, now, &out);   perform(&out);
 *     for (;;) {
 *         struct elect_input in = whatever happens next, and when;
 *         elect_step(&config, &node, &in, &out);                        perform(&out);
 *     }
 *
 * The order of the fields in an output is the order in which they take effect. A write that is not
 * done holds back what later steps send, too. A destination may include the sender: the host
 * delivers to itself. Under a mandate the host tells ALARM in time, and STOPPED when the work of an
 * office that is over, or is to be handed over (RESIGN), has ended: before that the process does
 * not stand for another, and nobody takes its place before its lease is over.
 *
 * What the host must ensure, and what it need not:
 *  - Messages are authenticated: `from` is the process that sent the message, and the content is
 *    unchanged. Then P1 to P3 of docs/guarantees.md hold even if messages are lost, late, reordered
 *    or replayed, so the host need not detect replays. Only P4 can suffer.
 *  - Messages that a process sends to itself may also be late or lost: its own voter answers by
 *    message like any other voter. If the host loses all of them, the process can never lead.
 *  - The host may pass in any input while a write is pending. It holds back the sends and the
 *    announcement of that step until the write is done. This includes the first write, which
 *    elect_init() requests.
 *  - The configuration may change between two steps, except for the members, their numbers and
 *    priorities, the algorithm, and whether there is a mandate. To change those, create new nodes
 *    from the saved state (see elect_saved_translate). Give all members the same configuration.
 *    Grants made under an earlier lease remain valid, so `max_lease` must not be reduced.
 *  - After the rule READMITTED the process has a state again, and `persist` asks the host to write
 *    it. The process may continue, or restart from that state; a restart counts as one more start
 *    in its new era.
 *  - If `deposit` is set, the host may give a guardian, which outlives the process, the message
 *    elect_testament() for the new term, before it sends anything. The guardian may send that
 *    message to all other members only after the process has died and all its work has ended.
 *
 * A node is a value: it holds no pointer, copying is assignment, and equal nodes are equal bytes.
 *
 * Processes have numbers (0 ... 65535), the highest live number should lead. Inside, a process is
 * known by its rank: 0 is the lowest number of the configuration, n-1 the highest, unless there are
 * priorities, which come first. Everything below that is called `rank` or sits in an elect_set is a
 * rank; config.id[rank] is the number.
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
#define ELECT_MAX       64        /* processes in a cluster: a set of them is one 64-bit word */
#define ELECT_MAX_ID    65535     /* the highest number that a process may have */
#define ELECT_MAX_SENDS 6         /* sends in one output; a destination is a set */
#define ELECT_MAX_QUEUE 64        /* ring messages that wait for the one before them */
#define ELECT_MAX_BYTES 1024      /* of a message: elect_encode() */
#define ELECT_NOBODY    0xff      /* a rank that is no process */
#define ELECT_UNSET     INT64_MIN /* a time that is none, and over for long */

typedef uint64_t elect_set;  /* a set of ranks */
typedef int64_t elect_time;  /* what a process's own clock says, in units of the host's */
typedef uint64_t elect_term; /* counter * 2^16 + id: belongs to one process; the fencing token */

static inline uint64_t elect_term_counter(elect_term term) { return term >> 16; }
static inline uint16_t elect_term_owner(elect_term term) { return (uint16_t)term; } /* its number */
static inline elect_term elect_term_make(uint64_t counter, uint16_t owner)
{
    return counter << 16 | owner;
}
/* "5.1": the fifth term, which belongs to process 1. Returns `text`. */
#define ELECT_TERM_TEXT 24
const char *elect_term_text(elect_term term, char text[ELECT_TERM_TEXT]);

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

enum elect_form { ELECT_CIRCULATE, ELECT_MULTICAST }; /* how the ring announces its leader */
enum elect_announce {
    ELECT_ANNOUNCE_LOWER,
    ELECT_ANNOUNCE_ALL
}; /* whom the bully's winner tells */
enum elect_state { ELECT_NORMAL, ELECT_ELECTING, ELECT_WAITING };

enum elect_mandate_kind { ELECT_NO_MANDATE, ELECT_MAJORITY }; /* who confirms a leader */

/* Everything that can happen to a process: what the host says, the messages, the timers. */
#define ELECT_EVENTS(X)                                                                            \
    X(START, "START")     /* this process has just started, or recovered */                        \
    X(SUSPECT, "SUSPECT") /* the host says: the leader has failed, or there is none */             \
    X(STOPPED, "STOPPED") /* the host says: the work of the office that ended has stopped */       \
    X(RESIGN, "RESIGN") /* the host says: hand the office over, to `from` or to the heir; if     \
                             `message` has a term, only in that term */ \
    X(CHANGE, "CHANGE") /* the host says: the membership is to be that of `message` */             \
    X(PAUSE, "PAUSE")   /* the host says: no change of leader by itself, in the whole cluster */   \
    X(RESUME, "RESUME") /* the host says: as before */                                             \
    X(ASIDE, "ASIDE")   /* the host says: vote, but do not stand for an office */                  \
    X(READY, "READY")   /* the host says: stand for an office again, as after a start */           \
    X(ALARM, "alarm")   /* it is elect_alarm(node) */                                              \
    X(ELECTION, "ELECTION")                                                                        \
    X(OK, "OK")                                                                                    \
    X(COORDINATOR, "COORDINATOR")                                                                  \
    X(NOTICE, "NOTICE") /* an election has started; to lower ones */                               \
    X(LEADER, "LEADER")                                                                            \
    X(ELECT, "ELECT")                                                                              \
    X(ELECTED, "ELECTED")                                                                          \
    X(ACK, "ACK")                                                                                  \
    X(HEARTBEAT, "HEARTBEAT")                                                                      \
    X(PREVOTE, "PREVOTE")                                                                          \
    X(AYE, "AYE")                                                                                  \
    X(REQUEST, "REQUEST")                                                                          \
    X(GRANT, "GRANT")                                                                              \
    X(REFUSE, "REFUSE")                                                                            \
    X(RELEASE, "RELEASE")                                                                          \
    X(HAND, "HAND")                                                                                \
    X(PRESENT, "PRESENT")                                                                          \
    X(FOLLOWING, "FOLLOWING")                                                                      \
    X(FORGOT, "FORGOT")                                                                            \
    X(REMEMBERS, "REMEMBERS")                                                                      \
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
    X(MALFORMED, ELECT_LOUD, "no correct process sends this message -> %p ignores it")             \
    X(STARTED, ELECT_LOUD, "%p has just started -> it begins an election")                         \
    X(SUSPECTS, ELECT_LOUD, "%p suspects %a -> %p begins an election")                             \
    X(NO_LEADER, ELECT_LOUD, "%p has no leader -> it begins an election")                          \
    X(ALREADY_ELECTING, ELECT_LOUD, "%p is already holding an election -> it does nothing")        \
    X(LEADS_ITSELF, ELECT_LOUD, "%p leads and cannot suspect itself -> it does nothing")           \
    X(LOWER_LEADS, ELECT_LOUD, "%a says that it leads but is lower -> %p begins an election")      \
    X(FOLLOWS_HEARTBEAT, ELECT_LOUD, "%a says that it leads and is higher -> %p follows %a")       \
    X(TELLS_LOWER, ELECT_LOUD, "%a is lower and %p leads -> %p announces itself to %a")            \
    X(HEARD_LEADER, ELECT_QUIET, "%a leads and is alive")                                          \
    X(BEATS, ELECT_QUIET, "%p leads and sends heartbeats")                                         \
    X(EARLIER_REIGN, ELECT_QUIET, "%a has led since an earlier round -> %p ignores it")            \
    X(STILL_FOLLOWS, ELECT_QUIET, "%p follows %b, which is higher than %a -> %p ignores %a")       \
    X(ELECTION_IS_ON, ELECT_LOUD, "%p is holding an election -> %a will hear the outcome")         \
    /* bully */                                                                                    \
    X(NOBODY_HIGHER, ELECT_LOUD, "no process is higher than %p -> %p wins at once")                \
    X(CHALLENGED, ELECT_LOUD, "%a is lower -> %p answers OK and begins an election itself")        \
    X(ANSWERS, ELECT_LOUD, "%a is lower -> %p answers OK; its own election is already under way")  \
    X(HELD_ONE, ELECT_LOUD, "%a is lower -> %p answers OK; it has just held an election")          \
    X(LEADER_ANSWERS, ELECT_LOUD,                                                                  \
      "%a is lower and %p leads -> %p answers OK and announces itself")                            \
    X(STEPS_BACK, ELECT_LOUD, "%a is higher and alive -> %p steps back and waits for a leader")    \
    X(WAITS_ALREADY, ELECT_LOUD, "%a is alive, too -> %p keeps waiting")                           \
    X(OK_TOO_LATE, ELECT_LOUD, "%a answers an election that is over -> %p ignores the answer")     \
    X(NOBODY_ANSWERED, ELECT_LOUD, "%h did not answer within T -> %p wins")                        \
    X(NO_COORDINATOR, ELECT_LOUD,                                                                  \
      "the process that took over did not win within 2T -> %p begins again")                       \
    X(FOLLOWS, ELECT_LOUD, "%a is higher -> %p follows %a")                                        \
    X(IS_NOTIFIED, ELECT_LOUD, "%a is holding an election -> %p begins none for 2T")               \
    X(AWAITS_OUTCOME, ELECT_LOUD,                                                                  \
      "an election is under way -> %p begins none and waits for a leader")                         \
    /* all rings */                                                                                \
    X(ACKED, ELECT_QUIET, "%a has acknowledged the message")                                       \
    X(LATE_ACK, ELECT_QUIET, "%a acknowledges a message that %p no longer waits for")              \
    X(HOP_FAILED, ELECT_LOUD,                                                                      \
      "%a did not acknowledge within T -> %p sends the message to %b instead")                     \
    X(ROUND_IS_OVER, ELECT_LOUD, "a later round is under way -> %p drops this message")            \
    X(TELLS_ROUND, ELECT_LOUD, "that round or a later one is decided -> %p tells %a")              \
    X(BEHIND, ELECT_LOUD, "%a is in a later round -> %p begins again in a new one")                \
    X(RING_TIMEOUT, ELECT_LOUD, "no outcome within T_ring -> %p begins again in a new round")      \
    X(PASSED_ON_BEFORE, ELECT_LOUD, "%p has already passed this message on -> %p drops it")        \
    X(DECIDED_BEFORE, ELECT_LOUD, "%p has already decided in this round -> it drops the message")  \
    X(LOWER_ANNOUNCED, ELECT_LOUD,                                                                 \
      "%a is announced but is lower than %p -> %p begins an election")                             \
    X(FORGOTTEN, ELECT_LOUD, "%p sent this message before it restarted -> %p begins again")        \
    /* ring with a list */                                                                         \
    X(APPENDS, ELECT_LOUD, "%p adds itself to the list and passes it on")                          \
    X(LIST_BACK, ELECT_LOUD, "%p's list %l has come back -> %p announces the highest, %b")         \
    X(ORPHAN, ELECT_LOUD,                                                                          \
      "%a has died and left the list %l behind -> %p announces the highest, %b")                   \
    X(ANNOUNCED_BEFORE, ELECT_LOUD, "%p has already announced this -> it drops the message")       \
    X(ACCEPTS, ELECT_LOUD, "%b is the highest of the list -> %p follows %b")                       \
    X(OUTRANKED, ELECT_LOUD, "%p follows %b, which is higher -> it only passes the message on")    \
    X(IS_HIGHEST, ELECT_LOUD, "%p is the highest of the list -> it leads")                         \
    X(ANNOUNCEMENT_BACK, ELECT_LOUD, "%p's announcement has come back -> %p removes it")           \
    /* ring with an active list */                                                                 \
    X(JOINS, ELECT_LOUD, "%a is the first number that %p sees -> %p sends its own, then %a")       \
    X(ADDS, ELECT_LOUD, "%a is new to %p -> %p adds it and passes it on")                          \
    X(KNOWS, ELECT_LOUD, "%a is already on the active list of %p -> %p drops it")                  \
    X(DECIDES, ELECT_LOUD, "%p's number has come back, so its list is complete -> %p follows %b")  \
    X(DECIDES_ITSELF, ELECT_LOUD,                                                                  \
      "%p's number has come back, so its list is complete -> %p leads")                            \
    /* Chang & Roberts */                                                                          \
    X(PASSES_HIGHER, ELECT_LOUD, "%a is higher than %p -> %p passes it on")                        \
    X(REPLACES_LOWER, ELECT_LOUD, "%a is lower than %p -> %p sends its own number instead")        \
    X(SWALLOWS_LOWER, ELECT_LOUD, "%a is lower and %p already takes part -> %p swallows it")       \
    X(OWN_NUMBER_BACK, ELECT_LOUD, "%p's number has come back -> %p leads")                        \
    X(ELECTED_FOLLOWS, ELECT_LOUD, "%a is elected -> %p follows %a and passes it on")              \
    X(ELECTED_BACK, ELECT_LOUD, "every process has seen the announcement -> %p removes it")        \
    /* the mandate: voters */                                                                      \
    X(GRANTS, ELECT_LOUD, "%p is bound by no other grant -> it grants")                            \
    X(GRANTS_AGAIN, ELECT_QUIET, "%p renews its grant to %a")                                      \
    X(SAYS_AYE, ELECT_LOUD, "%p is bound by no other grant -> it would grant")                     \
    X(REFUSES_CONFIG, ELECT_LOUD,                                                                  \
      "%a counts other voters or asks for too long a lease -> %p refuses")                         \
    X(REFUSES_BOOT, ELECT_LOUD, "%p has just started and may have granted before -> it refuses")   \
    X(REFUSES_CLOSED, ELECT_LOUD, "that term is over -> %p refuses")                               \
    X(REFUSES_STALE, ELECT_LOUD, "%p has granted a larger term -> it refuses")                     \
    X(REFUSES_HELD, ELECT_LOUD, "%p has granted %b a lease that still runs -> %p refuses")         \
    X(TERM_IS_OVER, ELECT_LOUD, "%a has released this term -> %p notes that it is over")           \
    X(OFFICE_RELEASED, ELECT_LOUD, "%a has released its term -> %p looks for a leader")            \
    /* the mandate: who is there */                                                                \
    X(MISSES, ELECT_LOUD, "%p hears nothing from %a -> %p looks for a leader")                     \
    X(LOOKS_AROUND, ELECT_LOUD, "%p knows no leader -> it looks for one")                          \
    X(STILL_LOOKS, ELECT_QUIET, "%p still knows no leader")                                        \
    X(SEES_MAJORITY, ELECT_LOUD, "%p sees a majority and no leader -> it begins an election")      \
    X(STANDS_BACK, ELECT_LOUD, "%p sees no majority or is not the fittest -> it takes no part")    \
    X(IS_PAUSED, ELECT_LOUD, "elections are paused -> %p takes no part")                           \
    X(IS_ASIDE, ELECT_LOUD, "%p stands aside -> it takes no part in the election")                 \
    X(TELLS_LEADER, ELECT_QUIET, "%p follows %b -> it tells %a")                                   \
    X(IS_TOLD, ELECT_LOUD, "%a reports %b as the leader -> %p follows %b while it is told so")     \
    X(LEADER_TELLS, ELECT_LOUD, "%a reports that it leads -> %p follows %a while it is told so")   \
    X(TOLD_AGAIN, ELECT_QUIET, "%a still follows %b")                                              \
    X(SAYS_PRESENT, ELECT_QUIET, "%p reports that it is up")                                       \
    X(SEES, ELECT_QUIET, "%a is up")                                                               \
    X(PAUSES, ELECT_LOUD, "%p is told to pause elections -> it keeps its leader and elects none")  \
    X(RESUMES, ELECT_LOUD, "%p is told to resume elections -> it takes part in them again")        \
    X(STANDS_ASIDE, ELECT_LOUD, "%p is told to stand aside -> it votes but seeks no office")       \
    X(STANDS_READY, ELECT_LOUD, "%p is told to stand ready -> it may be elected")                  \
    /* the mandate: candidates and leaders */                                                      \
    X(PREVOTES, ELECT_LOUD, "%p is nominated -> it asks whether a majority would grant")           \
    X(CONFIRMS, ELECT_LOUD, "a majority would grant -> %p asks for a mandate")                     \
    X(CERTIFIED, ELECT_LOUD, "%p's predecessor has released its term -> %p asks for a mandate")    \
    X(TAKES_OFFICE, ELECT_LOUD, "a majority has granted -> %p leads")                              \
    X(COUNTS, ELECT_QUIET, "no majority yet")                                                      \
    X(ANSWERED_TOO_LATE, ELECT_QUIET, "%p no longer waits for this answer")                        \
    X(FORMER_LIFE, ELECT_LOUD, "%a has lost its state since it sent this -> %p ignores it")        \
    X(RENEWS, ELECT_QUIET, "%p asks for its next lease")                                           \
    X(RENEWED, ELECT_QUIET, "%p's lease is renewed")                                               \
    X(REFUSED, ELECT_LOUD, "too many voters refused -> %p waits and asks again")                   \
    X(NO_MAJORITY, ELECT_LOUD, "no majority answered -> %p waits and asks again")                  \
    X(MANDATE_OVER, ELECT_LOUD, "the mandate of %p has expired -> %p steps down")                  \
    X(SUCCEEDS_ITSELF, ELECT_LOUD,                                                                 \
      "%a has granted a larger term -> %p asks for an even larger one")                            \
    X(CLOCKS_ARE_WRONG, ELECT_LOUD,                                                                \
      "another process leads or holds a grant: a clock is wrong -> %p steps down")                 \
    X(TESTAMENT_OF_THE_LIVING, ELECT_LOUD, "%a was told that %p is dead -> %p steps down")         \
    X(RELEASES, ELECT_LOUD, "the work of %p has stopped -> %p releases its terms")                 \
    /* the mandate: handing over */                                                                \
    X(RESIGNS, ELECT_LOUD, "%p resigns -> it renews its lease until its work has stopped")         \
    X(GIVES_PLACE, ELECT_LOUD,                                                                     \
      "%a is fitter and asks for the office -> %p resigns and stops its work")                     \
    X(HANDS_OVER, ELECT_LOUD, "the work of %p has stopped -> %p hands its office to %b")           \
    X(RESIGNS_ALREADY, ELECT_LOUD, "%p is already resigning -> it does nothing")                   \
    X(HAS_NO_OFFICE, ELECT_LOUD, "%p does not lead -> it does nothing")                            \
    X(OTHER_TERM, ELECT_LOUD, "the order names another term -> %p keeps its office")               \
    X(CANNOT_LEAD, ELECT_LOUD,                                                                     \
      "only another member that may lead can take over -> %p does nothing")                        \
    X(SUCCESSOR_ASIDE, ELECT_LOUD, "%a stands aside and would not lead -> %p keeps its office")    \
    X(DECLINES, ELECT_LOUD, "%p stands aside -> it declines the office that %a hands over")        \
    /* the mandate: membership */                                                                  \
    X(CHANGES_MEMBERS, ELECT_LOUD,                                                                 \
      "%p changes the membership -> it asks the old and the new majority")                         \
    X(MEMBERS_CHANGED, ELECT_LOUD, "both majorities have granted -> the membership has changed")   \
    X(CHANGE_TOO_SOON, ELECT_LOUD,                                                                 \
      "the previous membership change is not confirmed yet -> %p does nothing")                    \
    X(CHANGE_TOO_LARGE, ELECT_LOUD,                                                                \
      "a change concerns one voter, and not %p itself -> %p does nothing")                         \
    X(HAS_FORGOTTEN, ELECT_LOUD, "%p has lost its state -> it asks what the others remember")      \
    X(REMEMBERS_FOR, ELECT_LOUD, "%a has lost its state -> %p tells it what %a had promised")      \
    X(LEARNS, ELECT_QUIET, "%p learns what %a remembers")                                          \
    X(WAITS_IT_OUT, ELECT_LOUD, "%p may have granted before -> it waits for the longest lease")    \
    X(READMITTED, ELECT_LOUD, "%p knows every promise that can still matter -> it votes again")

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

/* Why a voter refuses. */
#define ELECT_REFUSALS(X)                                                                          \
    X(CONFIG, "config") /* another cluster or membership, a clone, a lease that is too long */     \
    X(BOOT, "boot")     /* it has just started and may have promised what it has forgotten */      \
    X(CLOSED, "closed") /* that term, or a later one of the same owner, is over */                 \
    X(STALE, "stale")   /* a larger term has been promised */                                      \
    X(HELD, "held")     /* somebody else holds its grant */

enum elect_refusal {
#define X(name, word) ELECT_REFUSED_##name,
    ELECT_REFUSALS(X)
#undef X
        ELECT_REFUSAL_COUNT
};

/*
 * Who votes, and who of them may lead. A leader changes it, one voter at a time; until a majority
 * of those before has heard of it, too, both majorities are needed for everything.
 */
struct elect_membership {
    elect_term stamp; /* the term in which it was made; 0: it is that of the configuration */
    elect_set members, voters;
    elect_set before; /* who voted before; the same as `voters` once the change is confirmed */
    uint32_t version;
    uint32_t unused;
};

/* What every member must be told alike. Filled by elect_config_init; `form`, `announce`,
 * `tell_lower`, `detector`, `reliable` and the durations may be changed afterwards. */
struct elect_config {
    uint8_t algorithm; /* enum elect_algorithm */
    uint8_t form;      /* enum elect_form */
    uint8_t announce;  /* enum elect_announce */
    bool tell_lower;   /* the bully's initiator sends NOTICE to the lower processes */
    bool detector;     /* heartbeats from the leader, suspicion without them */
    bool reliable;     /* nothing is lost and nobody fails: hops of a ring are not acknowledged */
    uint8_t n;
    uint8_t ring[ELECT_MAX];              /* place on the ring -> rank */
    uint8_t place[ELECT_MAX];             /* rank -> place on the ring */
    uint16_t id[ELECT_MAX];               /* rank -> number, ascending */
    uint8_t mandate;                      /* enum elect_mandate_kind */
    bool stable;                          /* off: elections disturb, to see what that costs */
    bool preempt;                         /* who is fitter than its leader takes its place ... */
    uint32_t preempt_after;               /* ... once it has been so for that long */
    uint32_t decay;                       /* after that long a process has half its penalties */
    uint32_t digest;                      /* of all that members must be told alike */
    elect_set members;                    /* at first: may lead, and vote; all unless changed */
    elect_set voters;                     /* at first: members and witnesses; others observe */
    uint32_t version;                     /* of that membership */
    uint32_t lease, max_lease;            /* D; the longest that a voter grants */
    uint32_t renewal;                     /* R */
    uint32_t drift;                       /* rho, in millionths */
    uint32_t grain;                       /* epsilon, at least 1: how coarse a clock is */
    uint32_t processing_bound;            /* T_p: a write is part of it */
    uint32_t answer_bound;                /* T = 2 T_m + T_p */
    uint32_t duration[ELECT_TIMER_COUNT]; /* by timer - ELECT_FIRST_TIMER; unit: the host's */
};

/*
 * A message. What a type does not use is 0. A field whose meaning depends on the type has a name
 * for each meaning: the union holds one value, whichever name is used.
 */
struct elect_message {
    union {
        elect_set list;  /* rings: the processes that have joined the list */
        elect_set heard; /* PRESENT: the processes that the sender has heard lately */
        elect_set roll;  /* REQUEST, FOLLOWING: the processes that answered the leader lately */
    };
    union {
        uint32_t round;    /* rings: the election; mandate: the candidate's round; bully: 0 */
        uint32_t question; /* FORGOT, REMEMBERS: the number of the question */
    };
    union {
        uint32_t seen;  /* ACK: the receiver has decided in this round, begin beyond it; 0: go on */
        uint32_t aside; /* mandate: the sender stands aside */
    };
    uint8_t type;    /* enum elect_event */
    uint8_t what;    /* ACK, REFUSE: the type of the message that this one answers */
    uint8_t origin;  /* rings: the process whose number or list this is; mandate: the sender */
    uint8_t leading; /* REQUEST: the sender leads */
    uint8_t reason;  /* REFUSE: enum elect_refusal */
    uint8_t heir; /* REQUEST, FOLLOWING, RELEASE, HAND: the next leader; ELECT_NOBODY: not named */
    uint8_t penalty; /* mandate: the sender's penalties */
    union {
        uint8_t able;   /* PRESENT: the sender could win an election */
        uint8_t claims; /* GRANT: the sender would take its leader's place */
    };
    uint32_t pause, digest; /* mandate: the sender's */
    elect_term term;        /* mandate: the term that this message is about */
    union {
        elect_term certificate; /* REQUEST, PREVOTE: the predecessor's term, released; 0: none */
        elect_term in_the_way;  /* REFUSE: the term that prevents the grant */
    };
    union {
        uint32_t incarnation; /* of the sender; in an answer, of the process that asked */
        uint32_t last_met;    /* REMEMBERS: the latest known incarnation of the receiver */
    };
    uint32_t certified_by; /* REQUEST, PREVOTE: the predecessor's incarnation that released it */
    struct elect_membership membership; /* the sender's; not in every message */
    uint32_t lease; /* REQUEST: asked for; answers repeat it; REMEMBERS: the longest granted */
    union {
        uint32_t remaining; /* REFUSE: how long boot or held will last */
        uint32_t valid_for; /* FOLLOWING: how long this is to be believed */
    };
};

/* A ring message that waits: its round is the node's. */
struct elect_hop {
    elect_set set;
    uint8_t type, origin;
    uint8_t unused[6];
};

/* An incarnation is an era, and how often it was started in it. Between two losses of its state a
 * process uses no term twice; so the starts of an era must not run into the next one. With one a
 * second they last for 12 days; the eras, for 4,094 losses. */
#define ELECT_STARTS                  (1u << 20)
#define ELECT_ERA(incarnation)        ((incarnation) / ELECT_STARTS)
#define ELECT_LAST_START(incarnation) ((incarnation) % ELECT_STARTS == ELECT_STARTS - 1)

/*
 * What must survive a crash. Everything in it is by rank, so that it means something only together
 * with the configuration that it was saved under: a host that may start with other members, or with
 * other priorities, saves config.id, too, and calls elect_saved_translate() when it starts.
 *
 * No counter ends in practice. Terms count to 2^48. A process that is new, or has lost its state,
 * believes any term up to 2^47, because it has no other measure than what the others say: one
 * message of a faulty member can raise its terms beyond what the others accept, and it must be
 * readmitted then. `pause` counts to 2^32 - 1, which is odd:
 * elections that were paused that often cannot be resumed. The rounds of a ring, and those of a
 * leader within one start (mandate.leader.rounds), wrap at 2^32: at five a second, after 27 years.
 */
struct elect_saved {
    elect_term promised;          /* the largest term granted */
    elect_term used;              /* the largest own term ever used */
    elect_term closed[ELECT_MAX]; /* by owner: terms up to this are over; with the next write */
    struct elect_membership membership;
    uint32_t met[ELECT_MAX]; /* the latest incarnation of each; with the next write */
    uint32_t longest;        /* D_max: the longest lease granted */
    uint32_t incarnation;    /* one more with every start; a new era when its state was lost */
    uint32_t round;          /* rings: the latest round known */
    uint32_t pause;          /* odd: elections are paused; the larger one counts */
};

/* The times of the mandate, all in one array: see elect_shift. */
enum elect_time_name {
    ELECT_EXPIRES,     /* voter: the grant is live before this */
    ELECT_GUARD,       /* voter: before this it has just started */
    ELECT_UNTIL,       /* leader: the office is valid before this */
    ELECT_RENEW,       /* candidate, leader: the next round */
    ELECT_GIVE_UP,     /* candidate: lost by then */
    ELECT_RETRY,       /* nominee: the next attempt */
    ELECT_LOOK,        /* who misses a leader: when it says PRESENT again */
    ELECT_BEGIN,       /* who misses a leader: when it has looked around for long enough */
    ELECT_CLAIM,       /* who is fitter than its leader: when it may say so */
    ELECT_DECAY,       /* when it has half its penalties */
    ELECT_NEXT_CHANGE, /* leader: from then on the membership may be changed */
    ELECT_STANDS,      /* candidate: when it began to wait for answers */
    ELECT_SENT,        /* candidate, leader: when the rounds that are remembered were sent */
    ELECT_TIMES = ELECT_SENT + 4
};
#define ELECT_ROUNDS (ELECT_TIMES - ELECT_SENT)

/* A process that has lost its state asks, waits, and asks once more before it votes again. */
enum elect_readmission_stage {
    ELECT_NOT_LOST,
    ELECT_ASKING,
    ELECT_WAITING_IT_OUT,
    ELECT_ASKING_AGAIN
};

/* Why a process in office hands over. It does not lead any more, but renews its office until its
 * work has stopped. */
enum elect_handing { ELECT_NOT_HANDING, ELECT_RESIGNING, ELECT_GIVING_PLACE };

enum elect_candidacy { ELECT_NO_CANDIDATE, ELECT_PREVOTING, ELECT_CONFIRMING };

/* What a voter has granted. */
struct elect_voter {
    elect_term granted;          /* the term of the grant */
    uint32_t holder_incarnation; /* of the process that holds the grant */
    uint32_t longest;            /* the longest lease granted since the start */
    uint8_t holder;              /* the process that holds the grant */
    uint8_t unused[7];
};

/* A process that the election chose, and its attempt to get a mandate. */
struct elect_candidate {
    elect_term asked;         /* the term of its PREVOTE */
    elect_term certificate;   /* a released term, which its requests carry; 0: none */
    elect_set ayes, refused;  /* the voters that answered so */
    uint32_t prevote_round;   /* the number of the round of its PREVOTE */
    uint32_t certified_by;    /* the incarnation of the predecessor that released it */
    uint32_t wait[ELECT_MAX]; /* how long each refusal lasts; 0: no reason to wait */
    uint8_t stage;            /* enum elect_candidacy */
    uint8_t attempts;         /* candidacies lost in a row */
    bool nominated;           /* the election chose this process */
    uint8_t unused[5];
};

/* The office, and the rounds of requests that get and renew it. */
struct elect_leader {
    elect_term token; /* the term in which it holds office; 0: none */
    elect_term term;  /* what its rounds ask for; a larger one than the token in a candidacy */
    elect_set stale;  /* voters that have promised a larger term of another process */
    struct {
        elect_term term;
        elect_set voters; /* that granted it */
        uint32_t number, lease;
    } round[ELECT_ROUNDS];
    uint32_t rounds;     /* the number of rounds in this incarnation, PREVOTEs included */
    uint32_t changed_in; /* the first round with the present membership */
    bool working;        /* the office has ended, or will, and the work has not stopped */
    uint8_t handing;     /* enum elect_handing */
    uint8_t successor;   /* the process it hands over to; ELECT_NOBODY: the heir */
    uint8_t unused[5];
};

/* What it knows of the others: the leader, which of them are reachable, their penalties. */
struct elect_presence {
    elect_term followed;            /* the latest office that this process followed as a voter */
    elect_set able;                 /* processes that say they could win an election */
    elect_set aside;                /* processes that stand aside; itself if its host said so */
    elect_set differ;               /* processes with another configuration */
    elect_time heard[ELECT_MAX];    /* when the last message of each arrived */
    elect_time heard_me[ELECT_MAX]; /* when each last showed that it hears this one */
    uint8_t penalty[ELECT_MAX];     /* as each says of itself */
    uint8_t penalties;              /* its own; members with fewer come first */
    uint8_t follows;                /* the leader: it granted its REQUEST, or was told of it */
    uint8_t heir;                   /* the next leader, as the leader says */
    bool told;                      /* it knows its leader only from another process */
    bool restless;                  /* it has looked for a leader long enough, wants an election */
    uint8_t unused[3];
};

/* A process that has lost its state. */
struct elect_readmission {
    elect_set remembering; /* the processes that have answered its question */
    uint32_t question;     /* the number of that question */
    uint8_t stage;         /* enum elect_readmission_stage */
    uint8_t unused[3];
};

struct elect_mandate {
    elect_time time[ELECT_TIMES];
    elect_term seen; /* the highest term seen */
    struct elect_voter voter;
    struct elect_candidate candidate;
    struct elect_leader leader;
    struct elect_presence presence;
    struct elect_readmission readmission;
};

struct elect_node {
    elect_set active;    /* active-ring: the numbers seen in this round */
    elect_set silent;    /* rings: who did not acknowledge in this round */
    elect_set passed[2]; /* rings: whose election, whose announcement was passed on in this round */
    uint8_t me, state, leader;
    uint8_t running;      /* timers: set of ELECT_TIMER_BIT */
    uint8_t queued, next; /* messages in queue[]; whom queue[0] was sent to */
    bool mandated;        /* only a mandate makes a leader */
    uint8_t unused[1];
    struct elect_saved saved;
    struct elect_mandate mandate;
    struct elect_hop queue[ELECT_MAX_QUEUE];
};

struct elect_input {
    uint8_t event;  /* enum elect_event */
    uint8_t from;   /* messages: the sender's rank */
    elect_time now; /* on the clock of this process */
    struct elect_message message;
};

struct elect_send {
    elect_set to;
    struct elect_message message;
};

/* What to do, in this order: persist, send, stop timers, start timers (again), announce. */
struct elect_output {
    bool persist; /* node->saved must survive a crash before anything is sent */
    bool deposit; /* saved.used is a new term: its testament is deposited before anything is sent */
    uint8_t sends;
    struct elect_send send[ELECT_MAX_SENDS];
    uint32_t stop, start; /* sets of ELECT_TIMER_BIT; a timer lasts config->duration */
    bool announced;       /* whom the process follows, or its token, is not what it was */
    struct elect_rule rule;
};

enum elect_error {
    ELECT_FINE,
    ELECT_EMPTY,
    ELECT_TOO_MANY,
    ELECT_TWICE,
    ELECT_TOO_LONG,
    ELECT_LEASE_TOO_SHORT,   /* for the answers to come back in */
    ELECT_RENEWAL_TOO_LONG,  /* more than a third of the lease that a leader has */
    ELECT_RENEWAL_TOO_SHORT, /* more rounds would be under way than a leader remembers */
    ELECT_NO_SUCH_ROLE,      /* members vote, voters are in the cluster, somebody may lead */
    ELECT_DRIFT_TOO_LARGE,   /* half a second in a second */
    ELECT_UNKNOWN_ALGORITHM
};

/* `ids` in the order of the ring. The bounds are T_m and T_p in ticks of the host. */
enum elect_error elect_config_init(struct elect_config *config, enum elect_algorithm algorithm,
                                   const uint16_t *ids, size_t n, uint32_t message_bound,
                                   uint32_t processing_bound);

/* By place on the ring: who has the higher priority is ranked higher, whatever its number. Before
 * anything that is a rank or a set of them. */
void elect_config_priorities(struct elect_config *config, const uint8_t *priority);

/* A majority must confirm a leader, for `lease` at a time, renewed every `renewal`; clocks differ
 * by at most `drift` millionths. Roles, `max_lease`, `preempt` and `decay`, if any, are set before.
 * `max_lease` is 2 `lease` if it is 0; it must not be made smaller while a lease of that length may
 * be in force: a member that has lost its state waits for it. */
enum elect_error elect_config_mandate(struct elect_config *config, uint32_t lease, uint32_t renewal,
                                      uint32_t drift, uint32_t grain);

/* A message as bytes, in which members have their numbers, not their ranks: two processes may have
 * different configurations. How many they are. */
size_t elect_encode(const struct elect_config *config, const struct elect_message *message,
                    uint8_t bytes[ELECT_MAX_BYTES]);

/* False if this is no message, or of members that the configuration does not know. Whether it may
 * be believed is another question: elect_step() looks at it again. */
bool elect_decode(const struct elect_config *config, const uint8_t *bytes, size_t length,
                  struct elect_message *message);

/* The ranks below `n`, which is at least 1. */
static inline elect_set elect_ranks_below(unsigned n) { return ~(elect_set)0 >> (ELECT_MAX - n); }

/* All processes of the configuration, whatever their roles. */
static inline elect_set elect_everyone(const struct elect_config *config)
{
    return elect_ranks_below(config->n);
}

/* The leader's share of a lease, D (1-rho)/(1+rho) - epsilon: an office ends by a clock however
 * slow before the lease of any voter ends by a clock however fast. */
int64_t elect_office_length(const struct elect_config *config, uint32_t lease);
/* The least that a lease must leave to a leader. */
int64_t elect_shortest_office(const struct elect_config *config);

/* A process that follows `leader` (or ELECT_NOBODY) and takes no part in an election. `saved` is
 * what it persisted before it crashed, NULL if it never ran: nobody takes part in the same round
 * twice, and nobody forgets what it promised. Under a mandate nobody is followed at first, and who
 * has had its last start (ELECT_LAST_START) must be readmitted instead. */
void elect_init(const struct elect_config *config, struct elect_node *node, uint8_t me,
                uint8_t leader, const struct elect_saved *saved, elect_time now,
                struct elect_output *out);

/* A process that ran before, and has lost what it had saved: it asks the others, waits for the
 * longest lease, and only then votes or leads. Until it does, nothing of it is to be saved. What it
 * asks has the number `question`, which was never used before: the date in seconds will do. */
void elect_readmit(const struct elect_config *config, struct elect_node *node, uint8_t me,
                   uint32_t question, elect_time now, struct elect_output *out);

void elect_step(const struct elect_config *config, struct elect_node *node,
                const struct elect_input *in, struct elect_output *out);

/* Translates state that was saved by a process whose ranks stood for the `n` numbers in `id` (its
 * config.id) to this configuration. Returns false, with the number in `unknown`, if the saved
 * membership counts with a number that the configuration does not have (0: with a rank beyond `n`).
 * Other data about such numbers is dropped. A dropped number must not be used again unless the host
 * keeps its saved.met: a RELEASE of that member from before it lost its state would look valid.
 */
bool elect_saved_translate(const struct elect_config *config, const uint16_t *id, unsigned n,
                           struct elect_saved *saved, uint16_t *unknown);

/* What a guardian says in the name of the process `rank` when that is dead: its term, which is
 * saved.used of the process that deposited it, is over. The incarnation is that of the process. */
struct elect_message elect_testament(const struct elect_config *config, uint8_t rank,
                                     elect_term term, uint32_t incarnation);

/* Inputs, spelled out, each with what the process's clock says: what the host says, ALARM or a
 * timer that ran out; to resign, for somebody or (ELECT_NOBODY) for whoever is next; to change who
 * votes and who of them may lead; and a message. Without a mandate nobody looks at the time. */
struct elect_input elect_happens(enum elect_event event, elect_time now);
struct elect_input elect_resigns(uint8_t successor, elect_time now);
/* The same as an order, which may have been sent from another machine. It is carried out only in
 * the term that it names, and so at most once, however late or often it arrives. */
struct elect_input elect_ordered(uint8_t successor, elect_term term, elect_time now);
struct elect_input elect_changes(elect_set members, elect_set voters, elect_time now);
struct elect_input elect_received(uint8_t from, const struct elect_message *message,
                                  elect_time now);

/* To be asked at every use, with the clock read just then. */
bool elect_leads(const struct elect_node *node, elect_time now);
/* Nobody else can lead: who resigns does not lead, but holds its office until its work stops. */
bool elect_in_office(const struct elect_node *node, elect_time now);
bool elect_paused(const struct elect_node *node);
/* The processes that stand aside, as this one was last told; itself included. A process that stands
 * aside votes and grants, and keeps an office that it holds, but seeks none and inherits none. Its
 * host says so (ASIDE, READY) after every start: it is not saved. It needs a mandate and `stable`.
 */
elect_set elect_aside(const struct elect_node *node);
/* The process to which a leader would hand over now; ELECT_NOBODY if none could take over, or if
 * the process holds no office. */
uint8_t elect_successor(const struct elect_config *config, const struct elect_node *node,
                        elect_time now);
/* The term of the office that the process holds, its fencing token; 0 if it holds none. */
elect_term elect_token(const struct elect_node *node);
/* When that office ends unless it is renewed, by the process's own clock; ELECT_UNSET if there is
 * none. */
elect_time elect_until(const struct elect_node *node);
/* True if the work of an office that has ended, or is being handed over, must stop. The host then
 * reports STOPPED. */
bool elect_must_stop(const struct elect_node *node);
/* When the process must be told ALARM; INT64_MAX: never. */
elect_time elect_alarm(const struct elect_node *node);
/* All its times, moved: for hosts whose clock is set anew, and for whoever compares nodes. */
void elect_shift(struct elect_node *node, elect_time by);
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
