/*
 * The key file: a line for each key that is accepted, its number and 64 hexadecimal digits; the
 * first one is used. Only its owner may read it.
 *
 *     1 8f0c...
 */
#ifndef ELECT_DAEMON_KEYS_H
#define ELECT_DAEMON_KEYS_H

#include "../base/text.h"
#include "elect-uv.h"

struct keys {
    unsigned count;
    struct elect_key key[ELECT_UV_KEYS];
};

/* Whose file it may be: of whoever runs this, or root's; for root looking after it, anybody's. */
enum keys_whose { KEYS_OWN, KEYS_LOOKED_AFTER };

/* False, with what is wrong and what to do, in one line. Whoever has read keys wipes them. */
bool keys_read(struct keys *k, const char *path, enum keys_whose whose, struct text *complaint);
bool keys_parse(struct keys *k, char *text, struct text *complaint);

/* In place of what was there, or nothing has changed; `fresh`: only if nothing is there. */
bool keys_write(const struct keys *k, const char *path, bool fresh, struct text *complaint);

/* A new one, with a number that none of those has. */
void keys_draw(const struct keys *k, struct elect_key *key);
void keys_wipe(struct keys *k);

#endif
