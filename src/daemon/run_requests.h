/* Handles the packets that runs and clients send to the run socket. */
#ifndef ELECT_DAEMON_RUN_REQUESTS_H
#define ELECT_DAEMON_RUN_REQUESTS_H

#include "run_connection.h"

bool run_request_is_valid(const struct talk *t, size_t length);
/* May close the connection. */
void run_request(struct run_connection *c, const struct talk *asked);

#endif
