/* A workload that resists being killed: hostile FILE MODE [NUMBER]
 *
 * All its processes keep writing the time (CLOCK_BOOTTIME, microseconds) into the file, which shows
 * when the last one was alive. In all modes except plain they ignore the signals that end a
 * process, except SIGKILL.
 *
 *   plain    ends when it gets a signal
 *   ignore   does nothing else
 *   tree     forks NUMBER processes, each twice, in separate sessions
 *   chain    starts NUMBER chains for a minute: each process forks the next one and ends
 *   bomb     forks up to NUMBER processes as fast as possible
 *   memory   holds NUMBER MiB
 *   output   fills its output
 *   threads  forks a tree from a second thread
 *   stopped  stops itself
 *   record   forks a tree, but writes the times into a new file TOKEN-PID in the folder FILE,
 *            with the time when the workload started
 *
 *   stalls   does no work, but records when and for how long a processor of the machine stalled */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHAIN_MAX 60000000 /* microseconds until all chains end by themselves */

/* A page shared by all processes: the latest time that a process wrote, the number of forked
 * processes, the time when the workload started, and the number of chains that ended by
 * themselves. */
static _Atomic int64_t *beat;

static int64_t clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void live_once(void)
{
    int64_t now = clock_now(), seen = atomic_load(beat);
    while (now > seen && !atomic_compare_exchange_weak(beat, &seen, now)) {
    }
}

static _Noreturn void live(void)
{
    const struct timespec moment = {.tv_nsec = 300000};
    for (;;) {
        live_once();
        nanosleep(&moment, NULL);
    }
}

static void ignore_all(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        signal(numbers[i], SIG_IGN);
}

/* Starts a process by forking twice. Its parent exits at once, so it is adopted by a process
 * outside the workload. */
static void one_more(void)
{
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        atomic_fetch_add(&beat[1], 1);
        live();
    }
    waitpid(child, NULL, 0);
}

static void *grow(void *number)
{
    for (long i = *(long *)number; i > 0; i--)
        one_more();
    return NULL;
}

static void chain(long number)
{
    for (long i = 0; i < number; i++)
        if (fork() == 0)
            for (;;) {
                setsid();
                live_once();
                if (beat[0] - beat[2] > CHAIN_MAX) {
                    atomic_fetch_add(&beat[3], 1);
                    _exit(0);
                }
                if (fork() > 0)
                    _exit(0);
                atomic_fetch_add(&beat[1], 1);
            }
    live();
}

static void bomb(long number)
{
    while (atomic_fetch_add(&beat[1], 1) < number) {
        live_once();
        if (fork() < 0)
            break;
    }
    live();
}

static void fill(void)
{
    static char page[65536];
    memset(page, 'x', sizeof page);
    for (;;) {
        live_once();
        if (write(STDERR_FILENO, page, sizeof page) < 0 ||
            write(STDOUT_FILENO, page, sizeof page) < 0)
            live();
    }
}

static void hold(long megabytes)
{
    size_t size = (size_t)megabytes << 20;
    char *memory = malloc(size);
    for (size_t i = 0; memory != NULL && i < size; i += 4096)
        memory[i] = 1;
    atomic_fetch_add(&beat[1], 1);
    live();
}

static void in_thread(long *number)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, grow, number) == 0)
        pthread_join(thread, NULL);
}

#define STALL  2000 /* microseconds; shorter stalls are normal */
#define STALLS 255

/* Records a stall in the shared page, which in this mode contains the number of stalls, then the
 * end and the length of each of the latest ones. */
static void note_stall(int64_t end, int64_t length)
{
    int64_t slot = atomic_fetch_add(&beat[0], 1) % STALLS;
    beat[1 + 2 * slot] = end;
    beat[2 + 2 * slot] = length;
}

/* Detects stalls of one processor. The thread runs only there, with a real-time priority if
 * possible, and sleeps for a millisecond at a time. If it wakes up much later, the processor has
 * stalled. */
static void *watch_processor(void *number)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    const struct sched_param lowest = {.sched_priority = 1};
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)(uintptr_t)number, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    pthread_setschedparam(pthread_self(), SCHED_RR, &lowest);
    for (;;) {
        int64_t before = clock_now();
        nanosleep(&moment, NULL);
        int64_t after = clock_now(), length = after - before - 1000;
        if (length > STALL)
            note_stall(after, length);
    }
    return NULL;
}

static _Noreturn void watch_all(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t thread;
    for (long i = 0; i < count; i++)
        pthread_create(&thread, NULL, watch_processor, (void *)(uintptr_t)i);
    for (;;)
        pause();
}

static int open_file(const char *path, const char *mode)
{
    char own[512];
    const char *token = getenv("ELECT_TOKEN");
    snprintf(own, sizeof own, "%s/%s-%ld", path, token != NULL ? token : "none", (long)getpid());
    return open(strcmp(mode, "record") == 0 ? own : path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "";
    int fd = argc > 2 ? open_file(argv[1], mode) : -1;
    long number = argc > 3 ? strtol(argv[3], NULL, 10) : 1;
    if (fd < 0 || ftruncate(fd, 4096) != 0)
        return 64;
    beat = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (beat == MAP_FAILED)
        return 64;
    if (strcmp(mode, "stalls") == 0)
        watch_all();
    live_once();
    beat[2] = beat[0];
    if (strcmp(mode, "plain") != 0)
        ignore_all();
    if (strcmp(mode, "tree") == 0 || strcmp(mode, "record") == 0)
        grow(&number);
    else if (strcmp(mode, "threads") == 0)
        in_thread(&number);
    else if (strcmp(mode, "chain") == 0)
        chain(number);
    else if (strcmp(mode, "bomb") == 0)
        bomb(number);
    else if (strcmp(mode, "memory") == 0)
        hold(number);
    else if (strcmp(mode, "output") == 0)
        fill();
    else if (strcmp(mode, "stopped") == 0)
        raise(SIGSTOP);
    live();
}
