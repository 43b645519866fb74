/* Creates the state file atomically; opens, locks, reads and writes it. */
#include "file.h"

#include "../base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *file_text(enum file_error error)
{
    static const char *const texts[] = {
#define X(name, text) text,
        FILE_ERRORS(X)
#undef X
    };
    assert(error < FILE_ERROR_COUNT);
    return texts[error];
}

/* ---- reading and writing all bytes, or failing ---- */

static int read_all(void *context, void *bytes, size_t length, uint64_t offset)
{
    const struct file *f = context;
    for (uint8_t *at = bytes; length > 0;) {
        ssize_t got = pread(f->fd, at, length, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : EIO; /* the file was truncated */
        at += got;
        offset += (uint64_t)got;
        length -= (size_t)got;
    }
    return 0;
}

static int write_all(void *context, const void *bytes, size_t length, uint64_t offset)
{
    const struct file *f = context;
    for (const uint8_t *at = bytes; length > 0;) {
        ssize_t put = pwrite(f->fd, at, length, (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put < 0 ? errno : ENOSPC;
        at += put;
        offset += (uint64_t)put;
        length -= (size_t)put;
    }
    return 0;
}

/* A failed fdatasync must not be retried: the kernel may have dropped the dirty pages, and a second
 * call would succeed without writing them. */
static int sync_all(void *context)
{
    struct file *f = context;
    int64_t began = boottime_now();
    int error = fdatasync(f->fd) == 0 ? 0 : errno;
    uint64_t took = (uint64_t)(boottime_now() - began);
    unsigned place = took == 0 ? 0 : 64 - (unsigned)__builtin_clzll(took);
    f->syncs[place < FILE_SYNCS ? place : FILE_SYNCS - 1]++;
    return error;
}

uint64_t file_syncs(const struct file *f)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < FILE_SYNCS; i++)
        all += f->syncs[i];
    return all;
}

uint64_t file_sync_time(const struct file *f, unsigned percent)
{
    uint64_t all = file_syncs(f), seen = 0;
    unsigned place = 0;
    while (place < FILE_SYNCS - 1 && (seen += f->syncs[place]) * 100 < all * percent)
        place++;
    return place == 0 ? 0 : (uint64_t)1 << (place - 1);
}

struct store_file file_store(struct file *f)
{
    return (struct store_file){read_all, write_all, sync_all, f};
}

/* ---- opening ---- */

static enum file_error failed(struct file *f, enum file_error what)
{
    f->error = errno;
    file_close(f);
    return what;
}

static bool lock(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole) == 0;
}

static enum file_error why_not(int error)
{
    /* errors that mean the path is not a state file of this user */
    bool other = error == ELOOP || error == EISDIR || error == EACCES;
    return error == ENOENT ? FILE_MISSING : other ? FILE_NOT_MINE : FILE_IO;
}

enum file_error file_open(struct file *f, const char *path)
{
    struct stat is;
    *f = (struct file){.fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)};
    if (f->fd < 0)
        return failed(f, why_not(errno));
    if (fstat(f->fd, &is) != 0)
        return failed(f, FILE_IO);
    if (!S_ISREG(is.st_mode) || is.st_uid != geteuid() || (is.st_mode & 022) != 0)
        return failed(f, FILE_NOT_MINE);
    if (is.st_size != STORE_SIZE)
        return failed(f, FILE_SIZE);
    return lock(f->fd) ? FILE_FINE : failed(f, FILE_LOCKED);
}

bool file_is_locked(const char *path)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool locked = fd >= 0 && fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    return locked;
}

void file_close(struct file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

/* ---- creating ---- */

static int open_folder(const char *path, const char **name)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    *name = slash != NULL ? slash + 1 : path;
    int length = snprintf(folder, sizeof folder, "%.*s",
                          slash == NULL   ? 1
                          : slash == path ? 1
                                          : (int)(slash - path),
                          slash == NULL ? "." : path);
    if (length < 0 || (size_t)length >= sizeof folder) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Writes every byte of the file, so that later writes cannot fail with ENOSPC. */
static int fill(struct file *f, struct store *s, struct state *state)
{
    static const uint8_t zeros[STORE_STRIDE];
    struct store_file file = file_store(f);
    for (unsigned i = 0; i < STORE_SIZE / STORE_STRIDE; i++) {
        int error = write_all(f, zeros, STORE_STRIDE, (uint64_t)i * STORE_STRIDE);
        if (error != 0)
            return error;
    }
    return store_format(s, &file, state) == STORE_FINE ? 0 : s->error;
}

/* Writes an unnamed file, or a file named `hidden`, and links it as `name`. Unlike rename(),
 * linkat() never replaces an existing file. */
static int make(int folder, const char *hidden, const char *name, struct store *s,
                struct state *state)
{
    const int how = O_RDWR | O_CLOEXEC;
    char from[32];
    struct file f = {.fd = hidden != NULL
                               ? openat(folder, hidden, how | O_CREAT | O_EXCL | O_NOFOLLOW, 0600)
                               : openat(folder, ".", how | O_TMPFILE, 0600)};
    int error = f.fd < 0 ? errno : fill(&f, s, state);
    snprintf(from, sizeof from, "/proc/self/fd/%d", f.fd);
    if (error == 0 && (linkat(folder, hidden != NULL ? hidden : from, folder, name,
                              hidden != NULL ? 0 : AT_SYMLINK_FOLLOW) != 0 ||
                       fsync(f.fd) != 0))
        error = errno;
    file_close(&f);
    return error;
}

/* For systems without O_TMPFILE or /proc. The hidden name is random, because another process may
 * create a state file at the same time. A crash leaves the hidden file behind. */
static int make_by_name(int folder, const char *name, struct store *s, struct state *state)
{
    char hidden[32];
    snprintf(hidden, sizeof hidden, ".elect-%08x%08x", randombytes_random(), randombytes_random());
    int error = make(folder, hidden, name, s, state);
    unlinkat(folder, hidden, 0);
    return error;
}

enum file_error file_create(const char *path, struct store *s, struct state *state, int *error)
{
    const char *name;
    int folder = open_folder(path, &name);
    *error = folder < 0 ? errno : make(folder, NULL, name, s, state);
    if (folder >= 0 && (*error == EOPNOTSUPP || *error == EISDIR || *error == ENOENT))
        *error = make_by_name(folder, name, s, state);
    if (*error == 0 && fsync(folder) != 0)
        *error = errno;
    if (folder >= 0)
        close(folder);
    return *error == 0 ? FILE_FINE : *error == EEXIST ? FILE_EXISTS : FILE_IO;
}
