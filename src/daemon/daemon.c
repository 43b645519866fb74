/* Runs one member: its sockets and timers, its log, and its periodic work. work.c manages the work
 * that depends on leadership, and answers.c answers the clients. */
#include "daemon.h"

#include "../base/exit.h"
#include "../base/clock.h"
#include "hooks.h"
#include "run_socket.h"
#include "service.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MILLISECOND 1000
#define TICK        1000 /* milliseconds */
#define TICK_SLACK  250

/* ---- the log ---- */

static void copy(char *to, size_t room, const char *from)
{
    snprintf(to, room, "%s", from != NULL ? from : "");
}

static struct journal_entry entry_of(const struct daemon *d, const struct journal_note *note)
{
    struct journal_entry e = {.event = (uint8_t)note->event,
                              .level = (uint8_t)note->level,
                              .at = note->at,
                              .user = note->user,
                              .kind = note->kind};
    if (note->group >= 0) {
        const struct elect_news *news = &d->group[note->group].news;
        copy(e.group, sizeof e.group, d->config.group[note->group]);
        copy(e.leader, sizeof e.leader, news->known ? config_name(&d->config, news->leader) : NULL);
        e.term = news->known ? news->term : 0;
    }
    copy(e.text, sizeof e.text, note->text);
    copy(e.cause, sizeof e.cause, note->cause);
    copy(e.peer, sizeof e.peer, note->peer);
    return e;
}

void daemon_note(struct daemon *d, const struct journal_note *note)
{
    struct journal_entry e = entry_of(d, note);
    journal_write(&d->journal, &e);
}

void daemon_log(struct daemon *d, enum journal_event event, int group, const char *text)
{
    daemon_note(d, &(struct journal_note){.event = event, .group = group, .text = text});
}

void daemon_log_warning(struct daemon *d)
{
    char warning[CONFIG_WARNING];
    config_warning(&d->config, warning);
    if (warning[0] != '\0')
        daemon_log(d, JOURNAL_CONFIG, -1, warning);
}

static void tell_service(const struct daemon *d)
{
    char lines[256];
    unsigned leads = 0;
    for (unsigned i = 0; i < d->config.groups; i++)
        leads += d->group[i].news.leads;
    const struct elect_news *first = &d->group[0].news;
    if (d->config.groups == 1)
        snprintf(lines, sizeof lines, "STATUS=%s: %s %s%s", d->config.group[0], d->me->name,
                 first->leads   ? "leads"
                 : first->known ? "follows "
                                : "has no leader",
                 first->known && !first->leads ? config_name(&d->config, first->leader) : "");
    else
        snprintf(lines, sizeof lines, "STATUS=leads %u of %u groups", leads, d->config.groups);
    service_say(lines);
}

/* ---- callbacks of the member ---- */

static void announced(void *context, const struct elect_news *news)
{
    struct daemon *d = context;
    if (d->member == NULL) /* while starting: open_member() announces the state */
        return;
    work_news(&d->work, news);
    work_turn(&d->work, news->group);
}

/* Writes "SUBJECT VERB OBJECT in term N". Omits an empty object, and a term of 0. */
static void write_event(char text[JOURNAL_TEXT], const char *subject, const char *verb,
                        const char *object, elect_term term)
{
    char number[ELECT_TERM_TEXT];
    snprintf(text, JOURNAL_TEXT, "%s %s%s%s%s%s", subject, verb, *object != '\0' ? " " : "", object,
             term != 0 ? " in term " : "", term != 0 ? elect_term_text(term, number) : "");
}

/* Must be called before the group's state is updated, because the entry contains the term that has
 * ended. */
static void log_end_of_office(struct daemon *d, unsigned group)
{
    const struct watched *w = &d->group[group];
    char text[JOURNAL_TEXT];
    write_event(text, d->me->name, "stopped leading", "", w->news.term);
    daemon_note(
        d, &(struct journal_note){.event = JOURNAL_STOPPED_LEADING,
                                  .group = (int)group,
                                  .at = d->config.mandate == ELECT_MAJORITY ? w->news.until : 0,
                                  .text = text,
                                  .cause = w->because});
}

static void log_leader(struct daemon *d, unsigned group, const struct elect_news *before)
{
    const struct watched *w = &d->group[group];
    const struct elect_news *news = &w->news, *other = news->known ? news : before;
    const char *peer =
        other->known && !other->leads ? config_name(&d->config, other->leader) : NULL;
    char text[JOURNAL_TEXT];
    bool learned = news->known && before->known && news->leader == before->leader;
    char leads[STORE_NAME + 16];
    snprintf(leads, sizeof leads, "%s leads", peer != NULL ? peer : "");
    if (learned && before->term == 0 && peer != NULL)
        write_event(text, d->me->name, "learned that", leads, news->term);
    else
        write_event(text, d->me->name,
                    news->leads    ? "became leader"
                    : news->known  ? "follows"
                    : peer != NULL ? "lost its leader"
                                   : "has no leader",
                    peer != NULL ? peer : "", news->known ? news->term : 0);
    daemon_note(d, &(struct journal_note){.event = news->leads   ? JOURNAL_LEADS
                                                   : news->known ? JOURNAL_FOLLOWS
                                                                 : JOURNAL_NO_LEADER,
                                          .group = (int)group,
                                          .text = text,
                                          .cause = w->because,
                                          .peer = peer});
}

/* Updates the group's state as clients see it. Logs a change, and informs the service manager,
 * hooks and clients. */
static void show(void *context, unsigned group)
{
    struct daemon *d = context;
    struct watched *w = &d->group[group];
    struct elect_news shown = work_shown(&d->work, group), before = w->news, *news = &w->news;
    if (shown.known == before.known && shown.leads == before.leads &&
        shown.leader == before.leader && shown.term == before.term) {
        *news = shown;
        return;
    }
    w->since = date_now();
    memcpy(w->because, w->cause, sizeof w->because);
    if (w->because[0] == '\0' && before.leads) /* no step explains it */
        snprintf(w->because, sizeof w->because, "its lease was not renewed in time");
    else if (w->because[0] == '\0') /* only the heartbeat rules have no text */
        snprintf(w->because, sizeof w->because, "%s%s%s", shown.known ? "" : "no heartbeat from ",
                 config_name(&d->config, shown.known ? shown.leader : before.leader),
                 shown.known ? " reports that it leads" : "");
    if (before.leads && !shown.leads)
        log_end_of_office(d, group);
    *news = shown;
    if (news->leads || news->known || !before.leads)
        log_leader(d, group, &before);
    tell_service(d);
    order_news(d, news);
    work_changed(&d->work, group, news->known != before.known || news->leader != before.leader);
}

/* Shows clients the term of another leader once this member knows it. It may know the leader first:
 * a voter that grants a term announces nothing. */
static void show_learned_term(struct daemon *d, unsigned group)
{
    const struct elect_news *before = &d->group[group].news;
    struct elect_news shown = work_shown(&d->work, group);
    if (before->known && !before->leads && shown.known && !shown.leads &&
        shown.leader == before->leader && shown.term > before->term)
        show(d, group);
}

/* Returns the name of the other member in the step's rule; NULL if there is none. */
static const char *peer_of(const struct daemon *d, const struct elect_rule *rule)
{
    uint8_t me = elect_rank(&d->elect, d->me->peer.id);
    uint8_t other = rule->a < d->elect.n && rule->a != me ? rule->a : rule->b;
    return other < d->elect.n && other != me ? d->name[other] : NULL;
}

static void log_rule(struct daemon *d, unsigned group, const struct elect_rule *rule,
                     const char *cause, const char *effect)
{
    bool hands_over = rule->number == ELECT_RULE_HANDS_OVER || rule->number == ELECT_RULE_RELEASES;
    if (!hands_over && !journal_prints(&d->journal, LEVEL_DEBUG))
        return;
    struct journal_note note = {.event = hands_over ? JOURNAL_WORK : JOURNAL_STEP,
                                .group = (int)group,
                                .text = effect != NULL ? effect : cause,
                                .cause = effect != NULL ? cause : NULL,
                                .peer = peer_of(d, rule)};
    struct journal_entry e = entry_of(d, &note);
    if (hands_over)
        journal_write(&d->journal, &e);
    else
        journal_print(&d->journal, &e, e.text, NULL);
}

static void stepped(void *context, unsigned group, const struct elect_input *in,
                    const struct elect_output *out)
{
    struct daemon *d = context;
    struct text t;
    const char *why = out->rule.number == ELECT_RULE_RESIGNS ? d->work.resigns_because : NULL;
    recorder_step(&d->recorder, group, in, out,
                  d->member != NULL ? elect_member_node(d->member, group) : NULL);
    if (why != NULL)
        recorder_explain(&d->recorder, group, why);
    if (d->member != NULL &&
        elect_paused(elect_member_node(d->member, group)) != d->group[group].paused) {
        char text[JOURNAL_TEXT];
        d->group[group].paused = !d->group[group].paused;
        snprintf(text, sizeof text, "elections are %s (pause counter %u)",
                 d->group[group].paused ? "paused" : "resumed",
                 elect_member_node(d->member, group)->saved.pause);
        daemon_log(d, JOURNAL_ADMIN, (int)group, text);
    }
    text_clear(&t);
    if (!elect_rule_quiet((enum elect_rule_number)out->rule.number))
        words_rule(&d->words, elect_rank(&d->elect, d->me->peer.id), &out->rule, &in->message, &t);
    const char *effect = words_cut_effect(&t);
    if (t.length > 0)
        log_rule(d, group, &out->rule, t.bytes, effect);
    if (!out->announced || d->member == NULL)
        return;
    snprintf(d->group[group].cause, sizeof d->group[group].cause, "%.*s", JOURNAL_TEXT - 1,
             why != NULL ? why : t.bytes);
}

static unsigned index_of(const struct daemon *d, uint16_t id)
{
    return (unsigned)(config_member_with(&d->config, id) - d->config.member);
}

/* Returns true if the same problem with this peer was logged less than a minute ago. Otherwise a
 * peer, or an attacker who replays its packets, could fill the log. */
static bool is_repeated(struct daemon *d, uint16_t id, enum elect_peer_news news)
{
    unsigned i = index_of(d, id);
    bool refused = news != ELECT_PEER_OPENED && news != ELECT_PEER_DIFFERS;
    bool repeated = refused && d->refused[i].tick != 0 && d->refused[i].news == news &&
                    d->ticks + 1 - d->refused[i].tick < 60;
    if (refused && !repeated) {
        d->refused[i].tick = d->ticks + 1;
        d->refused[i].news = news;
    }
    return repeated;
}

static void heard_of(void *context, uint16_t id, enum elect_peer_news news)
{
    static const char *const texts[] = {
#define X(name, text) text,
        ELECT_PEER_NEWS(X)
#undef X
    };
    struct daemon *d = context;
    const char *name = config_name(&d->config, id), *what = texts[news];
    const char *cause = strstr(what, ": ");
    if (news == ELECT_PEER_OPENED)
        d->is_silent[index_of(d, id)] = false;
    char text[JOURNAL_TEXT];
    if (is_repeated(d, id, news))
        return;
    recorder_heard(&d->recorder, elect_rank(&d->elect, id), (uint8_t)news, elect_uv_now());
    snprintf(text, sizeof text, "member %s %.*s", name, (int)strcspn(what, ":"), what);
    daemon_note(d, &(struct journal_note){.event = JOURNAL_MEMBER,
                                          .level = news == ELECT_PEER_OPENED ? LEVEL_INFO : 0,
                                          .group = -1,
                                          .text = text,
                                          .cause = cause != NULL ? cause + 2 : NULL,
                                          .peer = name});
}

static void end(struct daemon *d, int status)
{
    d->work.over = true;
    d->status = status;
    uv_stop(&d->loop);
}

static void failed(void *context, bool forbidden, const char *why)
{
    struct daemon *d = context;
    char cause[JOURNAL_TEXT], text[JOURNAL_TEXT];
    snprintf(text, sizeof text, "%s stops", d->me->name);
    snprintf(cause, sizeof cause, "%s%s", why,
             forbidden ? "; move the state file away, then run elect readmit" : "");
    daemon_note(d, &(struct journal_note){.event = JOURNAL_STOPPED,
                                          .level = LEVEL_ERROR,
                                          .group = -1,
                                          .text = text,
                                          .cause = cause});
    end(d, forbidden ? EXIT_CONFIG : EXIT_IO);
}

/* ---- callbacks of the work ---- */

static void log_of_work(void *context, const struct journal_note *note)
{
    daemon_note(context, note);
}

static void stop_by_failure(void *context, const char *why);

static const char *reason(void *context, unsigned group)
{
    const struct daemon *d = context;
    return d->group[group].because;
}

static void set_reason(void *context, unsigned group, const char *text)
{
    struct watched *w = &((struct daemon *)context)->group[group];
    snprintf(w->cause, sizeof w->cause, "%s", text);
}

static const struct work_calls calls = {.log = log_of_work,
                                        .stop = stop_by_failure,
                                        .show = show,
                                        .reason = reason,
                                        .set_reason = set_reason};

static void deposited(void *context, const struct elect_testament *testament)
{
    struct daemon *d = context;
    work_deposit(&d->work, testament);
}

/* ---- every second ---- */

static void log_link(struct daemon *d, const char *name, unsigned link, bool up)
{
    char text[JOURNAL_TEXT];
    snprintf(text, sizeof text, "link %u to %s is %s", link + 1, name, up ? "up" : "down");
    daemon_note(d, &(struct journal_note){.event = JOURNAL_LINK,
                                          .level = up ? 0 : LEVEL_WARNING,
                                          .group = -1,
                                          .text = text,
                                          .peer = name});
}

/* Logs that a member is down or cut off. The only sign of this is silence on all links. */
static void log_silence(struct daemon *d, uint16_t id)
{
    const char *name = config_name(&d->config, id);
    d->is_silent[index_of(d, id)] = true;
    char text[JOURNAL_TEXT], cause[JOURNAL_TEXT];
    snprintf(text, sizeof text, "member %s is down or cut off", name);
    snprintf(cause, sizeof cause, "%s heard nothing from it for %.3g s", d->me->name,
             (double)config_link_silence(&d->elect) / 1e6);
    daemon_note(
        d, &(struct journal_note){
               .event = JOURNAL_MEMBER, .group = -1, .text = text, .cause = cause, .peer = name});
}

static void log_return(struct daemon *d, uint16_t id)
{
    const char *name = config_name(&d->config, id);
    d->is_silent[index_of(d, id)] = false;
    char text[JOURNAL_TEXT];
    snprintf(text, sizeof text, "member %s is heard again", name);
    daemon_note(
        d,
        &(struct journal_note){
            .event = JOURNAL_MEMBER, .level = LEVEL_INFO, .group = -1, .text = text, .peer = name});
}

static void look_at_links(struct daemon *d)
{
    struct elect_peer_info p;
    elect_time since = elect_uv_now() - config_link_silence(&d->elect);
    for (unsigned i = 0; elect_member_peer(d->member, i, &p); i++) {
        const char *name = config_name(&d->config, p.id);
        bool was_up = false, is_up = false;
        for (unsigned link = 0; link < p.links; link++) {
            bool up = p.link[link].heard != ELECT_UNSET && p.link[link].heard > since;
            was_up = was_up || d->link_up[i][link];
            is_up = is_up || up;
            if (up != d->link_up[i][link])
                log_link(d, name, link, up);
            d->link_up[i][link] = up;
        }
        if (was_up && !is_up)
            log_silence(d, p.id);
        else if (is_up && d->is_silent[index_of(d, p.id)])
            log_return(d, p.id);
    }
}

static void ticks(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    d->ticks++;
    if (d->member == NULL || d->work.over)
        return;
    control_tick(&d->control);
    work_tick(&d->work);
    journal_sum_up(&d->journal, false);
    look_at_links(d);
    doctor_tick(d);
    for (unsigned i = 0; i < d->config.groups; i++)
        show_learned_term(d, i);
    order_tick(d);
    if (d->ticks % 10 == 1 || d->resolver.failed)
        resolve_all(d);
}

/* Runs the periodic work up to TICK_SLACK early if the event loop is awake anyway. An idle daemon
 * then wakes up less often. */
static void awake(uv_check_t *check)
{
    struct daemon *d = check->data;
    if (d->stopping || uv_timer_get_due_in(&d->tick) > TICK_SLACK)
        return;
    ticks(&d->tick);
    uv_timer_again(&d->tick);
}

static void feed_watchdog(uv_timer_t *timer)
{
    (void)timer;
    service_say("WATCHDOG=1");
}

/* ---- stopping ---- */

/* Exits once every group has been handed over or its lease has expired, and all on-follower hooks
 * have run. */
static void leave(struct daemon *d)
{
    bool holds = hooks_reap(&d->work);
    for (unsigned i = 0; i < d->config.groups; i++) {
        const struct elect_node *node = elect_member_node(d->member, i);
        holds = holds || (node->mandated && elect_in_office(node, elect_uv_now()));
    }
    if (holds)
        return;
    char text[JOURNAL_TEXT];
    snprintf(text, sizeof text, "%s has stopped", d->me->name);
    daemon_log(d, JOURNAL_STOPPED, -1, text);
    end(d, 0);
}

static void leaves(uv_timer_t *timer) { leave(timer->data); }

static void stop(struct daemon *d, enum level level, const char *why)
{
    if (d->stopping)
        return;
    d->stopping = true;
    char text[JOURNAL_TEXT];
    snprintf(text, sizeof text, "%s shuts down", d->me->name);
    daemon_note(
        d, &(struct journal_note){
               .event = JOURNAL_STOPPED, .level = level, .group = -1, .text = text, .cause = why});
    service_say("STOPPING=1");
    d->work.leaves = true;
    char shutting_down[JOURNAL_TEXT];
    snprintf(shutting_down, sizeof shutting_down, "it is shutting down: %s", why);
    for (unsigned i = 0; i < d->config.groups; i++) {
        work_turn(&d->work, i);
        if (d->work.group[i].office)
            work_resign(&d->work, i, shutting_down);
    }
    uv_timer_start(&d->tick, leaves, 0, 1);
}

static void stop_by_failure(void *context, const char *why) { stop(context, LEVEL_ERROR, why); }

static void say_reloading(void)
{
    struct timespec now;
    char lines[80];
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(lines, sizeof lines, "RELOADING=1\nMONOTONIC_USEC=%llu",
             (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000);
    service_say(lines);
}

static void signalled(uv_signal_t *handle, int number)
{
    struct daemon *d = handle->data;
    struct text done, complaint;
    if (number != SIGHUP) {
        stop(d, LEVEL_NOTICE, number == SIGTERM ? "received SIGTERM" : "received SIGINT");
        return;
    }
    say_reloading();
    daemon_reload(d, &done, &complaint);
    service_say("READY=1");
}

/* ---- beginning ---- */

static bool open_sockets(struct daemon *d, struct text *complaint)
{
    char path[CONFIG_FILE];
    d->control.loop = &d->loop;
    d->control.ask = answer_request;
    d->control.context = d;
    mkdir(d->config.run_dir, 0755); /* control_open() reports a failure */
    for (unsigned i = 0; i < CONTROL_COUNT; i++) {
        config_socket_path(&d->config, d->me->peer.id, control_name((enum control_which)i), path);
        if (!control_open(&d->control, (enum control_which)i, path, complaint))
            return false;
    }
    return run_socket_open(&d->work, complaint);
}

static const char *name_of_member(void *context, uint16_t id)
{
    const struct daemon *d = context;
    return config_name(&d->config, id);
}

static bool open_member(struct daemon *d, struct enrolment *e, bool *forbidden,
                        struct text *complaint)
{
    char why[512] = "";
    e->options.loop = &d->loop;
    e->options.sockets = d->work.guard.sockets;
    e->options.announce = announced;
    e->options.fail = failed;
    e->options.step = stepped;
    e->options.peer_news = heard_of;
    e->options.deposit = deposited;
    e->options.note = inquiry_note;
    e->options.name = name_of_member;
    e->options.context = d;
    for (unsigned link = 0; link < d->me->peer.links; link++) {
        const union elect_address *own = &e->peer[d->me - d->config.member].link[link];
        d->family[link] = own->any.sa_family;
        daemon_address(own, d->address[link]);
    }
    d->member = elect_member_start(&e->options, forbidden, why, sizeof why);
    d->work.member = d->member;
    enroll_wipe(e);
    text_add(complaint, why);
    for (unsigned i = 0; i < d->config.groups && d->member != NULL; i++) {
        struct elect_news news = elect_member_status(d->member, i);
        announced(d, &news);
    }
    return d->member != NULL;
}

static void prepare_work(struct daemon *d)
{
    d->work.loop = &d->loop;
    d->work.config = &d->config;
    d->work.me = d->me;
    d->work.words = &d->words;
    d->work.journal = &d->journal;
    d->work.calls = &calls;
    d->work.context = d;
}

static void begin(struct daemon *d, const struct config *config, const struct config_member *me)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    d->config = *config;
    recorder_begin(&d->recorder);
    d->me = &d->config.member[me - config->member];
    config_elect(&d->config, &d->elect);
    for (unsigned i = 0; i < d->config.members; i++)
        d->name[elect_rank(&d->elect, d->config.member[i].peer.id)] = d->config.member[i].name;
    d->words = (struct words){.config = &d->elect, .name = d->name};
    for (unsigned i = 0; i < d->config.groups; i++)
        snprintf(d->group[i].cause, sizeof d->group[i].cause, "it has just started");
    d->began = elect_uv_now();
    uv_loop_init(&d->loop);
    for (unsigned i = 0; i < 3; i++) {
        uv_signal_init(&d->loop, &d->signal[i]);
        d->signal[i].data = d;
        uv_signal_start(&d->signal[i], signalled, numbers[i]);
    }
    uv_timer_init(&d->loop, &d->tick);
    uv_timer_init(&d->loop, &d->watchdog);
    uv_check_init(&d->loop, &d->awake);
    d->tick.data = d->awake.data = d;
    prepare_work(d);
    d->journal.written = query_watchers;
    d->journal.context = d;
}

static void close_all(struct daemon *d)
{
    d->work.over = true;
    control_close(&d->control);
    run_socket_close(&d->work);
    journal_sum_up(&d->journal, true);
    work_end(&d->work, d->status == 0 || d->status == EXIT_CONFIG);
    if (d->member != NULL)
        elect_member_stop(d->member);
    d->member = d->work.member = NULL;
    for (unsigned i = 0; i < 3; i++)
        uv_close((uv_handle_t *)&d->signal[i], NULL);
    uv_close((uv_handle_t *)&d->tick, NULL);
    uv_close((uv_handle_t *)&d->awake, NULL);
    uv_close((uv_handle_t *)&d->watchdog, NULL);
    uv_cancel((uv_req_t *)&d->resolver.request);
    for (unsigned i = 0; i < 3; i++) /* run the close callbacks */
        uv_run(&d->loop, UV_RUN_NOWAIT);
    if (d->resolver.busy) /* do not wait for a slow name server */
        _exit(d->status);
    uv_run(&d->loop, UV_RUN_DEFAULT);
    uv_loop_close(&d->loop);
    for (unsigned i = 0; i < SESSION_PEERS; i++) {
        json_decref(d->doctor.peer[i].work.groups);
        json_decref(d->doctor.peer[i].work.ready);
    }
}

static void log_start(struct daemon *d)
{
    char text[JOURNAL_TEXT];
    int length = snprintf(text, sizeof text,
                          "member %s (%u) starts: elect %s, pid %d, guardian pid %d, "
                          "incarnation %u, address",
                          d->me->name, d->me->peer.id, ELECT_VERSION, (int)getpid(), (int)getppid(),
                          elect_member_incarnation(d->member));
    for (unsigned link = 0; link < d->me->peer.links && length < (int)sizeof text; link++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s %s",
                           link > 0 ? "," : "", d->address[link]);
    daemon_log(d, JOURNAL_STARTED, -1, text);
}

/* A key of the terminal signals this process, and the guardian passes the same signal on. The
 * second one may arrive when the first has already ended the loop, and must not kill the process.
 */
static void ignore_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

int daemon_run(struct daemon *d, const struct config *config, const struct config_member *me,
               struct enrolment *e, const struct guard *guard, const struct journal_options *log)
{
    struct text complaint;
    bool forbidden;
    text_clear(&complaint);
    journal_begin(&d->journal, log, me->name);
    d->journal.shared = &guard->page->log;
    begin(d, config, me);
    work_begin(&d->work, guard);
    bool open = open_member(d, e, &forbidden, &complaint);
    if (!open || !open_sockets(d, &complaint)) {
        journal_complain(log, me->name, complaint.bytes);
        d->status = open || forbidden ? EXIT_CONFIG : EXIT_NOT_NOW;
        close_all(d);
        return d->status;
    }
    log_start(d);
    daemon_log_warning(d);
    uv_timer_start(&d->tick, ticks, 0, TICK + TICK_SLACK);
    uv_check_start(&d->awake, awake);
    uint64_t every = service_watchdog() / 2 / MILLISECOND;
    if (every > 0)
        uv_timer_start(&d->watchdog, feed_watchdog, every, every);
    service_say("READY=1");
    tell_service(d);
    uv_run(&d->loop, UV_RUN_DEFAULT);
    ignore_signals();
    close_all(d);
    return d->status;
}
