/* Simulates a wrong clock or a slow disk for test/system/doctor.py, as a library loaded before libc
 * (LD_PRELOAD). With CLOCK_RATE=1.05 the clock of leases runs 5 % too fast, and with SYNC_MS=50
 * each fdatasync takes 50 ms longer. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000.0

static double setting(const char *name, double otherwise)
{
    const char *value = getenv(name);
    return value != NULL ? strtod(value, NULL) : otherwise;
}

static struct timespec scaled(const struct timespec *t, double rate)
{
    double time = ((double)t->tv_sec * SECOND + (double)t->tv_nsec) * rate;
    int64_t whole = (int64_t)time;
    return (struct timespec){.tv_sec = whole / 1000000000, .tv_nsec = whole % 1000000000};
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    int result = (int)syscall(SYS_clock_gettime, id, t);
    if (result == 0 && id == CLOCK_BOOTTIME)
        *t = scaled(t, setting("CLOCK_RATE", 1));
    return result;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *was)
{
    struct itimerspec spec = *at;
    if ((flags & TFD_TIMER_ABSTIME) != 0)
        spec.it_value = scaled(&spec.it_value, 1 / setting("CLOCK_RATE", 1));
    return (int)syscall(SYS_timerfd_settime, fd, flags, &spec, was);
}

int fdatasync(int fd)
{
    usleep((useconds_t)(setting("SYNC_MS", 0) * 1000));
    return (int)syscall(SYS_fdatasync, fd);
}
