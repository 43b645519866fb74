/*
 * Scenario files: settings, then steps, one on each line; below ----, the trace that they must
 * produce.
 *
 *     # The coordinator of eight has crashed; process 4 is the first to notice.
 *     algorithm bully
 *     processes 0..7
 *     down 7
 *     suspect 4
 *     run
 *     ----
 *     [0] 4 suspects 7 -> 4 begins an election
 *     ...
 *
 * setup.h lists the settings; a switch is on or off. The steps:
 *
 *     suspect ID ...                   these processes notice that the leader has failed
 *     run [until TIME]                 let time pass, until the world is at rest or through TIME
 *     crash ID [at TIME]               the process crashes, now or at that time
 *     recover ID [at TIME]             it starts again
 *     cut 0 1 2 / 3 4 [at TIME]        no message passes between the parts
 *     heal [at TIME]                   all cuts end
 *     one-way 0 1 / 2 3 [at TIME]      the second part does not receive from the first
 *     pause ID TICKS [at TIME]         the process stands still; its clock runs on
 *     clock ID MILLIONTHS [at TIME]    its clock runs too fast or, if negative, too slow
 *     disk ID TICKS [at TIME]          each of its writes takes so long from now on
 *     tick ID TICKS [at TIME]          its clock jumps forward
 *     due ID WHAT                      one of its times has come, whatever its clock shows: lease
 *                                      (of its grant), guard, office, renewal, patience, retry,
 *                                      look, election, claim, decay or change
 *     resign ID [at TIME]              it hands its office over to its heir
 *     transfer ID TO [at TIME]         it hands its office over to TO
 *     order ID COUNTER [at TIME]       an order to resign in that term of its own arrives
 *     testament ID [at TIME]           it crashes, and its guardian sends its testament
 *     pause-elections ID [at TIME]     it is told to pause elections
 *     resume-elections ID [at TIME]    it is told to resume them
 *     aside|ready ID [at TIME]         it is told to stand aside, or to stand ready again
 *     add|remove ID [at TIME]          the leader is told to add it to the membership or remove it
 *     readmit ID [at TIME]             a process that is down starts without its state
 *     wins ID                          it is nominated, even if a higher process is up
 *     new-lease TICKS [at TIME]        all processes use another lease from now on
 *     freeze ID TICKS [at TIME]        the process stands still, and so does its clock
 *     backup|restore|wipe ID [at TIME] a copy of its disk is kept; while it is down, its disk is
 *                                      replaced by that copy, or is lost
 *     clone|swap ID [at TIME]          it is copied with its disk; it and its clone change places
 *     wait TIME                        time passes, but messages and timers wait
 *     alarm ID                         it is told the time
 *     stopped ID                       the work of its office, which is over, has stopped
 *     hears ID N                       it hears of terms up to N
 *     assent ID                        all voters say that they would grant what it asks for
 *     refuse ID stale|closed N         its own voter says that it has promised N, or that the term
 *                                      of its office is over
 *     deliver|lose|duplicate A > B TYPE  the oldest such message; TYPE may include the content:
 *                                      ELECTION(3), ELECTION[1 2], GRANT(2.1) or
 *                                      GRANT(2.1 round 3 life 1)
 *     late A > B TYPE until TIME       the message does not arrive before that time
 *     fire ID TIMER                    hop, answer, deadline, ring, heartbeat or suspicion
 *     mark                             remember the world as it is now
 *     check PROPERTY                   check a property now, or one about the future: see
 *                                      play_check
 */
#ifndef ELECT_MODEL_SCENARIO_H
#define ELECT_MODEL_SCENARIO_H

#include "play.h"
#include "setup.h"

#define SCENARIO_MAX_STEPS   4096
#define SCENARIO_MAX_MESSAGE 128

/* Every fault is also a verb. */
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

/* The reasons for a refusal in `refuse`. */
#define SCENARIO_REFUSALS "stale", "closed"
enum scenario_refusal { SCENARIO_STALE, SCENARIO_CLOSED };

#define SCENARIO_STORY "----" /* the line above the expected trace */

struct step {
    uint8_t verb; /* enum scenario_verb */
    uint8_t rank, to, event;
    bool timed;
    uint64_t time;
    struct fault fault;
    char message[SCENARIO_MAX_MESSAGE]; /* the type with its content, or empty */
    unsigned line;
};

struct scenario {
    struct setup setup;
    struct elect_config config;
    bool configured;
    unsigned steps;
    struct step step[SCENARIO_MAX_STEPS];
    bool expects;           /* the file has a ---- line */
    size_t expected_offset; /* where the text below it begins */
};

/* Each of these functions returns false with a complaint and the number of the line that it
 * concerns. `text` ends in NUL. */
bool scenario_parse(struct scenario *s, const char *text, struct text *complaint, unsigned *line);
bool scenario_play(const struct scenario *s, struct play *p, struct text *complaint,
                   unsigned *line);

#endif
