/*
 * Decides which run of a group may start its command while the member leads, and when it must stop.
 * Each run is registered with the guardian before it starts its command, so that the guardian can
 * wait for the end of the run if the member dies. A run therefore waits twice:
 *
 *     IDLE --join--> WAITS --turn--> REGISTERS --acknowledged--> WAITS --turn--> HOLDS
 *     HOLDS --told to stop, lease over--> LATE
 *     any --leave--> IDLE
 */
#include "run_queue.h"

#include "guardian_channel.h"
#include "run_connection.h"

#include "../base/clock.h"

#include <stdio.h>
#include <unistd.h>

#define RETRY_DELAY 100000  /* microseconds */
#define PATIENCE    1000000 /* microseconds until a run is late to stop */

static const char is_paced[] = "this user starts work too often; retry in 1 s";

static const char *held_by(const struct run_connection *holder)
{
    static char text[80];
    snprintf(text, sizeof text, "elect run (pid %d) already works for this group here",
             (int)holder->who.pid);
    return text;
}

static bool is_waiting(const struct run_connection *c, unsigned group)
{
    return c->group == group && (c->stage == RUN_WAITS || c->stage == RUN_REGISTERS);
}

unsigned run_queue_waiting(const struct work *w, unsigned group)
{
    unsigned count = 0;
    for (const struct run_connection *c = w->connections; c != NULL; c = c->next)
        count += is_waiting(c, group);
    return count;
}

/* ---- how often ---- */

elect_time run_queue_next_turn(const struct run_connection *c, unsigned group, elect_time now)
{
    const struct work *w = c->work;
    elect_time here = pace_next(&w->group[group].pace, c->who.uid, 1, now);
    elect_time all = pace_next(&w->pace, c->who.uid, w->config->groups, now);
    return here > all ? here : all;
}

void run_queue_take_turns(const struct run_connection *c, unsigned group, unsigned turns)
{
    elect_time now = elect_uv_now();
    pace_take(&c->work->group[group].pace, c->who.uid, turns, now);
    pace_take(&c->work->pace, c->who.uid, turns, now);
}

/* ---- leaving ---- */

static bool has_loose(const struct work *w, unsigned group)
{
    bool has = false;
    for (const struct run_connection *c = w->connections; c != NULL; c = c->next)
        has = has || (c->group == group && c->voids);
    return has;
}

void run_queue_release_channel(struct run_connection *c)
{
    struct guard_note note = {
        .word = GUARD_DROP, .group = (uint8_t)c->group, .hook = HOOK_COUNT, .serial = c->serial};
    if (c->registered)
        work_tell_guardian(c->work, &note, -1);
    c->registered = false;
}

void run_queue_leave(struct run_connection *c)
{
    struct work *w = c->work;
    struct group_work *g = &w->group[c->group];
    if (g->holder == c)
        g->holder = NULL;
    c->voids = false;
    if (g->is_void && !has_loose(w, c->group)) {
        g->is_void = false;
        elect_member_deposit(w->member, c->group);
    }
    if (c->channel >= 0)
        close(c->channel);
    c->channel = -1;
    c->stage = RUN_IDLE;
}

/* ---- handing over ---- */

elect_time run_queue_backs_off(const struct work *w, unsigned group)
{
    elect_time left = w->group[group].failures.until - elect_uv_now();
    return left > 0 ? left : 0;
}

static void back_off(struct run_connection *c, elect_time lasted)
{
    struct pace_failures *f = &c->work->group[c->group].failures;
    char text[JOURNAL_TEXT];
    elect_time delay = pace_fail(f, lasted, elect_uv_now());
    snprintf(text, sizeof text, "failed: this member backs off for %lld s (failure %u in a row)",
             (long long)(delay / 1000000), f->count);
    run_connection_log(c, LEVEL_WARNING, text, NULL);
}

void run_queue_yield(struct run_connection *c, bool failed, const char *why)
{
    struct work *w = c->work;
    struct group_work *g = &w->group[c->group];
    elect_time now = elect_uv_now();
    run_connection_log(c, LEVEL_NOTICE, "hands leadership over", why);
    snprintf(g->yields_because, sizeof g->yields_because, "elect run (pid %d) hands over: %.*s",
             (int)c->who.pid, TALK_WHY, why);
    run_queue_take_turns(c, c->group, pace_resign(&g->pace, c->who.uid, now));
    if (failed)
        back_off(c, c->stage == RUN_HOLDS ? now - c->began : 0);
    g->yields = true;
}

bool run_queue_has_healthy(const struct work *w, unsigned group)
{
    bool has = w->group[group].holder != NULL;
    for (const struct run_connection *c = w->connections; c != NULL; c = c->next)
        has = has || (is_waiting(c, group) && c->healthy);
    return has;
}

const char *run_queue_why_aside(const struct work *w, unsigned group)
{
    bool has_run = w->group[group].holder != NULL || run_queue_waiting(w, group) > 0;
    if (w->leaves)
        return "it is shutting down";
    if (run_queue_backs_off(w, group) > 0)
        return "its work failed here";
    if (has_run && !run_queue_has_healthy(w, group))
        return "no elect run here is healthy";
    if (!has_run && w->config->lead_only_with_runner[group])
        return "no elect run is connected here";
    return NULL;
}

void run_queue_fail(struct run_connection *c, const char *what, const char *why)
{
    run_queue_take_turns(c, c->group, PACE_FAILURE);
    run_connection_log(c, LEVEL_WARNING, what, why);
}

void run_queue_take_health(struct run_connection *c, bool healthy, const char *why)
{
    if (!is_waiting(c, c->group))
        return;
    elect_time now = elect_uv_now();
    if (!healthy && run_queue_next_turn(c, c->group, now) <= now)
        run_queue_fail(c, "is unhealthy", why);
    else if (healthy && !c->healthy)
        run_connection_log(c, 0, "is healthy", NULL);
    c->healthy = healthy;
    snprintf(c->complaint, sizeof c->complaint, "%s",
             healthy          ? ""
             : why[0] != '\0' ? why
                              : "its health check failed");
}

/* Hands over if no command is running and every waiting run is unhealthy. A health report counts
 * even if it came while another run's command was still running. */
static void yield_if_unhealthy(struct work *w, unsigned group)
{
    const struct group_work *g = &w->group[group];
    struct run_connection *last = NULL;
    if (!g->office || g->holder != NULL || g->yields || run_queue_backs_off(w, group) > 0)
        return;
    for (struct run_connection *c = w->connections; c != NULL; c = c->next) {
        if (is_waiting(c, group) && c->complaint[0] == '\0')
            return;
        if (is_waiting(c, group))
            last = c;
    }
    if (last != NULL)
        run_queue_yield(last, true, last->complaint);
}

void run_queue_resign(struct work *w, unsigned group)
{
    struct group_work *g = &w->group[group];
    yield_if_unhealthy(w, group);
    elect_time now = elect_uv_now();
    g->yields = g->yields && g->office; /* lost leadership need not be handed over */
    if (!g->yields || g->holder != NULL)
        return;
    if (now < g->last) { /* a process of the last run may still be alive */
        work_wake(w, g->last);
        return;
    }
    g->yields = false;
    work_resign(w, group, g->yields_because);
}

/* ---- waiting ---- */

/* Tells a run to wait. The same packet carries one end of a channel to the guardian, so that the
 * run can report the end of its work even if this process has died. */
static void tell_to_wait(struct run_connection *c)
{
    struct talk t = run_connection_words(c->work, TALK_WAIT, c->group);
    const struct run_connection *holder = c->work->group[c->group].holder;
    elect_time rest = run_queue_backs_off(c->work, c->group);
    if (holder != NULL)
        snprintf(t.why, sizeof t.why, "%s", held_by(holder));
    else if (rest > 0)
        snprintf(t.why, sizeof t.why, "%s backs off for %lld s because the last run failed here",
                 t.node, (long long)((rest + 999999) / 1000000));
    struct iovec part = {&t, sizeof t};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
        run_connection_drop(c);
        return;
    }
    c->channel = pair[0];
    c->stage = RUN_WAITS;
    bool told = guardian_channel_put(c->fd, &part, 1, pair[1]);
    close(pair[1]);
    if (!told)
        run_connection_drop(c);
}

void run_queue_join(struct run_connection *c)
{
    run_connection_unlink(c);
    c->next = c->work->connections;
    c->work->connections = c;
    tell_to_wait(c);
}

/* Returns true if at least half of the lease is left: enough for a run to start and to stop. A
 * leader that is cut off cannot renew its lease, and would soon have to stop a new run. */
static bool is_fresh(const struct work *w, unsigned group)
{
    const struct elect_config *e = elect_member_config(w->member, group);
    return work_shown(w, group).until - elect_uv_now() >= elect_office_length(e, e->lease) / 2;
}

static const char *explain_back_off(const struct work *w, unsigned group)
{
    static char text[96];
    snprintf(text, sizeof text,
             "the last run here failed: this member backs off for another %lld s",
             (long long)(run_queue_backs_off(w, group) + 999999) / 1000000);
    return text;
}

const char *run_queue_why_not_now(const struct run_connection *c)
{
    const struct work *w = c->work;
    const struct group_work *g = &w->group[c->group];
    elect_time now = elect_uv_now();
    return g->holder != NULL                ? held_by(g->holder)
           : !work_shown(w, c->group).leads ? ""
           : now < g->last                  ? "earlier work for this group may not have stopped yet"
           : w->leaves                      ? "this member is stopping"
           : now < g->failures.until        ? explain_back_off(w, c->group)
           : !is_fresh(w, c->group)         ? "its lease is not being renewed"
           : run_queue_next_turn(c, c->group, now) > now ? is_paced
           : run_queue_waiting(w, c->group) > 0          ? ""
                                                         : NULL;
}

/* Returns the next run to start its command: the healthy run that is registered with the guardian
 * or, without one, the first healthy run in the queue whose user may start work now. If there is
 * none, returns NULL and sets `when` to the time a healthy run may start; INT64_MAX if none is
 * waiting. */
static struct run_connection *first_in_line(const struct work *w, unsigned group, elect_time *when)
{
    struct run_connection *first = NULL;
    elect_time now = elect_uv_now();
    *when = INT64_MAX;
    for (struct run_connection *c = w->connections; c != NULL; c = c->next) { /* newest first */
        if (!is_waiting(c, group) || !c->healthy)
            continue;
        bool chosen = c->channel < 0; /* registered with the guardian */
        elect_time next = chosen ? now : run_queue_next_turn(c, group, now);
        if (next <= now)
            first = c;
        *when = next < *when ? next : *when;
        if (chosen)
            break;
    }
    return first;
}

/* ---- its turn ---- */

static void log_start(const struct run_connection *c)
{
    const struct work *w = c->work;
    char text[JOURNAL_TEXT], cause[JOURNAL_TEXT], term[ELECT_TERM_TEXT];
    snprintf(text, sizeof text, "starts its work%s%s", c->program[0] != '\0' ? ": " : "",
             c->program);
    snprintf(cause, sizeof cause, "%s leads in term %s", w->me->name,
             elect_term_text(c->term, term));
    run_connection_log_kind(c, 0, "starts", text, cause);
}

static void let_work(struct run_connection *c)
{
    struct work *w = c->work;
    c->stage = RUN_HOLDS;
    c->told = 0;
    c->began = elect_uv_now();
    c->reported = false;
    c->command = 0;
    c->restarts = false;
    c->since = date_now();
    c->term = work_shown(w, c->group).term;
    c->until = 0;
    c->stopped[0] = '\0';
    w->group[c->group].holder = c;
    run_queue_take_turns(c, c->group, 1);
    log_start(c);
    run_connection_tell(c, TALK_GO, "");
}

/* Every run is registered with the guardian before it starts its command. If its processes cannot
 * be killed, the group's testament is removed first. */
static void register_run(struct run_connection *c)
{
    struct work *w = c->work;
    struct guard_note note = {.word = GUARD_VOID, .group = (uint8_t)c->group, .hook = HOOK_COUNT};
    if (c->loose)
        c->voids = w->group[c->group].is_void = true;
    bool fine = !c->loose || work_tell_guardian(w, &note, -1);
    note.word = GUARD_HOLD;
    note.pid = (int32_t)c->who.pid;
    note.serial = ++w->serials;
    if (!fine || !work_tell_guardian(w, &note, c->channel)) {
        work_wake(w, elect_uv_now() + RETRY_DELAY);
        return;
    }
    close(c->channel);
    c->channel = -1;
    c->serial = note.serial;
    c->registered = true;
    c->stage = RUN_REGISTERS;
}

void run_queue_acknowledged(struct work *w, const struct guard_note *note)
{
    for (struct run_connection *c = w->connections, *next; c != NULL; c = next) {
        next = c->next;
        if (c->stage != RUN_REGISTERS || c->serial != note->serial)
            continue;
        c->stage = RUN_WAITS;
        if (note->outcome != 0) {
            run_connection_tell(c, TALK_REFUSED, "the guardian has no room for another run");
            run_connection_drop(c);
        }
    }
}

void run_queue_unguarded(struct work *w)
{
    for (struct run_connection *c = w->connections; c != NULL; c = c->next) {
        c->registered = false;
        if (c->stage == RUN_REGISTERS)
            c->stage = RUN_WAITS;
    }
    work_wake(w, elect_uv_now());
}

static void stop_holder(struct work *w, unsigned group)
{
    struct run_connection *c = w->group[group].holder;
    const struct elect_node *node = elect_member_node(w->member, group);
    bool in_office = elect_in_office(node, elect_uv_now());
    if (c->told != 0)
        return;
    c->told = elect_uv_now();
    if (c->until == 0) /* it has not asked for its deadline, and will get none */
        c->until = elect_uv_now() + RETRY_DELAY;
    const char *why = w->calls->reason(w->context, group);
    snprintf(c->stopped, sizeof c->stopped, "%.*s", TALK_WHY - 1, why);
    run_connection_tell(c, in_office ? TALK_STOP : TALK_LOST, why);
}

void run_queue_turn(struct work *w, unsigned group)
{
    const struct group_work *g = &w->group[group];
    bool leads = work_shown(w, group).leads;
    elect_time now = elect_uv_now(), when;
    struct run_connection *c = first_in_line(w, group, &when);
    if (g->holder != NULL && !leads)
        stop_holder(w, group);
    if (g->holder != NULL || !leads || w->leaves || when == INT64_MAX || g->yields ||
        (c != NULL && c->stage == RUN_REGISTERS))
        return;
    if (now < g->last) /* earlier work may not have stopped yet */
        work_wake(w, g->last);
    else if (now < g->failures.until)
        work_wake(w, g->failures.until);
    else if (!is_fresh(w, group))
        work_wake(w, now + elect_member_config(w->member, group)->renewal / 3);
    else if (c == NULL)
        work_wake(w, when);
    else if (c->channel >= 0)
        register_run(c);
    else
        let_work(c);
}

/* ---- runs that do not stop in time ---- */

/* Returns true if there is an unread packet, which may report the end of the work. After a stall of
 * this process, timers fire before the packets of that time are read. */
static bool has_unread(const struct run_connection *c)
{
    char first;
    return recv(c->fd, &first, 1, MSG_DONTWAIT | MSG_PEEK) >= 0;
}

void run_queue_report_late(struct run_connection *c, bool at_once)
{
    if (c->stage != RUN_LATE || c->reported || has_unread(c) ||
        (!at_once && elect_uv_now() < c->told + PATIENCE))
        return;
    char text[JOURNAL_TEXT], work[RUN_WORK];
    run_connection_work(c, "its work", work);
    snprintf(text, sizeof text,
             "has not reported that %s has ended, and the member stops waiting for it", work);
    c->reported = true;
    run_connection_log_kind(c, LEVEL_WARNING, "late", text, "its lease is over");
}

void run_queue_give_up_late(struct work *w, unsigned group)
{
    struct run_connection *c = w->group[group].holder;
    if (c == NULL || c->told == 0)
        return;
    elect_time now = elect_uv_now(), patient = c->told + PATIENCE;
    if (now < c->until || (now < patient && has_unread(c))) {
        work_wake(w, now < c->until ? c->until : patient);
        return;
    }
    run_queue_leave(c);
    c->stage = RUN_LATE;
    run_queue_report_late(c, false);
}
