/* A classic BPF program that lets only those packets in whose tag is known: forged ones end in the
 * kernel, for anybody's socket, without a privilege. */
#ifndef ELECT_RUNTIME_FILTER_H
#define ELECT_RUNTIME_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define FILTER_MAX_TAGS 1024

/* Replaces the one before. errno if it fails. */
bool filter_attach(int socket, const uint32_t *tags, unsigned count);
void filter_detach(int socket);

#endif
