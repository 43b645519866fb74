/* A classic BPF program that accepts only packets with a known tag, so that the kernel drops forged
 * ones. It needs no privilege. */
#ifndef ELECT_RUNTIME_FILTER_H
#define ELECT_RUNTIME_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define FILTER_MAX_TAGS 1024

/* Replaces the previous filter. Sets errno if it fails. */
bool filter_attach(int socket, const uint32_t *tags, unsigned count);
void filter_detach(int socket);

#endif
