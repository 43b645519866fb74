/* Answers packets from runs and clients. talk.h explains the packets: HOLD, ASK, EMPTY, HEALTH,
 * RESIGN and LEASE. */
#include "run_requests.h"

#include "run_queue.h"

#include <stdio.h>

/* Returns the index of the packet's group. If there is no such group, or leaders have no lease
 * (mandate = none), refuses the packet and returns -1. */
static int group_of(struct run_connection *c, const struct talk *asked)
{
    const struct config *config = c->work->config;
    struct text why;
    int group = config_group(config, asked->group[0] != '\0' ? asked->group : NULL, &why);
    if (group < 0) {
        run_connection_tell(c, TALK_REFUSED, why.bytes);
        return -1;
    }
    if (config->mandate == ELECT_NO_MANDATE) {
        run_connection_tell(
            c, TALK_REFUSED,
            "with mandate = none no leader has a lease, so no work can run under it");
        return -1;
    }
    return group;
}

/* From a local user: only printable characters may reach the log. */
static void copy_reason(const struct talk *asked, char why[TALK_WHY])
{
    snprintf(why, TALK_WHY, "%.*s", TALK_WHY - 1, asked->why);
    for (char *at = why; *at != '\0'; at++)
        *at = (char)(*at >= ' ' && *at <= '~' ? *at : '?');
}

static void take_hold(struct run_connection *c, const struct talk *asked)
{
    const struct work *w = c->work;
    if (c->stage != RUN_IDLE) { /* its previous work may not have ended */
        run_connection_drop(c);
        return;
    }
    int group = group_of(c, asked);
    if (group < 0)
        return;
    c->group = (unsigned)group;
    if (!config_may_lead(w->me) && !w->group[group].office) { /* it would never get its turn */
        char why[sizeof((struct talk){0}.why)];
        snprintf(why, sizeof why, "%.63s never leads: its role is %s", w->me->name,
                 config_role(w->me));
        run_connection_tell(c, TALK_REFUSED, why);
        return;
    }
    const char *why_not = run_queue_why_not_now(c);
    if ((asked->flags & TALK_NOW) != 0 && why_not != NULL) {
        run_connection_tell(c, TALK_NO, why_not);
        return;
    }
    c->loose = (asked->flags & TALK_LOOSE) != 0;
    c->yields = (asked->flags & TALK_YIELDS) != 0;
    c->healthy = (asked->flags & TALK_UNHEALTHY) == 0;
    c->complaint[0] = '\0';
    c->contained = asked->flags;
    copy_reason(asked, c->program);
    run_queue_join(c);
}

static void log_command(const struct run_connection *c)
{
    char text[JOURNAL_TEXT], work[RUN_WORK];
    run_connection_work(c, "", work);
    snprintf(text, sizeof text, "has started %s", work);
    run_connection_log_kind(c, 0, "started", text, NULL);
}

static void take_ask(struct run_connection *c, const struct talk *asked)
{
    const struct elect_node *node = elect_member_node(c->work->member, c->group);
    struct talk answer = run_connection_words(c->work, TALK_TOLD, c->group);
    elect_time now = elect_uv_now(), until = elect_until(node);
    bool may = c->stage == RUN_HOLDS && elect_in_office(node, now);
    answer.stamp = asked->stamp;
    answer.left = may ? until - now : 0;
    answer.term = c->term;
    if (may)
        c->until = until;
    bool has_started = c->stage == RUN_HOLDS && asked->pid != 0 && c->command == 0;
    c->command = asked->pid;
    c->restarts = (asked->flags & TALK_RESTARTS) != 0;
    run_connection_send(c, &answer);
    if (has_started && !c->closing && c->program[0] != '\0')
        log_command(c);
}

static void take_lease(struct run_connection *c, const struct talk *asked)
{
    int group = group_of(c, asked);
    if (group < 0)
        return;
    struct elect_news news = work_shown(c->work, (unsigned)group);
    struct talk answer = run_connection_words(c->work, TALK_TOLD, (unsigned)group);
    c->asked[group] = true;
    answer.stamp = asked->stamp;
    elect_time now = elect_uv_now(), until = news.until;
    if (news.leads && until > now) { /* the lease may have ended since then */
        if (asked->left > 0 && asked->left < until - now)
            until = now + asked->left;
        if (until > c->promised[group])
            c->promised[group] = until;
        run_connection_update_promises(c->work, (unsigned)group);
        answer.left = until - now;
    }
    run_connection_send(c, &answer);
}

/* Logs that a run's work has ended by itself, with the reason, or was stopped if `why` is empty.
 * Work that has lost its mandate and cannot be killed may still be running. */
static void log_end(const struct run_connection *c, const char *why)
{
    char text[JOURNAL_TEXT], work[RUN_WORK];
    run_connection_work(c, "", work);
    snprintf(text, sizeof text, "%s%s%s",
             c->loose && why[0] == '\0' ? "has frozen its work, or told it to stop"
                                        : "has ended all its work",
             work[0] != '\0' ? ": " : "", work);
    run_connection_log_kind(c, 0, "ended", text, why[0] != '\0' ? why : c->stopped);
}

static void take_empty(struct run_connection *c, const struct talk *asked)
{
    struct work *w = c->work;
    unsigned group = c->group;
    char why[TALK_WHY];
    copy_reason(asked, why);
    if (c->stage == RUN_HOLDS || c->stage == RUN_LATE)
        log_end(c, why);
    if (c->stage == RUN_HOLDS && (asked->flags & TALK_YIELDS) != 0)
        run_queue_yield(c, (asked->flags & TALK_FAILED) != 0, why);
    else if (c->stage == RUN_HOLDS && (asked->flags & TALK_FAILED) != 0)
        run_queue_fail(c, "failed", why);
    run_queue_release_channel(c);
    run_queue_leave(c);
    for (unsigned i = 0; i < w->config->groups; i++) {
        c->promised[i] = 0;
        run_connection_update_promises(w, i);
    }
    work_turn(w, group);
}

static void take_health(struct run_connection *c, const struct talk *asked)
{
    char why[TALK_WHY];
    copy_reason(asked, why);
    run_queue_take_health(c, (asked->flags & TALK_UNHEALTHY) == 0, why);
}

/* Answers DONE, or REFUSED with the reason if the member does not resign. */
static void resign(struct run_connection *c, unsigned group)
{
    struct work *w = c->work;
    struct text why;
    char asked[JOURNAL_TEXT];
    snprintf(asked, sizeof asked, "a client asked it to resign: uid %u, pid %d",
             (unsigned)c->who.uid, (int)c->who.pid);
    struct elect_rule rule = work_resign(w, group, asked);
    text_clear(&why);
    if (rule.number != ELECT_RULE_RESIGNS && rule.number != ELECT_RULE_RESIGNS_ALREADY)
        words_rule(w->words, elect_rank(w->words->config, w->me->peer.id), &rule,
                   &(struct elect_message){0}, &why);
    words_cut_effect(&why);
    if (!c->closing)
        run_connection_tell(c, why.length == 0 ? TALK_DONE : TALK_REFUSED, why.bytes);
}

static void take_resign(struct run_connection *c, const struct talk *asked)
{
    struct work *w = c->work;
    int group = group_of(c, asked);
    if (group < 0)
        return;
    if (c->stage == RUN_HOLDS || c->stage == RUN_LATE) {
        run_connection_tell(c, TALK_REFUSED, "its work has not ended: send EMPTY with YIELDS");
        return;
    }
    /* Orders without effect would let a local user fill the flight recorder. */
    const struct elect_mandate *office = &elect_member_node(w->member, (unsigned)group)->mandate;
    if (office->leader.token == 0 || office->leader.handing != ELECT_NOT_HANDING) {
        run_connection_tell(c, office->leader.token == 0 ? TALK_REFUSED : TALK_DONE,
                            office->leader.token == 0 ? "this member does not lead" : "");
        return;
    }
    elect_time now = elect_uv_now(), next = run_queue_next_turn(c, (unsigned)group, now);
    if (next > now) {
        char refusal[64];
        snprintf(refusal, sizeof refusal, "this user resigns too often; retry in %lld s",
                 (long long)((next - now) / 1000000 + 1));
        run_connection_tell(c, TALK_REFUSED, refusal);
        return;
    }
    run_queue_take_turns(c, (unsigned)group, pace_resign(&w->group[group].pace, c->who.uid, now));
    resign(c, (unsigned)group);
}

bool run_request_is_valid(const struct talk *t, size_t length)
{
    static const uint8_t flags[TALK_WORD_COUNT] = {[TALK_HOLD] = TALK_NOW | TALK_LOOSE |
                                                                 TALK_CGROUP | TALK_NAMESPACE |
                                                                 TALK_YIELDS | TALK_UNHEALTHY,
                                                   [TALK_ASK] = TALK_RESTARTS,
                                                   [TALK_EMPTY] = TALK_YIELDS | TALK_FAILED,
                                                   [TALK_HEALTH] = TALK_UNHEALTHY};
    return length == sizeof *t && t->magic == TALK_MAGIC && t->word <= TALK_HEALTH &&
           t->group[TALK_NAME - 1] == '\0' && (t->flags & ~flags[t->word]) == 0;
}

void run_request(struct run_connection *c, const struct talk *asked)
{
    switch ((enum talk_word)asked->word) {
    case TALK_HOLD: take_hold(c, asked); break;
    case TALK_ASK: take_ask(c, asked); break;
    case TALK_EMPTY: take_empty(c, asked); break;
    case TALK_RESIGN: take_resign(c, asked); break;
    case TALK_LEASE: take_lease(c, asked); break;
    case TALK_HEALTH: take_health(c, asked); break;
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
