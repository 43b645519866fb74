/* Checks a state file as a daemon does when it starts, but without changing it. */
#include "state_check.h"

#include "../runtime/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READMIT ": move it away, then run elect readmit"

static int write_nothing(void *context, const void *bytes, size_t length, uint64_t offset)
{
    (void)context;
    (void)bytes;
    (void)length;
    (void)offset;
    return 0;
}

static int sync_nothing(void *context)
{
    (void)context;
    return 0;
}

static const char *find_fault_of_file(const struct stat *is, uid_t user)
{
    return !S_ISREG(is->st_mode)       ? "it is not a regular file" READMIT
           : is->st_uid != user        ? "another user owns it: chown it to the owner of state-dir"
           : (is->st_mode & 022) != 0  ? "other users may write to it: chmod 600 it"
           : is->st_size != STORE_SIZE ? file_text(FILE_SIZE)
                                       : NULL;
}

static const char *find_fault_of_record(const struct config *c, const struct config_member *me,
                                        int fd)
{
    static struct store store; /* too large for the stack */
    static struct state state;
    struct file f = {.fd = fd};
    struct store_file real = file_store(&f);
    real.write = write_nothing;
    real.sync = sync_nothing;
    memcpy(state.cluster, c->cluster, sizeof state.cluster);
    state.node = me->peer.id;
    enum store_error error = store_open(&store, &real, &state);
    if (error == STORE_IO)
        return strerror(store.error);
    if (error != STORE_FINE)
        return store_text(error);
    return state.condemned != 0 ? "the other members have told it to stop" READMIT : NULL;
}

bool state_check(const struct config *c, const struct config_member *me, uid_t user,
                 struct text *why)
{
    char path[CONFIG_FILE];
    struct stat is;
    config_state_path(c, me->peer.id, path);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return text_refuse(why, "there is none: run elect init; if it was lost, elect readmit");
    if (fd < 0)
        return text_refuse(why, errno == ELOOP ? "it is a symbolic link" READMIT : strerror(errno));
    const char *fault = fstat(fd, &is) != 0 ? strerror(errno) : find_fault_of_file(&is, user);
    if (fault == NULL)
        fault = find_fault_of_record(c, me, fd);
    close(fd);
    return fault == NULL || text_refuse(why, fault);
}
