/*
 * A scenario file contains settings, then steps, one on each line. The rest of the file, below a
 * line that consists of ----, is the trace that the steps must produce.
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
 * setup.h lists the settings; the value of a switch is on or off. The steps are:
 *
 *     suspect ID ...                   these processes notice that the leader has failed
 *     run [until TIME]                 time passes until the world is at rest, or through TIME
 *     crash ID [at TIME]               the process crashes, now or at TIME
 *     recover ID [at TIME]             the process starts again from its disk
 *     cut 0 1 2 / 3 4 [at TIME]        no message passes between the parts
 *     heal [at TIME]                   all cuts end
 *     one-way 0 1 / 2 3 [at TIME]      the second part receives no message from the first
 *     pause ID TICKS [at TIME]         the process stands still; its clock runs on
 *     clock ID MILLIONTHS [at TIME]    the clock of the process runs fast or, if negative, slow
 *     disk ID TICKS [at TIME]          each later write of the process takes TICKS
 *     tick ID TICKS [at TIME]          the clock of the process jumps forward by TICKS
 *     due ID WHAT                      a time of the process comes due, whatever its clock shows:
 *                                      lease (of its grant), guard, office, renewal, patience,
 *                                      retry, look, election, claim, decay or change
 *     resign ID [at TIME]              the process hands its office over to its heir
 *     transfer ID TO [at TIME]         the process hands its office over to TO
 *     order ID COUNTER [at TIME]       an order arrives that tells the process to resign in the
 *                                      term with this counter
 *     testament ID [at TIME]           the process crashes, and its guardian sends its testament
 *     pause-elections ID [at TIME]     the process is told to pause elections
 *     resume-elections ID [at TIME]    the process is told to resume elections
 *     aside|ready ID [at TIME]         the process is told to stand aside, or to stand ready again
 *     add|remove ID [at TIME]          the leader is told to add the process to the membership, or
 *                                      to remove it
 *     readmit ID [at TIME]             a process that is down starts without its state
 *     wins ID                          the process is nominated, even if a higher one is up
 *     new-lease TICKS [at TIME]        all processes use a lease of TICKS from now on
 *     freeze ID TICKS [at TIME]        the process and its clock stand still
 *     backup|restore|wipe ID [at TIME] the disk of the process is copied to a backup; while the
 *                                      process is down, its disk is replaced by the backup, or lost
 *     clone|swap ID [at TIME]          the process and its disk are copied; the process and its
 *                                      clone change places
 *     wait TIME                        time passes until TIME, but no message or timer is handled
 *     alarm ID                         the process receives ALARM
 *     stopped ID                       the work of an ended or resigned office has stopped
 *     hears ID N                       the process hears of a term with the counter N
 *     assent ID                        voters answer AYE until the process has a majority
 *     refuse ID stale|closed N         the process's own voter refuses, because it has promised a
 *                                      term with the counter N, or because the office has ended
 *     deliver|lose|duplicate A > B TYPE  the oldest such message is delivered, lost or duplicated;
 *                                      TYPE may include the content: ELECTION(3), ELECTION[1 2],
 *                                      GRANT(2.1) or GRANT(2.1 round 3 life 1)
 *     late A > B TYPE until TIME       the oldest such message does not arrive before TIME
 *     fire ID TIMER                    this timer of the process expires: hop, answer, deadline,
 *                                      ring, heartbeat or suspicion
 *     mark                             the current world is remembered as the mark
 *     check PROPERTY                   a property of the present or the future is checked: see
 *                                      play_check
 */
#ifndef ELECT_MODEL_SCENARIO_H
#define ELECT_MODEL_SCENARIO_H

#include "play.h"
#include "setup.h"

#define SCENARIO_MAX_STEPS   4096
#define SCENARIO_MAX_MESSAGE 128

/* The first words of steps. The faults of WORLD_FAULTS are such words, too. */
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

#define SCENARIO_REFUSALS "stale", "closed"
enum scenario_refusal { SCENARIO_STALE, SCENARIO_CLOSED };

#define SCENARIO_STORY "----" /* separates the steps from the expected trace */

struct step {
    uint8_t verb; /* enum scenario_verb */
    uint8_t rank, to, event;
    bool timed;
    uint64_t time;
    struct fault fault;
    char message[SCENARIO_MAX_MESSAGE]; /* as text; empty: any content matches */
    unsigned line;
};

struct scenario {
    struct setup setup;
    struct elect_config config;
    bool configured;
    unsigned steps;
    struct step step[SCENARIO_MAX_STEPS];
    bool expects; /* the file contains an expected trace */
    size_t expected_offset;
};

/* On failure, these return false with a complaint and the line at fault. `text` ends in NUL. */
bool scenario_parse(struct scenario *s, const char *text, struct text *complaint, unsigned *line);
bool scenario_play(const struct scenario *s, struct play *p, struct text *complaint,
                   unsigned *line);

#endif
