/* Makes reads and writes transfer too little, for test/system/state.py, as a library loaded before
 * libc (LD_PRELOAD). SHORT=WHAT:K in the environment affects every K-th call: "half" transfers half
 * of the bytes, "one" transfers one byte, "interrupted" fails with EINTR, and with "nothing" a
 * write returns 0. With SHORT=nameless:1, O_TMPFILE is not supported. */
#undef _FILE_OFFSET_BITS /* both names of a call are defined here, such as openat and openat64 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool asked(const char *what)
{
    const char *asked = getenv("SHORT");
    size_t length = strlen(what);
    return asked != NULL && strncmp(asked, what, length) == 0 && asked[length] == ':';
}

static bool is_due(void)
{
    static unsigned long calls;
    const char *every = strchr(getenv("SHORT"), ':') + 1;
    return ++calls % strtoul(every, NULL, 10) == 0;
}

static ssize_t shorter(long call, int fd, void *bytes, size_t length, off64_t offset)
{
    if (is_due()) {
        if (asked("interrupted")) {
            errno = EINTR;
            return -1;
        }
        if (asked("nothing") && call == SYS_pwrite64)
            return 0;
        length = asked("half") ? (length + 1) / 2 : asked("one") ? 1 : length;
    }
    return syscall(call, fd, bytes, length, offset);
}

#define READ(name)                                                                                 \
    ssize_t name(int fd, void *bytes, size_t length, off64_t offset)                               \
    {                                                                                              \
        return shorter(SYS_pread64, fd, bytes, length, offset);                                    \
    }
#define WRITE(name)                                                                                \
    ssize_t name(int fd, const void *bytes, size_t length, off64_t offset)                         \
    {                                                                                              \
        return shorter(SYS_pwrite64, fd, (void *)bytes, length, offset);                           \
    }
#define OPEN(name)                                                                                 \
    int name(int folder, const char *path, int how, ...)                                           \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, how);                                                                       \
        int mode = (how & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, int) : 0;                     \
        va_end(rest);                                                                              \
        if (asked("nameless") && (how & O_TMPFILE) == O_TMPFILE) {                                 \
            errno = EOPNOTSUPP;                                                                    \
            return -1;                                                                             \
        }                                                                                          \
        return (int)syscall(SYS_openat, folder, path, how, mode);                                  \
    }

READ(pread)
READ(pread64)
WRITE(pwrite)
WRITE(pwrite64)
OPEN(openat)
OPEN(openat64)
