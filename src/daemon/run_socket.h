/* The run socket, member-N.run: where runs and clients connect to the daemon. */
#ifndef ELECT_DAEMON_RUN_SOCKET_H
#define ELECT_DAEMON_RUN_SOCKET_H

#include "work.h"

/* False, with a complaint. */
bool run_socket_open(struct work *w, struct text *complaint);
/* Drops all connections, and removes the socket. */
void run_socket_close(struct work *w);
/* Every second: reports runs that are late, and accepts again after there were no descriptors. */
void run_socket_tick(struct work *w);
/* Sends NEWS of a group to every client that wants to hear of it. */
void run_socket_news(struct work *w, unsigned group);

#endif
