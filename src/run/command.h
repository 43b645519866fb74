/* Starts the command of elect run, and the commands of the health checks. */
#ifndef ELECT_RUN_COMMAND_H
#define ELECT_RUN_COMMAND_H

#include "run.h"

struct command_failure {
    int error;
    char what[60];
};

/* Both functions return the process id of the waiter, or 0 with errno set. The waiter exits with
 * the status of the started process. `report` yields a command_failure if the command cannot be
 * executed, and end of file once it is. */
pid_t command_start(const struct keeper_job *job, int *report, int loss);
pid_t command_start_check(const char *line, int output);

/* While a run waits, warns the user if the command cannot be executed now. The program may still be
 * installed before `node`, the local member, leads. */
void command_warn(const struct run_options *o, const char *node);

/* Sends a signal to the child of the waiter or, if `group` is true, to the whole process group of
 * that child. The waiter must not have been reaped. */
void command_signal(pid_t waiter, int number, bool group);

int command_status(int status);

#endif
