/* Starts the command of elect run, and the commands of the health checks. */
#ifndef ELECT_RUN_COMMAND_H
#define ELECT_RUN_COMMAND_H

#include "run.h"

/* The step that failed in the child before the command was executed. */
struct command_failure {
    int error;
    char what[60];
};

/* Both functions return the process id of the waiter, which is the parent of the started process
 * and exits with the same status. If no process was started, they return 0 and set errno. If the
 * command cannot be executed, a command_failure can be read from `report`; once the command is
 * executed, the other end of `report` is closed. */
pid_t command_start(const struct keeper_job *job, int *report, int loss);
/* Starts a shell with this command line. The shell inherits only the environment, and writes to
 * `output`. */
pid_t command_start_check(const char *line, int output);

/* While a run waits, warns the user if the command cannot be executed now. The program may still be
 * installed before `node`, the local member, leads. */
void command_warn(const struct run_options *o, const char *node);

/* Sends a signal to the child of the waiter or, if `group` is true, to the whole process group of
 * that child. The waiter must not have been reaped. */
void command_signal(pid_t waiter, int number, bool group);

int command_status(int status); /* converts the status from waitpid() into an exit status */

#endif
