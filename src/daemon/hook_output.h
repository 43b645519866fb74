/*
 * Logs the standard output and standard error of a hook. The hook writes into a pipe; the hook
 * parent reads it and logs each line with the name of the hook, its group and its process id. The
 * hook parent never waits for a reader of the log, so that a slow reader never delays the hook. The
 * hook parent reads until every process of the hook has ended, so that the hook never writes to a
 * broken pipe. A line that is too long is cut; lines beyond a limit per second are counted, but not
 * logged.
 */
#ifndef ELECT_DAEMON_HOOK_OUTPUT_H
#define ELECT_DAEMON_HOOK_OUTPUT_H

#include "journal.h"

#define HOOK_OUTPUT_LINE 512 /* bytes; a longer line is cut */
#define HOOK_OUTPUT_RATE 100 /* lines in a second */

struct hook_output {
    struct journal *journal;
    struct journal_entry about; /* with the group, the leader and the term of the hook */
    const char *hook;           /* the name of the hook */
    pid_t pid;                  /* the process id of the hook */
    int pipe;                   /* the end for reading */
    size_t length;              /* bytes of the current line; HOOK_OUTPUT_LINE + 1 if it is cut */
    int64_t second;             /* when the current second of the rate began */
    unsigned lines;             /* lines that were logged in the current second */
    uint64_t left_out;          /* lines that were neither logged nor reported as omitted */
    char line[HOOK_OUTPUT_LINE + sizeof "..."];
};

/* Reads at most one page from the pipe. Returns false at the end of the pipe, when no process can
 * write to the pipe any more. */
bool hook_output_take(struct hook_output *o);
/* Reads the rest of the pipe, logs a last line that has no newline, and reports how many lines were
 * not logged. */
void hook_output_end(struct hook_output *o);

#endif
