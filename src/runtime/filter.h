/* A classic BPF program that accepts packets with a known tag, so that the kernel drops forged
 * ones. It can also accept samples: HELLOs with another tag and packets of another protocol, of
 * which the member takes a few each second, to name their likely reason. It needs no privilege. */
#ifndef ELECT_RUNTIME_FILTER_H
#define ELECT_RUNTIME_FILTER_H

#include "elect-uv.h"

#define FILTER_MAX_TAGS 1024

/* Which samples: from no address, from those that are configured, from any. */
enum filter_samples { FILTER_NONE, FILTER_CONFIGURED, FILTER_ANY };

/* Replaces the previous filter. `from`: the configured addresses, of the family of the socket. Sets
 * errno if it fails. */
bool filter_attach(int socket, const uint32_t *tags, unsigned count, enum filter_samples samples,
                   const union elect_address *from, unsigned addresses);
void filter_detach(int socket);

#endif
