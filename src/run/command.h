/* Starts the command of elect run, and the commands of the health checks. */
#ifndef ELECT_RUN_COMMAND_H
#define ELECT_RUN_COMMAND_H

#include "run.h"

/* The step that failed in the child before the command was executed. */
struct command_failure {
    int error;
    char what[60];
};

/* Both functions return the waiter, which is the parent of the started process and exits with the
 * same status; 0, with an errno, if no process was started. `report` is a descriptor that delivers
 * a command_failure if the command cannot be executed, and is closed at the other end when the
 * command is executed. */
pid_t command_start(const struct keeper_job *job, int *report, int loss);
/* Starts a shell with this command line. The shell inherits only the environment, and writes to
 * `output`. */
pid_t command_start_check(const char *line, int output);

/* Signals the process for which the waiter waits, or its whole process group. The waiter must not
 * have been reaped. */
void command_signal(pid_t waiter, int number, bool group);

int command_status(int status); /* converts a status of waitpid into an exit status */

#endif
