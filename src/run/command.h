/* Starts the command of elect run, and the commands that check its health. */
#ifndef ELECT_RUN_COMMAND_H
#define ELECT_RUN_COMMAND_H

#include "run.h"

/* The step of the child that failed before the command was executed. */
struct command_failure {
    int error;
    char what[60];
};

/* Both functions return the waiter, which is the parent of the started process and exits with its
 * status; 0 if nothing was started, with an errno. `report` is a descriptor. It delivers a
 * command_failure if the command cannot be executed, and reaches its end when the command is
 * executed. */
pid_t command_start(const struct keeper_job *job, int *report, int loss);
/* Starts a shell with this command line. It inherits only the environment, and `output`, to which
 * it writes. */
pid_t command_start_check(const char *line, int output);

/* Signals the process for which the waiter waits, or its whole process group. The waiter must not
 * have been reaped. */
void command_signal(pid_t waiter, int number, bool group);

int command_status(int status); /* converts a status of waitpid into an exit status */

#endif
