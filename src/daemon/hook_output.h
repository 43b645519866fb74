/*
 * What a hook prints on its standard output and standard error. The hook writes into a pipe; the
 * hook parent reads it and logs each line with the name of the hook, its group and its process id.
 * The parent never waits for a reader of the log, so a hook that prints is never held up by it, and
 * it reads until no process of the hook is left, so the hook never writes to a broken pipe. A line
 * that is too long is cut; lines beyond a rate are counted instead.
 */
#ifndef ELECT_DAEMON_HOOK_OUTPUT_H
#define ELECT_DAEMON_HOOK_OUTPUT_H

#include "journal.h"

#define HOOK_OUTPUT_LINE 512 /* bytes; what is longer is cut */
#define HOOK_OUTPUT_RATE 100 /* lines in a second */

struct hook_output {
    struct journal *journal;
    struct journal_entry about; /* with the group, the leader and the term of the hook */
    const char *hook;           /* its name */
    pid_t pid;
    int pipe;       /* its end for reading */
    size_t length;  /* of the line so far, with what is cut */
    int64_t second; /* when the current second of the rate began */
    unsigned lines; /* that were logged in it */
    uint64_t left_out;
    char line[HOOK_OUTPUT_LINE + sizeof "..."];
};

/* Reads what is there, at most a page. Returns false at the end: no process can write any more. */
bool hook_output_take(struct hook_output *o);
/* Reads the rest, and logs what has no newline at its end, and how many lines were left out. */
void hook_output_end(struct hook_output *o);

#endif
