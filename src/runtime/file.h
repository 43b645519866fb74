/* The state file on disk. It is created completely or not at all, and is locked while open. */
#ifndef ELECT_RUNTIME_FILE_H
#define ELECT_RUNTIME_FILE_H

#include "store.h"

/* name, text for the user */
#define FILE_ERRORS(X)                                                                             \
    X(FINE, "fine")                                                                                \
    X(MISSING, "no such file: create it with elect init, or with elect readmit if this member "    \
               "has run before")                                                                   \
    X(EXISTS, "it exists already: this member was created before")                                 \
    X(LOCKED, "another process uses it")                                                           \
    X(NOT_MINE,                                                                                    \
      "it must be a plain file that belongs to this user and that no other user may write")        \
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
    int error; /* errno after FILE_IO */
    /* syncs[i] counts the fdatasync calls that took 2^(i-1) to 2^i microseconds */
    uint32_t syncs[FILE_SYNCS];
};

uint64_t file_syncs(const struct file *f);

/* Returns a percentile of the fdatasync durations in microseconds, rounded down to a power of
 * two. */
uint64_t file_sync_time(const struct file *f, unsigned percent);

const char *file_text(enum file_error error);

/* Opens the state file and locks it until file_close(). */
enum file_error file_open(struct file *f, const char *path);
void file_close(struct file *f);
bool file_is_locked(const char *path);

/* Creates the state file with its first record. After FILE_FINE, the file and its name are on
 * disk. */
enum file_error file_create(const char *path, struct store *s, struct state *state, int *error);

struct store_file file_store(struct file *f);

#endif
