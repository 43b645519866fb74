/*
 * Logs the standard output and standard error of a hook. The hook writes to a pipe. The hook
 * parent, which is the process that started the hook, reads the pipe, and logs each line with the
 * name of the hook, its group and its process id. The hook parent never waits for a reader of the
 * log, so that a slow reader never delays the hook. The hook parent reads until every process of
 * the hook has exited, so that the hook never writes to a broken pipe. A line that is too long is
 * cut; lines beyond a limit per second are counted, but not logged.
 */
#ifndef ELECT_DAEMON_HOOK_OUTPUT_H
#define ELECT_DAEMON_HOOK_OUTPUT_H

#include "journal.h"

#define HOOK_OUTPUT_LINE 512 /* bytes; a longer line is cut */
#define HOOK_OUTPUT_RATE 100 /* the most lines that are logged in a second */

struct hook_output {
    struct journal *journal;
    struct journal_entry about; /* what every entry contains: the group, the leader and the term */
    const char *hook;           /* the name of the hook */
    pid_t pid;                  /* the process id of the hook */
    int pipe;                   /* the read end of the pipe to which the hook writes */
    size_t length;              /* of `line`; HOOK_OUTPUT_LINE + 1 if the line is cut */
    int64_t second;             /* when the current second began */
    unsigned lines;             /* how many lines have been logged in that second */
    uint64_t left_out;          /* omitted lines whose number has not been logged yet */
    char line[HOOK_OUTPUT_LINE + sizeof "..."];
};

/* Reads at most one page from the pipe. Returns false at the end of the pipe, when no process can
 * write to the pipe any more. */
bool hook_output_take(struct hook_output *o);
/* Reads the rest of the pipe, logs the last line even if it has no newline, and logs how many lines
 * were omitted. */
void hook_output_end(struct hook_output *o);

#endif
