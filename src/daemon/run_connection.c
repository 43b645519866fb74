/* A connection to the run socket: sends packets, keeps the deadlines given to the client, and
 * closes the connection. */
#include "run_connection.h"

#include "run_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int run_connection_pid(const struct run_connection *c) { return (int)c->who.pid; }

const char *run_connection_program(const struct run_connection *c) { return c->program; }

int run_connection_command(const struct run_connection *c) { return (int)c->command; }
bool run_connection_restarts(const struct run_connection *c) { return c->restarts; }

int64_t run_connection_since(const struct run_connection *c) { return c->since; }

const char *run_connection_containment(const struct run_connection *c)
{
    return (c->contained & TALK_CGROUP) != 0      ? "control group"
           : (c->contained & TALK_NAMESPACE) != 0 ? "process namespace"
                                                  : "process tree";
}

elect_term run_connection_term(const struct run_connection *c) { return c->term; }

void run_connection_work(const struct run_connection *c, const char *unknown, char text[RUN_WORK])
{
    if (c->program[0] == '\0')
        snprintf(text, RUN_WORK, "%s", unknown);
    else if (c->command == 0)
        snprintf(text, RUN_WORK, "%.72s", c->program);
    else
        snprintf(text, RUN_WORK, "%.72s (pid %u)", c->program, c->command);
}

void run_connection_log_kind(const struct run_connection *c, enum level level, const char *kind,
                             const char *what, const char *cause)
{
    const struct work *w = c->work;
    char text[JOURNAL_TEXT];
    snprintf(text, sizeof text, "elect run (pid %d) %s", (int)c->who.pid, what);
    w->calls->log(w->context, &(struct journal_note){.event = JOURNAL_WORK,
                                                     .level = level,
                                                     .group = (int)c->group,
                                                     .user = c->who.uid,
                                                     .text = text,
                                                     .cause = cause,
                                                     .kind = kind});
}

void run_connection_log(const struct run_connection *c, enum level level, const char *what,
                        const char *cause)
{
    run_connection_log_kind(c, level, NULL, what, cause);
}

/* ---- packets ---- */

struct talk run_connection_words(const struct work *w, enum talk_word word, unsigned group)
{
    struct talk t = {.magic = TALK_MAGIC, .word = (uint8_t)word};
    const struct elect_config *e = elect_member_config(w->member, group);
    struct elect_news news = work_shown(w, group);
    t.lease = (uint32_t)elect_office_length(e, e->lease);
    t.renewal = e->renewal;
    t.term = news.term;
    snprintf(t.group, sizeof t.group, "%s", w->config->group[group]);
    snprintf(t.node, sizeof t.node, "%s", w->me->name);
    if (news.known)
        snprintf(t.leader, sizeof t.leader, "%s", config_name(w->config, news.leader));
    return t;
}

void run_connection_send(struct run_connection *c, const struct talk *t)
{
    /* After any other error, the process at the other end has exited: readable() reads its last
     * packets and drops the connection. */
    if (send(c->fd, t, sizeof *t, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EAGAIN)
        run_connection_drop(c);
}

void run_connection_tell(struct run_connection *c, enum talk_word word, const char *why)
{
    struct talk t = run_connection_words(c->work, word, c->group);
    snprintf(t.why, sizeof t.why, "%.*s", TALK_WHY - 1, why);
    run_connection_send(c, &t);
}

void run_connection_tell_leader(const struct run_connection *c)
{
    const struct work *w = c->work;
    struct talk t = run_connection_words(w, TALK_NEWS, c->group);
    snprintf(t.why, sizeof t.why, "%.*s", TALK_WHY - 1, w->calls->reason(w->context, c->group));
    (void)!send(c->fd, &t, sizeof t, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- promises ---- */

elect_time run_connection_promised(const struct work *w, unsigned group)
{
    return w->guard.page->not_before[group];
}

void run_connection_update_promises(struct work *w, unsigned group)
{
    elect_time latest = w->group[group].last;
    for (const struct run_connection *c = w->connections; c != NULL; c = c->next)
        latest = c->promised[group] > latest ? c->promised[group] : latest;
    w->guard.page->not_before[group] = latest;
}

/* The deadlines given to a client stay valid after it has disconnected, because it may have told
 * other processes about them. */
static void keep_promises(const struct run_connection *c)
{
    struct work *w = c->work;
    for (unsigned i = 0; i < w->config->groups; i++) {
        struct group_work *g = &w->group[i];
        g->last = c->promised[i] > g->last ? c->promised[i] : g->last;
        run_connection_update_promises(w, i);
    }
}

/* ---- closing ---- */

void run_connection_unlink(struct run_connection *c)
{
    struct run_connection **at = &c->work->connections;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
}

static void freed(uv_handle_t *handle) { free(handle->data); }

void run_connection_drop(struct run_connection *c)
{
    struct work *w = c->work;
    struct group_work *g = &w->group[c->group];
    bool held = c->stage == RUN_HOLDS, late = c->stage == RUN_LATE, idle = c->stage == RUN_IDLE;
    if (c->closing)
        return;
    c->closing = true;
    if ((held || late) && !w->over) {
        char text[JOURNAL_TEXT], work[RUN_WORK];
        run_connection_work(c, "its work", work);
        snprintf(text, sizeof text, "disconnected without reporting that %s has ended", work);
        run_connection_log_kind(c, LEVEL_WARNING, "disconnected", text, NULL);
    }
    if (held) /* the run's leftover processes may go on until its deadline */
        g->last = c->until > g->last ? c->until : g->last;
    if (held && c->yields && !w->over)
        run_queue_yield(c, true, "it was killed");
    if (!held && !late)
        run_queue_release_channel(c);
    run_queue_leave(c);
    keep_promises(c);
    run_connection_unlink(c);
    uv_poll_stop(&c->poll);
    close(c->fd);
    uv_close((uv_handle_t *)&c->poll, freed);
    if (!idle) /* this may have been the last run, so the member may have to stand aside */
        work_wake(w, elect_uv_now());
}
