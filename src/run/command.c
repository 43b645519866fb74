#include "command.h"

#include "urgent.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int command_status(int status)
{
    return WIFSIGNALED(status) ? RUN_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

static _Noreturn void fail(int report, int exit_status, int error, const char *what)
{
    struct command_failure f = {.error = error};
    snprintf(f.what, sizeof f.what, "%s", what);
    if (write(report, &f, sizeof f) != sizeof f)
        exit_status = RUN_FAILED; /* then it is told by that alone */
    _exit(exit_status);
}

/* As a program expects to be started. What the user has chosen to ignore stays so: nohup, and
 * whatever a script has sent into the background. */
static void be_ordinary(void)
{
    sigset_t none;
    urgent_restore();
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction is;
        bool users = number == SIGHUP || number == SIGINT || number == SIGQUIT;
        if (users && sigaction(number, NULL, &is) == 0 && is.sa_handler == SIG_IGN)
            continue;
        signal(number, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A group of its own, the terminal if we have it; and it ends with whoever keeps it. */
static void stand_alone(const struct keeper_job *job)
{
    setpgid(0, 0);
    if (job->terminal)
        tcsetpgrp(STDIN_FILENO, getpgrp()); /* SIGTTOU is blocked still */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

static _Noreturn void become(const struct keeper_job *job, int report, int loss)
{
    const struct run_options *o = job->options;
    stand_alone(job);
    /* Who gains privileges is out of reach of our signals; and of a control group's, if it leaves
     * that first. */
    if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        fail(report, RUN_FAILED, errno, "no new privileges");
    if (fcntl(loss, F_SETFD, 0) != 0)
        fail(report, RUN_FAILED, errno, "the loss descriptor");
    be_ordinary();
    /* Who was held up so far has nothing to begin: B will come, or A. */
    while (deadline_now() >= atomic_load(&job->page->until) - atomic_load(&job->page->grace) -
                                 atomic_load(&job->page->margin))
        usleep(1000);
    if (o->shell)
        execl("/bin/sh", "sh", "-c", o->command[0], (char *)NULL);
    else
        execvp(o->command[0], o->command);
    int error = errno;
    fail(report, error == ENOENT ? RUN_NOT_FOUND : RUN_CANNOT_START, error,
         o->shell ? "/bin/sh" : o->command[0]);
}

/* ---- in namespaces of its own ---- */

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool fine = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return fine;
}

struct identity {
    uid_t user;
    gid_t group;
    bool mapped; /* in a user namespace, as itself */
};

static void furnish(const struct identity *who, int report)
{
    char user[64], group[64];
    snprintf(user, sizeof user, "%u %u 1", who->user, who->user);
    snprintf(group, sizeof group, "%u %u 1", who->group, who->group);
    if (who->mapped &&
        !(write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", user) &&
          write_file("/proc/self/gid_map", group)))
        fail(report, RUN_FAILED, errno, "--isolate: a user namespace");
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
        fail(report, RUN_FAILED, errno, "--isolate: a /proc of its own");
}

/* The first process of a namespace: when it ends, so does everything in it. */
static _Noreturn void init_of(pid_t command)
{
    sigset_t all;
    int status;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all,
                NULL); /* blocked, they wait: an init that has no handler would miss them */
    for (;;) {
        siginfo_t info;
        int number = sigwaitinfo(&all, &info);
        if (number > 0 && number != SIGCHLD)
            kill(-command, number);
        for (pid_t child; (child = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
            if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP)
                kill(-command, SIGCONT);
            else if (!WIFSTOPPED(status) && child == command)
                _exit(command_status(status));
        }
    }
}

static _Noreturn void begin_isolated(const struct keeper_job *job, const struct identity *who,
                                     int report, int loss)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    furnish(who, report);
    pid_t command = fork();
    if (command < 0)
        fail(report, RUN_FAILED, errno, "fork");
    if (command == 0)
        become(job, report, loss);
    setpgid(command, command);
    close_range(STDERR_FILENO + 1, ~0U, 0); /* what it held would never end */
    init_of(command);
}

/* fork, with namespaces. */
static pid_t fork_isolated(const struct identity *who)
{
    unsigned long flags = CLONE_NEWPID | CLONE_NEWNS | (who->mapped ? CLONE_NEWUSER : 0) | SIGCHLD;
    return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
}

pid_t command_start(const struct keeper_job *job, int *report, int loss)
{
    const struct identity who = {geteuid(), getegid(), geteuid() != 0};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return 0;
    pid_t child = job->options->isolate ? fork_isolated(&who) : fork();
    if (child == 0) {
        if (job->cgroup->fd >= 0 && !cgroup_enter(job->cgroup))
            fail(ends[1], RUN_FAILED, errno, "the control group");
        if (job->options->isolate)
            begin_isolated(job, &who, ends[1], loss);
        become(job, ends[1], loss);
    }
    int error = errno;
    close(ends[1]);
    *report = ends[0];
    if (child > 0) {
        setpgid(child, child); /* both: whoever comes first */
        return child;
    }
    close(ends[0]);
    *report = -1;
    errno = error;
    return 0;
}

pid_t command_start_check(const char *line)
{
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (geteuid() != 0)
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        be_ordinary();
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(RUN_NOT_FOUND);
    }
    if (child > 0)
        setpgid(child, child);
    return child > 0 ? child : 0;
}
