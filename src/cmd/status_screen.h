/* Prints the status of a member as text for people. */
#ifndef ELECT_CMD_STATUS_SCREEN_H
#define ELECT_CMD_STATUS_SCREEN_H

#include <jansson.h>

/* Prints one line about a group: who leads it, since when, and any problems. */
void status_print_group(const json_t *group);
/* Prints a table of the members and their addresses. */
void status_print_members(const json_t *status);
/* Prints a whole screen: the leader of each group and its work, then the members, and then the most
 * serious finding. */
void status_print(const json_t *status);

#endif
