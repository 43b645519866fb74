/* The run socket, member-N.run, to which runs and clients connect. */
#ifndef ELECT_DAEMON_RUN_SOCKET_H
#define ELECT_DAEMON_RUN_SOCKET_H

#include "work.h"

bool run_socket_open(struct work *w, struct text *complaint);
void run_socket_close(struct work *w);
/* Reports runs that have not stopped in time, and accepts connections again after the process has
 * run out of descriptors. Called every second. */
void run_socket_tick(struct work *w);
/* Sends NEWS about a group to each client that has asked about it, and to each run that waits in
 * it. */
void run_socket_news(struct work *w, unsigned group);

#endif
