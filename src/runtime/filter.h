/* A classic BPF program that accepts packets with a known tag, so that the kernel drops forged
 * packets. The filter can also accept samples: HELLOs with an unknown tag, and packets of another
 * protocol. The member inspects a few samples each second and reports why they were probably
 * rejected. Attaching a filter needs no privilege. */
#ifndef ELECT_RUNTIME_FILTER_H
#define ELECT_RUNTIME_FILTER_H

#include "elect-uv.h"

#define FILTER_MAX_TAGS 1024

/* The sources from which samples are accepted: none, the configured addresses, or all. */
enum filter_samples { FILTER_NONE, FILTER_CONFIGURED, FILTER_ANY };

/* Replaces the previous filter. `from` holds the configured addresses, all of the family of the
 * socket. Returns true, or false with errno set. */
bool filter_attach(int socket, const uint32_t *tags, unsigned count, enum filter_samples samples,
                   const union elect_address *from, unsigned addresses);
void filter_detach(int socket);

#endif
