/* The run socket: who works under the mandate of a group, or is told for how long it may; see
 * talk.h. One holder for each group, in the order in which they came. */
#include "daemon.h"

#include "../client/talk.h"
#include "guardian_channel.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TALKERS 256
#define OF_USER (TALKERS / 2)
#define AT_ONCE 2 /* packets of one that are taken in a turn */
#define BACKLOG 64
#define PAUSE   100000 /* microseconds until a guardian that stands still is told again */
#define PATIENCE                                                                                   \
    1000000 /* microseconds for a run to say that its work has ended before that is reported */

enum stage {
    TALKER_IDLE,
    TALKER_WAITS,     /* for its turn */
    TALKER_REGISTERS, /* for the guardian to know of it */
    TALKER_HOLDS,
    TALKER_LATE /* its lease is over, but it has not said yet that its work has ended */
};

struct talker {
    uv_poll_t poll;
    struct daemon *d;
    struct talker *next;
    int fd, channel; /* the guardian's end of it, until it has it; else -1 */
    struct ucred who;
    uint8_t stage;     /* enum stage */
    uint8_t contained; /* TALK_CGROUP, TALK_NAMESPACE */
    bool closing;
    bool loose, voids; /* nobody can say when it has stopped; so there is no testament */
    bool registered;   /* the guardian has its channel, by this serial: */
    bool reported;     /* that it is late */
    bool worked;       /* in this group, and has not asked for a resignation since */
    elect_time told;   /* when it was told to stop; 0: it was not */
    unsigned group;
    uint32_t serial;
    elect_term term;
    elect_time until;                  /* a holder was told */
    elect_time promised[STORE_GROUPS]; /* a client was told */
    bool asked[STORE_GROUPS];          /* a client wants news */
};

static const char is_held[] = "another elect run works under it here";
static const char is_paced[] = "this user starts work too often; retry in 1 s";

int holders_pid(const struct talker *t) { return (int)t->who.pid; }

const char *holders_containment(const struct talker *t)
{
    return (t->contained & TALK_CGROUP) != 0      ? "control group"
           : (t->contained & TALK_NAMESPACE) != 0 ? "process namespace"
                                                  : "process tree";
}

elect_term holders_term(const struct talker *t) { return t->term; }

elect_time holders_promised(const struct daemon *d, unsigned group)
{
    return d->guard.page->not_before[group];
}

unsigned holders_waiting(const struct daemon *d, unsigned group)
{
    unsigned count = 0;
    for (const struct talker *t = d->talkers; t != NULL; t = t->next)
        count += t->group == group && (t->stage == TALKER_WAITS || t->stage == TALKER_REGISTERS);
    return count;
}

/* ---- what it is told ---- */

static void let_go(struct talker *t);

static struct talk words(const struct daemon *d, enum talk_word word, unsigned group)
{
    struct talk w = {.magic = TALK_MAGIC, .word = (uint8_t)word};
    const struct elect_config *c = elect_member_config(d->member, group);
    struct elect_news news = work_shown(d, group);
    w.lease = (uint32_t)elect_office_length(c, c->lease);
    w.renewal = c->renewal;
    w.term = news.term;
    snprintf(w.group, sizeof w.group, "%s", d->config.group[group]);
    snprintf(w.node, sizeof w.node, "%s", d->me->name);
    if (news.known)
        snprintf(w.leader, sizeof w.leader, "%s", config_name(&d->config, news.leader));
    return w;
}

static void send_words(struct talker *t, const struct talk *w)
{
    /* who is gone may have said something before: that is read first */
    if (send(t->fd, w, sizeof *w, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EAGAIN)
        let_go(t); /* it does not listen */
}

static void tell(struct talker *t, enum talk_word word, const char *why)
{
    struct talk w = words(t->d, word, t->group);
    snprintf(w.why, sizeof w.why, "%.*s", TALK_WHY - 1, why);
    send_words(t, &w);
}

/* ---- the end ---- */

static void remove_from(struct talker **at, const struct talker *t)
{
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
}

static void freed(uv_handle_t *handle) { free(handle->data); }

/* Whether a run that cannot be killed works in this group, or is about to. */
static bool has_loose(const struct daemon *d, unsigned group)
{
    bool has = false;
    for (const struct talker *t = d->talkers; t != NULL; t = t->next)
        has = has || (t->group == group && t->voids);
    return has;
}

/* What was promised is in the page before anybody hears it. */
static void promise(struct daemon *d, unsigned group)
{
    elect_time latest = d->group[group].work.last;
    for (const struct talker *t = d->talkers; t != NULL; t = t->next)
        latest = t->promised[group] > latest ? t->promised[group] : latest;
    d->guard.page->not_before[group] = latest;
}

/* What the dead were told stays: they may have told others. */
static void bequeath(struct talker *t)
{
    for (unsigned i = 0; i < t->d->config.groups; i++) {
        struct work *w = &t->d->group[i].work;
        w->last = t->promised[i] > w->last ? t->promised[i] : w->last;
        promise(t->d, i);
    }
}

/* Its channel need not be listened to: it is empty, or never worked. */
static void release_channel(struct talker *t)
{
    struct guard_note note = {
        .word = GUARD_DROP, .group = (uint8_t)t->group, .hook = HOOK_COUNT, .serial = t->serial};
    if (t->registered)
        work_tell_guardian(t->d, &note, -1);
    t->registered = false;
}

static void leave_office(struct talker *t)
{
    struct work *w = &t->d->group[t->group].work;
    if (w->holder == t)
        w->holder = NULL;
    t->voids = false;
    if (w->is_void && !has_loose(t->d, t->group)) { /* there is a testament again */
        w->is_void = false;
        elect_member_deposit(t->d->member, t->group);
    }
    if (t->channel >= 0)
        close(t->channel);
    t->channel = -1;
    t->stage = TALKER_IDLE;
}

static void log_of(const struct talker *t, const char *what)
{
    char text[JOURNAL_TEXT];
    snprintf(text, sizeof text, "elect run (pid %d) %s", (int)t->who.pid, what);
    daemon_log_work(t->d, t->group, t->who.uid, text);
}

static void let_go(struct talker *t)
{
    struct daemon *d = t->d;
    struct work *w = &d->group[t->group].work;
    bool held = t->stage == TALKER_HOLDS, late = t->stage == TALKER_LATE;
    if (t->closing)
        return;
    t->closing = true;
    if ((held || late) && !d->over)
        log_of(t, "disconnected without saying that its work has ended");
    if (held) /* something may have survived that believes it may work */
        w->last = t->until > w->last ? t->until : w->last;
    if (!held && !late)
        release_channel(t);
    leave_office(t);
    bequeath(t);
    remove_from(&d->talkers, t);
    uv_poll_stop(&t->poll);
    close(t->fd);
    uv_close((uv_handle_t *)&t->poll, freed);
    if (held)
        work_wake(d, elect_uv_now());
}

/* ---- how often ---- */

/* Each group has a pace of its own, so that a user's runs in one group do not delay that user's
 * runs in the others. The pace over all groups has room for a burst in each of them, such as after
 * a fail-over, but bounds what a user of many groups can cause in the long run. */
static elect_time next_turn(const struct talker *t, unsigned group, elect_time now)
{
    const struct daemon *d = t->d;
    elect_time here = pace_next(&d->group[group].work.pace, t->who.uid, 1, now);
    elect_time all = pace_next(&d->pace, t->who.uid, d->config.groups, now);
    return here > all ? here : all;
}

static void take_turns(const struct talker *t, unsigned group, unsigned turns)
{
    elect_time now = elect_uv_now();
    pace_take(&t->d->group[group].work.pace, t->who.uid, turns, now);
    pace_take(&t->d->pace, t->who.uid, turns, now);
}

/* ---- from one thing to the next ---- */

static void go(struct talker *t)
{
    struct daemon *d = t->d;
    t->stage = TALKER_HOLDS;
    t->told = 0;
    t->reported = false;
    t->worked = true;
    t->term = work_shown(d, t->group).term;
    t->until = 0;
    d->group[t->group].work.holder = t;
    take_turns(t, t->group, 1);
    log_of(t, "works under it");
    tell(t, TALK_GO, "");
}

/* The guardian must know of it before it works, and if it cannot be killed that there is no
 * testament. */
static void register_holder(struct talker *t)
{
    struct daemon *d = t->d;
    struct guard_note note = {.word = GUARD_VOID, .group = (uint8_t)t->group, .hook = HOOK_COUNT};
    if (t->loose)
        t->voids = d->group[t->group].work.is_void = true;
    bool fine = !t->loose || work_tell_guardian(d, &note, -1);
    note.word = GUARD_HOLD;
    note.serial = ++d->serials;
    if (!fine || !work_tell_guardian(d, &note, t->channel)) {
        work_wake(d, elect_uv_now() + PAUSE);
        return;
    }
    close(t->channel);
    t->channel = -1;
    t->serial = note.serial;
    t->registered = true;
    t->stage = TALKER_REGISTERS;
}

void holders_unguarded(struct daemon *d)
{
    for (struct talker *t = d->talkers; t != NULL; t = t->next) {
        t->registered = false;
        if (t->stage == TALKER_REGISTERS)
            t->stage = TALKER_WAITS;
    }
    work_wake(d, elect_uv_now());
}

void holders_acknowledged(struct daemon *d, const struct guard_note *note)
{
    for (struct talker *t = d->talkers, *next; t != NULL; t = next) {
        next = t->next;
        if (t->stage != TALKER_REGISTERS || t->serial != note->serial)
            continue;
        t->stage = TALKER_WAITS;
        if (note->outcome != 0) {
            tell(t, TALK_REFUSED, "the guardian has no room for it");
            let_go(t);
        }
    }
}

/* Returns whose turn it is: the run that the guardian was told of, so that it is never told of
 * two; else the first that waits and whose user may start work now. NULL: none yet; then `when` is
 * when one may, if any waits. */
static struct talker *first_in_line(const struct daemon *d, unsigned group, elect_time *when)
{
    struct talker *first = NULL;
    elect_time now = elect_uv_now();
    *when = INT64_MAX;
    for (struct talker *t = d->talkers; t != NULL; t = t->next) { /* the newest come first */
        if (t->group != group || (t->stage != TALKER_WAITS && t->stage != TALKER_REGISTERS))
            continue;
        bool chosen = t->channel < 0; /* the guardian has it */
        elect_time next = chosen ? now : next_turn(t, group, now);
        if (next <= now)
            first = t;
        *when = next < *when ? next : *when;
        if (chosen)
            break;
    }
    return first;
}

/* A run that is told now has time enough to start, and to stop: a leader that is cut off renews its
 * office no more, and would have to take its word back at once. */
static bool is_fresh(const struct daemon *d, unsigned group)
{
    const struct elect_config *c = elect_member_config(d->member, group);
    return work_shown(d, group).until - elect_uv_now() >= elect_office_length(c, c->lease) / 2;
}

static void stop_holder(struct daemon *d, unsigned group)
{
    struct talker *t = d->group[group].work.holder;
    const struct elect_node *node = elect_member_node(d->member, group);
    bool in_office = elect_in_office(node, elect_uv_now());
    if (t->told != 0)
        return;
    t->told = elect_uv_now();
    if (t->until == 0) /* it has not asked yet, and will hear that it must not begin */
        t->until = elect_uv_now() + PAUSE;
    tell(t, in_office ? TALK_STOP : TALK_LOST, d->group[group].because);
}

/* It has said something, which may be that its work has ended: after a pause of this process timers
 * come before what was said meanwhile. */
static bool has_unread(const struct talker *t)
{
    char first;
    return recv(t->fd, &first, 1, MSG_DONTWAIT | MSG_PEEK) >= 0;
}

/* Reports a run that has had time to say that its work has ended, and has not. */
static void report_late(struct talker *t, bool at_once)
{
    if (t->stage != TALKER_LATE || t->reported || has_unread(t) ||
        (!at_once && elect_uv_now() < t->told + PATIENCE))
        return;
    t->reported = true;
    log_of(t, "has not said that its work has ended; its lease is over, so it is not waited for");
}

void holders_look(struct daemon *d, unsigned group)
{
    struct talker *t = d->group[group].work.holder;
    if (t == NULL || t->told == 0)
        return;
    elect_time now = elect_uv_now(), patient = t->told + PATIENCE;
    if (now < t->until || (now < patient && has_unread(t))) {
        work_wake(d, now < t->until ? t->until : patient);
        return;
    }
    leave_office(t);
    t->stage = TALKER_LATE;
    report_late(t, false);
}

void holders_turn(struct daemon *d, unsigned group)
{
    const struct work *w = &d->group[group].work;
    bool leads = work_shown(d, group).leads;
    elect_time now = elect_uv_now(), when;
    struct talker *t = first_in_line(d, group, &when);
    if (w->holder != NULL && !leads)
        stop_holder(d, group);
    if (w->holder != NULL || !leads || when == INT64_MAX ||
        (t != NULL && t->stage == TALKER_REGISTERS))
        return;
    if (now < w->last) /* whoever was before may not have stopped */
        work_wake(d, w->last);
    else if (!is_fresh(d, group))
        work_wake(d, now + elect_member_config(d->member, group)->renewal / 3);
    else if (t == NULL)
        work_wake(d, when);
    else if (t->channel >= 0 && work_is_guarded(d))
        register_holder(t);
    else
        go(t);
}

void holders_news(struct daemon *d, unsigned group)
{
    for (struct talker *t = d->talkers, *next; t != NULL; t = next) {
        next = t->next;
        struct talk w = words(d, TALK_NEWS, group);
        if (t->asked[group])
            send_words(t, &w);
    }
}

/* ---- what it says ---- */

static int group_of(struct talker *t, const struct talk *w)
{
    struct text why;
    int group = config_group(&t->d->config, w->group[0] != '\0' ? w->group : NULL, &why);
    if (group < 0) {
        tell(t, TALK_REFUSED, why.bytes);
        return -1;
    }
    if (t->d->config.mandate == ELECT_NO_MANDATE) {
        tell(t, TALK_REFUSED, "without a mandate nobody can say until when a member leads");
        return -1;
    }
    return group;
}

/* Its end of the channel to the guardian comes first: it can speak there whatever happens. */
static void let_wait(struct talker *t)
{
    struct talk w = words(t->d, TALK_WAIT, t->group);
    if (t->d->group[t->group].work.holder != NULL)
        snprintf(w.why, sizeof w.why, "%s", is_held);
    struct iovec part = {&w, sizeof w};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
        let_go(t);
        return;
    }
    t->channel = pair[0];
    t->stage = TALKER_WAITS;
    bool told = guardian_channel_put(t->fd, &part, 1, pair[1]);
    close(pair[1]);
    if (!told)
        let_go(t);
}

/* NULL: it could go at once. */
static const char *why_not_now(const struct talker *t)
{
    const struct work *work = &t->d->group[t->group].work;
    elect_time now = elect_uv_now();
    return work->holder != NULL                ? is_held
           : !work_shown(t->d, t->group).leads ? ""
           : now < work->last          ? "what worked under it here may not have stopped yet"
           : !is_fresh(t->d, t->group) ? "its lease is not being renewed"
           : next_turn(t, t->group, now) > now   ? is_paced
           : holders_waiting(t->d, t->group) > 0 ? ""
                                                 : NULL;
}

static void take_hold(struct talker *t, const struct talk *w)
{
    if (t->stage != TALKER_IDLE) { /* it has not said that it is empty */
        let_go(t);
        return;
    }
    int group = group_of(t, w);
    if (group < 0)
        return;
    const struct work *work = &t->d->group[group].work;
    t->group = (unsigned)group;
    t->worked = false;
    if (!config_may_lead(t->d->me) && !work->office) { /* it would wait for ever */
        char why[sizeof((struct talk){0}.why)];
        snprintf(why, sizeof why, "%.63s never leads: its role is %s", t->d->me->name,
                 config_role(t->d->me));
        tell(t, TALK_REFUSED, why);
        return;
    }
    const char *why_not = why_not_now(t);
    if ((w->flags & TALK_NOW) != 0 && why_not != NULL) {
        tell(t, TALK_NO, why_not);
        return;
    }
    t->loose = (w->flags & TALK_LOOSE) != 0;
    t->contained = w->flags;
    remove_from(&t->d->talkers, t); /* it comes last */
    t->next = t->d->talkers;
    t->d->talkers = t;
    let_wait(t);
}

static void take_ask(struct talker *t, const struct talk *asked)
{
    const struct elect_node *node = elect_member_node(t->d->member, t->group);
    struct talk w = words(t->d, TALK_TOLD, t->group);
    elect_time now = elect_uv_now(), until = elect_until(node);
    bool may = t->stage == TALKER_HOLDS && elect_in_office(node, now);
    w.stamp = asked->stamp;
    w.left = may ? until - now : 0;
    w.term = t->term;
    if (may)
        t->until = until;
    send_words(t, &w);
}

static void take_lease(struct talker *t, const struct talk *asked)
{
    int group = group_of(t, asked);
    if (group < 0)
        return;
    struct elect_news news = work_shown(t->d, (unsigned)group);
    struct talk w = words(t->d, TALK_TOLD, (unsigned)group);
    t->asked[group] = true;
    w.stamp = asked->stamp;
    elect_time now = elect_uv_now(), until = news.until;
    if (news.leads && until > now) { /* the lease may have ended since the status was read */
        if (asked->left > 0 && asked->left < until - now)
            until = now + asked->left;
        if (until > t->promised[group])
            t->promised[group] = until;
        promise(t->d, (unsigned)group);
        w.left = until - now;
    }
    send_words(t, &w);
}

static void take_empty(struct talker *t)
{
    struct daemon *d = t->d;
    unsigned group = t->group;
    if (t->stage == TALKER_HOLDS || t->stage == TALKER_LATE)
        daemon_log_work(d, group, t->who.uid, "nothing works under it any more");
    release_channel(t);
    leave_office(t);
    for (unsigned i = 0; i < d->config.groups; i++) {
        t->promised[i] = 0;
        promise(d, i);
    }
    work_turn(d, group);
}

static void take_resign(struct talker *t, const struct talk *w)
{
    struct words words = daemon_words(t->d);
    struct text why;
    int group = group_of(t, w);
    if (group < 0)
        return;
    /* A resignation that would change nothing causes no step: otherwise a local user could fill the
     * flight recorder with such steps. */
    const struct elect_mandate *office = &elect_member_node(t->d->member, (unsigned)group)->mandate;
    if (office->leader.token == 0 || office->leader.handing != ELECT_NOT_HANDING) {
        tell(t, office->leader.token == 0 ? TALK_REFUSED : TALK_DONE,
             office->leader.token == 0 ? "this member does not lead" : "");
        return;
    }
    /* A run resigns at its end, and does not hear the answer: it is never refused, but the next
     * turn of its user comes later. */
    bool ran = t->worked && t->group == (unsigned)group;
    elect_time now = elect_uv_now(), next = next_turn(t, (unsigned)group, now);
    if (!ran && next > now) {
        char refusal[64];
        snprintf(refusal, sizeof refusal, "this user resigns too often; retry in %lld s",
                 (long long)((next - now) / 1000000 + 1));
        tell(t, TALK_REFUSED, refusal);
        return;
    }
    t->worked = t->worked && !ran;
    take_turns(t, (unsigned)group, pace_resign(&t->d->group[group].work.pace, t->who.uid, now));
    struct elect_rule rule = work_resign(t->d, (unsigned)group);
    text_clear(&why);
    if (rule.number != ELECT_RULE_RESIGNS && rule.number != ELECT_RULE_RESIGNS_ALREADY)
        words_rule(&words, elect_rank(&t->d->elect, t->d->me->peer.id), &rule,
                   &(struct elect_message){0}, &why);
    if (!t->closing)
        tell(t, why.length == 0 ? TALK_DONE : TALK_REFUSED, why.bytes);
}

static bool is_valid(const struct talk *w, size_t length)
{
    return length == sizeof *w && w->magic == TALK_MAGIC && w->word <= TALK_LEASE &&
           w->group[TALK_NAME - 1] == '\0' && (w->flags & ~TALK_FLAGS) == 0;
}

static void take(struct talker *t, const struct talk *w)
{
    switch ((enum talk_word)w->word) {
    case TALK_HOLD: take_hold(t, w); break;
    case TALK_ASK: take_ask(t, w); break;
    case TALK_EMPTY: take_empty(t); break;
    case TALK_RESIGN: take_resign(t, w); break;
    case TALK_LEASE: take_lease(t, w); break;
    case TALK_REFUSED:
    case TALK_NO:
    case TALK_WAIT:
    case TALK_GO:
    case TALK_TOLD:
    case TALK_STOP:
    case TALK_LOST:
    case TALK_NEWS:
    case TALK_DONE:
    case TALK_WORD_COUNT: break;
    }
}

static void readable(uv_poll_t *poll, int status, int events)
{
    struct talker *t = poll->data;
    (void)events;
    /* Who is gone without having read all is an error, after which libuv does not look again; what
     * it said before is there all the same. */
    for (unsigned i = 0; (i < AT_ONCE || status != 0) && !t->closing; i++) {
        struct talk w;
        /* no room for descriptors: whoever sends some keeps them */
        ssize_t got = recv(t->fd, &w, sizeof w, MSG_DONTWAIT | MSG_TRUNC);
        if (got < 0 && errno == ECONNRESET)
            got = recv(t->fd, &w, sizeof w, MSG_DONTWAIT | MSG_TRUNC);
        if (got < 0 && (errno == EAGAIN || errno == EINTR) && status == 0)
            return;
        if (got <= 0 || t->d->over || !is_valid(&w, (size_t)got)) {
            let_go(t);
            return;
        }
        take(t, &w);
        work_turn(t->d, t->group); /* it is there until the loop has its next turn */
    }
}

/* ---- opening ---- */

static bool is_one_too_many(const struct talker *new)
{
    unsigned all = 0, same = 0;
    for (const struct talker *t = new->d->talkers; t != NULL; t = t->next) {
        all++;
        same += t->who.uid == new->who.uid;
    }
    return all >= TALKERS || same >= OF_USER;
}

static void connected(uv_poll_t *poll, int status, int events)
{
    struct daemon *d = poll->data;
    socklen_t size = sizeof(struct ucred);
    (void)events;
    int fd = status == 0 ? accept4(d->run_socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (fd < 0 && (status != 0 || errno == EMFILE || errno == ENFILE))
        uv_poll_stop(poll); /* until holders_tick() */
    struct talker *t = fd >= 0 ? calloc(1, sizeof *t) : NULL;
    if (t == NULL || uv_poll_init(&d->loop, &t->poll, fd) != 0) {
        if (fd >= 0)
            close(fd);
        free(t);
        return;
    }
    t->d = d;
    t->fd = fd;
    t->channel = -1;
    t->poll.data = t;
    bool fine = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &t->who, &size) == 0 && !is_one_too_many(t);
    t->next = d->talkers;
    d->talkers = t;
    if (!fine)
        tell(t, TALK_REFUSED, "too many talk to this daemon already");
    if (!fine || uv_poll_start(&t->poll, UV_READABLE, readable) != 0)
        let_go(t);
}

static void listen_again(struct daemon *d)
{
    if (d->run_poll.data != NULL && !uv_is_active((uv_handle_t *)&d->run_poll))
        uv_poll_start(&d->run_poll, UV_READABLE, connected);
}

void holders_tick(struct daemon *d)
{
    for (struct talker *t = d->talkers; t != NULL; t = t->next)
        report_late(t, false);
    listen_again(d);
}

/* By the local file alone: looking further would load half a megabyte of name services. */
static bool find_group(const char *name, gid_t *gid)
{
    FILE *file = fopen("/etc/group", "re");
    const struct group *g = NULL;
    while (file != NULL && (g = fgetgrent(file)) != NULL && strcmp(g->gr_name, name) != 0) {
    }
    if (g != NULL)
        *gid = g->gr_gid;
    if (file != NULL)
        fclose(file);
    return g != NULL;
}

static bool give_to_group(const struct daemon *d, const char *path, struct text *complaint)
{
    gid_t gid;
    const char *name = d->config.run_group;
    if (name[0] == '\0')
        return true;
    if (!find_group(name, &gid))
        return text_complain(complaint, name, "no such group in /etc/group",
                             ": make it, or change run-group");
    return chown(path, (uid_t)-1, gid) == 0 ||
           text_complain(complaint, name, strerror(errno),
                         ": the user that the daemon runs as must be in run-group, and allowed to "
                         "chown");
}

bool holders_open(struct daemon *d, struct text *complaint)
{
    char path[CONFIG_FILE];
    config_socket_path(&d->config, d->me->peer.id, "run", path);
    d->run_socket = control_bind(path, SOCK_SEQPACKET, 0660, complaint);
    if (d->run_socket < 0 || !give_to_group(d, path, complaint))
        return false;
    if (listen(d->run_socket, BACKLOG) != 0)
        return text_complain(complaint, path, strerror(errno), "");
    uv_poll_init(&d->loop, &d->run_poll, d->run_socket);
    d->run_poll.data = d;
    return uv_poll_start(&d->run_poll, UV_READABLE, connected) == 0;
}

void holders_close(struct daemon *d)
{
    char path[CONFIG_FILE];
    for (struct talker *t = d->talkers; t != NULL; t = t->next)
        report_late(t, true);
    while (d->talkers != NULL)
        let_go(d->talkers);
    if (d->run_poll.data != NULL)
        uv_close((uv_handle_t *)&d->run_poll, NULL);
    if (d->run_socket >= 0)
        close(d->run_socket);
    config_socket_path(&d->config, d->me->peer.id, "run", path);
    if (d->run_poll.data != NULL)
        unlink(path);
}
