/* Decides which hook the guardian runs next, and handles the outcome: a leader resigns if
 * pre-leader or on-leader fails, and a hook that asks for a retry runs again after a delay. */
#include "hooks.h"

#include "hook.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define TRIES       5
#define FIRST_DELAY 100000 /* microseconds before the second try; then doubled */
#define DOUBLINGS   6
#define LOOK_AGAIN  10000 /* microseconds between checks for the end of a dead guardian's hooks */

static bool has(const struct work *w, enum hook hook) { return w->config->hook[hook][0] != '\0'; }

bool hooks_rest(const struct work *w, unsigned group)
{
    const struct group_hooks *h = &w->group[group].hooks;
    return !h->led && (h->serial == 0 || h->hook == HOOK_ON_LEADER_CHANGE);
}

/* Gives up on the on-follower hook. Work that on-leader has started may go on, so the term must not
 * be released before the lease ends. */
static void leave_undone(struct work *w, unsigned group)
{
    struct group_work *g = &w->group[group];
    g->hooks.led = false;
    g->last = g->until > g->last ? g->until : g->last;
}

/* Returns HOOK_COUNT if none is due. */
static enum hook next(const struct work *w, unsigned group)
{
    const struct group_work *g = &w->group[group];
    bool leads = g->office && g->agreed;
    if (!work_is_guarded(w))
        return !leads && g->hooks.led ? HOOK_ON_FOLLOWER : HOOK_COUNT;
    if (g->office && !g->agreed)
        return HOOK_PRE_LEADER;
    if (leads && !g->hooks.served && has(w, HOOK_ON_LEADER))
        return HOOK_ON_LEADER;
    if (!leads && g->hooks.led)
        return HOOK_ON_FOLLOWER;
    return g->hooks.changes && has(w, HOOK_ON_LEADER_CHANGE) ? HOOK_ON_LEADER_CHANGE : HOOK_COUNT;
}

/* Returns true if the running hook's term has ended. */
static bool is_late(const struct work *w, unsigned group)
{
    const struct group_work *g = &w->group[group];
    enum hook hook = (enum hook)g->hooks.hook;
    return (hook == HOOK_PRE_LEADER && !g->office) ||
           (hook == HOOK_ON_LEADER && !(g->office && g->agreed));
}

/* The guardian runs the hook or, if it is dead, the member itself. */
static bool run(struct work *w, const struct guard_note *note)
{
    if (work_is_guarded(w))
        return work_tell_guardian(w, note, -1);
    pid_t parent = hook_start(w->config, w->me, note, w->journal, -1);
    w->group[note->group].hooks.parent = parent > 0 ? parent : 0;
    return parent > 0;
}

static void start(struct work *w, unsigned group, enum hook hook)
{
    struct group_hooks *h = &w->group[group].hooks;
    const struct elect_node *node = elect_member_node(w->member, group);
    struct elect_news news = elect_member_status(w->member, group);
    struct guard_note note = {.word = GUARD_HOOK, .group = (uint8_t)group, .hook = (uint8_t)hook};
    bool own = hook != HOOK_ON_LEADER_CHANGE && hook != HOOK_ON_FOLLOWER;
    note.lease = (uint32_t)elect_office_length(w->words->config, w->words->config->lease);
    note.term = own ? elect_token(node) : hook == HOOK_ON_FOLLOWER ? h->term : news.term;
    snprintf(note.leader, sizeof note.leader, "%s",
             own          ? w->me->name
             : news.known ? config_name(w->config, news.leader)
                          : "");
    h->tries = h->hook == hook ? h->tries : 0;
    note.serial = ++w->serials;
    if (!run(w, &note)) { /* try again later */
        h->again = elect_uv_now() + FIRST_DELAY;
        work_wake(w, h->again);
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

/* Returns true if a dead guardian's hook may still be running. The next hook then waits, but only
 * until leadership ends, because a stopped hook parent might never exit. The pipe `hooks` reaches
 * its end when the last hook parent exits. */
static bool is_doubtful(const struct work *w, const struct group_hooks *h)
{
    struct pollfd hooks = {.fd = w->guard.hooks};
    return !work_is_guarded(w) && elect_uv_now() < h->doubtful && poll(&hooks, 1, 0) == 0;
}

/* A hook that has failed waits before the next try. Otherwise members whose pre-leader always fails
 * would pass leadership around as fast as packets travel. */
static bool is_too_early(const struct group_hooks *h, enum hook hook)
{
    bool again = hook == h->hook && h->tries > 0;
    bool in_vain = (hook == HOOK_PRE_LEADER || hook == HOOK_ON_LEADER) && h->failures > 1;
    return (again || in_vain) && elect_uv_now() < h->again;
}

static void fail(struct group_hooks *h)
{
    unsigned doublings = h->failures > 0 ? h->failures - 1u : 0;
    h->again = elect_uv_now() + ((elect_time)FIRST_DELAY << doublings);
    if (h->failures <= DOUBLINGS)
        h->failures++;
}

void hooks_turn(struct work *w, unsigned group)
{
    struct group_hooks *h = &w->group[group].hooks;
    struct guard_note cancel = {.word = GUARD_CANCEL, .group = (uint8_t)group};
    if (!config_has_hooks(w->config))
        return;
    if (h->serial != 0 && !h->cancelled && is_late(w, group)) {
        cancel.serial = h->serial;
        h->cancelled = work_tell_guardian(w, &cancel, -1);
    }
    enum hook hook = next(w, group);
    if (h->serial != 0 || hook == HOOK_COUNT)
        return;
    if (hook == HOOK_ON_FOLLOWER && !has(w, hook)) {
        leave_undone(w, group);
    } else if (is_doubtful(w, h)) {
        work_wake(w, elect_uv_now() + LOOK_AGAIN);
    } else if (is_too_early(h, hook)) {
        work_wake(w, h->again);
    } else {
        start(w, group, hook);
    }
}

/* ---- the outcome ---- */

static void log_outcome(struct work *w, unsigned group, enum hook hook, int outcome,
                        const char *then)
{
    char text[JOURNAL_TEXT];
    static const char *const reasons[] = {[HOOK_TIMED_OUT - HOOK_TIMED_OUT] = "took too long",
                                          [HOOK_CANCELLED - HOOK_TIMED_OUT] = "was told to end",
                                          [HOOK_NOT_TRUSTED - HOOK_TIMED_OUT] = "is not trusted",
                                          [HOOK_FAILED - HOOK_TIMED_OUT] =
                                              "could not be run, or was killed"};
    if (outcome >= HOOK_TIMED_OUT && outcome <= HOOK_FAILED)
        snprintf(text, sizeof text, "%s %s%s", hook_name(hook), reasons[outcome - HOOK_TIMED_OUT],
                 then);
    else
        snprintf(text, sizeof text, "%s exited with status %d%s", hook_name(hook), outcome, then);
    w->calls->log(w->context,
                  &(struct journal_note){.event = JOURNAL_HOOK, .group = (int)group, .text = text});
}

static void give_up(struct work *w, unsigned group, enum hook hook, int outcome)
{
    struct group_work *g = &w->group[group];
    switch (hook) {
    case HOOK_PRE_LEADER:
        log_outcome(w, group, hook, outcome, ": this member declines leadership");
        fail(&g->hooks);
        work_resign(w, group, "pre-leader failed");
        break;
    case HOOK_ON_LEADER:
        log_outcome(w, group, hook, outcome, ": this member resigns");
        fail(&g->hooks);
        work_resign(w, group, "on-leader failed");
        break;
    case HOOK_ON_FOLLOWER:
        log_outcome(w, group, hook, outcome, ": the other members wait until the lease is over");
        leave_undone(w, group);
        break;
    case HOOK_ON_LEADER_CHANGE: log_outcome(w, group, hook, outcome, ""); break;
    case HOOK_COUNT: break;
    }
    g->hooks.tries = 0;
}

/* A service manager that stops the unit may send SIGTERM to hooks, too, so on-follower is run again
 * if it was killed. Without a guardian, which the same signal may have killed, on-follower is run
 * again after any failure. */
static bool is_retried(const struct work *w, enum hook hook, int outcome)
{
    bool killed = outcome == HOOK_CANCELLED || outcome == HOOK_FAILED;
    return hook != HOOK_PRE_LEADER && (outcome == 1 || outcome == HOOK_TIMED_OUT ||
                                       !work_is_guarded(w) || (hook == HOOK_ON_FOLLOWER && killed));
}

void hooks_done(struct work *w, const struct guard_note *note)
{
    struct group_work *g = &w->group[note->group];
    struct group_hooks *h = &g->hooks;
    enum hook hook = (enum hook)note->hook;
    if (note->serial != h->serial)
        return;
    bool late = is_late(w, note->group);
    bool again = is_retried(w, hook, note->outcome) && ++h->tries < TRIES && !late;
    h->serial = 0;
    if (note->outcome == 0 || late) {
        h->tries = 0;
        if (hook == HOOK_PRE_LEADER && !late) {
            g->agreed = true;
            char reason[JOURNAL_TEXT];
            snprintf(reason, sizeof reason, "%s agrees", hook_name(hook));
            w->calls->set_reason(w->context, note->group, reason);
        }
        h->led = h->led && !(hook == HOOK_ON_FOLLOWER && note->outcome == 0);
        if (hook == HOOK_ON_LEADER || (hook == HOOK_PRE_LEADER && !has(w, HOOK_ON_LEADER)))
            h->failures = late ? h->failures : 0;
    } else if (again) {
        log_outcome(w, note->group, hook, note->outcome, ": running it again");
        h->again = elect_uv_now() + ((elect_time)FIRST_DELAY << (h->tries - 1));
        h->served = h->served && hook != HOOK_ON_LEADER;
        h->changes = h->changes || hook == HOOK_ON_LEADER_CHANGE;
    } else {
        give_up(w, note->group, hook, note->outcome);
    }
}

/* ---- without a guardian ---- */

void hooks_unguarded(struct work *w)
{
    for (unsigned i = 0; i < w->config->groups; i++) {
        struct group_work *g = &w->group[i];
        /* The hook parent is now ending the running hook. on-follower waits for this, but at most
         * until the lease ends. So do the other members. */
        if (g->hooks.serial != 0 && g->hooks.hook != HOOK_ON_LEADER_CHANGE) {
            g->hooks.doubtful = g->until;
            g->last = g->until > g->last ? g->until : g->last;
        }
        g->hooks.serial = 0;
    }
}

bool hooks_reap(struct work *w)
{
    bool some = false;
    for (unsigned i = 0; i < w->config->groups && !work_is_guarded(w); i++) {
        struct group_hooks *h = &w->group[i].hooks;
        struct guard_note note = {.group = (uint8_t)i, .hook = h->hook, .serial = h->serial};
        int status;
        if (h->parent > 0 && waitpid(h->parent, &status, WNOHANG) == h->parent) {
            h->parent = 0;
            note.outcome = hook_outcome(status);
            hooks_done(w, &note);
            work_turn(w, i);
        }
        some = some || !hooks_rest(w, i);
    }
    return some;
}
