/* The runner asks the daemon for permission to work, writes the deadline to the page shared with
 * the keeper, and kills all processes if the keeper does not do so in time.
 *
 *     AWAY --connect--> WAITING --GO--> READY --TOLD, in time--> HELD --lost, or ended--> ...
 *
 * While WAITING, the runner runs the health check and reports it to the daemon; until it passes,
 * the run gets no turn. While HELD, the keeper has been started and runs the check.
 *
 * The runner asks for permission with HOLD. Every HOLD is followed by an EMPTY at the end of the
 * work, sent by the keeper or, if the keeper cannot, by the runner. */
#include "run.h"

#include "../base/access.h"
#include "../base/standard.h"
#include "command.h"
#include "elect.h"
#include "health.h"
#include "outcome.h"
#include "scheduling.h"
#include "signals.h"
#include "waiting.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define RETRY       200000  /* microseconds between attempts to find the daemon */
#define PATIENCE    5000000 /* with -n: longest wait for the daemon's answer */
#define SHORT_LEASE 200000
#define ASKED       64
#define GOES_ON     (-1)

enum state { AWAY, WAITING, READY, HELD };

struct runner {
    const struct run_options *o;
    enum state state;
    struct channel channel;
    struct page *page;
    struct cgroup cgroup;
    struct deadline d;
    struct talk go;
    struct waiting waiting;
    char group[TALK_NAME], node[TALK_NAME]; /* as the daemon names them; empty: not known yet */
    pid_t command;                          /* the latest command; 0: none was started */
    bool executed;                          /* the command has started in this term */
    bool failed;          /* in this term, the command has failed and its restart was planned */
    int64_t asked[ASKED]; /* time stamps of the latest questions since HOLD */
    unsigned asks;
    int64_t next_ask, retry, give_up;
    pid_t keeper; /* 0 if none */
    int steps;
    int64_t patience; /* until then, the keeper counts as busy killing processes */
    int pair;
    int timer, signals;
    struct health health;
    bool told_healthy, told_unhealthy; /* the daemon, since the last HOLD */
    bool terminal;                     /* the keeper or the command has the terminal */
    bool tried, warned, told_lost, frozen, leaving;
    bool gone;      /* the daemon has ended, and no daemon has answered since */
    bool told_gone; /* the user was told so */
    bool started;   /* the command was started at least once */
    bool broken;    /* the keeper has died, or did not act in time */
    int result;
};

#define TELL(r, ...)                                                                               \
    do {                                                                                           \
        if (!(r)->o->quiet)                                                                        \
            channel_report(__VA_ARGS__);                                                           \
    } while (0)

static const char *group_of(const struct runner *r)
{
    return r->group[0] != '\0' ? r->group : r->o->group;
}

static const char *node_of(const struct runner *r)
{
    return r->node[0] != '\0' ? r->node : "the local member";
}

/* e.g. "sleep (pid 123)" */
static const char *work_of(const struct runner *r)
{
    static char text[128];
    if (r->command > 0)
        snprintf(text, sizeof text, "%.80s (pid %d)", run_name(r->o), (int)r->command);
    else
        snprintf(text, sizeof text, "%.80s", run_name(r->o));
    return text;
}

static void note(const struct runner *r, enum note_kind kind, int value, const int passed[2])
{
    const struct note n = {kind, value};
    if (r->keeper > 0)
        packet_send(r->pair, &n, sizeof n, passed);
}

static bool is_still(const struct runner *r)
{
    int phase = atomic_load(&r->page->phase);
    return phase == PHASE_EMPTY || phase == PHASE_FROZEN || phase == PHASE_GIVEN;
}

/* ---- finding the daemon, and asking it for permission to work ---- */

/* Returns true if this run gets its turn only after its health check has passed. The exceptions are
 * -n and a frozen command. */
static bool is_checked(const struct runner *r)
{
    return r->o->health != NULL && r->keeper == 0 && !(r->o->now && !r->started);
}

static void hold(struct runner *r)
{
    struct talk t = {.flags = r->o->now && !r->started ? TALK_NOW : 0};
    int error = 0;
    if (r->o->on_lose != LOSE_STOP)
        t.flags |= TALK_LOOSE;
    if (r->cgroup.fd >= 0)
        t.flags |= TALK_CGROUP;
    if (r->o->isolate)
        t.flags |= TALK_NAMESPACE;
    if (outcome_yields_if_killed(r->o))
        t.flags |= TALK_YIELDS;
    if (is_checked(r))
        t.flags |= TALK_UNHEALTHY;
    snprintf(t.group, sizeof t.group, "%s", r->o->group);
    snprintf(t.why, sizeof t.why, "%.*s", TALK_WHY - 1, run_name(r->o));
    channel_renew(&r->channel);
    if (r->channel.daemon < 0)
        error = channel_open(&r->channel, r->o->socket);
    if (error == 0 && !channel_say(&r->channel, &t, TALK_HOLD))
        error = errno;
    r->state = error == 0 ? WAITING : AWAY;
    r->retry = error == 0 ? DEADLINE_NEVER : boottime_now() + RETRY;
    r->asks = 0;
    r->told_healthy = r->told_unhealthy = false;
    health_end(&r->health);
    health_begin(&r->health, r->o, boottime_now());
    if (error != 0)
        channel_close(&r->channel);
    r->gone |= error != 0 && error != EAGAIN;
    if (error != 0 && error != EAGAIN && !r->tried) {
        channel_report("%s: %s", r->o->socket, access_socket_text(error, r->o->socket));
        r->result = EXIT_RUN_FAILED;
    }
    r->tried = true;
}

/* Gives up the run's turn or its place in the queue. No process of the command may be working. `is`
 * says whether the member must hand over. */
static void give_back_as(struct runner *r, const struct outcome *is)
{
    struct talk unused;
    /* read WAIT, which brings the channel to the guardian */
    while (r->state == WAITING && r->channel.holder < 0 &&
           channel_hear(&r->channel, &unused) == HEARD_WORD) {
    }
    if (r->state != AWAY)
        channel_say_empty(&r->channel, group_of(r), is->flags, is->why);
}

static void give_back(struct runner *r) { give_back_as(r, &(struct outcome){0}); }

/* Ends the run because the command cannot be started, which --on-exit counts as a failure. */
static void fail_to_start(struct runner *r)
{
    *r->page = (struct page){.phase = PHASE_EMPTY, .status = EXIT_RUN_FAILED};
    struct outcome is = outcome_of(r->o, r->page, ENDED_COMMAND, EXIT_RUN_FAILED);
    give_back_as(r, &is);
    r->result = EXIT_RUN_FAILED;
}

/* Returns the process id of the command, which is the waiter's process group; 0 if unknown, as in a
 * process namespace. */
static uint32_t command_pid(const struct runner *r)
{
    pid_t waiter = r->state == HELD ? atomic_load(&r->page->waiter) : 0;
    pid_t group = waiter > 0 ? getpgid(waiter) : 0;
    if (r->o->isolate)
        return r->state == HELD ? (uint32_t)r->command : 0;
    return group > 0 && group != waiter ? (uint32_t)group : 0;
}

static void ask(struct runner *r, int64_t now)
{
    struct talk t = {.stamp = now,
                     .flags = atomic_load(&r->page->restarts) != 0 ? TALK_RESTARTS : 0,
                     .term = r->go.term,
                     .pid = command_pid(r)};
    memcpy(t.group, r->go.group, sizeof t.group);
    r->asked[r->asks++ % ASKED] = now;
    /* ask twice per renewal interval, in case the question came just before a renewal */
    r->next_ask = now + r->go.renewal / 2;
    channel_say(&r->channel, &t, TALK_ASK);
}

static bool was_asked(const struct runner *r, int64_t stamp)
{
    for (unsigned i = 0; i < ASKED && i < r->asks; i++)
        if (r->asked[i] == stamp)
            return true;
    return false;
}

/* ---- the keeper ---- */

static void start(struct runner *r)
{
    static struct keeper_job job;
    int pair[2], error = 0;
    *r->page = (struct page){
        .until = r->d.until, .grace = r->d.grace, .margin = r->d.margin, .status = EXIT_RUN_FAILED};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        error = errno;
    r->terminal = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
    pid_t child = error == 0 ? fork() : -1;
    if (child == 0) {
        close(pair[0]);
        job = (struct keeper_job){.options = r->o,
                                  .page = r->page,
                                  .channel = r->channel,
                                  .cgroup = &r->cgroup,
                                  .deadline = r->d,
                                  .go = r->go,
                                  .runner = pair[1],
                                  .terminal = r->terminal,
                                  .runner_group = getpgrp()};
        close(r->timer);
        close(r->signals);
        keeper_run(&job);
    }
    if (child < 0) {
        channel_report("cannot start %s: %s", run_name(r->o), strerror(error != 0 ? error : errno));
        fail_to_start(r);
        return;
    }
    close(pair[1]);
    r->keeper = child;
    r->pair = pair[0];
    r->started = true;
    r->state = HELD;
    r->told_lost = r->broken = r->executed = r->failed = false;
    r->command = 0;
    r->give_up = DEADLINE_NEVER;
    r->steps = 0;
    r->patience = 0;
}

static void thaw(struct runner *r)
{
    const int passed[2] = {r->channel.daemon, r->channel.holder};
    char term[ELECT_TERM_TEXT];
    atomic_store(&r->page->until, r->d.until);
    atomic_store(&r->page->said, 0);
    atomic_store(&r->page->term, r->go.term);
    atomic_store(&r->page->lease, r->go.lease);
    note(r, NOTE_THAW, 0, passed);
    TELL(r, "%s leads group %s again, in term %s: continuing %s", node_of(r), group_of(r),
         elect_term_text(r->go.term, term), work_of(r));
    r->frozen = r->told_lost = false;
    r->state = HELD;
}

static void nothing(void *context, pid_t child, int status)
{
    (void)context;
    (void)child;
    (void)status;
}

static void take_over(struct runner *r)
{
    const struct tree t = {.waiter = atomic_load(&r->page->waiter), .cgroup = &r->cgroup};
    tree_let_reap(true);
    if (r->keeper > 0)
        kill(r->keeper, SIGKILL);
    tree_kill(&t, nothing, NULL);
    tree_let_reap(false);
    r->keeper = 0;
    if (r->terminal)
        tcsetpgrp(STDIN_FILENO, getpgrp());
}

static void tell_end(const struct runner *r, const struct outcome *is, bool known, int status)
{
    char how[TALK_WHY + 32], next[64] = "waiting for its next turn", yields[TALK_NAME + 64] = "";
    outcome_describe(r->page, known, status, how, sizeof how);
    if (r->result != GOES_ON)
        snprintf(next, sizeof next, "exiting with status %d", r->result);
    if ((is->flags & TALK_YIELDS) != 0)
        snprintf(yields, sizeof yields, "handing over leadership of group %s; ", group_of(r));
    if (r->executed)
        TELL(r, "%s has ended (%s); %s%s", work_of(r), how, yields, next);
    else if (known && status == RUN_NOTHING)
        TELL(r, "%s was not started, because too little of the lease was left; %s", work_of(r),
             next);
    else
        TELL(r, "%s was not started%s; %s%s", work_of(r), r->failed ? " again" : "", yields, next);
}

/* Decides how the run continues after the keeper and the command have ended. */
static void conclude(struct runner *r)
{
    int status = atomic_load(&r->page->status);
    bool known = atomic_load(&r->page->phase) == PHASE_EMPTY;
    bool lost = atomic_load(&r->page->lost) != 0 || (!known && r->told_lost && !r->frozen);
    struct outcome is = outcome_of(r->o, r->page, known ? ENDED_COMMAND : ENDED_KEEPER, status);
    close(r->pair);
    r->pair = -1;
    if (lost && atomic_load(&r->page->unhealthy) == 0)
        is = (struct outcome){0};
    if (r->state != HELD || !atomic_load(&r->page->said))
        give_back_as(r, &is);
    if (r->broken && !known && !lost)
        channel_report("the keeper of %s has died; killed all processes", work_of(r));
    bool nothing_ran = known && status == RUN_NOTHING;
    if (!r->leaving && (nothing_ran || (lost && r->o->respawn)))
        hold(r);
    else
        r->result = lost || nothing_ran ? r->o->lost : known ? status : EXIT_RUN_FAILED;
    tell_end(r, &is, known, status);
}

/* ---- hearing the daemon ---- */

/* e.g. "ending sleep (pid 123)" */
static void describe_stop(const struct runner *r, enum note_kind kind, char *text, size_t room)
{
    if (r->o->on_lose == LOSE_FREEZE)
        snprintf(text, room, "freezing %s", work_of(r));
    else if (r->o->on_lose == LOSE_SIGNAL)
        snprintf(text, room, "sending %s to %s", outcome_signal(r->o->signal), work_of(r));
    else
        snprintf(text, room, "%s %s", kind == NOTE_KILL ? "killing" : "ending", work_of(r));
}

/* Lets the keeper stop the command. `what` and `why` are for the user; `why` may be empty. */
static void lose(struct runner *r, enum note_kind kind, const char *what, const char *why)
{
    char stop[256];
    if (atomic_load(&r->page->phase) == PHASE_EMPTY)
        return;
    bool told = r->told_lost || is_still(r);
    r->told_lost = true;
    if (kind == NOTE_KILL)
        deadline_lost(&r->d, boottime_now());
    else
        deadline_stop(&r->d, boottime_now());
    note(r, kind, 0, NULL);
    describe_stop(r, kind, stop, sizeof stop);
    if (!told)
        TELL(r, "%s%s%s%s: %s", what, *why != '\0' ? " (" : "", why, *why != '\0' ? ")" : "", stop);
}

static bool begin_deadline(struct runner *r, const struct talk *t)
{
    char why[512] = "the daemon reports no lease";
    bool fine =
        t->lease > 0 && t->renewal > 0 &&
        deadline_begin(&r->d, t->lease, t->renewal, r->o->grace, r->o->margin, why, sizeof why);
    if (fine)
        return true;
    channel_report("%s", why);
    give_back(r);
    r->result = EXIT_RUN_FAILED;
    return false;
}

static void go(struct runner *r, const struct talk *t)
{
    if (r->state != WAITING || !begin_deadline(r, t))
        return;
    if (r->channel.holder < 0) {
        channel_report("cannot receive the guardian's channel: no free descriptor");
        give_back(r);
        r->result = EXIT_RUN_FAILED;
        return;
    }
    r->go = *t;
    r->state = READY;
    health_end(&r->health);
    waiting_renew(&r->waiting);
    if (t->lease < SHORT_LEASE && !r->started)
        TELL(r,
             "the lease is %.6g ms: a command that ignores its signal is killed %.6g ms before the "
             "lease ends, after a grace of %.6g ms",
             (double)t->lease / 1000, (double)r->d.margin / 1000, (double)r->d.grace / 1000);
    ask(r, boottime_now());
}

/* Adapts the grace and the margin to a new lease. Uses the defaults if the user's values no longer
 * fit. */
static void fit_again(struct runner *r, const struct talk *t)
{
    const struct run_options *o = r->o;
    struct deadline d;
    char why[512];
    if (t->lease == 0 || t->renewal == 0 ||
        (t->lease == r->go.lease && t->renewal == r->go.renewal))
        return;
    r->go.lease = t->lease;
    r->go.renewal = t->renewal;
    if (!deadline_begin(&d, t->lease, t->renewal, o->grace, o->margin, why, sizeof why) &&
        !deadline_begin(&d, t->lease, t->renewal, DEADLINE_DEFAULT, DEADLINE_DEFAULT, why,
                        sizeof why))
        return;
    r->d.grace = d.grace;
    r->d.margin = d.margin;
    atomic_store(&r->page->grace, d.grace);
    atomic_store(&r->page->margin, d.margin);
    TELL(r, "the lease is now %.6g ms, and the grace %.6g ms", (double)t->lease / 1000,
         (double)d.grace / 1000);
}

/* Handles the answer to a question. The deadline counts from the time of the question, so an answer
 * with an unknown stamp is ignored. The term may be higher than before, because the member may have
 * succeeded itself as leader. */
static void told(struct runner *r, const struct talk *t)
{
    if ((r->state != READY && r->state != HELD) || !was_asked(r, t->stamp) || t->term < r->go.term)
        return;
    fit_again(r, t);
    r->d.until = deadline_extended(r->d.until, t->stamp, t->left, t->lease);
    if (r->state == HELD)
        atomic_store(&r->page->until, r->d.until);
    else if (!deadline_may_start(&r->d, boottime_now()))
        return;
    else if (r->keeper == 0)
        start(r);
    else
        thaw(r);
}

static void tell_who_leads(struct runner *r)
{
    const char *line = r->state == WAITING ? waiting_due(&r->waiting, boottime_now()) : NULL;
    if (line == NULL)
        return;
    TELL(r, "%s", line);
    if (!r->warned && !r->started)
        command_warn(r->o, node_of(r));
    r->warned = true;
}

static void wait_for_it(struct runner *r, const struct talk *t)
{
    if (r->state != WAITING || (t->lease > 0 && !begin_deadline(r, t)))
        return;
    waiting_hear(&r->waiting, t);
    tell_who_leads(r);
}

static void hear_news(struct runner *r, const struct talk *t)
{
    if (r->state != WAITING)
        return;
    waiting_hear(&r->waiting, t);
    tell_who_leads(r);
}

static void no_turn(struct runner *r, const struct talk *t)
{
    char text[WAITING_TEXT];
    if (r->state != WAITING)
        return;
    waiting_describe(t, text, sizeof text);
    give_back(r);
    r->result = EXIT_NO;
    TELL(r, "%s was not started: %s; exiting with status %d", work_of(r),
         t->why[0] != '\0' ? t->why : text, r->result);
}

static void refused(struct runner *r, const struct talk *t)
{
    channel_report("%s", t->why[0] != '\0' ? t->why : "the daemon refused the run");
    if (r->state == WAITING || r->state == READY) {
        give_back(r);
        r->result = EXIT_RUN_FAILED;
    }
}

static void told_to_stop(struct runner *r, const struct talk *t, enum note_kind kind)
{
    char what[2 * TALK_NAME + 64];
    if (r->state == HELD) {
        snprintf(what, sizeof what,
                 kind == NOTE_KILL ? "%s lost leadership of group %s"
                                   : "%s is handing over leadership of group %s",
                 node_of(r), group_of(r));
        lose(r, kind, what, t->why);
    } else if (r->state == READY) {
        give_back(r);
        hold(r);
    }
}

static void hear(struct runner *r, const struct talk *t)
{
    r->gone = r->told_gone = false;
    if (t->node[0] != '\0')
        memcpy(r->node, t->node, sizeof r->node);
    if (t->group[0] != '\0')
        memcpy(r->group, t->group, sizeof r->group);
    switch (t->word) {
    case TALK_REFUSED: refused(r, t); break;
    case TALK_NO: no_turn(r, t); break;
    case TALK_WAIT: wait_for_it(r, t); break;
    case TALK_NEWS: hear_news(r, t); break;
    case TALK_GO: go(r, t); break;
    case TALK_TOLD: told(r, t); break;
    case TALK_STOP: told_to_stop(r, t, NOTE_STOP); break;
    case TALK_LOST: told_to_stop(r, t, NOTE_KILL); break;
    default: break;
    }
}

/* Tells the user once that the run waits for a new daemon. If the command had to end first, the
 * user has been told of its end before. */
static void tell_gone(struct runner *r)
{
    if (r->state != AWAY || !r->gone || r->told_gone)
        return;
    TELL(r, "the daemon of %s has ended; waiting for a new one", node_of(r));
    waiting_renew(&r->waiting);
    r->told_gone = true;
}

static void daemon_ended(struct runner *r)
{
    char what[TALK_NAME + 64];
    snprintf(what, sizeof what, "the daemon of %s has ended", node_of(r));
    if (r->state == HELD) {
        if (!is_still(r))
            lose(r, NOTE_STOP, what, "");
    } else {
        give_back(r); /* a guardian that still runs waits for the end of this run's work */
        r->retry = boottime_now() + RETRY;
        r->state = AWAY;
        r->gone = true;
        if (r->o->now && !r->started) {
            r->result = EXIT_RUN_FAILED;
            TELL(r, "the daemon of %s has ended; exiting with status %d", node_of(r), r->result);
        }
    }
    close(r->channel.daemon); /* keep `holder`: the guardian may be alive */
    r->channel.daemon = -1;
}

static void hear_daemon(struct runner *r)
{
    struct talk t;
    enum heard heard = HEARD_NOTHING;
    while (r->result == GOES_ON && r->channel.daemon >= 0 &&
           (heard = channel_hear(&r->channel, &t)) == HEARD_WORD)
        hear(r, &t);
    if (heard == HEARD_END && r->channel.daemon >= 0 && r->result == GOES_ON)
        daemon_ended(r);
}

/* ---- hearing the keeper ---- */

/* Returns the isolated command's process id as seen from outside its namespace; 0 if unknown. */
static pid_t isolated_command(const struct runner *r)
{
    pid_t child = 0, waiter = atomic_load(&r->page->waiter);
    return r->o->isolate && waiter > 0 && tree_children(waiter, &child, 1) == 1 ? child : 0;
}

static void tell_started(struct runner *r, pid_t command)
{
    char term[ELECT_TERM_TEXT];
    r->command = command > 0 ? command : isolated_command(r);
    r->executed = true;
    r->next_ask = boottime_now(); /* ASK tells the daemon the process id */
    TELL(r, "started %s, because %s leads group %s in term %s", work_of(r), node_of(r), group_of(r),
         elect_term_text(r->go.term, term));
}

static void tell_not_renewed(struct runner *r)
{
    char stop[256];
    describe_stop(r, NOTE_STOP, stop, sizeof stop);
    if (!r->told_lost)
        TELL(r, "the lease of %s for group %s was not renewed in time: %s", node_of(r), group_of(r),
             stop);
    r->told_lost = true;
}

static void hear_note(struct runner *r, const struct note *n)
{
    switch (n->kind) {
    case NOTE_STARTED: tell_started(r, n->value); break;
    case NOTE_STOPPING: tell_not_renewed(r); break;
    case NOTE_KILLING:
        if (n->value > 0 || !r->d.over)
            TELL(r, "%s did not end within %d ms of %s: killing it", work_of(r), n->value,
                 outcome_signal(r->o->signal));
        break;
    case NOTE_FROZEN:
        if (atomic_load(&r->page->unhealthy) == 0) /* else NOTE_UNHEALTHY gave the cause */
            tell_not_renewed(r);
        r->frozen = true;
        hold(r);
        break;
    case NOTE_UNHEALTHY:
        TELL(r, "%s is unhealthy (%.*s): %s it", work_of(r), TALK_WHY - 1, r->page->complaint,
             r->o->on_lose == LOSE_FREEZE ? "freezing" : "ending");
        break;
    case NOTE_RESTARTS:
        TELL(r, "%s has failed (status %d); restarting it in %d s", work_of(r),
             atomic_load(&r->page->status), n->value);
        r->command = 0;
        r->executed = false;
        r->failed = true;
        break;
    case NOTE_SIGNAL:
    case NOTE_STOP:
    case NOTE_KILL:
    case NOTE_THAW: break;
    }
}

static void hear_keeper(struct runner *r)
{
    struct note n;
    int none[2];
    while (r->pair >= 0 && packet_receive(r->pair, &n, sizeof n, none) == sizeof n)
        hear_note(r, &n);
}

static void look_at_keeper(struct runner *r)
{
    int status;
    if (r->keeper == 0 || waitpid(r->keeper, &status, WNOHANG) != r->keeper)
        return;
    r->keeper = 0;
    if (!WIFEXITED(status)) {
        r->broken = true;
        take_over(r);
    }
    hear_keeper(r); /* it may have sent notes just before its end */
    conclude(r);
}

/* ---- health, while the run waits ---- */

static void check_ended(void *context, pid_t child, int status)
{
    struct runner *r = context;
    health_ended(&r->health, child, status);
}

static void look_at_health(struct runner *r)
{
    struct talk t = {0};
    if (r->keeper == 0)
        tree_reap(check_ended, r);
    if (r->state != WAITING || !is_checked(r))
        return;
    bool fails = health_look(&r->health, boottime_now()) != HEALTH_FINE;
    if (!(fails && !r->told_unhealthy) && !(r->health.passed && !r->told_healthy))
        return;
    r->told_unhealthy = fails;
    r->told_healthy = !fails;
    t.flags = fails ? TALK_UNHEALTHY : 0;
    snprintf(t.group, sizeof t.group, "%s", r->o->group);
    snprintf(t.why, sizeof t.why, "%s", fails ? r->health.why : "");
    channel_say(&r->channel, &t, TALK_HEALTH);
    if (fails)
        TELL(r, "the health check of %s fails; waiting until it passes", run_name(r->o));
    else
        TELL(r, "the health check of %s passes", run_name(r->o));
}

/* ---- signals ---- */

static void hear_signals(struct runner *r)
{
    for (int number; (number = signals_next(r->signals)) != 0;) {
        if (r->keeper > 0) {
            r->leaving |= r->told_lost && signals_end(number);
            if (signals_end(number) && !outcome_was_told(r->page, 0))
                atomic_store(&r->page->ending, number);
            note(r, NOTE_SIGNAL, number, NULL);
            if (signals_end(number) && atomic_load(&r->page->restarts) != 0)
                TELL(r, "received %s before the restart of %s", outcome_signal(number),
                     run_name(r->o));
            else if (signals_end(number))
                TELL(r, "received %s: passing it on to %s", outcome_signal(number), work_of(r));
        } else if (signals_end(number)) {
            give_back(r);
            r->result = EXIT_SIGNAL + number;
            TELL(r, "received %s while waiting; exiting with status %d", outcome_signal(number),
                 r->result);
            return;
        }
    }
}

/* ---- the loop ---- */

/* Returns true if the runner must wake up periodically to ask the daemon and to read the page, also
 * while no daemon runs, and until the keeper has continued a frozen command. */
static bool asks(const struct runner *r)
{
    int phase = atomic_load(&r->page->phase);
    return r->state == READY || (r->state == HELD && phase != PHASE_EMPTY && phase != PHASE_GIVEN);
}

static int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }

/* Returns when the runner kills all processes if the keeper has not acted; never with --on-lose
 * signal. */
static int64_t guard(const struct runner *r)
{
    if (r->keeper == 0 || r->state != HELD || is_still(r) || r->o->on_lose == LOSE_SIGNAL)
        return DEADLINE_NEVER;
    int64_t late = deadline_guard(&r->d);
    return late > r->patience ? late : r->patience;
}

/* Returns true if the keeper has made progress since the last call. A keeper that is busy killing
 * is left alone: the runner could not kill the other processes before the keeper was dead. */
static bool is_at_work(struct runner *r, int64_t now)
{
    int steps = atomic_load(&r->page->steps);
    if (steps == r->steps)
        return false;
    r->steps = steps;
    r->patience = now + r->d.margin / 2;
    return true;
}

static void give_up(struct runner *r)
{
    give_back(r);
    if (r->o->max_wait == DEADLINE_NEVER) {
        r->result = EXIT_RUN_FAILED;
        TELL(r, "%s: the daemon does not answer; exiting with status %d", r->o->socket, r->result);
        return;
    }
    r->result = EXIT_WAITED;
    TELL(r, "%s was not started within %.6g s (--max-wait): %s; exiting with status %d", work_of(r),
         (double)r->o->max_wait / 1000000,
         r->waiting.state[0] != '\0' ? r->waiting.state : "the daemon has not answered", r->result);
}

static void look_at_clock(struct runner *r)
{
    int64_t now = boottime_now();
    if (now >= guard(r) && !is_at_work(r, now)) {
        r->broken = r->told_lost = true;
        atomic_store(&r->page->lost, 1);
        take_over(r);
        TELL(r, "the keeper of %s is late; killing all processes", work_of(r));
        conclude(r);
    }
    if (asks(r) && now >= r->next_ask)
        ask(r, now);
    if (r->state == AWAY && r->result == GOES_ON && now >= r->retry)
        hold(r);
    if (r->result == GOES_ON) {
        tell_gone(r);
        tell_who_leads(r);
    }
    if (r->result == GOES_ON && now >= r->give_up)
        give_up(r);
}

static int64_t next_alarm(const struct runner *r)
{
    int64_t next = earlier(guard(r), r->give_up);
    if (asks(r))
        next = earlier(next, r->next_ask);
    if (r->state == WAITING && is_checked(r))
        next = earlier(next, health_next(&r->health));
    if (r->state == WAITING)
        next = earlier(next, waiting_next(&r->waiting));
    return r->state == AWAY ? earlier(next, r->retry) : next;
}

static int loop(struct runner *r)
{
    uint64_t times;
    hold(r);
    while (r->result == GOES_ON) {
        struct pollfd p[] = {{.fd = r->timer, .events = POLLIN},
                             {.fd = r->signals, .events = POLLIN},
                             {.fd = r->pair, .events = POLLIN},
                             {.fd = r->channel.daemon, .events = POLLIN},
                             {.fd = r->health.output, .events = POLLIN}};
        deadline_arm(r->timer, next_alarm(r));
        poll(p, sizeof p / sizeof p[0], -1);
        while (read(r->timer, &times, sizeof times) > 0) {
        }
        hear_daemon(r);
        hear_keeper(r);
        health_read(&r->health);
        if (r->result == GOES_ON)
            hear_signals(r);
        if (r->result == GOES_ON)
            look_at_health(r);
        if (r->result == GOES_ON)
            look_at_keeper(r);
        if (r->result == GOES_ON)
            look_at_clock(r);
    }
    return r->result;
}

static bool prepare(struct runner *r)
{
    char why[512];
    int64_t wait = r->o->max_wait != DEADLINE_NEVER ? r->o->max_wait : r->o->now ? PATIENCE : 0;
    r->give_up = wait > 0 ? boottime_now() + wait : DEADLINE_NEVER;
    if (r->o->max_wait == 0)
        r->give_up = boottime_now();
    if (!cgroup_make(&r->cgroup, r->o->cgroup, why, sizeof why) && r->o->cgroup) {
        channel_report("--cgroup: %s", why);
        return false;
    }
    r->page =
        mmap(NULL, sizeof *r->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    r->timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    r->signals = signals_open();
    if (r->page == MAP_FAILED || r->timer < 0 || r->signals < 0 || !tree_adopt()) {
        channel_report("cannot set up the run: %s", strerror(errno));
        return false;
    }
    return true;
}

int run_command(const struct run_options *o)
{
    static struct runner r;
    /* Without this, the command, which belongs to the same user, could take the runner's or the
     * keeper's connection to the daemon (pidfd_getfd, ptrace) and report that the work has ended.
     * exec() makes a process dumpable again. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    standard_fill();
    channel_open_report();
    scheduling_raise();
    /* These may be inherited and out of date. The command gets new values later; a health check
     * before the command gets none. */
    unsetenv("ELECT_TERM");
    unsetenv("ELECT_TOKEN");
    r = (struct runner){.o = o,
                        .channel = CHANNEL_NONE,
                        .cgroup = CGROUP_NONE,
                        .next_ask = DEADLINE_NEVER,
                        .retry = DEADLINE_NEVER,
                        .pair = -1,
                        .health = {.output = -1},
                        .result = GOES_ON};
    int status = prepare(&r) ? loop(&r) : EXIT_RUN_FAILED;
    health_end(&r.health);
    if (r.keeper > 0) {
        take_over(&r);
        TELL(&r, "killed %s, which was frozen", work_of(&r));
        give_back(&r);
    }
    cgroup_remove(&r.cgroup);
    channel_close(&r.channel);
    return status;
}
