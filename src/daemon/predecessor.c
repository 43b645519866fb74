/* Waits for the previous daemon of this member to exit. */
#include "../runtime/file.h"
#include "control.h"
#include "predecessor.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE 10000000 /* microseconds, after one lease */
#define PAUSE    20000    /* microseconds */
#define SECOND   1000000
/* Microseconds to wait for the network address after the state file was unlocked. The kernel closes
 * the descriptors of an exiting process one by one, so the address may be freed after the lock. */
#define CLOSING 1000000

/* Returns the id of the process that listens on the status socket; 0 if none does. */
static int find_pid(const struct config *c, const struct config_member *me)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct ucred who = {0};
    socklen_t size = sizeof who;
    char path[CONFIG_FILE];
    config_socket_path(c, me->peer.id, control_name(CONTROL_STATUS), path);
    if (strlen(path) >= sizeof at.sun_path)
        return 0;
    memcpy(at.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return 0;
    if (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size);
    close(fd);
    return (int)who.pid;
}

/* Adds "PATH is in use by process 123". */
static void name_user(const struct config *c, const struct config_member *me, const char *path,
                      struct text *text)
{
    char whole[CONFIG_FILE + 64];
    int pid = find_pid(c, me);
    if (pid > 0)
        snprintf(whole, sizeof whole, "%s is in use by process %d", path, pid);
    else
        snprintf(whole, sizeof whole, "%s is in use by another process", path);
    text_add(text, whole);
}

bool predecessor_succeed(const struct config *c, const struct config_member *me,
                         const struct elect_peer *peers, int sockets[ELECT_UV_LINKS],
                         struct journal *journal, struct text *complaint)
{
    char path[CONFIG_FILE], why[512];
    elect_time began = elect_uv_now(), end = began + c->lease + PATIENCE, ended = began;
    bool waits = false;
    config_state_path(c, me->peer.id, path);
    for (;; usleep(PAUSE)) {
        elect_time now = elect_uv_now();
        if (file_is_locked(path)) {
            struct journal_entry e = {.event = JOURNAL_STARTED};
            struct text text;
            ended = now;
            if (waits && now < end)
                continue;
            text_clear(&text);
            name_user(c, me, path, &text);
            snprintf(e.text, sizeof e.text,
                     "%s waits at most %llu s for its previous daemon: if that daemon hangs, stop "
                     "its process",
                     me->name, (unsigned long long)(c->lease + PATIENCE) / SECOND);
            snprintf(e.cause, sizeof e.cause, "%.*s", JOURNAL_TEXT - 1, text.bytes);
            if (!waits)
                journal_write(journal, &e);
            waits = true;
            if (now < end)
                continue;
            text_add(complaint, text.bytes);
            text_add(complaint, ": stop that process first");
            return false;
        }
        if (elect_member_bind(peers, c->members, me->peer.id, sockets, why, sizeof why))
            return true;
        if (!waits || now - ended > CLOSING) {
            text_add(complaint, why);
            return false;
        }
    }
}
