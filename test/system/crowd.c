/* Floods a socket with connections: crowd SOCKET THREADS CONNECTIONS [REQUEST]
 *
 * Each thread opens CONNECTIONS connections as fast as it can, sends the request on each, closes
 * them all and starts again, until standard input is closed. Then prints the number of connections
 * made. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MOST 256

static struct sockaddr_un at = {.sun_family = AF_UNIX};
static unsigned connections;
static const char *request;
static atomic_bool over;
static atomic_ullong made;

static int open_one(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0) {
        (void)!send(fd, request, strlen(request), MSG_NOSIGNAL | MSG_DONTWAIT);
        made++;
    }
    return fd;
}

static void *crowds(void *unused)
{
    int fds[MOST];
    while (!over) {
        for (unsigned i = 0; i < connections; i++)
            fds[i] = open_one();
        for (unsigned i = 0; i < connections; i++)
            if (fds[i] >= 0)
                close(fds[i]);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread[MOST];
    unsigned threads = argc > 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    connections = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    request = argc > 4 ? argv[4] : "";
    if (threads == 0 || threads > MOST || connections == 0 || connections > MOST ||
        strlen(argv[1]) >= sizeof at.sun_path) {
        fputs("usage: crowd SOCKET THREADS CONNECTIONS [REQUEST]\n", stderr);
        return 64;
    }
    memcpy(at.sun_path, argv[1], strlen(argv[1]) + 1);
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, crowds, NULL) != 0)
            return 1;
    while (getchar() != EOF) {
    }
    over = true;
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    printf("%llu\n", (unsigned long long)made);
    return 0;
}
