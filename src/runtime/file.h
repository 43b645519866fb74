/* The state file on a real disk. It is made once, whole or not at all, and locked while it is
 * open. */
#ifndef ELECT_RUNTIME_FILE_H
#define ELECT_RUNTIME_FILE_H

#include "store.h"

/* name, text for the user */
#define FILE_ERRORS(X)                                                                             \
    X(FINE, "fine")                                                                                \
    X(MISSING, "there is none: create it with elect init")                                         \
    X(EXISTS, "there is one already: this member was made before")                                 \
    X(LOCKED, "another process uses it")                                                           \
    X(NOT_MINE, "it must be a plain file of this user, and nobody else may write to it")           \
    X(SIZE, "it is damaged (its length is wrong): move it away, then run elect readmit")           \
    X(IO, "it cannot be read or written")

enum file_error {
#define X(name, text) FILE_##name,
    FILE_ERRORS(X)
#undef X
        FILE_ERROR_COUNT
};

#define FILE_SYNCS 32

struct file {
    int fd;
    int error;                  /* FILE_IO: an errno */
    uint32_t syncs[FILE_SYNCS]; /* fdatasync that took less than 2^i us, and 2^(i-1) or more */
};

/* Returns how many fdatasync there were. */
uint64_t file_syncs(const struct file *f);

/* Returns a time in microseconds that this share of all fdatasync, in percent, did not exceed, as
 * far as their powers of two tell: the lower bound of the last of them. */
uint64_t file_sync_time(const struct file *f, unsigned percent);

const char *file_text(enum file_error error);

/* Opens and locks it. */
enum file_error file_open(struct file *f, const char *path);
void file_close(struct file *f);
/* Returns true if another process has it open. */
bool file_is_locked(const char *path);

/* Makes it with its first record; it is durable under its name when this returns. */
enum file_error file_create(const char *path, struct store *s, struct state *state, int *error);

/* For store_open. */
struct store_file file_store(struct file *f);

#endif
