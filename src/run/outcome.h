/* Whether the end of a command hands leadership over (--on-exit). */
#ifndef ELECT_RUN_OUTCOME_H
#define ELECT_RUN_OUTCOME_H

#include "run.h"

struct outcome {
    uint8_t flags; /* TALK_YIELDS and TALK_FAILED, for EMPTY */
    char why[TALK_WHY];
};

enum ended_part { ENDED_COMMAND, ENDED_RUNNER, ENDED_KEEPER };

/* Returns true if a signal told elect run to end: TERM, INT, or any other that the command died
 * from. Many commands survive HUP and QUIT, and count as failed if they fail later. */
bool outcome_was_told(const struct page *page, int status);

/* Returns whether and why the member hands leadership over after this part of the run has ended.
 * `status` is the command's exit status, unused for other parts. Work that was stopped because
 * leadership was lost, or elect run was told to end, does not count as failed. */
struct outcome outcome_of(const struct run_options *o, const struct page *page,
                          enum ended_part part, int status);

void outcome_describe(const struct page *page, bool known, int status, char *how, size_t room);

const char *outcome_signal(int number);

bool outcome_yields_if_killed(const struct run_options *o);

#endif
