/* What runner and keeper say to the daemon, to its guardian, to each other and to the user. Nothing
 * here waits: a receiver may be stopped, and the deadline is not. */
#ifndef ELECT_RUN_CHANNEL_H
#define ELECT_RUN_CHANNEL_H

#include "../client/talk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct channel {
    int daemon; /* -1: not connected */
    int holder; /* the other end is the guardian's; -1: it has not come yet */
};

#define CHANNEL_NONE ((struct channel){-1, -1})

/* 0, or an errno: connected. */
int channel_open(struct channel *c, const char *path);
void channel_renew(struct channel *c); /* another holder channel will come */
void channel_close(struct channel *c);

/* False if it could not be said. */
bool channel_say(const struct channel *c, struct talk *t, enum talk_word word);
/* Nothing works any more: to both. `flags` and `why`: what this means for leadership. */
void channel_say_empty(const struct channel *c, const char *group, uint8_t flags, const char *why);

enum heard { HEARD_NOTHING, HEARD_WORD, HEARD_END };
/* Names are made to end; what is no word of a daemon is passed over. With WAIT the holder channel
 * comes. */
enum heard channel_hear(struct channel *c, struct talk *t);

/* Packets of any kind between two of our own, with at most two descriptors (-1: none). Received:
 * its length, 0 at the end, below 0 if there is none. */
bool packet_send(int fd, const void *bytes, size_t length, const int passed[2]);
long packet_receive(int fd, void *bytes, size_t length, int passed[2]);

/* "elect run: ...", in one line, on standard error. */
void channel_open_report(void);
void channel_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
