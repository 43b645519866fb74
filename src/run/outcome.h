/* Determines whether the end of a command hands leadership over (--on-exit). */
#ifndef ELECT_RUN_OUTCOME_H
#define ELECT_RUN_OUTCOME_H

#include "run.h"

struct outcome {
    uint8_t flags; /* TALK_YIELDS and TALK_FAILED, for the packet EMPTY */
    char why[TALK_WHY];
};

/* The part of the run that ended: the command, or a process of elect run that was killed. */
enum ended_part { ENDED_COMMAND, ENDED_RUNNER, ENDED_KEEPER };

/* Returns true if a signal has told elect run to end: TERM or INT, or HUP or QUIT if the command
 * died from that signal. Many commands survive HUP and QUIT; if such a command fails later, it
 * counts as failed. */
bool outcome_was_told(const struct page *page, int status);

/* Returns whether the member hands leadership over because this part of the run has ended, and why.
 * `status` is the exit status of the command; it has no meaning if another part ended. Work does
 * not count as failed if it was stopped because leadership was lost, or because elect run was told
 * to end. */
struct outcome outcome_of(const struct run_options *o, const struct page *page,
                          enum ended_part part, int status);

/* Writes how the command ended, for the user. `known` is false if the keeper did not report it. */
void outcome_describe(const struct page *page, bool known, int status, char *how, size_t room);

/* Returns the name of a signal, such as SIGTERM. */
const char *outcome_signal(int number);

/* Returns true if the member hands leadership over when a process of elect run is killed. */
bool outcome_yields_if_killed(const struct run_options *o);

#endif
