/* Starts the command of elect run, and the commands that check its health. */
#ifndef ELECT_RUN_COMMAND_H
#define ELECT_RUN_COMMAND_H

#include "run.h"

/* What went wrong in the child before the command was there. */
struct command_failure {
    int error;
    char what[60];
};

/* Both return the waiter: the parent of what is started, which ends with its exit status. 0: not
 * started, errno says why. `report`: a descriptor from which a command_failure can be read if it
 * comes to nothing, and which ends when the command is there. */
pid_t command_start(const struct keeper_job *job, int *report, int loss);
/* A line of the shell, with nothing of ours but the environment, and `output`, to which it
 * writes. */
pid_t command_start_check(const char *line, int output);

/* To what the waiter waits for, or to all of its process group. The waiter is not reaped yet. */
void command_signal(pid_t waiter, int number, bool group);

int command_status(int status); /* as of waitpid -> exit status */

#endif
