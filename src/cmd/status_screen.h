/* Prints the status of a member as text for people. */
#ifndef ELECT_CMD_STATUS_SCREEN_H
#define ELECT_CMD_STATUS_SCREEN_H

#include <jansson.h>

/* Prints one line for a group: its leader, the time since the leader took office, and problems. */
void status_print_group(const json_t *group);
/* Prints a table of the members, with their addresses. */
void status_print_members(const json_t *status);
/* Prints one screen: for each group its leader and its work, then the members and the worst
 * finding. */
void status_print(const json_t *status);

#endif
