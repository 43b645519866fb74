/* Verbs for the members of a real cluster, as opposed to the simulator. */
#ifndef ELECT_CMD_MEMBER_H
#define ELECT_CMD_MEMBER_H

#include "../base/parse.h"
#include "ask.h"

int cmd_is_leader(int argc, char **argv);
int cmd_leader(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_members(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_history(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_resign(int argc, char **argv);
int cmd_transfer(int argc, char **argv);
int cmd_pause(int argc, char **argv);
int cmd_resume(int argc, char **argv);
int cmd_reload(int argc, char **argv);
int cmd_key(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_init(int argc, char **argv);
int cmd_readmit(int argc, char **argv);
int cmd_daemon(int argc, char **argv);
int cmd_demo(int argc, char **argv);

#endif
