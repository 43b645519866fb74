/* The run socket, member-N.run, to which runs and clients connect. */
#ifndef ELECT_DAEMON_RUN_SOCKET_H
#define ELECT_DAEMON_RUN_SOCKET_H

#include "work.h"

/* Opens the socket. Returns false, with a complaint, if this fails. */
bool run_socket_open(struct work *w, struct text *complaint);
/* Drops all connections, and removes the socket. */
void run_socket_close(struct work *w);
/* Reports runs that have not stopped in time, and accepts connections again after the process has
 * run out of descriptors. The daemon calls this function every second. */
void run_socket_tick(struct work *w);
/* Sends NEWS about a group to every client that has asked about the group, and to every run that
 * waits for its turn in the group. */
void run_socket_news(struct work *w, unsigned group);

#endif
