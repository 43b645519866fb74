/* The state file on a real disk. It is made once, whole or not at all, and locked while it is
 * open. */
#ifndef ELECT_RUNTIME_FILE_H
#define ELECT_RUNTIME_FILE_H

#include "store.h"

/* name, text for the user */
#define FILE_ERRORS(X)                                                                             \
    X(FINE, "fine")                                                                                \
    X(MISSING, "there is none: elect init makes it")                                               \
    X(EXISTS, "there is one already: this member was made before")                                 \
    X(LOCKED, "another process uses it")                                                           \
    X(NOT_MINE, "it must be a plain file of this user, and nobody else may write to it")           \
    X(SIZE, "it is not as long as it was made")                                                    \
    X(IO, "it cannot be read or written")

enum file_error {
#define X(name, text) FILE_##name,
    FILE_ERRORS(X)
#undef X
        FILE_ERROR_COUNT
};

struct file {
    int fd;
    int error; /* FILE_IO: an errno */
};

const char *file_text(enum file_error error);

/* Opens and locks it. */
enum file_error file_open(struct file *f, const char *path);
void file_close(struct file *f);

/* Makes it with its first record; it is durable under its name when this returns. */
enum file_error file_create(const char *path, struct store *s, struct state *state, int *error);

/* For store_open. */
struct store_file file_store(struct file *f);

#endif
