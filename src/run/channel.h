/* Messages of runner and keeper to the daemon, to its guardian, to each other and to the user.
 * These functions never wait, because the receiver may be stopped while the deadline approaches. */
#ifndef ELECT_RUN_CHANNEL_H
#define ELECT_RUN_CHANNEL_H

#include "../client/talk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct channel {
    int daemon; /* -1: not connected */
    int holder; /* the channel to the guardian; -1: not received yet */
};

#define CHANNEL_NONE ((struct channel){-1, -1})

/* Connects to the daemon. Returns 0 or an errno. */
int channel_open(struct channel *c, const char *path);
void channel_renew(struct channel *c); /* the daemon will send another holder channel */
void channel_close(struct channel *c);

/* Returns false if the packet could not be sent. */
bool channel_say(const struct channel *c, struct talk *t, enum talk_word word);
/* Tells the daemon and the guardian that all work has ended. `flags` and `why` say whether the
 * member must hand leadership over, and why. */
void channel_say_empty(const struct channel *c, const char *group, uint8_t flags, const char *why);

enum heard { HEARD_NOTHING, HEARD_WORD, HEARD_END };
/* Receives a packet, and terminates the names in it. Replaces a packet that a daemon never sends by
 * a word that the caller ignores. Keeps the channel to the guardian that WAIT carries. */
enum heard channel_hear(struct channel *c, struct talk *t);

/* Packets of any kind between runner and keeper, with at most two descriptors (-1: none).
 * packet_receive() returns the length, 0 at the end of the stream, and a negative number if no
 * packet is waiting. */
bool packet_send(int fd, const void *bytes, size_t length, const int passed[2]);
long packet_receive(int fd, void *bytes, size_t length, int passed[2]);

/* Writes "elect run: ..." to standard error, as one line. */
void channel_open_report(void);
void channel_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
