/* Progress bar on standard error, with at most ten updates per second. */
#include "sim.h"

#include <time.h>
#include <unistd.h>

static bool shown;

static bool due(void)
{
    static struct timespec last;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ms = (now.tv_sec - last.tv_sec) * 1000 + (now.tv_nsec - last.tv_nsec) / 1000000;
    if (ms < 100)
        return false;
    last = now;
    return true;
}

void progress_show(uint64_t done, uint64_t total, const char *what)
{
    static const char full[] = "##############################";
    if (!isatty(STDERR_FILENO) || !due())
        return;
    if (total > 0) {
        int width = (int)(done * 30 / total);
        fprintf(stderr, "\r[%.*s%*s] %3d %%  %llu %s", width, full, 30 - width, "",
                (int)(done * 100 / total), (unsigned long long)done, what);
    } else {
        fprintf(stderr, "\r%llu %s", (unsigned long long)done, what);
    }
    fflush(stderr);
    shown = true;
}

void progress_clear(void)
{
    if (shown)
        fprintf(stderr, "\r%60s\r", "");
    shown = false;
}
