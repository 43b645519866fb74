/* A socket filter (classic BPF). It accepts packets with a known tag, so that the kernel drops
 * forged ones. It can also let samples of other packets pass: HELLOs with an unknown tag, and
 * packets of another protocol. The member inspects a few samples each second to find out why it
 * rejects packets. Attaching a filter needs no privilege. */
#ifndef ELECT_RUNTIME_FILTER_H
#define ELECT_RUNTIME_FILTER_H

#include "elect-uv.h"

#define FILTER_MAX_TAGS 1024

/* where samples may come from: nowhere, the configured addresses, or anywhere */
enum filter_samples { FILTER_NONE, FILTER_CONFIGURED, FILTER_ANY };

/* Attaches a filter to the socket in place of any previous one. `from` holds the configured
 * addresses, all of the socket's address family. Sets errno if it returns false. */
bool filter_attach(int socket, const uint32_t *tags, unsigned count, enum filter_samples samples,
                   const union elect_address *from, unsigned addresses);
void filter_detach(int socket);

#endif
