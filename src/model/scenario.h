/*
 * Scenario files: settings, then steps, one a line; below ---- the story that they must tell.
 *
 *     # The coordinator of eight has crashed; process 4 is the first to notice.
 *     algorithm bully
 *     processes 0..7
 *     down 7
 *     suspect 4
 *     run
 *     ----
 *     [0] 4 suspects 7 -> begins an election
 *     ...
 *
 * The settings are those of setup.h, a switch takes on or off. The steps:
 *
 *     suspect ID ...                   these processes notice, by hand, that the leader has failed
 *     run [until TIME]                 let time pass, to rest or through TIME
 *     crash ID [at TIME]               now, or when that time comes
 *     recover ID [at TIME]
 *     cut 0 1 2 / 3 4 [at TIME]        nothing passes between the parts
 *     heal [at TIME]
 *     one-way 0 1 / 2 3 [at TIME]      the first part is not heard by the second
 *     pause ID TICKS [at TIME]         the process stands still, its clock does not
 *     clock ID MILLIONTHS [at TIME]    its clock runs by so much too fast, or (-) too slow
 *     disk ID TICKS [at TIME]          its writes take so long from now on
 *     tick ID TICKS [at TIME]          its clock jumps on by so much
 *     due ID WHAT                      for it the time has come, whatever its clock says: lease (of
 *                                      what it granted), guard, office, renewal, patience, retry,
 *                                      look, election, claim or decay
 *     resign ID [at TIME]              it hands its office over, to whoever comes next
 *     transfer ID TO [at TIME]         it hands its office over, to that one
 *     order ID COUNTER [at TIME]       an order to resign in that term of its own reaches it
 *     testament ID [at TIME]           it crashes, and its guardian says so
 *     pause-elections ID [at TIME]     it is told that no leader is to change by itself
 *     resume-elections ID [at TIME]    and that it may again
 *     add|remove ID [at TIME]          the leader is told: it becomes a member, or votes no more
 *     readmit ID [at TIME]             one that is down comes back, and has lost its state
 *     wins ID                          it is nominated, whoever else is there
 *     new-lease TICKS [at TIME]        all are told of another lease
 *     freeze ID TICKS [at TIME]        the process stands still, and so does its clock
 *     backup|restore|wipe ID [at TIME] its disk is copied; is, while it is down, what it was then,
 *                                      or lost
 *     clone|swap ID [at TIME]          it is copied as it is; its clone takes its place
 *     wait TIME                        time passes, and nothing happens but by hand
 *     alarm ID                         it is told the time
 *     stopped ID                       the work of its office, which is over, has stopped
 *     hears ID N                       it hears of terms up to N
 *     assent ID                        everybody says that it would grant what it asks for
 *     refuse ID stale|closed N         its own voter says that it has promised N, or that the term
 *                                      of its office is over
 *     deliver|lose|duplicate A > B TYPE    the oldest such message; or ELECTION(3), ELECTION[1 2],
 *                                      GRANT(2.1), GRANT(2.1 round 3 life 1)
 *     late A > B TYPE until TIME       it does not arrive before that time
 *     fire ID TIMER                    hop, answer, deadline, ring, heartbeat or suspicion
 *     mark                             remember the world as it is now
 *     check PROPERTY                   does it hold now; of the future, if time alone goes on, or
 *                                      (termination) back at the mark, if it can go on for ever
 */
#ifndef ELECT_MODEL_SCENARIO_H
#define ELECT_MODEL_SCENARIO_H

#include "play.h"
#include "setup.h"

#define SCENARIO_MAX_STEPS   4096
#define SCENARIO_MAX_MESSAGE 128

/* Besides these, every fault is a verb. */
#define SCENARIO_VERBS(X)                                                                          \
    X(SUSPECT, "suspect")                                                                          \
    X(RUN, "run")                                                                                  \
    X(WAIT, "wait")                                                                                \
    X(ALARM, "alarm")                                                                              \
    X(DUE, "due")                                                                                  \
    X(STOPPED, "stopped")                                                                          \
    X(HEARS, "hears")                                                                              \
    X(ASSENT, "assent")                                                                            \
    X(REFUSE, "refuse")                                                                            \
    X(DELIVER, "deliver")                                                                          \
    X(LOSE, "lose")                                                                                \
    X(DUPLICATE, "duplicate")                                                                      \
    X(LATE, "late")                                                                                \
    X(FIRE, "fire")                                                                                \
    X(MARK, "mark")                                                                                \
    X(CHECK, "check")

enum scenario_verb {
#define X(name, word) VERB_##name,
    SCENARIO_VERBS(X)
#undef X
        VERB_FAULT
};

/* Why a voter refuses, by hand. */
#define SCENARIO_REFUSALS "stale", "closed"
enum scenario_refusal { SCENARIO_STALE, SCENARIO_CLOSED };

#define SCENARIO_STORY "----" /* the line above the story */

struct step {
    uint8_t verb; /* enum scenario_verb */
    uint8_t rank, to, event;
    bool timed;
    uint64_t time;
    struct fault fault;
    char message[SCENARIO_MAX_MESSAGE]; /* with its content, if that is given */
    unsigned line;
};

struct scenario {
    struct setup setup;
    struct elect_config config;
    bool configured;
    unsigned steps;
    struct step step[SCENARIO_MAX_STEPS];
    bool expects;           /* there is a ---- line */
    size_t expected_offset; /* where the text behind it begins */
};

/* Each false with a complaint and the line it is about. `text` ends in NUL. */
bool scenario_parse(struct scenario *s, const char *text, struct text *complaint, unsigned *line);
bool scenario_play(const struct scenario *s, struct play *p, struct text *complaint,
                   unsigned *line);

#endif
