/* The guardian's two loops: until the member dies, and after its death. guardian.h lists the steps
 * of the second one. */
#include "guardian.h"

#include "../base/exit.h"
#include "../client/talk.h"
#include "../run/tree.h"
#include "enrolment.h"
#include "guardian_channel.h"
#include "hook.h"
#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOLDERS   256
#define LONG_WAIT INT64_C(1000000000) /* microseconds; longer than any wait in practice */
#define TRIES     5                   /* maximum runs of on-follower if it is killed each time */
#define SENDS     3
static const int64_t send_after[SENDS] = {0, 10000, 50000}; /* microseconds */

/* A run whose command may be running. */
struct holder {
    int fd;
    uint8_t group;
    uint32_t serial;
    pid_t pid; /* of elect run */
};

struct estate {
    bool deposited;
    bool burnt;          /* do not send it: on-follower failed */
    elect_time doubtful; /* unreported work may continue until then */
    bool led;            /* on-leader was run and has not been undone */
    pid_t hook_parent;   /* 0 if no hook is running */
    bool cancelled;
    bool killed; /* the hook parent was killed: its children may still be running */
    bool cut_short;
    struct guard_note hook;  /* note that started the latest hook */
    struct guard_note ended; /* note that starts on-follower */
    unsigned sent;
    int64_t first; /* when to send it first; 0 if not known yet */
    struct elect_testament testament;
};

struct guardian {
    const struct config *config;
    const struct config_member *me;
    struct guard guard;
    unsigned links;
    int signals;
    pid_t member;
    bool dead;
    int status;
    elect_time died;
    unsigned holders;
    struct holder holder[HOLDERS];
    struct estate estate[STORE_GROUPS];
    struct journal journal;
};

/* A level of 0 is the default level of guardian entries. */
static void say(struct guardian *g, enum level level, int group, const char *text,
                const char *cause)
{
    struct journal_entry e = {.event = JOURNAL_GUARDIAN, .level = (uint8_t)level};
    if (group >= 0)
        snprintf(e.group, sizeof e.group, "%s", g->config->group[group]);
    snprintf(e.text, sizeof e.text, "%s", text);
    snprintf(e.cause, sizeof e.cause, "%s", cause);
    journal_write(&g->journal, &e);
}

/* ---- holders ---- */

static bool has_holder(const struct guardian *g, unsigned group)
{
    bool has = false;
    for (unsigned i = 0; i < g->holders; i++)
        has = has || g->holder[i].group == group;
    return has;
}

static void tell_doubt(struct guardian *g, const struct holder *h)
{
    char text[JOURNAL_TEXT], cause[JOURNAL_TEXT];
    snprintf(cause, sizeof cause,
             "elect run (pid %d) ended without reporting that its work has stopped", (int)h->pid);
    if (g->dead)
        snprintf(text, sizeof text, "tells the other members one lease later that %s is dead",
                 g->me->name);
    else
        snprintf(text, sizeof text,
                 "if %s dies within one lease, its guardian reports the death one lease later",
                 g->me->name);
    say(g, LEVEL_WARNING, h->group, text, cause);
}

/* Handles an event on a holder's channel: its report that the work has ended, or a hang-up without
 * a report. After a hang-up the work may still be running, so the testament has to wait. */
static void hear_holder(struct guardian *g, unsigned i)
{
    struct holder *h = &g->holder[i];
    char word = 0;
    ssize_t got = recv(h->fd, &word, 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got != 1 || word != TALK_IS_EMPTY) { /* no report: the work may go on for one lease */
        elect_time now = elect_uv_now(), *doubtful = &g->estate[h->group].doubtful;
        if (g->dead || now >= *doubtful) /* local users must not fill the log */
            tell_doubt(g, h);
        *doubtful = now + g->guard.page->lease;
    }
    close(h->fd);
    *h = g->holder[--g->holders];
}

static void hear_holders(struct guardian *g, const struct pollfd *polled, unsigned count)
{
    for (unsigned i = count; i-- > 0;) /* backwards: hear_holder() moves the last holder to i */
        if (polled[i].revents != 0)
            hear_holder(g, i);
}

/* ---- notes from the member ---- */

static void answer(const struct guardian *g, const struct guard_note *to, int outcome)
{
    struct guard_note note = *to;
    note.word = GUARD_DONE;
    note.outcome = outcome;
    (void)guardian_channel_send(g->guard.channel, &note, NULL, 0, -1);
}

/* Returns true if the hook's term has not ended, so no other member can lead yet. */
static bool in_office(const struct guardian *g, const struct guard_note *note)
{
    const struct guard_page *page = g->guard.page;
    return !g->dead && elect_uv_now() < page->until[note->group] &&
           note->term >= page->office[note->group];
}

static bool is_for_leaders(const struct guard_note *note)
{
    return note->hook == HOOK_PRE_LEADER || note->hook == HOOK_ON_LEADER;
}

static void start_hook(struct guardian *g, const struct guard_note *note)
{
    struct estate *e = &g->estate[note->group];
    if (is_for_leaders(note) && !in_office(g, note)) {
        answer(g, note, HOOK_CANCELLED);
        return;
    }
    e->hook = *note;
    e->cancelled = false;
    e->hook_parent = hook_start(g->config, g->me, note, &g->journal, g->guard.hooks);
    if (note->hook == HOOK_ON_LEADER) {
        e->led = true;
        e->ended = *note;
        e->ended.hook = HOOK_ON_FOLLOWER;
        e->ended.leader[0] = '\0';
    }
    if (e->hook_parent < 0) {
        e->hook_parent = 0;
        answer(g, note, HOOK_FAILED);
    }
}

static void hook_ended(struct guardian *g, struct estate *e, int outcome)
{
    e->hook_parent = 0;
    e->cut_short = outcome == HOOK_CANCELLED || outcome == HOOK_FAILED;
    if (e->hook.hook == HOOK_ON_FOLLOWER && outcome == 0)
        e->led = false;
    if (!g->dead)
        answer(g, &e->hook, outcome);
}

static void deposit(struct estate *e, const struct guard_packet *p, size_t length)
{
    if (length > sizeof e->testament || p->testament.packets > ELECT_MAX)
        return;
    memcpy(&e->testament, &p->testament, length);
    e->deposited = true;
}

static void hold(struct guardian *g, const struct guard_note *note, int fd)
{
    bool fine = fd >= 0 && g->holders < HOLDERS;
    if (fine)
        g->holder[g->holders++] = (struct holder){fd, note->group, note->serial, note->pid};
    else if (fd >= 0)
        close(fd);
    answer(g, note, fine ? 0 : ENOSPC);
}

static void drop(struct guardian *g, uint32_t serial)
{
    for (unsigned i = g->holders; i-- > 0;)
        if (g->holder[i].serial == serial) {
            close(g->holder[i].fd);
            g->holder[i] = g->holder[--g->holders];
        }
}

static void cancel(struct estate *e)
{
    if (e->hook_parent > 0 && !e->cancelled) {
        kill(e->hook_parent, SIGTERM);
        kill(e->hook_parent, SIGCONT); /* a stopped process does not handle SIGTERM */
    }
    e->cancelled = true;
}

/* Returns false if no note is waiting. */
static bool take_note(struct guardian *g)
{
    static struct guard_packet p;
    int fd = -1;
    ssize_t got = guardian_channel_take(g->guard.channel, &p, &fd);
    if (got < (ssize_t)sizeof p.note || p.note.group >= STORE_GROUPS) {
        if (fd >= 0)
            close(fd);
        return got > 0;
    }
    struct estate *e = &g->estate[p.note.group];
    switch ((enum guard_word)p.note.word) {
    case GUARD_DEPOSIT: deposit(e, &p, (size_t)got - sizeof p.note); break;
    case GUARD_VOID:
        e->deposited = false;
        answer(g, &p.note, 0);
        break;
    case GUARD_FORGET:
        for (unsigned i = 0; i < STORE_GROUPS; i++)
            g->estate[i].deposited = false;
        break;
    case GUARD_HOLD:
        hold(g, &p.note, fd);
        fd = -1;
        break;
    case GUARD_DROP: drop(g, p.note.serial); break;
    case GUARD_HOOK:
        if (!g->dead && p.note.hook < HOOK_COUNT && e->hook_parent == 0)
            start_hook(g, &p.note);
        else
            answer(g, &p.note, HOOK_FAILED);
        break;
    case GUARD_CANCEL:
        if (e->hook.serial == p.note.serial)
            cancel(e);
        break;
    case GUARD_DONE: break;
    }
    if (fd >= 0)
        close(fd);
    return true;
}

/* ---- while the member lives ---- */

static void reaped(void *context, pid_t child, int status)
{
    struct guardian *g = context;
    if (child == g->member) {
        g->dead = true;
        g->status = status;
        g->died = elect_uv_now();
        return;
    }
    for (unsigned i = 0; i < g->config->groups; i++) {
        struct estate *e = &g->estate[i];
        /* The guardian kills hook parents only after the member's death. Before that, another
         * process did it, and the hook may still be running. */
        if (e->hook_parent == child && WIFSIGNALED(status) && !g->dead)
            e->killed = true;
        else if (e->hook_parent == child)
            hook_ended(g, e, hook_outcome(status));
    }
}

static bool is_known(const struct guardian *g, pid_t child)
{
    bool known = child == g->member;
    for (unsigned i = 0; i < g->config->groups; i++)
        known = known || (g->estate[i].hook_parent == child && !g->estate[i].killed);
    return known;
}

/* Kills all processes of a killed hook parent. The guardian is a subreaper, so they are its
 * children now. */
static void kill_strays(struct guardian *g)
{
    static pid_t child[256];
    for (bool some = true; some;) {
        size_t count = tree_children(getpid(), child, sizeof child / sizeof child[0]);
        some = false;
        for (size_t i = 0; i < count; i++)
            if (!is_known(g, child[i])) {
                pid_t group = getpgid(child[i]);
                if (group == child[i])
                    kill(-group, SIGKILL);
                kill(child[i], SIGKILL);
                some = waitpid(child[i], NULL, 0) >= 0 || some;
            }
    }
    for (unsigned i = 0; i < g->config->groups; i++)
        if (g->estate[i].killed) {
            g->estate[i].killed = false;
            hook_ended(g, &g->estate[i], HOOK_FAILED);
        }
}

static bool one_was_killed(const struct guardian *g)
{
    bool some = false;
    for (unsigned i = 0; i < g->config->groups; i++)
        some = some || g->estate[i].killed;
    return some;
}

static void take_signals(struct guardian *g)
{
    struct signalfd_siginfo s;
    while (read(g->signals, &s, sizeof s) == sizeof s) {
        int number = (int)s.ssi_signo;
        if (number == SIGCHLD) {
            tree_reap(reaped, g);
            if (one_was_killed(g))
                kill_strays(g);
        }
        /* The service manager sends SIGABRT if the watchdog was not fed in time. */
        if (number != SIGCHLD && !g->dead)
            kill(g->member, number == SIGABRT ? SIGKILL : number);
    }
}

/* Cancels pre-leader and on-leader hooks whose term has ended. The member may be unable to do so,
 * because it may be stopped. Returns the number of milliseconds until the next call; -1 if no such
 * hook is running. */
static int end_late_hooks(struct guardian *g)
{
    int64_t soonest = LONG_WAIT;
    for (unsigned i = 0; i < g->config->groups; i++) {
        struct estate *e = &g->estate[i];
        int64_t rest = g->guard.page->until[i] - elect_uv_now();
        if (e->hook_parent <= 0 || !is_for_leaders(&e->hook) || e->cancelled)
            continue;
        if (rest <= 0)
            cancel(e);
        else if (rest < soonest)
            soonest = rest;
    }
    return soonest == LONG_WAIT ? -1 : (int)(soonest / 1000) + 1;
}

static void watch(struct guardian *g)
{
    struct pollfd fds[2 + HOLDERS] = {{.fd = g->guard.channel, .events = POLLIN},
                                      {.fd = g->signals, .events = POLLIN}};
    while (!g->dead) {
        unsigned holders = g->holders;
        for (unsigned i = 0; i < holders; i++)
            fds[2 + i] = (struct pollfd){.fd = g->holder[i].fd, .events = POLLIN};
        if (poll(fds, 2 + holders, end_late_hooks(g)) <= 0)
            continue;
        if (fds[0].revents != 0 && take_note(g))
            continue; /* notes first: they may say that a holder's work has ended */
        if (fds[0].revents != 0)
            fds[0].fd = -1; /* the member exits: SIGCHLD will follow */
        hear_holders(g, fds + 2, holders);
        if (fds[1].revents != 0)
            take_signals(g);
    }
}

/* ---- after the death of the member ---- */

static bool hooks_run(const struct guardian *g)
{
    bool some = false;
    for (unsigned i = 0; i < g->config->groups; i++)
        some = some || g->estate[i].hook_parent > 0;
    return some;
}

/* Runs on-follower in each group with an on-leader to undo. Later tries are only for groups where
 * it was killed. Returns false if there is no such group. */
static bool try_to_undo(struct guardian *g, bool first)
{
    struct pollfd fd = {.fd = g->signals, .events = POLLIN};
    bool some = false;
    for (unsigned i = 0; i < g->config->groups; i++) {
        struct estate *e = &g->estate[i];
        bool due = e->led && (first || e->cut_short);
        e->cut_short = false;
        if (!due || g->config->hook[HOOK_ON_FOLLOWER][0] == '\0')
            continue;
        start_hook(g, &e->ended);
        some = true;
    }
    while (hooks_run(g))
        if (poll(&fd, 1, -1) > 0)
            take_signals(g);
    tree_kill(&(struct tree){0}, reaped, g);
    return some;
}

/* Undoes on-leader in all groups. If on-follower fails, the testament must not be sent. When a
 * service manager stops the unit, it may send SIGTERM to hooks, too, so on-follower is run again if
 * it was killed. */
static void undo_hooks(struct guardian *g)
{
    for (unsigned tries = 0; tries < TRIES && try_to_undo(g, tries == 0); tries++) {
    }
    for (unsigned i = 0; i < g->config->groups; i++)
        g->estate[i].burnt = g->estate[i].burnt || g->estate[i].led;
}

static void send_testament(const struct guardian *g, const struct elect_testament *t)
{
    for (unsigned i = 0; i < t->packets; i++) {
        const struct elect_testament_packet *l = &t->packet[i];
        for (unsigned link = 0; link < l->links && link < g->links; link++) {
            const union elect_address *to = &l->link[link];
            bool six = to->any.sa_family == AF_INET6;
            if (to->any.sa_family != AF_UNSPEC)
                (void)!sendto(g->guard.sockets[link], l->bytes, l->length, 0, &to->any,
                              six ? sizeof to->six : sizeof to->four);
        }
    }
}

static elect_time later(elect_time a, elect_time b) { return a > b ? a : b; }

/* Returns when to send the group's death report, or to check again whether it may be sent;
 * ELECT_UNSET if it never will be. */
static elect_time next_of(struct guardian *g, unsigned group, elect_time now)
{
    struct estate *e = &g->estate[group];
    const struct guard_page *page = g->guard.page;
    int64_t until = page->until[group];
    elect_time end = until != 0 ? until : g->died + page->lease;
    if (!e->deposited || e->burnt || e->sent == SENDS)
        return ELECT_UNSET;
    if (has_holder(g, group))
        return now < end ? end : ELECT_UNSET;
    if (e->first == 0)
        e->first = later(later(now, page->not_before[group]), e->doubtful) + page->delay;
    elect_time at = e->first + send_after[e->sent];
    /* After the lease has ended, no voter waits for it. */
    return later(at, now) < end ? at : ELECT_UNSET;
}

static void tell_sent(struct guardian *g, unsigned group)
{
    char text[JOURNAL_TEXT];
    snprintf(text, sizeof text,
             "told the other members that %s is dead, so that they need not wait for its lease",
             g->me->name);
    say(g, 0, (int)group, text, "all its work has stopped");
}

/* Logs the groups whose testament was not sent. The other members must wait there until the lease
 * ends. */
static void tell_unsent(struct guardian *g)
{
    char text[JOURNAL_TEXT];
    snprintf(text, sizeof text,
             "did not tell the other members that %s is dead: they wait for its lease",
             g->me->name);
    for (unsigned i = 0; i < g->config->groups; i++) {
        const struct estate *e = &g->estate[i];
        if (e->deposited && e->sent == 0)
            say(g, LEVEL_WARNING, (int)i, text,
                e->burnt           ? "on-follower failed, so its work may go on"
                : has_holder(g, i) ? "an elect run has not reported that its work has stopped"
                                   : "the lease was over before that was certain");
    }
}

static void kill_hooks(struct guardian *g)
{
    bool runs[STORE_GROUPS];
    char text[JOURNAL_TEXT];
    for (unsigned i = 0; i < g->config->groups; i++)
        runs[i] = g->estate[i].hook_parent > 0;
    tree_kill(&(struct tree){0}, reaped, g);
    for (unsigned i = 0; i < g->config->groups; i++) {
        snprintf(text, sizeof text, "killed the hook %s of %s and all its processes",
                 hook_name((enum hook)g->estate[i].hook.hook), g->me->name);
        if (runs[i])
            say(g, LEVEL_WARNING, (int)i, text, "the member is dead");
    }
}

/* Returns false if none will be due later. */
static bool execute(struct guardian *g, elect_time *next)
{
    *next = ELECT_UNSET;
    for (unsigned i = 0; i < g->config->groups; i++) {
        struct estate *e = &g->estate[i];
        elect_time now = elect_uv_now(), at = next_of(g, i, now);
        if (at != ELECT_UNSET && at <= now) {
            send_testament(g, &e->testament);
            if (e->sent++ == 0)
                tell_sent(g, i);
            at = next_of(g, i, now);
        }
        *next = *next == ELECT_UNSET || (at != ELECT_UNSET && at < *next) ? at : *next;
    }
    return *next != ELECT_UNSET;
}

static void settle(struct guardian *g)
{
    struct pollfd fds[HOLDERS];
    elect_time next;
    while (take_note(g)) { /* a note may cancel the death report */
    }
    kill_hooks(g);
    undo_hooks(g);
    while (execute(g, &next)) {
        elect_time rest = next - elect_uv_now();
        struct timespec wait = {rest / 1000000, rest % 1000000 * 1000};
        unsigned holders = g->holders;
        for (unsigned i = 0; i < holders; i++)
            fds[i] = (struct pollfd){.fd = g->holder[i].fd, .events = POLLIN};
        if (rest > 0 && ppoll(fds, holders, &wait, NULL) > 0)
            hear_holders(g, fds, holders);
    }
    tell_unsent(g);
    for (unsigned i = 0; i < STORE_GROUPS; i++)
        explicit_bzero(&g->estate[i].testament, sizeof g->estate[i].testament);
}

/* ---- beginning ---- */

static bool make_guard(struct guardian *g, struct guard *of_member, struct text *complaint)
{
    int pair[2], hooks[2];
    void *page = mmap(NULL, sizeof *g->guard.page, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0 ||
        pipe2(hooks, O_CLOEXEC) != 0) {
        text_add(complaint, strerror(errno));
        return false;
    }
    g->guard.page = page;
    g->guard.page->delay = g->config->testament_delay;
    g->guard.page->lease = g->config->lease;
    g->guard.channel = pair[0];
    g->guard.hooks = hooks[1];
    *of_member = g->guard;
    of_member->channel = pair[1];
    of_member->hooks = hooks[0];
    return true;
}

static int be_member(const struct guardian *g, const struct guard *guard, const sigset_t *mask,
                     int (*member)(const struct guard *guard, void *context), void *context)
{
    close(g->guard.channel);
    close(g->guard.hooks);
    close(g->signals);
    prctl(PR_SET_NAME, "elect-member");
    sigprocmask(SIG_SETMASK, mask, NULL);
    return member(guard, context);
}

int guardian_run(const struct config *c, const struct config_member *me, const int *sockets,
                 const struct journal_options *log,
                 int (*member)(const struct guard *guard, void *context), void *context)
{
    static const int numbers[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGABRT};
    static struct guardian g;
    struct text complaint;
    struct guard of_member;
    sigset_t signals, before;
    int status;
    g.config = c;
    g.me = me;
    g.links = me->peer.links;
    memcpy(g.guard.sockets, sockets, sizeof g.guard.sockets);
    text_clear(&complaint);
    journal_begin(&g.journal, log, me->name);
    if (!make_guard(&g, &of_member, &complaint)) {
        journal_complain(log, me->name, complaint.bytes);
        return EXIT_NOT_NOW;
    }
    g.guard.page->log.level = log->level;
    g.journal.shared = &g.guard.page->log;
    service_be_discreet();
    tree_adopt();
    sigemptyset(&signals);
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaddset(&signals, numbers[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    signal(SIGCHLD, SIG_DFL); /* with an inherited SIG_IGN, waitpid() would fail */
    g.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    g.member = fork();
    if (g.member == 0)
        return be_member(&g, &of_member, &before, member, context);
    if (g.member < 0) {
        text_add(&complaint, "cannot start the process of the member: ");
        text_add(&complaint, strerror(errno));
        journal_complain(log, me->name, complaint.bytes);
        return EXIT_NOT_NOW;
    }
    close(of_member.channel);
    close(of_member.hooks);
    prctl(PR_SET_NAME, "elect-guardian");
    watch(&g);
    status = g.status;
    if (WIFSIGNALED(status)) {
        char text[JOURNAL_TEXT], cause[96];
        snprintf(text, sizeof text, "member %s (pid %d) was killed", me->name, (int)g.member);
        snprintf(cause, sizeof cause, "signal %d: %s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
        say(&g, LEVEL_ERROR, -1, text, cause);
    }
    settle(&g);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
