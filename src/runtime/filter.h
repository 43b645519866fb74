/* A socket filter, which is a classic BPF program. The filter accepts packets with a known tag, so
 * that the kernel drops forged packets. The filter can also let samples of other packets pass:
 * HELLOs with an unknown tag, and packets of another protocol. The member looks at a few samples
 * each second to find out why packets are rejected. Attaching a filter needs no privilege. */
#ifndef ELECT_RUNTIME_FILTER_H
#define ELECT_RUNTIME_FILTER_H

#include "elect-uv.h"

#define FILTER_MAX_TAGS 1024

/* The sources from which samples are accepted: none, the configured addresses, or all. */
enum filter_samples { FILTER_NONE, FILTER_CONFIGURED, FILTER_ANY };

/* Attaches a filter to the socket in place of the previous one. `from` holds the configured
 * addresses, which all belong to the address family of the socket. Returns true, or false with
 * errno set. */
bool filter_attach(int socket, const uint32_t *tags, unsigned count, enum filter_samples samples,
                   const union elect_address *from, unsigned addresses);
void filter_detach(int socket);

#endif
