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

/* Who may own the file: this user or root; or, if root maintains it (LOOKED_AFTER), any user. */
enum keys_whose { KEYS_OWN, KEYS_LOOKED_AFTER };

/* Reads keys, which the caller wipes. False, with a complaint. */
bool keys_read(struct keys *k, const char *path, enum keys_whose whose, struct text *complaint);
bool keys_parse(struct keys *k, char *text, struct text *complaint);
/* Returns true if the file has keys, whoever may read it. */
bool keys_are_in(const char *path);

/* Replaces the file in one step, or changes nothing; `fresh`: only if there is no file. */
bool keys_write(const struct keys *k, const char *path, bool fresh, struct text *complaint);

/* Draws a new key, with a number that none of those has. */
void keys_draw(const struct keys *k, struct elect_key *key);
void keys_wipe(struct keys *k);

#endif
