/* Coordinates the work that depends on leadership: exchanges notes with the guardian, decides which
 * state clients see, and detects when all work of a group has stopped. */
#include "work.h"

#include "guardian_channel.h"
#include "hooks.h"
#include "run_connection.h"
#include "run_queue.h"
#include "run_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MILLISECOND  1000
#define READY_PERIOD 1000000 /* microseconds */

/* ---- the guardian ---- */

bool work_is_guarded(const struct work *w) { return w->guard.channel >= 0; }

bool work_tell_guardian(struct work *w, const struct guard_note *note, int fd)
{
    return work_is_guarded(w) && guardian_channel_send(w->guard.channel, note, NULL, 0, fd);
}

void work_deposit(struct work *w, const struct elect_testament *testament)
{
    if (!work_is_guarded(w) || !w->config->testament || w->group[testament->group].is_void)
        return;
    if (!guardian_channel_deposit(w->guard.channel, testament)) /* try again later */
        w->deposits_again = true;
}

bool work_has_testament(const struct work *w, unsigned group)
{
    return work_is_guarded(w) && w->config->testament && !w->deposits_again &&
           !w->group[group].is_void && elect_member_node(w->member, group)->mandated;
}

static elect_time later(elect_time a, elect_time b) { return a > b ? a : b; }

void work_configure(struct work *w)
{
    w->guard.page->delay = w->config->testament_delay;
    w->guard.page->lease = later(w->guard.page->lease, w->config->lease);
    for (unsigned i = 0; i < w->config->groups; i++) {
        struct guard_note note = {.word = GUARD_VOID, .group = (uint8_t)i, .hook = HOOK_COUNT};
        if (w->config->testament)
            elect_member_deposit(w->member, i);
        else if (!work_tell_guardian(w, &note, -1) && work_is_guarded(w))
            w->deposits_again = true;
    }
    work_wake(w, elect_uv_now()); /* lead-only-with-runner may have changed */
}

void work_tick(struct work *w)
{
    run_socket_tick(w);
    if (w->deposits_again) {
        w->deposits_again = false;
        work_configure(w);
    }
}

/* Handles the guardian's death: stops the member, which would otherwise lead unsupervised and block
 * its address for the next daemon. It hands over as if told to stop. If work does not stop, or
 * on-follower fails, it exits without a RELEASE, and the other members wait until its lease has
 * ended. */
static void guardian_is_gone(struct work *w)
{
    uv_poll_stop(&w->guard_poll);
    close(w->guard.channel);
    w->guard.channel = -1;
    run_queue_unguarded(w);
    hooks_unguarded(w);
    w->calls->stop(w->context, "its guardian is dead");
}

static void guardian_speaks(uv_poll_t *poll, int status, int events)
{
    struct work *w = poll->data;
    struct guard_packet p;
    int fd = -1;
    (void)events;
    ssize_t got = status == 0 ? guardian_channel_take(w->guard.channel, &p, &fd) : 0;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        guardian_is_gone(w);
        return;
    }
    if (got != sizeof p.note || p.note.word != GUARD_DONE || p.note.group >= w->config->groups)
        return;
    if (p.note.hook < HOOK_COUNT)
        hooks_done(w, &p.note);
    else
        run_queue_acknowledged(w, &p.note);
    work_turn(w, p.note.group);
}

static void wakes(uv_timer_t *timer)
{
    struct work *w = timer->data;
    for (unsigned i = 0; i < w->config->groups; i++)
        work_turn(w, i);
}

void work_wake(struct work *w, elect_time when)
{
    elect_time rest = when - elect_uv_now();
    uint64_t milliseconds = rest > 0 ? (uint64_t)rest / MILLISECOND + 1 : 0;
    if (!uv_is_active((uv_handle_t *)&w->wake) || uv_timer_get_due_in(&w->wake) > milliseconds)
        uv_timer_start(&w->wake, wakes, milliseconds, 0);
}

void work_begin(struct work *w, const struct guard *guard)
{
    w->guard = *guard;
    w->run_socket = -1;
    uv_timer_init(w->loop, &w->wake);
    w->wake.data = w;
    uv_poll_init(w->loop, &w->guard_poll, w->guard.channel);
    w->guard_poll.data = w;
    uv_poll_start(&w->guard_poll, UV_READABLE, guardian_speaks);
}

/* Returns true if the voters have not yet answered a request for a mandate in some group. If the
 * member exits now, only its testament can release the requested term. */
static bool requests_a_term(const struct work *w)
{
    bool requests = false;
    for (unsigned i = 0; i < w->config->groups && w->member != NULL; i++)
        requests = requests ||
                   elect_member_node(w->member, i)->mandate.candidate.stage == ELECT_CONFIRMING;
    return requests;
}

void work_end(struct work *w, bool in_good_order)
{
    struct guard_note note = {.word = GUARD_FORGET, .hook = HOOK_COUNT};
    if (in_good_order && !requests_a_term(w))
        work_tell_guardian(w, &note, -1);
    uv_close((uv_handle_t *)&w->wake, NULL);
    uv_close((uv_handle_t *)&w->guard_poll, NULL);
}

/* ---- the state that clients see ---- */

struct elect_news work_shown(const struct work *w, unsigned group)
{
    const struct group_work *g = &w->group[group];
    struct elect_news news = elect_member_status(w->member, group);
    if (news.leads && !g->agreed)
        return (struct elect_news){.group = group};
    /* A run that began in an earlier term, and was not interrupted, keeps its term. All clients are
     * told the same term. */
    if (news.leads && g->holder != NULL)
        news.term = run_connection_term(g->holder);
    return news;
}

void work_changed(struct work *w, unsigned group, bool another_leader)
{
    struct group_hooks *h = &w->group[group].hooks;
    h->changes = h->changes || another_leader;
    run_socket_news(w, group);
}

/* ---- leadership and its end ---- */

struct elect_rule work_tell(struct work *w, unsigned group, const struct elect_input *in,
                            const char *why)
{
    w->resigns_because = why;
    struct elect_rule rule = elect_member_tell(w->member, group, in);
    w->resigns_because = NULL;
    return rule;
}

struct elect_rule work_resign(struct work *w, unsigned group, const char *why)
{
    struct elect_input in = elect_resigns(ELECT_NOBODY, elect_uv_now());
    return work_tell(w, group, &in, why);
}

void work_news(struct work *w, const struct elect_news *news)
{
    struct group_work *g = &w->group[news->group];
    const struct elect_node *node = elect_member_node(w->member, news->group);
    bool in_office = elect_token(node) != 0;
    g->until = in_office ? elect_until(node) : g->until;
    w->guard.page->until[news->group] = in_office                        ? g->until
                                        : news->leads && !node->mandated ? INT64_MAX
                                                                         : 0;
    if (news->leads && !g->office) {
        w->guard.page->office[news->group] = elect_token(node);
        g->agreed = w->config->hook[HOOK_PRE_LEADER][0] == '\0';
        g->hooks.served = false;
    }
    g->office = news->leads;
    g->agreed = g->agreed && g->office;
}

/* If the member waits for a group's work to stop, reports that it has: no run and no hook is left,
 * and all deadlines given to clients have passed. */
static void report_stopped(struct work *w, unsigned group)
{
    struct group_work *g = &w->group[group];
    run_queue_give_up_late(w, group);
    elect_time now = elect_uv_now(), free = later(g->last, run_connection_promised(w, group));
    struct elect_input in = elect_happens(ELECT_STOPPED, now);
    if (!elect_must_stop(elect_member_node(w->member, group)) || g->holder != NULL ||
        !hooks_rest(w, group))
        return;
    if (now < free)
        work_wake(w, free);
    else
        elect_member_tell(w->member, group, &in);
}

/* Tells the member to stand aside (not to be elected) or that it may lead again, if the reasons
 * have changed. The latter happens at most once per READY_PERIOD: otherwise runs that come and go,
 * or whose health keeps changing, could fill the flight recorder. */
static void stand_aside_or_ready(struct work *w, unsigned group)
{
    struct group_work *g = &w->group[group];
    const struct elect_node *node = elect_member_node(w->member, group);
    const char *why = run_queue_why_aside(w, group);
    uint8_t me = elect_rank(elect_member_config(w->member, group), w->me->peer.id);
    bool aside = (elect_aside(node) >> me & 1) != 0;
    elect_time now = elect_uv_now(), rest = run_queue_backs_off(w, group);
    if (rest > 0)
        work_wake(w, now + rest);
    if (!node->mandated || aside == (why != NULL))
        return;
    if (aside && now < g->ready) {
        work_wake(w, g->ready);
        return;
    }
    g->ready = aside ? now + READY_PERIOD : g->ready;
    struct elect_input in = elect_happens(why != NULL ? ELECT_ASIDE : ELECT_READY, now);
    elect_member_tell(w->member, group, &in);
    bool may_lead = (node->saved.membership.members >> me & 1) != 0;
    if ((elect_aside(node) >> me & 1) == (aside ? 1 : 0) || !may_lead || w->leaves)
        return; /* the log already says that the member shuts down */
    char text[JOURNAL_TEXT];
    snprintf(text, sizeof text, "%s %s", w->me->name,
             why != NULL ? "stands aside" : "may lead again");
    w->calls->log(w->context, &(struct journal_note){.event = JOURNAL_WORK,
                                                     .level = LEVEL_NOTICE,
                                                     .group = (int)group,
                                                     .text = text,
                                                     .cause = why});
}

void work_turn(struct work *w, unsigned group)
{
    if (w->member == NULL || w->over)
        return;
    stand_aside_or_ready(w, group);
    w->calls->show(w->context, group);
    hooks_turn(w, group);
    run_queue_resign(w, group);
    run_queue_turn(w, group);
    report_stopped(w, group);
}
