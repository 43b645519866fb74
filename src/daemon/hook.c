/* Two processes for one hook: the hook parent, and the hook itself. See hook.h. */
#include "hook.h"

#include "../base/clock.h"
#include "../run/environment.h"
#include "../run/tree.h"
#include "trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define VARIABLES 12
#define SECOND    1000000

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

static _Noreturn void become(const struct config *c, const struct config_member *me,
                             const struct guard_note *note, const sigset_t *mask)
{
    static struct variables e;
    struct text complaint;
    const char *path = c->hook[note->hook];
    char *argv[] = {(char *)path, NULL};
    text_clear(&complaint);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    fill(&e, c, me, note);
    int fd = trusted_open(path, &complaint);
    if (fd < 0) {
        fprintf(stderr, "elect: %s: %s\n", hook_name((enum hook)note->hook), complaint.bytes);
        _exit(HOOK_NOT_TRUSTED);
    }
    int error = trusted_exec(fd, argv, e.all);
    fprintf(stderr, "elect: %s: %s: %s\n", hook_name((enum hook)note->hook), path, strerror(error));
    _exit(HOOK_FAILED);
}

/* ---- the hook parent ---- */

int hook_outcome(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : HOOK_FAILED; }

static int watch(pid_t hook, int64_t end, const sigset_t *signals)
{
    int status;
    while (waitpid(hook, &status, WNOHANG) != hook) {
        int64_t left = end - boottime_now();
        struct timespec rest = {left / SECOND, left % SECOND * 1000};
        if (left <= 0)
            return HOOK_TIMED_OUT;
        if (sigtimedwait(signals, NULL, &rest) == SIGTERM)
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

static _Noreturn void be_parent(const struct config *c, const struct config_member *me,
                                const struct guard_note *note, pid_t guardian)
{
    sigset_t signals, none;
    sigemptyset(&none);
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    setsid(); /* signals of a terminal are not for hooks */
    tree_adopt();
    closefrom(STDERR_FILENO + 1); /* descriptors of the guardian must end with the guardian */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    pid_t hook = getppid() == guardian ? fork() : -1;
    if (hook == 0)
        become(c, me, note, &none);
    int outcome = hook > 0 ? watch(hook, boottime_now() + c->hook_timeout, &signals) : HOOK_FAILED;
    tree_let_reap(true);
    tree_kill(&(struct tree){0}, gone, NULL);
    _exit(outcome);
}

pid_t hook_start(const struct config *c, const struct config_member *me,
                 const struct guard_note *note)
{
    pid_t guardian = getpid(), parent = fork();
    if (parent == 0)
        be_parent(c, me, note, guardian);
    return parent;
}
