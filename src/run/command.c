/* Starts the command and the health checks. The kernel reaps the keeper's children, so the keeper
 * cannot read the command's exit status. Therefore the command's parent is a separate process, the
 * waiter, which exits with the command's status (docs/internals/daemon.md). */
#include "command.h"

#include "scheduling.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_PATH "/bin:/usr/bin" /* execvp() searches these folders if PATH is not set */

int command_status(int status)
{
    return WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

static _Noreturn void fail(int report, int exit_status, int error, const char *what)
{
    struct command_failure f = {.error = error};
    snprintf(f.what, sizeof f.what, "%s", what);
    if (write(report, &f, sizeof f) != sizeof f)
        exit_status = EXIT_RUN_FAILED;
    _exit(exit_status);
}

/* Restores the usual priority and signal handling of a new program. SIGHUP, SIGINT and SIGQUIT stay
 * ignored if they were, as under nohup or in a background job of a script. */
static void be_ordinary(void)
{
    sigset_t none;
    scheduling_restore();
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

/* Moves this process into a new process group, which gets the terminal if `terminal`. The kernel
 * kills the process when its parent dies. */
static void stand_alone(bool terminal)
{
    setpgid(0, 0);
    if (terminal)
        /* does not stop this process, because SIGTTOU is still blocked */
        tcsetpgrp(STDIN_FILENO, getpgrp());
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

/* Returns 0 if this process may execute the file, and an error number otherwise. */
static int file_error(const char *file)
{
    struct stat is;
    if (stat(file, &is) != 0)
        return errno;
    if (!S_ISREG(is.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* Searches PATH for the command, as execvp() does. Returns 0 if a folder contains a program of this
 * name, EACCES if folders contain only other files of this name, and ENOENT otherwise. If execvp()
 * cannot search one of the folders, it fails with EACCES even if the command is in none of them. */
static int path_error(const char *name)
{
    char file[4096];
    const char *path = getenv("PATH");
    int error = ENOENT;
    for (const char *at = path != NULL ? path : NO_PATH, *end; at != NULL;
         at = *end == ':' ? end + 1 : NULL) {
        end = strchrnul(at, ':');
        int folder = end > at ? (int)(end - at) : 1;
        int length = snprintf(file, sizeof file, "%.*s/%s", folder, end > at ? at : ".", name);
        if (length < 0 || (size_t)length >= sizeof file || access(file, F_OK) != 0)
            continue;
        if (file_error(file) == 0)
            return 0;
        error = EACCES;
    }
    return error;
}

/* Returns 0 if the command could be executed now. Otherwise returns the error number: ENOENT if the
 * command does not exist, EACCES if it is not an executable file. */
static int command_error(const struct run_options *o)
{
    const char *name = o->command[0];
    if (o->shell)
        return 0;
    return strchr(name, '/') != NULL ? file_error(name)
           : name[0] == '\0'         ? ENOENT
                                     : path_error(name);
}

void command_warn(const struct run_options *o, const char *node)
{
    int error = command_error(o);
    if (error != 0 && !o->quiet)
        channel_report("cannot execute %s: %s (correct the command, or install it before %s leads)",
                       run_name(o), strerror(error), node);
}

static _Noreturn void become(const struct keeper_job *job, int report, int loss)
{
    const struct run_options *o = job->options;
    stand_alone(job->terminal);
    /* elect run may not signal a command that gains privileges and, if the command also leaves its
     * control group, could not kill it at all. */
    if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        fail(report, EXIT_RUN_FAILED, errno, "cannot set no_new_privs");
    if (fcntl(loss, F_SETFD, 0) != 0)
        fail(report, EXIT_RUN_FAILED, errno, "cannot pass on the loss descriptor");
    be_ordinary();
    /* If it is so late that the command would have to be stopped at once, do not start it, but wait
     * for the keeper or the runner to kill this process. */
    while (boottime_now() >= atomic_load(&job->page->until) - atomic_load(&job->page->grace) -
                                 atomic_load(&job->page->margin))
        usleep(1000);
    if (o->shell)
        execl("/bin/sh", "sh", "-c", o->command[0], (char *)NULL);
    else
        execvp(o->command[0], o->command);
    int error = errno;
    if (error == EACCES && command_error(o) == ENOENT) /* execvp() could not search a folder */
        error = ENOENT;
    fail(report, error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN, error,
         o->shell ? "/bin/sh" : o->command[0]);
}

/* ---- namespaces ---- */

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
    bool mapped; /* in a user namespace, where both ids are mapped to themselves */
};

static void furnish(const struct identity *who, int report)
{
    char user[64], group[64];
    snprintf(user, sizeof user, "%u %u 1", who->user, who->user);
    snprintf(group, sizeof group, "%u %u 1", who->group, who->group);
    /* the files in /proc/self belong to root unless the process is dumpable */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    if (who->mapped &&
        !(write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", user) &&
          write_file("/proc/self/gid_map", group)))
        fail(report, EXIT_RUN_FAILED, errno, "--isolate: cannot map the user in its namespace");
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
        fail(report, EXIT_RUN_FAILED, errno, "--isolate: cannot mount a /proc of its own");
}

/* ---- the waiter ---- */

/* Asks the waiter to pass on the signal sival_int, or -sival_int to the command's process group. */
#define PASS_ON SIGRTMIN

void command_signal(pid_t waiter, int number, bool group)
{
    pid_t command = getpgid(waiter); /* once the waiter has joined its group */
    if (command > 1 && command != waiter)
        kill(group ? -command : command, number);
    else
        sigqueue(waiter, PASS_ON, (union sigval){.sival_int = group ? -number : number});
}

/* Blocks all signals: the waiter is in the command's process group, whose signals are not meant for
 * it. */
static void prepare_to_wait(const struct keeper_job *job)
{
    sigset_t all;
    struct channel channel = job != NULL ? job->channel : CHANNEL_NONE;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    tree_let_reap(false);
    stand_alone(false);
    channel_close(&channel); /* only the runner and the keeper may send EMPTY */
    if (job != NULL)
        close(job->runner);
}

/* Waits for the command, and exits with its status. In a process namespace, the waiter is process
 * 1, so its exit ends all other processes there. Otherwise the waiter joins the command's process
 * group, so that the kernel does not reuse the group's number before the waiter is reaped. In a
 * namespace it must not join, because the kernel does not end a namespace while a process group's
 * number is in use. */
static _Noreturn void wait_for(pid_t command, bool isolated)
{
    sigset_t expected;
    siginfo_t info;
    int status;
    setpgid(command, command);
    if (!isolated)
        setpgid(0, command);
    /* otherwise a reader of the command's output would wait for the waiter, too */
    closefrom(STDERR_FILENO + 1);
    sigemptyset(&expected);
    sigaddset(&expected, SIGCHLD);
    sigaddset(&expected, PASS_ON);
    for (;;) {
        int number = sigwaitinfo(&expected, &info);
        if (number == PASS_ON && info.si_code == SI_QUEUE)
            kill(info.si_int < 0 ? -command : command, abs(info.si_int));
        for (pid_t child; (child = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
            /* stopped by ^Z: the user would have no way to continue it */
            if (WIFSTOPPED(status) && child == command && WSTOPSIG(status) == SIGTSTP)
                kill(-command, SIGCONT);
            else if (!WIFSTOPPED(status) && child == command)
                _exit(command_status(status));
        }
    }
}

static _Noreturn void begin_to_wait(const struct keeper_job *job, const struct identity *who,
                                    int report, int loss)
{
    prepare_to_wait(job);
    if (job->cgroup->fd >= 0 && !cgroup_enter(job->cgroup))
        fail(report, EXIT_RUN_FAILED, errno, "cannot enter the control group");
    if (job->options->isolate)
        furnish(who, report);
    pid_t command = fork();
    if (command < 0)
        fail(report, EXIT_RUN_FAILED, errno, "cannot fork");
    if (command == 0)
        become(job, report, loss);
    wait_for(command, job->options->isolate);
}

pid_t command_start(const struct keeper_job *job, int *report, int loss)
{
    const struct identity who = {geteuid(), getegid(), geteuid() != 0};
    int namespaces = CLONE_NEWPID | CLONE_NEWNS | (who.mapped ? CLONE_NEWUSER : 0);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return 0;
    pid_t waiter = tree_fork(job->options->isolate ? namespaces : 0);
    if (waiter == 0)
        begin_to_wait(job, &who, ends[1], loss);
    int error = errno;
    close(ends[1]);
    *report = ends[0];
    if (waiter > 0) {
        setpgid(waiter, waiter);
        return waiter;
    }
    close(ends[0]);
    *report = -1;
    errno = error;
    return 0;
}

pid_t command_start_check(const char *line, int output)
{
    pid_t waiter = tree_fork(0);
    if (waiter == 0) {
        prepare_to_wait(NULL);
        pid_t check = fork();
        if (check < 0)
            _exit(EXIT_RUN_FAILED);
        if (check > 0)
            wait_for(check, false);
        stand_alone(false);
        if (geteuid() != 0)
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        be_ordinary();
        if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
            _exit(EXIT_RUN_FAILED);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(EXIT_NOT_FOUND);
    }
    if (waiter > 0)
        setpgid(waiter, waiter);
    return waiter > 0 ? waiter : 0;
}
