/* Prints a member's status as text. */
#ifndef ELECT_CMD_STATUS_SCREEN_H
#define ELECT_CMD_STATUS_SCREEN_H

#include <jansson.h>

/* Prints one line: the group's leader, since when it leads, and any problems. */
void status_print_group(const json_t *group);
void status_print_members(const json_t *status);
/* Prints each group's leader and its work, the members, and the most serious finding. */
void status_print(const json_t *status);

#endif
