/* The keeper starts the command and stops it in time. It reads the clock itself, so that it does
 * not depend on its parent, the runner.
 *
 * 1. The keeper forks no process until it is a subreaper and knows that the runner is alive.
 * 2. If the runner dies, the socket pair between them is closed, and the keeper kills the command
 *    with all its processes.
 * 3. The keeper reports the end of the work (PHASE_EMPTY for the runner, EMPTY for the daemon) only
 *    when it has no child left.
 * 4. Only EMPTY can cause a hand-over. */
#include "command.h"
#include "environment.h"
#include "health.h"
#include "outcome.h"
#include "scheduling.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND 1000000
/* how soon the keeper continues a waiter that was stopped by the command */
#define LOOK_AGAIN (2 * SECOND)

/* --on-exit restart: a failed command is started again after 1 s, 2 s and 4 s, then leadership is
 * handed over. After a run of RAN_WELL, the count starts again. */
#define RESTARTS 3
#define RAN_WELL (60 * SECOND)
/* delay of a restart when too little of the lease is left */
#define TRY_AGAIN (SECOND / 10)

struct keeper {
    struct keeper_job *job;
    const struct run_options *o;
    struct page *page;
    struct deadline d;
    struct tree tree;
    struct health health;
    pid_t waiter; /* parent of the command; 0 once it has ended */
    int status;
    int report;                     /* pipe for a command_failure; -1 if closed */
    struct command_failure failure; /* `what` is empty if there is none */
    int loss; /* closing this pipe tells the command that leadership is lost; -1 if closed */
    int timer, signals;
    bool alone;
    unsigned restarts; /* with --on-exit restart: in a row */
    int64_t began;
    int64_t again; /* when to restart it, or DEADLINE_NEVER */
};

void deadline_arm(int timer, int64_t when)
{
    int64_t at = when > 0 ? when : 1;
    struct itimerspec spec = {.it_value = {.tv_sec = at / SECOND, .tv_nsec = at % SECOND * 1000}};
    if (when == DEADLINE_NEVER)
        spec = (struct itimerspec){0};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void note(const struct keeper *k, enum note_kind kind, int value)
{
    const struct note n = {kind, value};
    packet_send(k->job->runner, &n, sizeof n, NULL);
}

static bool is(const struct keeper *k, enum phase phase)
{
    return atomic_load(&k->page->phase) == (int)phase;
}

static void look_at_page(struct keeper *k)
{
    k->d.until = atomic_load(&k->page->until);
    k->d.grace = atomic_load(&k->page->grace);
    k->d.margin = atomic_load(&k->page->margin);
}

/* ---- the end of the work ---- */

static void ended(void *context, pid_t child, int status)
{
    struct keeper *k = context;
    if (child == k->waiter) {
        k->waiter = 0;
        k->status = command_status(status);
    }
    health_ended(&k->health, child, status);
}

static void say_empty(struct keeper *k)
{
    struct outcome is =
        outcome_of(k->o, k->page, k->alone ? ENDED_RUNNER : ENDED_COMMAND, k->status);
    channel_say_empty(&k->job->channel, k->job->go.group, is.flags, is.why);
    atomic_store(&k->page->said, 1);
}

/* Returns the process id of the command, which is the waiter's process group; 0 if unknown, as in a
 * process namespace. */
static pid_t command_pid(const struct keeper *k)
{
    pid_t group = k->waiter > 0 ? getpgid(k->waiter) : 0;
    return group > 0 && group != k->waiter ? group : 0;
}

/* Returns true if the waiter has been reaped and was not killed before the command was executed. */
static bool ended_by_itself(const struct keeper *k)
{
    return k->waiter == 0 && k->status != EXIT_SIGNAL + SIGKILL && k->status != EXIT_RUN_FAILED;
}

/* Reads the pipe `report`, and stores a failure for later. If the pipe was closed without one, the
 * command has been executed, unless it was killed before. */
static void look_at_report(struct keeper *k)
{
    struct command_failure f;
    ssize_t got = k->report >= 0 ? read(k->report, &f, sizeof f) : -1;
    if (k->report < 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    close(k->report);
    k->report = -1;
    if (got == sizeof f)
        k->failure = f;
    else if (k->waiter > 0 || ended_by_itself(k))
        note(k, NOTE_STARTED, (int)command_pid(k));
}

static void tell_why_not(struct keeper *k)
{
    struct command_failure *f = &k->failure;
    look_at_report(k);
    f->what[sizeof f->what - 1] = '\0';
    if (f->what[0] != '\0')
        channel_report("%s: %s", f->what,
                       f->error == EPERM && k->o->isolate ? "not permitted here"
                                                          : strerror(f->error));
    f->what[0] = '\0';
    if (k->report >= 0)
        close(k->report);
    k->report = -1;
}

/* Returns true if the user ended the command with a key such as ^C, which the terminal sends only
 * to the command, not to elect run. */
static bool was_ended_by_keys(const struct keeper *k)
{
    return k->job->terminal &&
           (k->status == EXIT_SIGNAL + SIGINT || k->status == EXIT_SIGNAL + SIGQUIT ||
            k->status == EXIT_SIGNAL + SIGHUP);
}

static _Noreturn void finish(struct keeper *k)
{
    /* after a signal or freeze, the end of the work has already been reported */
    bool counted = is(k, PHASE_GIVEN) || is(k, PHASE_FROZEN);
    tree_kill(&k->tree, ended, k);
    tell_why_not(k);
    if (k->job->terminal)
        tcsetpgrp(STDIN_FILENO, k->job->runner_group);
    if (k->alone)
        cgroup_remove(k->job->cgroup);
    if (was_ended_by_keys(k))
        atomic_store(&k->page->ending, k->status - EXIT_SIGNAL);
    atomic_store(&k->page->status, k->status);
    atomic_store(&k->page->phase, PHASE_EMPTY);
    if (!counted)
        say_empty(k);
    _exit(0);
}

/* ---- the deadline ---- */

static void tell_command(struct keeper *k)
{
    if (k->loss >= 0)
        close(k->loss);
    k->loss = -1;
}

static void begin_to_stop(struct keeper *k, int64_t now)
{
    if (k->d.since != DEADLINE_NEVER)
        return;
    deadline_stop(&k->d, now);
    atomic_store(&k->page->lost, 1);
    health_end(&k->health);
    tell_command(k);
    if (k->waiter > 0) {
        command_signal(k->waiter, k->o->signal, true);
        command_signal(k->waiter, SIGCONT, true);
    }
}

static void freeze(struct keeper *k)
{
    health_end(&k->health);
    tell_command(k);
    tree_stop(&k->tree);
    atomic_store(&k->page->phase, PHASE_FROZEN);
    say_empty(k);
    note(k, NOTE_FROZEN, 0);
}

/* With --on-lose signal, the work counts as ended once the command has been signalled. */
static void give(struct keeper *k)
{
    atomic_store(&k->page->phase, PHASE_GIVEN);
    say_empty(k);
    channel_close(&k->job->channel);
}

static void last_moment(struct keeper *k, int64_t now)
{
    switch (k->o->on_lose) {
    case LOSE_STOP:
        begin_to_stop(k, now);
        note(k, NOTE_KILLING, (int)((now - k->d.since) / 1000));
        finish(k);
    case LOSE_SIGNAL: give(k); break;
    case LOSE_FREEZE: freeze(k); break;
    }
}

static void look_at_clock(struct keeper *k)
{
    int64_t now = boottime_now();
    if (!is(k, PHASE_WORKING))
        return;
    look_at_page(k);
    if (k->o->on_lose != LOSE_FREEZE && now >= deadline_term(&k->d)) {
        begin_to_stop(k, now);
        note(k, NOTE_STOPPING, 0);
    }
    if (now >= deadline_kill(&k->d))
        last_moment(k, now);
}

/* Freezes an unhealthy command (--on-lose freeze), or begins to stop it with its full grace period.
 * Leadership is handed over once it is frozen or all its processes have ended. The caller has
 * handled all watchdog messages and ended checks up to `heard`, which is used instead of the
 * current time, so that a delay of the keeper itself does not make the command look unhealthy. */
static void look_at_health(struct keeper *k, int64_t heard)
{
    int found = is(k, PHASE_WORKING) ? health_look(&k->health, heard) : HEALTH_FINE;
    if (found == HEALTH_FINE)
        return;
    memcpy(k->page->complaint, k->health.why, sizeof k->page->complaint);
    atomic_store(&k->page->unhealthy, found);
    note(k, NOTE_UNHEALTHY, found);
    if (k->o->on_lose == LOSE_FREEZE)
        freeze(k);
    else
        begin_to_stop(k, boottime_now());
}

static int64_t next_alarm(const struct keeper *k)
{
    int64_t term = k->o->on_lose != LOSE_FREEZE ? deadline_term(&k->d) : DEADLINE_NEVER;
    int64_t end = deadline_kill(&k->d), look = health_next(&k->health);
    int64_t first = boottime_now() + LOOK_AGAIN;
    if (is(k, PHASE_FROZEN))
        return DEADLINE_NEVER;
    if (!is(k, PHASE_WORKING))
        return first;
    first = term < first ? term : first;
    first = end < first ? end : first;
    first = k->again < first ? k->again : first;
    return look < first ? look : first;
}

/* ---- hearing the runner ---- */

static void thaw(struct keeper *k, const int channel[2])
{
    int64_t now = boottime_now();
    channel_close(&k->job->channel);
    k->job->channel = (struct channel){channel[0], channel[1]};
    k->job->go.term = atomic_load(&k->page->term);
    k->job->go.lease = atomic_load(&k->page->lease);
    k->d.since = DEADLINE_NEVER;
    k->d.over = false;
    look_at_page(k);
    if (!deadline_may_start(&k->d, now)) {
        freeze(k);
        return;
    }
    atomic_store(&k->page->phase, PHASE_WORKING);
    atomic_store(&k->page->unhealthy, 0);
    health_again(&k->health, now);
    tree_continue(&k->tree);
}

static void pass_on(struct keeper *k, int number)
{
    if (!is(k, PHASE_FROZEN)) {
        if (k->waiter > 0)
            command_signal(k->waiter, number, false);
    } else if (signals_end(number)) {
        /* A frozen command is killed before it can run again and handle the signal. */
        tree_kill(&k->tree, ended, k);
        k->status = EXIT_SIGNAL + number;
    }
}

static void obey(struct keeper *k, const struct note *n, const int passed[2])
{
    bool working = is(k, PHASE_WORKING);
    int64_t now = boottime_now();
    switch (n->kind) {
    case NOTE_SIGNAL: pass_on(k, n->value); break;
    case NOTE_STOP:
    case NOTE_KILL:
        if (working && k->o->on_lose != LOSE_FREEZE)
            begin_to_stop(k, now);
        if (working &&
            (k->o->on_lose == LOSE_FREEZE || (n->kind == NOTE_KILL && k->o->on_lose == LOSE_STOP)))
            last_moment(k, now);
        break;
    case NOTE_THAW: thaw(k, passed); break;
    case NOTE_STARTED:
    case NOTE_STOPPING:
    case NOTE_KILLING:
    case NOTE_FROZEN:
    case NOTE_UNHEALTHY:
    case NOTE_RESTARTS: break;
    }
}

static void hear_runner(struct keeper *k)
{
    struct note n;
    int passed[2];
    long got;
    while ((got = packet_receive(k->job->runner, &n, sizeof n, passed)) == sizeof n)
        obey(k, &n, passed);
    if (got == 0) {
        k->alone = true;
        finish(k);
    }
}

/* ---- starting the command, and the loop ---- */

static void set_variable(void *unused, const char *name, const char *value)
{
    (void)unused;
    setenv(name, value, 1);
}

static void set_environment(const struct keeper_job *job, int loss)
{
    const struct talk *go = &job->go;
    char number[16];
    environment_each(&(struct environment){.group = go->group,
                                           .node = go->node,
                                           .leader = go->leader,
                                           .socket = job->options->status_socket,
                                           .term = go->term,
                                           .lease = go->lease},
                     set_variable, NULL);
    snprintf(number, sizeof number, "%d", loss);
    setenv("ELECT_LOSS_FD", number, 1);
}

static bool runner_lives(const struct keeper *k)
{
    struct pollfd p = {.fd = k->job->runner};
    /* reports a closed connection even though no event is requested */
    return poll(&p, 1, 0) == 0;
}

static bool start_command(struct keeper *k)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        channel_report("cannot start a process: %s", strerror(errno));
        return false;
    }
    k->loss = ends[1];
    set_environment(k->job, ends[0]);
    k->began = boottime_now();
    k->waiter = command_start(k->job, &k->report, ends[0]);
    if (k->waiter == 0)
        channel_report("%s: %s", k->o->isolate ? "--isolate" : "cannot fork",
                       errno == EPERM ? "not permitted here" : strerror(errno));
    close(ends[0]);
    k->tree.waiter = k->waiter;
    atomic_store(&k->page->waiter, k->waiter);
    return k->waiter > 0;
}

static void begin(struct keeper *k)
{
    sigset_t set;
    /* a signal to the runner's group, as from timeout -s KILL, must not kill the keeper, too */
    setpgid(0, 0);
    scheduling_raise_again();
    tree_let_reap(true);
    sigemptyset(&set);
    sigaddset(&set, TREE_ENDED);
    k->timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    k->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    k->status = EXIT_RUN_FAILED;
    health_begin(&k->health, k->o, boottime_now() + k->o->health_every);
    if (!tree_adopt() || k->timer < 0 || k->signals < 0 ||
        !health_listen(&k->health, boottime_now())) {
        channel_report("cannot start a process: %s", strerror(errno));
        finish(k);
    }
    k->alone = !runner_lives(k);
    look_at_page(k);
    if (k->alone || !deadline_may_start(&k->d, boottime_now())) {
        k->status = RUN_NOTHING;
        finish(k);
    }
    atomic_store(&k->page->phase, PHASE_WORKING);
    if (!start_command(k))
        finish(k);
}

/* ---- --on-exit restart ---- */

static bool restarts(const struct keeper *k)
{
    return k->o->on_exit == EXIT_RESTARTS && k->restarts < RESTARTS && k->status != 0 &&
           is(k, PHASE_WORKING) && k->d.since == DEADLINE_NEVER && !was_ended_by_keys(k) &&
           !outcome_was_told(k->page, k->status);
}

static void plan_restart(struct keeper *k)
{
    int64_t delay = (int64_t)SECOND << k->restarts;
    int survived = atomic_load(&k->page->ending);
    /* forget a HUP or QUIT that the command survived, but keep a TERM or INT that arrives now */
    if (survived == SIGHUP || survived == SIGQUIT)
        atomic_compare_exchange_strong(&k->page->ending, &survived, 0);
    if (k->job->terminal) /* so that ^C reaches the runner while no command is running */
        tcsetpgrp(STDIN_FILENO, k->job->runner_group);
    health_end(&k->health);
    tell_command(k);
    tree_kill(&k->tree, ended, k);
    tell_why_not(k);
    k->tree.waiter = 0;
    atomic_store(&k->page->waiter, 0);
    k->restarts++;
    atomic_store(&k->page->restarts, 1);
    k->again = boottime_now() + delay;
    atomic_store(&k->page->status, k->status);
    note(k, NOTE_RESTARTS, (int)(delay / SECOND));
}

/* A frozen run does not restart its command, because another member may lead. */
static void start_again(struct keeper *k)
{
    int64_t now = boottime_now();
    if (now < k->again || !is(k, PHASE_WORKING))
        return;
    look_at_page(k);
    k->again = now + TRY_AGAIN;
    if (!deadline_may_start(&k->d, now))
        return;
    k->again = DEADLINE_NEVER;
    k->status = EXIT_RUN_FAILED;
    health_again(&k->health, now);
    if (!start_command(k))
        finish(k);
    atomic_store(&k->page->restarts, 0);
}

/* Handles the end of the command. If the command has stopped its waiter (kill -STOP $PPID), the
 * waiter does not notice the command's exit, and the keeper, which ignores SIGCHLD, does not learn
 * of the stop. Therefore each call sends SIGCONT to the waiter. */
static void look_at_command(struct keeper *k)
{
    bool waits = k->again != DEADLINE_NEVER;
    look_at_report(k);
    tree_reap(ended, k);
    if (k->waiter > 0) {
        if (!is(k, PHASE_FROZEN))
            kill(k->waiter, SIGCONT);
        return;
    }
    if (!waits && boottime_now() - k->began >= RAN_WELL)
        k->restarts = 0;
    if (waits ? k->d.since != DEADLINE_NEVER || atomic_load(&k->page->ending) : !restarts(k))
        finish(k);
    if (waits)
        start_again(k);
    else
        plan_restart(k);
}

_Noreturn void keeper_run(struct keeper_job *job)
{
    static struct keeper k;
    uint64_t times;
    struct signalfd_siginfo info;
    k = (struct keeper){.job = job, .o = job->options, .page = job->page, .d = job->deadline};
    k.tree.cgroup = job->cgroup;
    k.tree.steps = &job->page->steps;
    k.report = k.loss = -1;
    k.again = DEADLINE_NEVER;
    int64_t heard = boottime_now();
    begin(&k);
    for (;;) {
        struct pollfd p[] = {
            {.fd = k.timer, .events = POLLIN},         {.fd = k.signals, .events = POLLIN},
            {.fd = job->runner, .events = POLLIN},     {.fd = k.health.notify, .events = POLLIN},
            {.fd = k.health.output, .events = POLLIN}, {.fd = k.report, .events = POLLIN}};
        look_at_clock(&k); /* first: no health check may begin after the deadline */
        look_at_health(&k, heard);
        deadline_arm(k.timer, next_alarm(&k));
        poll(p, sizeof p / sizeof p[0], -1);
        while (read(k.timer, &times, sizeof times) > 0) {
        }
        /* only clear the signals: look_at_command() reaps the children */
        while (read(k.signals, &info, sizeof info) > 0) {
        }
        look_at_clock(&k);
        heard = boottime_now();
        hear_runner(&k);
        health_read(&k.health);
        if (k.health.notify >= 0)
            health_hear(&k.health, boottime_now());
        look_at_command(&k);
    }
}
