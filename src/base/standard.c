/* See standard.h. */
#include "standard.h"

#include <fcntl.h>
#include <unistd.h>

void standard_fill(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO && fcntl(fd, F_SETFD, 0) == 0);
    if (fd >= 0)
        close(fd);
}
