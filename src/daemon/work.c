#include "work.h"

#include "daemon.h"
#include "guardian_channel.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MILLISECOND 1000

/* ---- the guardian ---- */

bool work_is_guarded(const struct daemon *d) { return d->guard.channel >= 0; }

bool work_tell_guardian(struct daemon *d, const struct guard_note *note, int fd)
{
    return work_is_guarded(d) && guardian_channel_send(d->guard.channel, note, NULL, 0, fd);
}

void work_deposit(void *context, const struct elect_testament *testament)
{
    struct daemon *d = context;
    if (!work_is_guarded(d) || !d->config.testament || d->group[testament->group].work.is_void)
        return;
    if (!guardian_channel_deposit(d->guard.channel,
                                  testament)) /* it stands still: once more, later */
        d->deposits_again = true;
}

static elect_time later(elect_time a, elect_time b) { return a > b ? a : b; }

void work_configure(struct daemon *d)
{
    d->guard.page->delay = d->config.testament_delay;
    d->guard.page->lease = later(d->guard.page->lease, d->config.lease);
    for (unsigned i = 0; i < d->config.groups; i++) {
        struct guard_note note = {.word = GUARD_VOID, .group = (uint8_t)i, .hook = HOOK_COUNT};
        if (d->config.testament)
            elect_member_deposit(d->member, i);
        else if (!work_tell_guardian(d, &note, -1) && work_is_guarded(d))
            d->deposits_again = true;
    }
}

/* Without it nobody can run a hook, or undo one: whoever waits for this lease must wait. */
static void guardian_is_gone(struct daemon *d)
{
    uv_poll_stop(&d->guard_poll);
    close(d->guard.channel);
    d->guard.channel = -1;
    holders_unguarded(d);
    if (config_has_hooks(&d->config))
        daemon_fail(d, "its guardian is dead, and nobody else can run its hooks");
    else
        daemon_log(d, JOURNAL_GUARDIAN, -1, "the guardian is dead: it goes on, without testaments");
}

static void guardian_speaks(uv_poll_t *poll, int status, int events)
{
    struct daemon *d = poll->data;
    struct guard_packet p;
    int fd = -1;
    (void)events;
    ssize_t got = status == 0 ? guardian_channel_take(d->guard.channel, &p, &fd) : 0;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        guardian_is_gone(d);
        return;
    }
    if (got != sizeof p.note || p.note.word != GUARD_DONE || p.note.group >= d->config.groups)
        return;
    if (p.note.hook < HOOK_COUNT)
        hooks_done(d, &p.note);
    else
        holders_acknowledged(d, &p.note);
    work_turn(d, p.note.group);
}

static void wakes(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    for (unsigned i = 0; i < d->config.groups; i++)
        work_turn(d, i);
}

void work_wake(struct daemon *d, elect_time when)
{
    elect_time rest = when - elect_uv_now();
    uint64_t milliseconds = rest > 0 ? (uint64_t)rest / MILLISECOND + 1 : 0;
    if (!uv_is_active((uv_handle_t *)&d->wake) || uv_timer_get_due_in(&d->wake) > milliseconds)
        uv_timer_start(&d->wake, wakes, milliseconds, 0);
}

void work_begin(struct daemon *d, const struct guard *guard)
{
    d->guard = *guard;
    uv_timer_init(&d->loop, &d->wake);
    d->wake.data = d;
    uv_poll_init(&d->loop, &d->guard_poll, d->guard.channel);
    d->guard_poll.data = d;
    uv_poll_start(&d->guard_poll, UV_READABLE, guardian_speaks);
}

/* A term that was asked for, and is neither won nor lost: its testament says that it is over. */
static bool asks_for_one(const struct daemon *d)
{
    bool asks = false;
    for (unsigned i = 0; i < d->config.groups && d->member != NULL; i++)
        asks = asks || elect_member_node(d->member, i)->mandate.candidate.stage == ELECT_CONFIRMING;
    return asks;
}

void work_end(struct daemon *d, bool in_good_order)
{
    struct guard_note note = {.word = GUARD_FORGET, .hook = HOOK_COUNT};
    if (in_good_order && !asks_for_one(d))
        work_tell_guardian(d, &note, -1);
    uv_close((uv_handle_t *)&d->wake, NULL);
    uv_close((uv_handle_t *)&d->guard_poll, NULL);
}

/* ---- what is shown ---- */

struct elect_news work_shown(const struct daemon *d, unsigned group)
{
    const struct work *w = &d->group[group].work;
    struct elect_news news = elect_member_status(d->member, group);
    if (news.leads && !w->agreed)
        return (struct elect_news){.group = group};
    /* what works under the former term of this office keeps it, and so must all others */
    if (news.leads && w->holder != NULL)
        news.term = holders_term(w->holder);
    return news;
}

/* ---- from one thing to the next ---- */

struct elect_rule work_resign(struct daemon *d, unsigned group)
{
    struct elect_input in = elect_resigns(ELECT_NOBODY, elect_uv_now());
    return elect_member_tell(d->member, group, &in);
}

void work_news(struct daemon *d, const struct elect_news *news)
{
    struct work *w = &d->group[news->group].work;
    const struct elect_node *node = elect_member_node(d->member, news->group);
    bool in_office = elect_token(node) != 0;
    w->until = in_office ? elect_until(node) : w->until;
    d->guard.page->until[news->group] = in_office                        ? w->until
                                        : news->leads && !node->mandated ? INT64_MAX
                                                                         : 0;
    if (news->leads && !w->office) {
        d->guard.page->office[news->group] = elect_token(node);
        w->agreed = d->config.hook[HOOK_PRE_LEADER][0] == '\0';
        w->hooks.served = false;
    }
    w->office = news->leads;
    w->agreed = w->agreed && w->office;
}

/* Nothing works any more: then it may say so. Or when to look again. */
static void stop(struct daemon *d, unsigned group)
{
    struct work *w = &d->group[group].work;
    holders_look(d, group);
    elect_time now = elect_uv_now(), free = later(w->last, holders_promised(d, group));
    struct elect_input in = elect_happens(ELECT_STOPPED, now);
    if (!elect_must_stop(elect_member_node(d->member, group)) || w->holder != NULL ||
        !hooks_rest(d, group))
        return;
    if (now < free)
        work_wake(d, free);
    else
        elect_member_tell(d->member, group, &in);
}

void work_turn(struct daemon *d, unsigned group)
{
    if (d->member == NULL || d->over)
        return;
    daemon_show(d, group);
    hooks_turn(d, group);
    holders_turn(d, group);
    stop(d, group);
}
