/* Each hook has two processes: the hook parent and the hook itself. See hook.h. */
#include "hook.h"

#include "../base/clock.h"
#include "../run/environment.h"
#include "../run/tree.h"
#include "hook_output.h"
#include "trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLES   12
#define MILLISECOND 1000

const char *hook_name(enum hook hook)
{
    static const char *const names[] = {
#define X(name, word) word,
        CONFIG_HOOKS(X)
#undef X
    };
    return names[hook];
}

bool hook_check_all(const struct config *c, uid_t user, struct text *complaint)
{
    struct text why;
    for (unsigned i = 0; i < HOOK_COUNT; i++) {
        text_clear(&why);
        if (c->hook[i][0] == '\0' || trusted_check(c->hook[i], user, &why))
            continue;
        text_add(complaint, hook_name((enum hook)i));
        text_add(complaint, ": ");
        return text_refuse(complaint, why.bytes);
    }
    return true;
}

/* ---- the hook ---- */

struct variables {
    char text[VARIABLES][CONFIG_FILE];
    char *all[VARIABLES + 1];
    unsigned count;
};

static void add(void *context, const char *name, const char *value)
{
    struct variables *v = context;
    snprintf(v->text[v->count], sizeof v->text[0], "%s=%s", name, value);
    v->all[v->count] = v->text[v->count];
    v->count++;
}

static void fill(struct variables *v, const struct config *c, const struct config_member *me,
                 const struct guard_note *note)
{
    char socket[CONFIG_FILE];
    memset(v, 0, sizeof *v);
    config_socket_path(c, me->peer.id, "status", socket);
    config_make_absolute(socket);
    add(v, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    add(v, "ELECT_HOOK", hook_name((enum hook)note->hook));
    environment_each(&(struct environment){.group = c->group[note->group],
                                           .node = me->name,
                                           .leader = note->leader,
                                           .socket = socket,
                                           .term = note->term,
                                           .lease = note->lease},
                     add, v);
}

struct launch {
    const struct config *c;
    const struct config_member *me;
    const struct guard_note *note;
    struct hook_output output;
};

static _Noreturn void fail(struct launch *l, int outcome, const char *why)
{
    struct journal_entry e = l->output.about;
    char text[64];
    snprintf(text, sizeof text, "%s cannot be run", l->output.hook);
    e.event = JOURNAL_HOOK;
    e.level = LEVEL_ERROR;
    snprintf(e.cause, sizeof e.cause, "%.*s", JOURNAL_TEXT - 1, why);
    text_clean(e.cause);
    journal_print(l->output.journal, &e, text, NULL);
    _exit(outcome);
}

static _Noreturn void become(struct launch *l, int out)
{
    static struct variables e;
    struct text complaint;
    const char *path = l->c->hook[l->note->hook];
    char *argv[] = {(char *)path, NULL};
    sigset_t none;
    text_clear(&complaint);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int log = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (l->output.journal->stream.fd == STDERR_FILENO)
        l->output.journal->stream.fd = log;
    dup2(nothing, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    fill(&e, l->c, l->me, l->note);
    int fd = trusted_open(path, &complaint);
    if (fd < 0)
        fail(l, HOOK_NOT_TRUSTED, complaint.bytes);
    int error = trusted_exec(fd, argv, e.all);
    text_complain(&complaint, path, strerror(error), "");
    fail(l, HOOK_FAILED, complaint.bytes);
}

/* ---- the hook parent ---- */

int hook_outcome(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : HOOK_FAILED; }

static bool is_told_to_end(int signals)
{
    struct signalfd_siginfo s;
    bool told = false;
    while (read(signals, &s, sizeof s) == sizeof s)
        told = told || s.ssi_signo == SIGTERM;
    return told;
}

static int watch(pid_t hook, int64_t end, int signals, struct hook_output *output)
{
    struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
                           {.fd = output->pipe, .events = POLLIN}};
    int status;
    while (waitpid(hook, &status, WNOHANG) != hook) {
        int64_t left = end - boottime_now();
        if (left <= 0)
            return HOOK_TIMED_OUT;
        if (poll(fds, 2, (int)(left / MILLISECOND) + 1) <= 0)
            continue;
        if (fds[1].revents != 0 && !hook_output_take(output))
            fds[1].fd = -1; /* the hook may still be running */
        if (fds[0].revents != 0 && is_told_to_end(signals))
            return HOOK_CANCELLED;
    }
    return hook_outcome(status);
}

static void gone(void *context, pid_t child, int status)
{
    (void)context;
    (void)child;
    (void)status;
}

/* SIGTERM cancels the hook. */
static int take_signals(void)
{
    sigset_t signals;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    signal(SIGPIPE, SIG_IGN); /* the reader of the log may have exited */
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void begin_output(struct launch *l, struct journal *journal)
{
    struct hook_output *o = &l->output;
    *o = (struct hook_output){.journal = journal, .hook = hook_name((enum hook)l->note->hook)};
    snprintf(o->about.group, sizeof o->about.group, "%s", l->c->group[l->note->group]);
    snprintf(o->about.leader, sizeof o->about.leader, "%s", l->note->leader);
    o->about.term = l->note->term;
    log_stream_open(&journal->stream, journal->options.json); /* close_all_but() has closed it */
}

/* A hook parent may outlive the process that started it, so it must not keep that process's sockets
 * open. */
static void close_all_but(int held)
{
    const int kept = STDERR_FILENO + 1;
    if (held < 0 || dup2(held, kept) < 0 || fcntl(kept, F_SETFD, FD_CLOEXEC) != 0)
        closefrom(kept);
    else
        closefrom(kept + 1);
}

static _Noreturn void be_parent(struct launch *l, struct journal *journal, pid_t starter, int held)
{
    int64_t end = boottime_now() + l->c->hook_timeout;
    int pair[2], outcome = HOOK_FAILED;
    setsid(); /* no signals from a terminal */
    tree_adopt();
    close_all_but(held);
    int signals = take_signals();
    begin_output(l, journal);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != starter || signals < 0 || pipe2(pair, O_CLOEXEC) != 0)
        _exit(HOOK_FAILED);
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    l->output.pipe = pair[0];
    pid_t hook = l->output.pid = fork();
    if (hook == 0)
        become(l, pair[1]);
    close(pair[1]);
    if (hook > 0)
        outcome = watch(hook, end, signals, &l->output);
    tree_let_reap(true);
    tree_kill(&(struct tree){0}, gone, NULL);
    hook_output_end(&l->output);
    _exit(outcome);
}

pid_t hook_start(const struct config *c, const struct config_member *me,
                 const struct guard_note *note, struct journal *journal, int held)
{
    struct launch l = {.c = c, .me = me, .note = note};
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* the child must not run this process's handlers */
    pid_t starter = getpid(), parent = fork();
    if (parent == 0)
        be_parent(&l, journal, starter, held);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return parent;
}
