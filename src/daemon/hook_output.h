/*
 * Logs a hook's standard output and standard error. The hook parent reads them from a pipe and logs
 * each line with the hook's name, group and process id. It never waits for a reader of the log, so
 * a slow reader does not delay the hook. It reads until all processes of the hook have exited, so
 * they never write to a broken pipe. Long lines are cut; lines beyond a limit per second are
 * counted, but not logged.
 */
#ifndef ELECT_DAEMON_HOOK_OUTPUT_H
#define ELECT_DAEMON_HOOK_OUTPUT_H

#include "journal.h"

#define HOOK_OUTPUT_LINE 512 /* bytes; longer lines are cut */
#define HOOK_OUTPUT_RATE 100 /* lines per second */

struct hook_output {
    struct journal *journal;
    struct journal_entry about; /* group, leader and term */
    const char *hook;
    pid_t pid;
    int pipe;
    size_t length;     /* HOOK_OUTPUT_LINE + 1 if the line is cut */
    int64_t second;    /* start of the current second */
    unsigned lines;    /* lines logged since then */
    uint64_t left_out; /* omitted lines that have not been reported yet */
    char line[HOOK_OUTPUT_LINE + sizeof "..."];
};

/* Reads at most one page. Returns false once all writers have exited. */
bool hook_output_take(struct hook_output *o);
/* Reads the rest of the pipe, and logs a last line without a newline and the number of omitted
 * lines. */
void hook_output_end(struct hook_output *o);

#endif
