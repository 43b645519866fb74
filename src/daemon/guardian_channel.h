/* Notes on the socket pair between a member and its guardian. */
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
               "the testament follows the note without a gap");

/* Unless `fd` is -1, a descriptor is sent, too. Returns false if the packet cannot be sent now. */
bool guardian_channel_put(int socket, struct iovec *part, size_t parts, int fd);
/* Like guardian_channel_put(), but for a note and `body`. */
bool guardian_channel_send(int channel, const struct guard_note *note, const void *body,
                           size_t length, int fd);
bool guardian_channel_deposit(int channel, const struct elect_testament *testament);
/* Receives a packet. Returns its length; 0 if the other end is closed; negative if no packet is
 * waiting. */
ssize_t guardian_channel_take(int channel, struct guard_packet *p, int *fd);

#endif
