/* Notifies the service manager (sd_notify), and protects the process, which holds keys, from being
 * traced or dumped. */
#include "service.h"

#include "../base/parse.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int service_send(const char *path, const char *bytes, size_t size)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length < 2 || length >= sizeof at.sun_path || (path[0] != '/' && path[0] != '@'))
        return EINVAL;
    memcpy(at.sun_path, path, length);
    if (path[0] == '@')
        at.sun_path[0] = '\0'; /* abstract namespace */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    ssize_t sent = sendto(fd, bytes, size, MSG_NOSIGNAL, (struct sockaddr *)&at,
                          (socklen_t)(sizeof at.sun_family + length));
    int error = sent < 0 ? errno : 0;
    close(fd);
    return error;
}

void service_say(const char *lines)
{
    const char *path = getenv("NOTIFY_SOCKET");
    if (path != NULL)
        service_send(path, lines, strlen(lines));
}

void service_be_discreet(void)
{
    struct rlimit none = {0, 0};
    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGPIPE, SIG_IGN);
}

uint64_t service_watchdog(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t every = 0, whom = 0;
    /* The service manager has started the guardian, so WATCHDOG_PID is the parent. */
    if (pid != NULL && (!parse_number(pid, UINT32_MAX, &whom) || whom != (uint64_t)getppid()))
        return 0;
    return usec != NULL && parse_number(usec, UINT32_MAX, &every) ? every : 0;
}
