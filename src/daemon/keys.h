/*
 * The key file has one line for each accepted key: its number and 64 hexadecimal digits. The first
 * key is for the member's own packets. Only the file's owner may read it.
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

/* Permitted owners of the key file. OWN: this user and root. LOOKED_AFTER: any user if this process
 * runs as root; otherwise the same as OWN. */
enum keys_whose { KEYS_OWN, KEYS_LOOKED_AFTER };

/* Read keys, which the caller must wipe. Return false, with a complaint, on failure. */
bool keys_read(struct keys *k, const char *path, enum keys_whose whose, struct text *complaint);
bool keys_parse(struct keys *k, char *text, struct text *complaint);
/* Returns true if the file contains keys, whatever its owner and mode. */
bool keys_are_in(const char *path);

/* Replaces the file in one step; on failure, changes nothing and returns false, with a complaint.
 * With `fresh`, refuses to replace an existing file. */
bool keys_write(const struct keys *k, const char *path, bool fresh, struct text *complaint);

/* The key's number is not used in `k` yet. */
void keys_draw(const struct keys *k, struct elect_key *key);
void keys_wipe(struct keys *k);

#endif
