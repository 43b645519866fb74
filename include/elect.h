/*
 * libelect: leader election as a pure state machine.
 *
 * The main function, elect_step(), takes one event, such as a message that has arrived, and returns
 * what the process must do. The function performs no I/O, reads no clock, draws no random numbers,
 * allocates no memory and cannot fail. If an input violates the protocol, elect_step() ignores it
 * and returns a rule that says so.
 *
 *     struct elect_config config;
 *     struct elect_node node;
 *     struct elect_output out;
 *
 *     elect_config_init(&config, ELECT_BULLY, ids, n, message_bound, processing_bound);
 *     elect_init(&config, &node, me, ELECT_NOBODY, saved, now, &out);   perform(&out);
 *     for (;;) {
 *         struct elect_input in = the next event, and its time;
 *         elect_step(&config, &node, &in, &out);                        perform(&out);
 *     }
 *
 * The host carries out an output in the order of its fields. While a write is pending, the host
 * also holds back the messages of later steps. A message may be addressed to its own sender; the
 * host delivers it like any other.
 *
 * Under a mandate the host reports ALARM at the time that elect_alarm() returns. When an office has
 * ended or is being handed over, the work that depends on it must stop (elect_must_stop); the host
 * reports STOPPED when the work has stopped. Until then, the process seeks no other office, and no
 * other process takes its place before its lease expires.
 *
 * Rules for the host:
 *  - Messages must be authenticated: `from` is the process that sent the message, and the content
 *    is unchanged. P1 to P3 of docs/guarantees.md then hold even if messages are lost, late,
 *    reordered or replayed, so the host need not detect replays. Replays can affect only P4.
 *  - A process also sends messages to itself, because its own voter answers like any other. If all
 *    of them are lost, the process can never lead.
 *  - The host may pass in any input while a write is pending, but must hold back the messages and
 *    the announcement of that step until the write is done. The same applies to the first write,
 *    which elect_init() requests.
 *  - The configuration may change between two steps, except for the members, their numbers and
 *    priorities, the algorithm and the kind of mandate. To change these, create new nodes from the
 *    saved state (see elect_saved_translate). Give all members the same configuration. Grants made
 *    under an earlier lease remain valid, so `max_lease` must not be reduced.
 *  - After the rule READMITTED the process has a state again, and `persist` asks the host to write
 *    it. The process may continue, or restart from that state; a restart counts as one more start
 *    in the era of its new incarnation (see ELECT_ERA).
 *  - If `deposit` is set, the host may, before it sends anything, give the new term's
 *    elect_testament() to a guardian, a process that outlives this one. The guardian may send it to
 *    all other members only after this process has died and all its work has ended.
 *
 * A node is a value: it holds no pointer, it is copied by assignment, and equal nodes have equal
 * bytes.
 *
 * Every process has a number from 0 to 65535, and the live process with the highest number should
 * lead. The library refers to a process by its rank. Without priorities, rank 0 is the lowest
 * number of the configuration and n-1 the highest; with priorities, a higher priority means a
 * higher rank. Every parameter called `rank` and every element of an elect_set is a rank;
 * config.id[rank] is the number.
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
#define ELECT_MAX       64    /* maximum number of processes, so that a set fits in 64 bits */
#define ELECT_MAX_ID    65535 /* highest number of a process */
#define ELECT_MAX_SENDS 6
#define ELECT_MAX_QUEUE 64        /* maximum number of messages in a ring link's queue */
#define ELECT_MAX_BYTES 1024      /* maximum size of an encoded message */
#define ELECT_NOBODY    0xff      /* no process, where a rank is expected */
#define ELECT_UNSET     INT64_MIN /* no time is set; earlier than any time */

typedef uint64_t elect_set;  /* a set of ranks */
typedef int64_t elect_time;  /* the process's clock, in a unit that the host chooses */
typedef uint64_t elect_term; /* counter * 2^16 + id of the owner; also the fencing token */

static inline uint64_t elect_term_counter(elect_term term) { return term >> 16; }
/* Returns the number of the only process that may use the term. */
static inline uint16_t elect_term_owner(elect_term term) { return (uint16_t)term; }
static inline elect_term elect_term_make(uint64_t counter, uint16_t owner)
{
    return counter << 16 | owner;
}
/* Writes a term as text, such as "5.1" for counter 5 and owner 1, and returns `text`. */
#define ELECT_TERM_TEXT 24
const char *elect_term_text(elect_term term, char text[ELECT_TERM_TEXT]);

/* name, the word that users write, description */
#define ELECT_ALGORITHMS(X)                                                                        \
    X(BULLY, "bully", "Garcia-Molina 1982: the highest process that answers takes over")           \
    X(RING, "ring", "Tanenbaum: a list goes round, the highest on it leads")                       \
    X(ACTIVE_RING, "active-ring", "every number goes round, and each process decides alone")       \
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
}; /* the processes that the winner of a bully election tells */
enum elect_state { ELECT_NORMAL, ELECT_ELECTING, ELECT_WAITING };

/* Says whether a majority of the voters must confirm a leader. */
enum elect_mandate_kind { ELECT_NO_MANDATE, ELECT_MAJORITY };

/* The events: from the host, messages, and timers. */
#define ELECT_EVENTS(X)                                                                            \
    X(START, "START")     /* host: this process has just started, or recovered */                  \
    X(SUSPECT, "SUSPECT") /* host: the leader has failed, or there is none */                      \
    X(STOPPED, "STOPPED") /* host: the leader's work has stopped */                                \
    X(RESIGN, "RESIGN")   /* host: hand over the office (elect_resigns(), elect_ordered()) */      \
    X(CHANGE, "CHANGE")   /* host: change the membership to the one in `message` */                \
    X(PAUSE, "PAUSE")     /* host: pause elections in the whole cluster */                         \
    X(RESUME, "RESUME")   /* host: resume elections */                                             \
    X(ASIDE, "ASIDE")     /* host: stand aside: vote, but seek no office */                        \
    X(READY, "READY")     /* host: stand ready to seek an office again */                          \
    X(ALARM, "alarm")     /* host: the time given by elect_alarm() has come */                     \
    X(ELECTION, "ELECTION")                                                                        \
    X(OK, "OK")                                                                                    \
    X(COORDINATOR, "COORDINATOR")                                                                  \
    X(NOTICE, "NOTICE") /* tells lower processes that an election has started */                   \
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
 * The rules. Every step has exactly one rule, which says why the process acts as it does, or why it
 * does nothing. The core never formats text; a program that prints the text replaces %p (the
 * process), %a and %b (the rule's arguments), %h (the processes higher than %p) and %l (the list in
 * the message). Quiet rules concern housekeeping, such as the renewal of a lease.
 */
#define ELECT_LOUD  false
#define ELECT_QUIET true
#define ELECT_RULES(X)                                                                             \
    /* rules of all algorithms */                                                                  \
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
    /* rules of the bully algorithm */                                                             \
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
    /* rules of all ring algorithms */                                                             \
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
    /* rules of the ring with a list */                                                            \
    X(APPENDS, ELECT_LOUD, "%p adds itself to the list and passes it on")                          \
    X(LIST_BACK, ELECT_LOUD, "%p's list %l has come back -> %p announces the highest, %b")         \
    X(ORPHAN, ELECT_LOUD,                                                                          \
      "%a has died and left the list %l behind -> %p announces the highest, %b")                   \
    X(ANNOUNCED_BEFORE, ELECT_LOUD, "%p has already announced this -> it drops the message")       \
    X(ACCEPTS, ELECT_LOUD, "%b is the highest of the list -> %p follows %b")                       \
    X(OUTRANKED, ELECT_LOUD, "%p follows %b, which is higher -> it only passes the message on")    \
    X(IS_HIGHEST, ELECT_LOUD, "%p is the highest of the list -> it leads")                         \
    X(ANNOUNCEMENT_BACK, ELECT_LOUD, "%p's announcement has come back -> %p removes it")           \
    /* rules of the ring with an active list */                                                    \
    X(JOINS, ELECT_LOUD, "%a is the first number that %p sees -> %p sends its own, then %a")       \
    X(ADDS, ELECT_LOUD, "%a is new to %p -> %p adds it and passes it on")                          \
    X(KNOWS, ELECT_LOUD, "%a is already on the active list of %p -> %p drops it")                  \
    X(DECIDES, ELECT_LOUD, "%p's number has come back, so its list is complete -> %p follows %b")  \
    X(DECIDES_ITSELF, ELECT_LOUD,                                                                  \
      "%p's number has come back, so its list is complete -> %p leads")                            \
    /* rules of the Chang & Roberts ring */                                                        \
    X(PASSES_HIGHER, ELECT_LOUD, "%a is higher than %p -> %p passes it on")                        \
    X(REPLACES_LOWER, ELECT_LOUD, "%a is lower than %p -> %p sends its own number instead")        \
    X(SWALLOWS_LOWER, ELECT_LOUD, "%a is lower and %p already takes part -> %p swallows it")       \
    X(OWN_NUMBER_BACK, ELECT_LOUD, "%p's number has come back -> %p leads")                        \
    X(ELECTED_FOLLOWS, ELECT_LOUD, "%a is elected -> %p follows %a and passes it on")              \
    X(ELECTED_BACK, ELECT_LOUD, "every process has seen the announcement -> %p removes it")        \
    /* rules of the mandate, for voters */                                                         \
    X(GRANTS, ELECT_LOUD, "%a asks for a mandate, and no other grant binds %p -> %p grants")       \
    X(GRANTS_AGAIN, ELECT_QUIET, "%p renews its grant to %a")                                      \
    X(SAYS_AYE, ELECT_LOUD, "%a asks first, and no other grant binds %p -> %p would grant")        \
    X(REFUSES_CONFIG, ELECT_LOUD,                                                                  \
      "%a counts other voters or asks for too long a lease -> %p refuses")                         \
    X(REFUSES_BOOT, ELECT_LOUD, "%p has just started and may have granted before -> it refuses")   \
    X(REFUSES_CLOSED, ELECT_LOUD, "that term is over -> %p refuses")                               \
    X(REFUSES_STALE, ELECT_LOUD, "%p has granted a larger term -> it refuses")                     \
    X(REFUSES_HELD, ELECT_LOUD, "%p has granted %b a lease that still runs -> %p refuses %a")      \
    X(TERM_IS_OVER, ELECT_LOUD, "%a has released this term -> %p notes that it is over")           \
    X(OFFICE_RELEASED, ELECT_LOUD, "%a has released its term -> %p looks for a leader")            \
    /* rules of the mandate, for the presence of members */                                        \
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
    /* rules of the mandate, for candidates and leaders */                                         \
    X(PREVOTES, ELECT_LOUD, "%p is nominated -> it asks whether a majority would grant")           \
    X(CONFIRMS, ELECT_LOUD, "a majority would grant -> %p asks for a mandate")                     \
    X(CERTIFIED, ELECT_LOUD, "%a has released its term -> %p asks for a mandate")                  \
    X(TAKES_OFFICE, ELECT_LOUD, "a majority of the voters granted the mandate -> %p leads")        \
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
    /* rules of the mandate, for hand-overs */                                                     \
    X(RESIGNS, ELECT_LOUD, "%p resigns -> it renews its lease until its work has stopped")         \
    X(GIVES_PLACE, ELECT_LOUD, "%a is fitter and asks to lead -> %p resigns and stops its work")   \
    X(HANDS_OVER, ELECT_LOUD, "the work of %p has stopped -> %p hands over to %b")                 \
    X(RESIGNS_ALREADY, ELECT_LOUD, "%p is already resigning -> it does nothing")                   \
    X(HAS_NO_OFFICE, ELECT_LOUD, "%p does not lead -> it does nothing")                            \
    X(OTHER_TERM, ELECT_LOUD, "the order names another term -> %p keeps its office")               \
    X(CANNOT_LEAD, ELECT_LOUD,                                                                     \
      "only another member that may lead can take over -> %p does nothing")                        \
    X(SUCCESSOR_ASIDE, ELECT_LOUD, "%a stands aside and would not lead -> %p keeps its office")    \
    X(DECLINES, ELECT_LOUD, "%p stands aside -> it declines the office that %a hands over")        \
    /* rules of the mandate, for changes of the membership */                                      \
    X(CHANGES_MEMBERS, ELECT_LOUD,                                                                 \
      "%p changes the membership -> it asks the old and the new majority")                         \
    X(MEMBERS_CHANGED, ELECT_LOUD, "both majorities have granted -> the membership has changed")   \
    X(CHANGE_TOO_SOON, ELECT_LOUD,                                                                 \
      "the previous membership change is not confirmed yet -> %p does nothing")                    \
    X(CHANGE_TOO_LARGE, ELECT_LOUD,                                                                \
      "the new membership lacks %p as a member, changes several voters, or contains a process "    \
      "that is not a known voter -> %p does nothing")                                              \
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
    uint8_t a, b;   /* arguments: ranks or ELECT_NOBODY */
};

/* The reason for a refusal. */
#define ELECT_REFUSALS(X)                                                                          \
    X(CONFIG, "config") /* the candidate has a duplicate id, or a wrong membership or lease */     \
    X(BOOT, "boot")     /* the voter has just started and may have granted another term before */  \
    X(CLOSED, "closed") /* the term, or a later term of its owner, has ended */                    \
    X(STALE, "stale")   /* the voter has promised a larger term */                                 \
    X(HELD, "held")     /* another process holds the voter's grant */

enum elect_refusal {
#define X(name, word) ELECT_REFUSED_##name,
    ELECT_REFUSALS(X)
#undef X
        ELECT_REFUSAL_COUNT
};

/*
 * The membership: which processes vote, and which of them may lead. A leader changes the membership
 * by one voter at a time. Until the change is confirmed, every decision needs a majority of both
 * the new and the previous voters.
 */
struct elect_membership {
    elect_term stamp; /* term of the leader that made it; 0 if it is from the configuration */
    elect_set members, voters; /* may lead; may vote */
    elect_set before; /* the previous voters; equal to `voters` once the change is confirmed */
    uint32_t version;
    uint32_t unused;
};

/* The configuration, which must be the same on all members. elect_config_init() fills it in;
 * `form`, `announce`, `tell_lower`, `detector`, `reliable` and the durations may be changed
 * afterwards. */
struct elect_config {
    uint8_t algorithm; /* enum elect_algorithm */
    uint8_t form;      /* enum elect_form */
    uint8_t announce;  /* enum elect_announce */
    bool tell_lower;   /* bully: send NOTICE to lower processes when an election begins */
    bool detector;     /* the leader sends heartbeats, and is suspected if they stop */
    bool reliable;     /* no message is lost and no process fails, so a ring needs no acks */
    uint8_t n;
    uint8_t ring[ELECT_MAX];   /* place on the ring -> rank */
    uint8_t place[ELECT_MAX];  /* rank -> place on the ring */
    uint16_t id[ELECT_MAX];    /* rank -> number; ascending unless there are priorities */
    uint8_t mandate;           /* enum elect_mandate_kind */
    bool stable;               /* elections never disturb a leader (false only in simulations) */
    bool preempt;              /* a follower fitter than its leader takes over */
    uint32_t preempt_after;    /* how long that follower waits first */
    uint32_t decay;            /* interval at which penalties are halved */
    uint32_t digest;           /* hash of the fields that must be equal on all members */
    elect_set members;         /* the initial members, which may lead and vote */
    elect_set voters;          /* the initial voters: members and witnesses */
    uint32_t version;          /* version of the initial membership */
    uint32_t lease, max_lease; /* the lease, D; the longest lease that a voter grants */
    uint32_t renewal;          /* R: interval between a leader's rounds */
    uint32_t drift;            /* rho: the largest error of a clock's rate, in millionths */
    uint32_t grain;            /* epsilon, at least 1: the resolution of a clock */
    uint32_t processing_bound; /* T_p: the longest time to handle a message, including a write */
    uint32_t answer_bound;     /* T = 2 T_m + T_p */
    /* Timer durations in the host's unit of time, indexed by timer - ELECT_FIRST_TIMER. */
    uint32_t duration[ELECT_TIMER_COUNT];
};

/* A message. Fields that its type does not use are 0. The names in a union share one value, whose
 * meaning depends on the type. */
struct elect_message {
    union {
        elect_set list;  /* rings: processes that have joined the list */
        elect_set heard; /* PRESENT: processes that the sender has heard from recently */
        elect_set roll;  /* REQUEST: processes that the sender has heard from recently */
    };
    union {
        uint32_t round;    /* round of the ring or of the mandate; bully: 0 */
        uint32_t question; /* number of a FORGOT, repeated by its REMEMBERS */
    };
    union {
        uint32_t seen;  /* ACK: a round that has been decided; the receiver begins a later one */
        uint32_t aside; /* mandate: the sender stands aside */
    };
    uint8_t type;    /* enum elect_event */
    uint8_t what;    /* ACK, REFUSE: type of the message that it answers */
    uint8_t origin;  /* rings: the process whose number or list is sent; mandate: the sender */
    uint8_t leading; /* REQUEST: the sender leads */
    uint8_t reason;  /* REFUSE: enum elect_refusal */
    uint8_t heir; /* REQUEST, FOLLOWING, RELEASE, HAND: the next leader; ELECT_NOBODY: not named */
    uint8_t penalty; /* mandate: the sender's penalties */
    union {
        uint8_t able;   /* PRESENT: the sender could win an election */
        uint8_t claims; /* GRANT: the sender claims the office of its leader */
    };
    uint32_t pause, digest; /* mandate: the sender's pause count and configuration digest */
    elect_term term;        /* mandate: the term in question */
    union {
        elect_term certificate; /* REQUEST, PREVOTE: the predecessor's released term; 0: none */
        elect_term in_the_way;  /* REFUSE: the term that prevents the grant */
    };
    union {
        uint32_t incarnation; /* the sender's incarnation; an answer repeats that of the question */
        uint32_t last_met;    /* REMEMBERS: the receiver's latest known incarnation */
    };
    uint32_t certified_by;              /* incarnation of the process that released `certificate` */
    struct elect_membership membership; /* the sender's membership; not in every message */
    uint32_t lease; /* the lease requested, also in answers; REMEMBERS: the longest lease granted */
    union {
        uint32_t remaining; /* REFUSE with BOOT or HELD: how much longer the voter must refuse */
        uint32_t valid_for; /* FOLLOWING: how long it remains valid */
    };
};

/* A message in a ring link's queue. Its round is not stored: it is always the node's. */
struct elect_hop {
    elect_set set;
    uint8_t type, origin;
    uint8_t unused[6];
};

/* An incarnation is an era times ELECT_STARTS, plus the number of starts in that era. Each loss of
 * the state begins a new era. Within an era a process never uses a term twice, so it must never
 * start so often that its incarnation reaches the next era. At one start a second, an era lasts for
 * 12 days. There are enough eras for 4,094 losses of the state. */
#define ELECT_STARTS                  (1u << 20)
#define ELECT_ERA(incarnation)        ((incarnation) / ELECT_STARTS)
#define ELECT_LAST_START(incarnation) ((incarnation) % ELECT_STARTS == ELECT_STARTS - 1)

/*
 * The state that must survive a crash. The arrays and sets in the state use ranks, so the state is
 * meaningful only with the configuration under which it was saved. A host that may start with other
 * members or other priorities must also save config.id, and call elect_saved_translate() when it
 * starts.
 *
 * No counter overflows in practice. The counter of a term has 48 bits. A process that is new or has
 * lost its state accepts any counter up to 2^47, because it cannot check what the others report.
 * One message from a faulty member can therefore raise the terms of such a process so far that the
 * others reject them; the process must then be readmitted. `pause` counts pauses and resumptions up
 * to 2^32 - 1. The maximum is odd, so elections remain paused once `pause` has reached it. The
 * number of a ring round, and the count of a leader's rounds since its start
 * (mandate.leader.rounds), wrap at 2^32, which takes 27 years at five rounds a second.
 */
struct elect_saved {
    elect_term promised; /* largest term granted to any process */
    elect_term used;     /* largest term used by this process itself */
    /* For each owner, its largest term known to have ended. A change requests no write, but is
     * saved by the next one. */
    elect_term closed[ELECT_MAX];
    struct elect_membership membership;
    uint32_t met[ELECT_MAX]; /* by process: its latest known incarnation, saved by the next write */
    uint32_t longest;        /* D_max: the longest lease that this process has granted */
    uint32_t incarnation;    /* increases with every start; a loss of the state begins a new era */
    uint32_t round;          /* rings: the latest ring round that this process knows */
    uint32_t pause;          /* number of pauses and resumptions; odd while elections are paused */
};

/* The times of the mandate, in one array so that elect_shift() can change them all. */
enum elect_time_name {
    ELECT_EXPIRES,     /* voter: the end of the latest grant */
    ELECT_GUARD,       /* voter: the end of the guard after a start */
    ELECT_UNTIL,       /* leader: the end of the office */
    ELECT_RENEW,       /* candidate, leader: when to send the next round */
    ELECT_GIVE_UP,     /* candidate: when the candidacy fails for lack of answers */
    ELECT_RETRY,       /* nominee: when to ask for a mandate again */
    ELECT_LOOK,        /* process without a leader: when to send PRESENT again */
    ELECT_BEGIN,       /* process without a leader: when it may begin an election */
    ELECT_CLAIM,       /* process fitter than its leader: when it may claim the office */
    ELECT_DECAY,       /* process with penalties: when its penalties are next halved */
    ELECT_NEXT_CHANGE, /* leader: when the membership may be changed again */
    ELECT_STANDS,      /* candidate: when it began to wait for answers */
    ELECT_SENT,        /* candidate, leader: when it sent each of the remembered rounds */
    ELECT_TIMES = ELECT_SENT + 4
};
#define ELECT_ROUNDS (ELECT_TIMES - ELECT_SENT)

/* The stages of a readmission: the process asks the others, waits until its old grants have
 * expired, and asks once more before it votes again. */
enum elect_readmission_stage {
    ELECT_NOT_LOST,
    ELECT_ASKING,
    ELECT_WAITING_IT_OUT,
    ELECT_ASKING_AGAIN
};

/* The reason for a hand-over. During a hand-over, the process no longer leads, but it renews its
 * office until its work has stopped. */
enum elect_handing { ELECT_NOT_HANDING, ELECT_RESIGNING, ELECT_GIVING_PLACE };

enum elect_candidacy { ELECT_NO_CANDIDATE, ELECT_PREVOTING, ELECT_CONFIRMING };

/* The latest grant that a voter has given. */
struct elect_voter {
    elect_term granted;
    uint32_t holder_incarnation;
    uint32_t longest; /* longest lease granted since the start */
    uint8_t holder;
    uint8_t unused[7];
};

/* A nominated process's attempt to win a mandate. */
struct elect_candidate {
    elect_term asked;        /* term that the candidate asks for (PREVOTE or REQUEST) */
    elect_term certificate;  /* 0 if none */
    elect_set ayes, refused; /* voters that answered AYE or REFUSE */
    uint32_t prevote_round;
    uint32_t certified_by;
    uint32_t wait[ELECT_MAX]; /* by voter: how long its refusal lasts; 0 if no wait is needed */
    uint8_t stage;            /* enum elect_candidacy */
    uint8_t attempts;         /* failed candidacies in a row */
    bool nominated;
    uint8_t unused[5];
};

/* A leader's office, and the rounds that win and renew it. */
struct elect_leader {
    elect_term token; /* term of the office; 0 if none */
    elect_term term;  /* the term that the rounds ask for; above the token during a candidacy */
    elect_set stale;  /* voters that have promised another process a larger term */
    struct {
        elect_term term;
        elect_set voters;
        uint32_t number, lease;
    } round[ELECT_ROUNDS];
    uint32_t rounds;     /* rounds sent by this incarnation, including PREVOTEs */
    uint32_t changed_in; /* first round with the current membership */
    bool working;        /* the office has ended or is ending, but its work goes on */
    uint8_t handing;     /* enum elect_handing */
    uint8_t successor;   /* process named to take over; ELECT_NOBODY: the heir */
    uint8_t unused[5];
};

/* A process's view of the others. */
struct elect_presence {
    elect_term followed;            /* term of the last office that this process followed */
    elect_set able;                 /* processes that could win an election */
    elect_set aside;                /* processes that stand aside; may include this one */
    elect_set differ;               /* processes with another configuration */
    elect_time heard[ELECT_MAX];    /* by process: when its last message arrived */
    elect_time heard_me[ELECT_MAX]; /* by process: when it last confirmed hearing this one */
    uint8_t penalty[ELECT_MAX];     /* by process: penalties that it reports */
    uint8_t penalties;              /* this process's penalties; fewer is fitter */
    uint8_t follows;                /* this process's leader; ELECT_NOBODY if none */
    uint8_t heir;                   /* the next leader, named by the current one */
    bool told;     /* the leader is known only from a FOLLOWING, not from a REQUEST */
    bool restless; /* an election is wanted as soon as it is permitted */
    uint8_t unused[3];
};

struct elect_readmission {
    elect_set remembering; /* processes that have answered the current FORGOT */
    uint32_t question;
    uint8_t stage; /* enum elect_readmission_stage */
    uint8_t unused[3];
};

struct elect_mandate {
    elect_time time[ELECT_TIMES];
    elect_term seen;
    struct elect_voter voter;
    struct elect_candidate candidate;
    struct elect_leader leader;
    struct elect_presence presence;
    struct elect_readmission readmission;
};

struct elect_node {
    elect_set active; /* active-ring: processes seen in this round */
    elect_set silent; /* rings: processes that did not acknowledge a message in this round */
    /* rings: origins of the election messages ([0]) and announcements ([1]) passed on in this
     * round */
    elect_set passed[2];
    uint8_t me, state, leader; /* ranks; `state` is an enum elect_state */
    uint8_t running;           /* running timers: a set of ELECT_TIMER_BIT */
    uint8_t queued, next;      /* length of queue[]; receiver of queue[0] */
    bool mandated;
    uint8_t unused[1];
    struct elect_saved saved;
    struct elect_mandate mandate;
    struct elect_hop queue[ELECT_MAX_QUEUE];
};

struct elect_input {
    uint8_t event; /* enum elect_event */
    uint8_t from;  /* the sender of a message, or the successor for RESIGN; else ELECT_NOBODY */
    elect_time now;
    struct elect_message message;
};

struct elect_send {
    elect_set to;
    struct elect_message message;
};

/* The host's tasks after a step, in this order: persist, deposit, send, stop timers, start timers
 * (again), announce. */
struct elect_output {
    bool persist; /* write node->saved so that it survives a crash, before anything is sent */
    bool deposit; /* a new term is in use: deposit elect_testament() before anything is sent */
    uint8_t sends;
    struct elect_send send[ELECT_MAX_SENDS];
    uint32_t stop, start; /* sets of ELECT_TIMER_BIT; durations are in config->duration */
    bool announced;       /* the leader, the token or the progress of a hand-over has changed */
    struct elect_rule rule;
};

enum elect_error {
    ELECT_FINE,
    ELECT_EMPTY,
    ELECT_TOO_MANY,
    ELECT_TWICE,
    ELECT_TOO_LONG,
    ELECT_LEASE_TOO_SHORT,   /* the answers could not arrive within the lease, or `grain` is 0 */
    ELECT_RENEWAL_TOO_LONG,  /* the renewal interval exceeds a third of elect_office_length() */
    ELECT_RENEWAL_TOO_SHORT, /* more rounds would be in flight than a leader remembers */
    ELECT_NO_SUCH_ROLE,      /* no process may lead, a member has no vote, or a voter is unknown */
    ELECT_DRIFT_TOO_LARGE,   /* the drift is at least half a second per second */
    ELECT_UNKNOWN_ALGORITHM
};

/* Fills in a configuration without a mandate. `ids` are in the order of the ring. `message_bound`
 * (T_m) is the longest time that a message takes to arrive, and `processing_bound` (T_p) is the
 * longest time to process it; both are in the host's unit of time. */
enum elect_error elect_config_init(struct elect_config *config, enum elect_algorithm algorithm,
                                   const uint16_t *ids, size_t n, uint32_t message_bound,
                                   uint32_t processing_bound);

/* Ranks the processes by priority, then by number. priority[i] is the priority of the process at
 * place i of the ring. Call this function before any function that uses a rank. */
void elect_config_priorities(struct elect_config *config, const uint8_t *priority);

/*
 * Requires a mandate: a majority must confirm a leader for one `lease` at a time, and the leader
 * renews the lease every `renewal`. `drift` is the largest error of the rate of a clock, in
 * millionths, and `grain` is the resolution of the clocks. If you set roles, `max_lease`, `preempt`
 * or `decay`, set them before this call.
 *
 * If `max_lease` is 0, this call sets it to twice `lease`. Do not reduce `max_lease` while a lease
 * of the old length may be in force: a member that has lost its state waits only for `max_lease`.
 */
enum elect_error elect_config_mandate(struct elect_config *config, uint32_t lease, uint32_t renewal,
                                      uint32_t drift, uint32_t grain);

/* Encodes a message, and returns the number of bytes. The encoding contains numbers instead of
 * ranks, because the receiver may have another configuration. */
size_t elect_encode(const struct elect_config *config, const struct elect_message *message,
                    uint8_t bytes[ELECT_MAX_BYTES]);

/* Decodes a message. Returns false if the bytes are malformed or name members that the
 * configuration does not have. Other checks are left to elect_step(). */
bool elect_decode(const struct elect_config *config, const uint8_t *bytes, size_t length,
                  struct elect_message *message);

/* `n` is at least 1. */
static inline elect_set elect_ranks_below(unsigned n) { return ~(elect_set)0 >> (ELECT_MAX - n); }

/* Includes processes that are not members. */
static inline elect_set elect_everyone(const struct elect_config *config)
{
    return elect_ranks_below(config->n);
}

/* Returns how long an office lasts under this lease: D (1-rho)/(1+rho) - epsilon. The office
 * therefore ends before any voter's lease does, even if the leader has the slowest clock and the
 * voter the fastest. */
int64_t elect_office_length(const struct elect_config *config, uint32_t lease);
/* Returns the shortest permitted office. In a shorter one, the answers that renew it could come too
 * late. */
int64_t elect_shortest_office(const struct elect_config *config);
/* Returns the shortest lease that elect_config_mandate() accepts with this drift and grain. */
int64_t elect_shortest_lease(const struct elect_config *config, uint32_t drift, uint32_t grain);

/*
 * Starts a process that follows `leader`, or no leader if `leader` is ELECT_NOBODY. The process
 * takes part in no election yet. `saved` is the state that the process persisted before it crashed,
 * or NULL if the process has never run. With this state, the process keeps its promises and takes
 * part in each round at most once. Under a mandate `leader` is ignored. If the saved incarnation is
 * the last of its era (ELECT_LAST_START), call elect_readmit() instead.
 */
void elect_init(const struct elect_config *config, struct elect_node *node, uint8_t me,
                uint8_t leader, const struct elect_saved *saved, elect_time now,
                struct elect_output *out);

/* Starts a process that ran before and has lost its saved state. The process asks the others, waits
 * for the longest lease, and only then votes or leads. Do not save anything until `persist` asks
 * for it. `question` is a number that identifies the questions of this process. The process must
 * never have used the same number before; the time in seconds since 1970 is suitable. */
void elect_readmit(const struct elect_config *config, struct elect_node *node, uint8_t me,
                   uint32_t question, elect_time now, struct elect_output *out);

/* Performs one step of `node` for the event `in`, and stores in `out` what the host must do. */
void elect_step(const struct elect_config *config, struct elect_node *node,
                const struct elect_input *in, struct elect_output *out);

/*
 * Translates saved state to this configuration. `id` and `n` are config.id and config.n of the
 * configuration under which the state was saved. If the saved membership contains a number that
 * this configuration does not have, returns false and stores that number in `unknown`. If the saved
 * membership contains a rank that is not below `n`, returns false and stores 0 in `unknown`. Drops
 * all other data about numbers that this configuration does not have. A dropped number must not be
 * used again unless the host keeps the saved.met of that number; otherwise a RELEASE that the
 * member sent before it lost its state would look valid.
 */
bool elect_saved_translate(const struct elect_config *config, const uint16_t *id, unsigned n,
                           struct elect_saved *saved, uint16_t *unknown);

/* Returns the message that a guardian sends for the process `rank` after that process has died. It
 * tells the other members that the process's term has ended. `term` is the process's saved.used at
 * the time of the deposit. */
struct elect_message elect_testament(const struct elect_config *config, uint8_t rank,
                                     elect_term term, uint32_t incarnation);

/* Inputs for elect_step(). `now` is the time by the process's clock; ignored without a mandate. */

/* Creates an event without arguments: from the host, ALARM, or an expired timer. */
struct elect_input elect_happens(enum elect_event event, elect_time now);
/* Creates RESIGN, which tells a leader to hand its office over to `successor`, or to its heir if
 * `successor` is ELECT_NOBODY. */
struct elect_input elect_resigns(uint8_t successor, elect_time now);
/* Creates a RESIGN that counts only in `term`. An order from another machine may arrive late or
 * several times; the process obeys it at most once. */
struct elect_input elect_ordered(uint8_t successor, elect_term term, elect_time now);
/* Creates CHANGE, which tells a leader which processes may lead and vote from now on. */
struct elect_input elect_changes(elect_set members, elect_set voters, elect_time now);
struct elect_input elect_received(uint8_t from, const struct elect_message *message,
                                  elect_time now);

/* Returns true if the process leads. Call this function with the current time before every action
 * that only a leader may take. */
bool elect_leads(const struct elect_node *node, elect_time now);
/* Returns true if the process holds an office, so that no other process can lead. During a
 * resignation, the process no longer leads, but holds its office until its work has stopped. */
bool elect_in_office(const struct elect_node *node, elect_time now);
bool elect_paused(const struct elect_node *node);
/*
 * Returns the processes that stand aside, as far as this process knows. The set may include this
 * process. A process that stands aside votes, and keeps an office that it holds, but neither seeks
 * nor inherits another office. Standing aside is not saved, so the host must report ASIDE or READY
 * after every start. Standing aside has an effect only under a mandate with `stable`.
 */
elect_set elect_aside(const struct elect_node *node);
/* Returns the process that would take over if the leader resigned now; ELECT_NOBODY if there is
 * none, or if this process holds no office. */
uint8_t elect_successor(const struct elect_config *config, const struct elect_node *node,
                        elect_time now);
/* Returns the fencing token, which is the term of the office; 0 if the process holds no office. */
elect_term elect_token(const struct elect_node *node);
/* Returns when the office ends unless it is renewed, by the process's clock; ELECT_UNSET if the
 * process holds no office. */
elect_time elect_until(const struct elect_node *node);
/* Returns true if the leader's work must stop because its office has ended or is being handed over.
 * The host reports STOPPED once the work has stopped. */
bool elect_must_stop(const struct elect_node *node);
/* Returns the time at which the host must report ALARM; INT64_MAX means never. */
elect_time elect_alarm(const struct elect_node *node);
/* Adds `by` to all times of the node. Use this function after the host's clock has been set, or to
 * compare nodes. */
void elect_shift(struct elect_node *node, elect_time by);
/* Returns the rank of the process with this number; ELECT_NOBODY if there is none. */
uint8_t elect_rank(const struct elect_config *config, uint32_t id);
/* Returns true if the algorithm sends messages of this type under this configuration. */
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
