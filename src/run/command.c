/* Starts the command and the health checks. The keeper lets the kernel reap its children, so it
 * could not learn the exit status of the command. Therefore a separate process, the waiter, is the
 * parent of the command, and exits with the command's status (docs/internals/daemon.md). */
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
        exit_status = EXIT_RUN_FAILED; /* only the exit status can now report the failure */
    _exit(exit_status);
}

/* Restores the priority and the signal handling that a program expects when it starts. SIGHUP,
 * SIGINT and SIGQUIT stay ignored if they were ignored before, as under nohup or in a background
 * job of a script. */
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

/* Moves this process into a new process group, gives it the terminal if `terminal` is set, and
 * makes the kernel kill it when its parent dies. */
static void stand_alone(bool terminal)
{
    setpgid(0, 0);
    if (terminal)
        /* tcsetpgrp() does not stop this process, because SIGTTOU is still blocked. */
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
        int folder = end > at ? (int)(end - at) : 1; /* the length of the folder in characters */
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
    /* The command must not gain privileges, because elect run would then not be permitted to signal
     * it. If the command had also left its control group, elect run could not kill it at all. */
    if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        fail(report, EXIT_RUN_FAILED, errno, "cannot set no_new_privs");
    if (fcntl(loss, F_SETFD, 0) != 0)
        fail(report, EXIT_RUN_FAILED, errno, "cannot pass on the loss descriptor");
    be_ordinary();
    /* If this process was delayed for so long that the command would have to be stopped at once, it
     * does not start the command, but waits here until the keeper or the runner kills it. */
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
    bool mapped; /* the command runs in a user namespace, which maps both ids to themselves */
};

static void furnish(const struct identity *who, int report)
{
    char user[64], group[64];
    snprintf(user, sizeof user, "%u %u 1", who->user, who->user);
    snprintf(group, sizeof group, "%u %u 1", who->group, who->group);
    /* The files in /proc of a process that is not dumpable belong to root, so this process must be
     * dumpable while it writes them. */
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

/* This signal asks the waiter to pass on another signal, whose number comes with it. If the number
 * is negative, that signal goes to the whole process group of the command. */
#define PASS_ON SIGRTMIN

void command_signal(pid_t waiter, int number, bool group)
{
    pid_t command = getpgid(waiter); /* the command, once the waiter has joined its group */
    if (command > 1 && command != waiter)
        kill(group ? -command : command, number);
    else
        sigqueue(waiter, PASS_ON, (union sigval){.sival_int = group ? -number : number});
}

/* Blocks every signal that the waiter does not handle. The waiter is in the process group of the
 * command, and signals to that group are not meant for the waiter. */
static void prepare_to_wait(const struct keeper_job *job)
{
    sigset_t all;
    struct channel channel = job != NULL ? job->channel : CHANNEL_NONE;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    tree_let_reap(false);
    stand_alone(false);
    channel_close(&channel); /* only the runner and the keeper may report the end of the work */
    if (job != NULL)
        close(job->runner);
}

/* Waits for the command, and exits with its status. In a process namespace of its own, the waiter
 * is the first process, so its exit also ends all other processes of that namespace. Without a
 * namespace, the waiter joins the process group of the command, so that the kernel does not reuse
 * the number of the group before the waiter is reaped. In a namespace the waiter must not join the
 * group, because the kernel does not end a namespace while the number of a process group in it is
 * in use. */
static _Noreturn void wait_for(pid_t command, bool isolated)
{
    sigset_t expected;
    siginfo_t info;
    int status;
    setpgid(command, command);
    if (!isolated)
        setpgid(0, command);
    /* The waiter must not keep descriptors open: a program that reads the output of the command
     * would otherwise wait for the waiter, too. */
    closefrom(STDERR_FILENO + 1);
    sigemptyset(&expected);
    sigaddset(&expected, SIGCHLD);
    sigaddset(&expected, PASS_ON);
    for (;;) {
        int number = sigwaitinfo(&expected, &info);
        if (number == PASS_ON && info.si_code == SI_QUEUE)
            kill(info.si_int < 0 ? -command : command, abs(info.si_int));
        for (pid_t child; (child = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
            /* ^Z stops a command that reads from a terminal. The user could not continue the
             * command, so the waiter continues it. */
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
        setpgid(waiter, waiter); /* both the parent and the child set the group, to avoid a race */
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
