/* Determines what the end of a command means for leadership (--on-exit). */
#ifndef ELECT_RUN_OUTCOME_H
#define ELECT_RUN_OUTCOME_H

#include "run.h"

struct outcome {
    uint8_t flags; /* TALK_YIELDS, TALK_FAILED: sent with EMPTY */
    char why[TALK_WHY];
};

/* The part of the run that ended: the command, or a process of elect run that was killed. */
enum ended_part { ENDED_COMMAND, ENDED_RUNNER, ENDED_KEEPER };

/* Returns true if elect run was told to end: by TERM or INT, or by HUP or QUIT if the command died
 * from that signal. Many commands survive HUP and QUIT, and a failure long afterwards is a
 * failure. */
bool outcome_was_told(const struct page *page, int status);

/* Returns what the end of this part means. `status` is the exit status of the command; it has no
 * meaning unless the command ended. Work that was stopped because leadership was lost, or because
 * elect run was told to end, has not failed. */
struct outcome outcome_of(const struct run_options *o, const struct page *page,
                          enum ended_part part, int status);

/* Returns true if leadership is handed over when a process of elect run is killed. */
bool outcome_yields_if_killed(const struct run_options *o);

#endif
