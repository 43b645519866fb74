/* The channel between a member and its guardian: how a note goes through it. */
#ifndef ELECT_DAEMON_GUARDIAN_CHANNEL_H
#define ELECT_DAEMON_GUARDIAN_CHANNEL_H

#include "guardian.h"

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct guard_packet {
    struct guard_note note;
    struct elect_testament testament;
};
_Static_assert(offsetof(struct guard_packet, testament) == sizeof(struct guard_note),
               "what is behind a note follows it at once");

/* A packet, and a descriptor with it, or -1. At once or not at all. */
bool guardian_channel_put(int socket, struct iovec *part, size_t parts, int fd);
/* At once or not at all; `fd`: goes with it, or -1. */
bool guardian_channel_send(int channel, const struct guard_note *note, const void *body,
                           size_t length, int fd);
bool guardian_channel_deposit(int channel, const struct elect_testament *testament);
/* How many bytes; 0: there will be no more, below 0: not now. */
ssize_t guardian_channel_take(int channel, struct guard_packet *p, int *fd);

#endif
