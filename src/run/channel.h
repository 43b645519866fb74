/* Packets from the runner and the keeper to the daemon, to its guardian and to each other, and
 * messages to the user. No function here blocks: the receiver may be stopped, and the sender has a
 * deadline. */
#ifndef ELECT_RUN_CHANNEL_H
#define ELECT_RUN_CHANNEL_H

#include "../client/talk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct channel {
    int daemon; /* -1 if not connected */
    int holder; /* channel to the guardian; -1 if not received yet */
};

#define CHANNEL_NONE ((struct channel){-1, -1})

/* Connects to the daemon. Returns 0 or an errno. */
int channel_open(struct channel *c, const char *path);
/* Closes the channel to the guardian. The next WAIT brings a new one. */
void channel_renew(struct channel *c);
void channel_close(struct channel *c);

bool channel_say(const struct channel *c, struct talk *t, enum talk_word word);
/* Tells the daemon and the guardian that all work has ended. `flags` and `why` say whether and why
 * the member must hand leadership over. */
void channel_say_empty(const struct channel *c, const char *group, uint8_t flags, const char *why);

enum heard { HEARD_NOTHING, HEARD_WORD, HEARD_END };
/* Receives a packet, and terminates its texts with NUL. The word becomes TALK_WORD_COUNT if the
 * packet is not one that a daemon sends. Stores the channel to the guardian that comes with
 * WAIT. */
enum heard channel_hear(struct channel *c, struct talk *t);

/* Packets between the runner and the keeper, with up to two descriptors in `passed` (-1 if none).
 * packet_receive() returns the length, 0 at the end of the stream, and a negative number if no
 * packet is waiting. */
bool packet_send(int fd, const void *bytes, size_t length, const int passed[2]);
long packet_receive(int fd, void *bytes, size_t length, int passed[2]);

void channel_open_report(void);
void channel_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
