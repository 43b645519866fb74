/* Packets from the runner and the keeper to the daemon, to its guardian and to each other, and
 * messages to the user. These functions never wait, because the receiver may be stopped, and the
 * sender must act before its deadline. */
#ifndef ELECT_RUN_CHANNEL_H
#define ELECT_RUN_CHANNEL_H

#include "../client/talk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct channel {
    int daemon; /* the connection to the daemon; -1: not connected */
    int holder; /* the channel to the guardian; -1: not received yet */
};

#define CHANNEL_NONE ((struct channel){-1, -1})

/* Connects to the daemon. Returns 0 or an errno. */
int channel_open(struct channel *c, const char *path);
/* Closes the channel to the guardian. The daemon will send a new one with the packet WAIT. */
void channel_renew(struct channel *c);
void channel_close(struct channel *c);

/* Returns false if the packet could not be sent. */
bool channel_say(const struct channel *c, struct talk *t, enum talk_word word);
/* Tells the daemon and the guardian that all work has ended. `flags` says whether the member must
 * hand leadership over, and `why` gives the reason. */
void channel_say_empty(const struct channel *c, const char *group, uint8_t flags, const char *why);

enum heard { HEARD_NOTHING, HEARD_WORD, HEARD_END };
/* Receives a packet, and makes sure that each text in it ends in NUL. If the daemon never sends a
 * packet of this kind, the word becomes TALK_WORD_COUNT, which the caller ignores. If the packet is
 * WAIT, stores the channel to the guardian that comes with it. */
enum heard channel_hear(struct channel *c, struct talk *t);

/* These functions exchange packets between the runner and the keeper, with up to two descriptors in
 * `passed` (-1: none). packet_receive() returns the length of the packet, 0 at the end of the
 * stream, and a negative number if no packet is waiting. */
bool packet_send(int fd, const void *bytes, size_t length, const int passed[2]);
long packet_receive(int fd, void *bytes, size_t length, int passed[2]);

/* Writes "elect run: ..." to standard error, as one line. */
void channel_open_report(void);
void channel_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
