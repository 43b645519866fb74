/* Handles the packets of runs and clients on the run socket. */
#ifndef ELECT_DAEMON_RUN_REQUESTS_H
#define ELECT_DAEMON_RUN_REQUESTS_H

#include "run_connection.h"

/* Returns true if a run or a client may send such a packet. */
bool run_request_is_valid(const struct talk *t, size_t length);
/* Answers a packet. The connection may be dropped. */
void run_request(struct run_connection *c, const struct talk *asked);

#endif
