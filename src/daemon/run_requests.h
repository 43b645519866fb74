/* What runs and clients ask for on the run socket, a packet at a time. */
#ifndef ELECT_DAEMON_RUN_REQUESTS_H
#define ELECT_DAEMON_RUN_REQUESTS_H

#include "run_connection.h"

/* Returns true if it is a packet that a run or a client may send. */
bool run_request_is_valid(const struct talk *t, size_t length);
/* Answers it. The connection may be dropped. */
void run_request(struct run_connection *c, const struct talk *asked);

#endif
