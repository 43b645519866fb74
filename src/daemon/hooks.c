/* Hooks, as the member wants them: one at a time and in order in each group, and never one for what
 * is not so any more. The guardian runs them. */
#include "daemon.h"
#include "hook.h"

#include <stdio.h>
#include <string.h>

#define TRIES       5
#define FIRST_PAUSE 100000 /* microseconds before the second try; then twice as long each time */
#define DOUBLINGS   6      /* of it, between offices */

static bool has(const struct daemon *d, enum hook hook) { return d->config.hook[hook][0] != '\0'; }

bool hooks_rest(const struct daemon *d, unsigned group)
{
    const struct hooked *h = &d->group[group].work.hooks;
    return !h->led && (h->serial == 0 || h->hook == HOOK_ON_LEADER_CHANGE);
}

/* Nobody can say any more when what on-leader began has ended: not before its lease. */
static void leave_undone(struct daemon *d, unsigned group)
{
    struct work *w = &d->group[group].work;
    w->hooks.led = false;
    w->last = w->until > w->last ? w->until : w->last;
}

/* What is to be run now; HOOK_COUNT: nothing. */
static enum hook next(const struct daemon *d, unsigned group)
{
    const struct work *w = &d->group[group].work;
    bool leads = w->office && w->agreed;
    if (w->office && !w->agreed)
        return HOOK_PRE_LEADER;
    if (leads && !w->hooks.served && has(d, HOOK_ON_LEADER))
        return HOOK_ON_LEADER;
    if (!leads && w->hooks.led)
        return HOOK_ON_FOLLOWER;
    return w->hooks.changes && has(d, HOOK_ON_LEADER_CHANGE) ? HOOK_ON_LEADER_CHANGE : HOOK_COUNT;
}

/* It is run for something that is not so any more. */
static bool is_late(const struct daemon *d, unsigned group)
{
    const struct work *w = &d->group[group].work;
    enum hook hook = (enum hook)w->hooks.hook;
    return (hook == HOOK_PRE_LEADER && !w->office) ||
           (hook == HOOK_ON_LEADER && !(w->office && w->agreed));
}

static void start(struct daemon *d, unsigned group, enum hook hook)
{
    struct hooked *h = &d->group[group].work.hooks;
    const struct elect_node *node = elect_member_node(d->member, group);
    struct elect_news news = elect_member_status(d->member, group);
    struct guard_note note = {.word = GUARD_HOOK, .group = (uint8_t)group, .hook = (uint8_t)hook};
    bool own = hook != HOOK_ON_LEADER_CHANGE && hook != HOOK_ON_FOLLOWER;
    note.lease = (uint32_t)elect_office_length(&d->elect, d->elect.lease);
    note.term = own ? elect_token(node) : hook == HOOK_ON_FOLLOWER ? h->term : news.term;
    snprintf(note.leader, sizeof note.leader, "%s",
             own          ? d->me->name
             : news.known ? config_name(&d->config, news.leader)
                          : "");
    h->tries = h->hook == hook ? h->tries : 0;
    note.serial = ++d->serials;
    if (!work_tell_guardian(d, &note, -1)) { /* it stands still, for now */
        h->again = elect_uv_now() + FIRST_PAUSE;
        work_wake(d, h->again);
        return;
    }
    h->serial = note.serial;
    h->hook = (uint8_t)hook;
    h->cancelled = false;
    if (hook == HOOK_ON_LEADER) {
        h->led = h->served = true;
        h->term = note.term;
    }
    if (hook == HOOK_ON_LEADER_CHANGE)
        h->changes = false;
}

/* Whoever was given offices again and again that its hook did not want takes its time: else, where
 * that is so on all members, they would hand it round as fast as they can. */
static bool is_too_early(const struct hooked *h, enum hook hook)
{
    bool again = hook == h->hook && h->tries > 0;
    bool in_vain = (hook == HOOK_PRE_LEADER || hook == HOOK_ON_LEADER) && h->failures > 1;
    return (again || in_vain) && elect_uv_now() < h->again;
}

static void fail(struct hooked *h)
{
    unsigned doublings = h->failures > 0 ? h->failures - 1u : 0;
    h->again = elect_uv_now() + ((elect_time)FIRST_PAUSE << doublings);
    if (h->failures <= DOUBLINGS)
        h->failures++;
}

void hooks_turn(struct daemon *d, unsigned group)
{
    struct hooked *h = &d->group[group].work.hooks;
    struct guard_note cancel = {.word = GUARD_CANCEL, .group = (uint8_t)group};
    if (!config_has_hooks(&d->config))
        return;
    if (h->serial != 0 && !h->cancelled && is_late(d, group)) {
        cancel.serial = h->serial;
        h->cancelled = work_tell_guardian(d, &cancel, -1);
    }
    enum hook hook = next(d, group);
    if (h->serial != 0 || hook == HOOK_COUNT)
        return;
    if (hook == HOOK_ON_FOLLOWER && !has(d, hook)) {
        leave_undone(d, group);
    } else if (is_too_early(h, hook)) {
        work_wake(d, h->again);
    } else {
        start(d, group, hook);
    }
}

/* ---- what came of it ---- */

static void tell(struct daemon *d, unsigned group, enum hook hook, int outcome, const char *then)
{
    char text[JOURNAL_TEXT];
    static const char *const reasons[] = {
        [HOOK_TIMED_OUT - HOOK_TIMED_OUT] = "took too long",
        [HOOK_CANCELLED - HOOK_TIMED_OUT] = "was too late",
        [HOOK_NOT_TRUSTED - HOOK_TIMED_OUT] = "is not to be trusted",
        [HOOK_FAILED - HOOK_TIMED_OUT] = "could not be run, or was killed"};
    if (outcome >= HOOK_TIMED_OUT && outcome <= HOOK_FAILED)
        snprintf(text, sizeof text, "%s %s%s", hook_name(hook), reasons[outcome - HOOK_TIMED_OUT],
                 then);
    else
        snprintf(text, sizeof text, "%s exits with %d%s", hook_name(hook), outcome, then);
    daemon_log(d, JOURNAL_HOOK, (int)group, text);
}

static void give_up(struct daemon *d, unsigned group, enum hook hook, int outcome)
{
    struct work *w = &d->group[group].work;
    switch (hook) {
    case HOOK_PRE_LEADER:
        tell(d, group, hook, outcome, ": it declines");
        fail(&w->hooks);
        work_resign(d, group);
        break;
    case HOOK_ON_LEADER:
        tell(d, group, hook, outcome, ": it resigns");
        fail(&w->hooks);
        work_resign(d, group);
        break;
    case HOOK_ON_FOLLOWER:
        tell(d, group, hook, outcome, ": others wait until its lease is over");
        leave_undone(d, group);
        break;
    case HOOK_ON_LEADER_CHANGE: tell(d, group, hook, outcome, ""); break;
    case HOOK_COUNT: break;
    }
    w->hooks.tries = 0;
}

void hooks_done(struct daemon *d, const struct guard_note *note)
{
    struct work *w = &d->group[note->group].work;
    struct hooked *h = &w->hooks;
    enum hook hook = (enum hook)note->hook;
    if (note->serial != h->serial)
        return;
    bool late = is_late(d, note->group);
    bool again = (note->outcome == 1 || note->outcome == HOOK_TIMED_OUT) &&
                 hook != HOOK_PRE_LEADER && ++h->tries < TRIES && !late;
    h->serial = 0;
    if (note->outcome == 0 || late) {
        h->tries = 0;
        if (hook == HOOK_PRE_LEADER && !late) {
            w->agreed = true;
            snprintf(d->group[note->group].cause, sizeof d->group[0].cause, "%s agrees",
                     hook_name(hook));
        }
        h->led = h->led && !(hook == HOOK_ON_FOLLOWER && note->outcome == 0);
        if (hook == HOOK_ON_LEADER || (hook == HOOK_PRE_LEADER && !has(d, HOOK_ON_LEADER)))
            h->failures = late ? h->failures : 0;
    } else if (again) {
        tell(d, note->group, hook, note->outcome, ": it is run again");
        h->again = elect_uv_now() + ((elect_time)FIRST_PAUSE << (h->tries - 1));
        h->served = h->served && hook != HOOK_ON_LEADER;
        h->changes = h->changes || hook == HOOK_ON_LEADER_CHANGE;
    } else {
        give_up(d, note->group, hook, note->outcome);
    }
}
