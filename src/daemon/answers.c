/* The verbs of the control sockets: what each is asked, and what it answers. */
#include "daemon.h"

#include "../base/choice.h"
#include "run_connection.h"
#include "run_queue.h"

#include <arpa/inet.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MILLISECOND 1000
#define SECOND      1000000
#define LONG_WAIT   60 /* seconds of the flight recorder that are shown unless more are asked for */
#define BATCH       64 /* entries of it in an answer */

static json_t *refusal(const char *why) { return json_pack("{s:b, s:s}", "ok", 0, "error", why); }

static void refuse(struct control_client *client, const char *why)
{
    char text[TEXT_MAX];
    snprintf(text, sizeof text, "%s", why);
    text_clean(text); /* it may have been cut in the middle of a character */
    control_answer(client, refusal(text));
}

static json_t *milliseconds(elect_time us) { return json_real((double)us / MILLISECOND); }

/* Returns the group that is asked about; -1 if the request was refused. */
static int group_of(const struct daemon *d, struct control_client *client, const json_t *request)
{
    struct text why;
    int group =
        config_group(&d->config, json_string_value(json_object_get(request, "group")), &why);
    if (group < 0)
        refuse(client, why.bytes);
    return group;
}

/* ---- status ---- */

static json_t *names_of(const struct daemon *d, elect_set set)
{
    json_t *all = json_array();
    for (; set != 0; set &= set - 1)
        json_array_append_new(all, json_string(d->name[__builtin_ctzll(set)]));
    return all;
}

static const char *state_of(const struct elect_node *node, const struct elect_news *news)
{
    if (news->leads)
        return "leads";
    if (node->mandate.leader.handing != ELECT_NOT_HANDING)
        return "hands over";
    if (elect_token(node) != 0)
        return "prepares to lead";
    if (elect_must_stop(node))
        return "stops its work";
    if (news->known)
        return "follows";
    if (elect_paused(node))
        return "waits";
    return node->mandate.candidate.stage != ELECT_NO_CANDIDATE ? "asks for a mandate"
           : node->state != ELECT_NORMAL                       ? "holds an election"
                                                               : "looks around";
}

static json_t *group_json(const struct daemon *d, unsigned group)
{
    const struct elect_node *node = elect_member_node(d->member, group);
    const struct watched *w = &d->group[group];
    const struct run_connection *holder = d->work.group[group].holder;
    unsigned waiting = run_queue_waiting(&d->work, group);
    struct elect_news news = work_shown(&d->work, group);
    elect_time now = elect_uv_now();
    char since[JOURNAL_DATE];
    json_t *o = json_pack("{s:s, s:s, s:b, s:b}", "group", d->config.group[group], "state",
                          state_of(node, &news), "leads", news.leads, "paused", elect_paused(node));
    if (news.known) {
        json_object_set_new(o, "leader", json_string(config_name(&d->config, news.leader)));
        if (news.term != 0)
            json_object_set_new(o, "term", json_integer((json_int_t)news.term));
        journal_date(w->since, since);
        json_object_set_new(o, "since", json_string(since));
        json_object_set_new(o, "because", json_string(w->because));
    }
    if (news.leads && node->mandated) {
        json_object_set_new(o, "lease_left_ms", milliseconds(news.until - now));
        if (node->mandate.presence.heir < d->elect.n)
            json_object_set_new(o, "heir", json_string(d->name[node->mandate.presence.heir]));
    }
    if (holder != NULL) {
        json_object_set_new(o, "holder_pid", json_integer(run_connection_pid(holder)));
        json_object_set_new(o, "containment", json_string(run_connection_containment(holder)));
    }
    if (waiting > 0)
        json_object_set_new(o, "waiting", json_integer((json_int_t)waiting));
    json_object_set_new(o, "testament", json_boolean(work_has_testament(&d->work, group)));
    json_object_set_new(o, "voters", names_of(d, node->saved.membership.voters));
    return o;
}

static json_t *link_json(const struct elect_link_info *link, elect_time now, int64_t silence)
{
    char host[INET6_ADDRSTRLEN] = "", address[INET6_ADDRSTRLEN + 10];
    const union elect_address *a = &link->address;
    bool six = a->any.sa_family == AF_INET6;
    if (a->any.sa_family != AF_UNSPEC)
        inet_ntop(a->any.sa_family,
                  six ? (const void *)&a->six.sin6_addr : (const void *)&a->four.sin_addr, host,
                  sizeof host);
    snprintf(address, sizeof address, six ? "[%s]:%u" : "%s:%u", host, ntohs(a->four.sin_port));
    json_t *o = json_pack("{s:s, s:b}", "address", host[0] != '\0' ? address : "not known", "up",
                          link->heard != ELECT_UNSET && now - link->heard < silence);
    if (link->heard != ELECT_UNSET)
        json_object_set_new(o, "heard_ms_ago", milliseconds(now - link->heard));
    return o;
}

static json_t *peer_json(const struct daemon *d, const struct elect_peer_info *p)
{
    elect_time now = elect_uv_now();
    int64_t silence = config_link_silence(&d->elect);
    json_t *links = json_array();
    for (unsigned i = 0; i < p->links; i++)
        json_array_append_new(links, link_json(&p->link[i], now, silence));
    bool there = p->session && now - p->heard < silence;
    json_t *o = json_pack("{s:s, s:i, s:b, s:o}", "member", config_name(&d->config, p->id), "id",
                          p->id, "up", there, "links", links);
    if (p->session) {
        json_object_set_new(o, "heard_ms_ago", milliseconds(now - p->heard));
        json_object_set_new(o, "incarnation", json_integer(p->incarnation));
        json_object_set_new(o, "same_configuration", json_boolean(p->same));
        json_object_set_new(o, "same_keys", json_boolean(p->same_keys));
    }
    return o;
}

static json_t *keys_json(const struct daemon *d)
{
    uint8_t ids[ELECT_UV_KEYS];
    unsigned count = elect_member_keys(d->member, ids);
    json_t *all = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(all, json_pack("{s:i, s:b}", "id", ids[i], "used", i == 0));
    return all;
}

static json_t *settings_json(const struct daemon *d)
{
    const struct config *c = &d->config;
    json_t *o =
        json_pack("{s:s, s:s, s:f, s:f, s:f, s:f}", "algorithm",
                  elect_algorithm_name((enum elect_algorithm)c->algorithm), "mandate",
                  c->mandate == ELECT_NO_MANDATE ? "none" : "majority", "lease_ms",
                  (double)c->lease / MILLISECOND, "renewal_ms", (double)c->renewal / MILLISECOND,
                  "delay_ms", (double)c->delay / MILLISECOND, "rho", (double)c->rho / 1e6);
    if (c->tell_lower)
        json_object_set_new(o, "tell_lower", json_true());
    if (c->preempt)
        json_object_set_new(o, "preempt_ms", milliseconds(c->preempt_after));
    return o;
}

/* What the configuration says of one. */
static void add_role(const struct daemon *d, uint16_t id, json_t *o)
{
    const struct config_member *m = config_member_with(&d->config, id);
    json_object_set_new(o, "role", json_string(config_role(m)));
    json_object_set_new(o, "priority", json_integer(m->priority));
}

static json_t *traffic_json(const struct daemon *d)
{
    struct elect_traffic t = elect_member_traffic(d->member);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "sent", (json_int_t)t.sent, "sent_bytes",
                     (json_int_t)t.sent_bytes, "taken", (json_int_t)t.taken, "taken_bytes",
                     (json_int_t)t.taken_bytes, "ignored", (json_int_t)t.ignored, "writes",
                     (json_int_t)t.writes);
}

static void answer_status(struct daemon *d, struct control_client *client, json_t *request)
{
    char cluster[2 * SEAL_CLUSTER + 1];
    const char *only = json_string_value(json_object_get(request, "group"));
    json_t *groups = json_array(), *members = json_array();
    struct elect_peer_info p;
    int one = only != NULL ? group_of(d, client, request) : 0;
    if (one < 0) {
        json_decref(groups);
        json_decref(members);
        return;
    }
    for (unsigned i = 0; i < d->config.groups; i++)
        if (only == NULL || i == (unsigned)one)
            json_array_append_new(groups, group_json(d, i));
    for (unsigned i = 0; elect_member_peer(d->member, i, &p); i++) {
        json_t *peer = peer_json(d, &p);
        add_role(d, p.id, peer);
        json_array_append_new(members, peer);
    }
    sodium_bin2hex(cluster, sizeof cluster, d->config.cluster, SEAL_CLUSTER);
    json_t *o = json_pack(
        "{s:b, s:s, s:s, s:s, s:i, s:i, s:i, s:I, s:f, s:o, s:o, s:o, s:o, s:o}", "ok", 1,
        "version", ELECT_VERSION, "cluster", cluster, "member", d->me->name, "id", d->me->peer.id,
        "pid", (int)getpid(), "guardian_pid", work_is_guarded(&d->work) ? (int)getppid() : 0,
        "incarnation", (json_int_t)elect_member_incarnation(d->member), "up_seconds",
        (double)(elect_uv_now() - d->began) / 1e6, "groups", groups, "members", members, "keys",
        keys_json(d), "traffic", traffic_json(d), "settings", settings_json(d));
    add_role(d, d->me->peer.id, o);
    control_answer(client, o);
}

/* The answer holds for `left_us` from when the client asked, by its own clock. */
static void answer_is_leader(struct daemon *d, struct control_client *client, json_t *request)
{
    int group = group_of(d, client, request);
    if (group < 0)
        return;
    struct elect_news news = work_shown(&d->work, (unsigned)group);
    elect_time left = news.leads ? news.until - elect_uv_now() : 0;
    if (news.leads && left <= 0) { /* the lease has ended since the status was read */
        news = (struct elect_news){.group = news.group};
        left = 0;
    }
    json_t *o = json_pack("{s:b, s:b, s:b, s:I, s:I}", "ok", 1, "leads", news.leads, "known",
                          news.known, "left_us", (json_int_t)left, "term", (json_int_t)news.term);
    if (news.known)
        json_object_set_new(o, "leader", json_string(config_name(&d->config, news.leader)));
    control_answer(client, o);
}

static void answer_history(struct daemon *d, struct control_client *client, json_t *request)
{
    const char *only = json_string_value(json_object_get(request, "group"));
    const struct journal_entry *e;
    struct journal_cursor cursor = {0};
    if (only != NULL && group_of(d, client, request) < 0)
        return;
    json_t *all = json_array();
    while ((e = journal_next(&d->journal, &cursor)) != NULL)
        if (only == NULL || e->group[0] == '\0' || strcmp(e->group, only) == 0)
            json_array_append_new(all, journal_json(e));
    control_answer(client, json_pack("{s:b, s:o}", "ok", 1, "history", all));
}

/* Returns true if the member was heard of lately, so that it can answer, or take an office, now. */
static bool is_there(const struct daemon *d, uint16_t id)
{
    uint32_t suspicion = d->elect.duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
    struct elect_peer_info p;
    for (unsigned i = 0; elect_member_peer(d->member, i, &p); i++)
        if (p.id == id)
            return p.session && elect_uv_now() - p.heard < (elect_time)suspicion;
    return true; /* this member itself */
}

static void answer_messages(struct daemon *d, struct control_client *client, json_t *request)
{
    json_t *seconds = json_object_get(request, "seconds");
    const char *whom = json_string_value(json_object_get(request, "member"));
    const struct config_member *m = whom != NULL ? config_member(&d->config, whom) : d->me;
    int group = group_of(d, client, request);
    if (group < 0)
        return;
    if (m == NULL) {
        refuse(client, "there is no such member");
        return;
    }
    json_int_t last = json_is_integer(seconds) ? json_integer_value(seconds) : LONG_WAIT;
    last = last < 0 ? 0 : last > 86400 ? 86400 : last;
    struct recorder_question q = {.group = (unsigned)group,
                                  .loud = json_is_true(json_object_get(request, "loud")),
                                  .from = json_integer_value(json_object_get(request, "from")),
                                  .most = BATCH,
                                  .bytes = SIZE_MAX};
    q.since = q.loud ? 0 : elect_uv_now() - last * SECOND;
    if (m != d->me && !q.loud) {
        refuse(client, "of another member only what changed something can be had");
        return;
    }
    if (m != d->me && !is_there(d, m->peer.id)) {
        refuse(client, "nothing is heard of it");
        return;
    }
    if (m != d->me) {
        inquiry_ask(d, client, m->peer.id, &q);
        return;
    }
    json_t *answer = inquiry_answer(d, &q);
    json_object_set_new(answer, "ok", json_true());
    control_answer(client, answer);
}

static void answer_watch(struct daemon *d, struct control_client *client, json_t *request)
{
    if (json_object_get(request, "group") != NULL && group_of(d, client, request) < 0)
        return;
    if (!control_watch(client)) {
        refuse(client, "too many watch already");
        return;
    }
    for (unsigned i = 0; i < d->config.groups; i++)
        control_tell(client, group_json(d, i));
}

void answer_watchers(void *context, const struct journal_entry *e)
{
    struct daemon *d = context;
    for (struct control_client *c = d->control.clients, *next; c != NULL; c = next) {
        next = c->next;
        if (c->watches)
            control_tell(c, journal_json(e));
    }
}

/* ---- what is to be done ---- */

void answer_news(struct daemon *d, const struct elect_news *news)
{
    for (struct control_client *c = d->control.clients, *next; c != NULL; c = next) {
        next = c->next;
        if (!c->waits || c->asks != 0 || c->group != news->group || !news->known ||
            news->term <= c->term)
            continue;
        const char *leader = config_name(&d->config, news->leader);
        if (news->leads) {
            refuse(c, "nobody else could take it: it leads again");
        } else if (c->whom != NULL && strcmp(c->whom, leader) != 0) {
            char why[256], term[ELECT_TERM_TEXT];
            snprintf(why, sizeof why, "%s did not take it: %s leads now, in term %s", c->whom,
                     leader, elect_term_text(news->term, term));
            refuse(c, why);
        } else {
            control_answer(c, json_pack("{s:b, s:s, s:I, s:I, s:s}", "ok", 1, "group",
                                        d->config.group[news->group], "from", (json_int_t)c->term,
                                        "to", (json_int_t)news->term, "leader", leader));
        }
    }
}

static void hand_over(struct daemon *d, struct control_client *client, json_t *request,
                      uint8_t successor)
{
    int group = group_of(d, client, request);
    struct text why;
    if (group < 0)
        return;
    if (d->config.mandate == ELECT_NO_MANDATE) {
        refuse(client, "without a mandate there is nothing to hand over: stop the leader instead");
        return;
    }
    struct elect_news news = work_shown(&d->work, (unsigned)group);
    struct elect_input in = elect_resigns(successor, elect_uv_now());
    text_clear(&why);
    client->group = (unsigned)group;
    client->term = news.term;
    control_wait(client, d->elect.lease / MILLISECOND * 3 + 2000,
                 "it is under way, but not done yet: see elect status");
    struct elect_rule rule = elect_member_tell(d->member, (unsigned)group, &in);
    if (rule.number == ELECT_RULE_RESIGNS || !client->waits)
        return;
    words_rule(&d->words, elect_rank(&d->elect, d->me->peer.id), &rule, &in.message, &why);
    if (rule.number == ELECT_RULE_HAS_NO_OFFICE && news.known) {
        text_add(&why, ": ");
        text_add(&why, config_name(&d->config, news.leader));
        text_add(&why, " leads, ask there");
    }
    refuse(client, why.bytes);
}

static void answer_resign(struct daemon *d, struct control_client *client, json_t *request)
{
    hand_over(d, client, request, ELECT_NOBODY);
}

static void answer_transfer(struct daemon *d, struct control_client *client, json_t *request)
{
    const char *name = json_string_value(json_object_get(request, "to")), *known[SESSION_PEERS];
    const struct config_member *m = name != NULL ? config_member(&d->config, name) : NULL;
    char why[256];
    if (m != NULL && !is_there(d, m->peer.id)) {
        snprintf(why, sizeof why, "nothing is heard of %s: nothing has changed", m->name);
        refuse(client, why);
        return;
    }
    if (m != NULL) {
        client->whom = m->name;
        hand_over(d, client, request, elect_rank(&d->elect, m->peer.id));
        return;
    }
    for (unsigned i = 0; i < d->config.members; i++)
        known[i] = d->config.member[i].name;
    const char *nearest =
        name != NULL ? choice_nearest(name, strlen(name), known, d->config.members) : NULL;
    snprintf(why, sizeof why, "there is no member %.63s%s%s%s", name != NULL ? name : "",
             nearest != NULL ? ", did you mean " : "", nearest != NULL ? nearest : "",
             nearest != NULL ? "?" : "");
    refuse(client, why);
}

/* Pauses or resumes the elections of one group, or of all. */
static void pause_or_resume(struct daemon *d, struct control_client *client, json_t *request,
                            enum elect_event event)
{
    if (d->config.mandate == ELECT_NO_MANDATE) {
        refuse(client, "without a mandate elections cannot be paused");
        return;
    }
    int only =
        json_object_get(request, "group") != NULL ? group_of(d, client, request) : STORE_GROUPS;
    json_t *changed = json_array();
    for (unsigned i = 0; i < d->config.groups && only >= 0; i++) {
        struct elect_input in = elect_happens(event, elect_uv_now());
        bool paused = elect_paused(elect_member_node(d->member, i));
        if ((only != STORE_GROUPS && only != (int)i) || paused == (event == ELECT_PAUSE))
            continue;
        elect_member_tell(d->member, i, &in);
        json_array_append_new(changed, json_string(d->config.group[i]));
    }
    if (only >= 0)
        control_answer(client, json_pack("{s:b, s:o}", "ok", 1, "changed", changed));
    else
        json_decref(changed);
}

static void answer_pause(struct daemon *d, struct control_client *client, json_t *request)
{
    pause_or_resume(d, client, request, ELECT_PAUSE);
}

static void answer_resume(struct daemon *d, struct control_client *client, json_t *request)
{
    pause_or_resume(d, client, request, ELECT_RESUME);
}

static void answer_reload(struct daemon *d, struct control_client *client, json_t *request)
{
    struct text done, complaint;
    (void)request;
    bool fine = daemon_reload(d, &done, &complaint);
    control_answer(client, fine ? json_pack("{s:b, s:s}", "ok", 1, "changed", done.bytes)
                                : refusal(complaint.bytes));
}

/* ---- keys: they are in the key file, never in a request ---- */

static void answer_key_install(struct daemon *d, struct control_client *client, json_t *request)
{
    struct keys keys;
    struct text complaint;
    char why[256] = "";
    uint8_t ids[ELECT_UV_KEYS];
    (void)request;
    text_clear(&complaint);
    if (!keys_read(&keys, d->config.key_file, KEYS_OWN, &complaint)) {
        refuse(client, complaint.bytes);
        return;
    }
    unsigned count = elect_member_keys(d->member, ids);
    bool fine = true;
    for (unsigned i = 0; i < keys.count && fine; i++) {
        bool there = false;
        for (unsigned k = 0; k < count; k++)
            there = there || ids[k] == keys.key[i].id;
        fine = there || elect_member_key_install(d->member, &keys.key[i], why, sizeof why);
    }
    keys_wipe(&keys);
    if (fine)
        daemon_log(d, JOURNAL_ADMIN, -1, "a key is installed");
    control_answer(client,
                   fine ? json_pack("{s:b, s:o}", "ok", 1, "keys", keys_json(d)) : refusal(why));
}

static void change_key(struct daemon *d, struct control_client *client, json_t *request, bool use)
{
    json_t *id = json_object_get(request, "id");
    bool force = json_is_true(json_object_get(request, "force"));
    char why[256] = "there is no such key", text[JOURNAL_TEXT];
    json_int_t number = json_is_integer(id) ? json_integer_value(id) : -1;
    bool fine = number >= 0 && number <= 255 &&
                (use ? elect_member_key_use(d->member, (uint8_t)number, why, sizeof why)
                     : elect_member_key_remove(d->member, (uint8_t)number, force, why, sizeof why));
    snprintf(text, sizeof text, "key %d is %s", (int)number, use ? "used" : "removed");
    if (fine)
        daemon_log(d, JOURNAL_ADMIN, -1, text);
    control_answer(client,
                   fine ? json_pack("{s:b, s:o}", "ok", 1, "keys", keys_json(d)) : refusal(why));
}

static void answer_key_use(struct daemon *d, struct control_client *client, json_t *request)
{
    change_key(d, client, request, true);
}

static void answer_key_remove(struct daemon *d, struct control_client *client, json_t *request)
{
    change_key(d, client, request, false);
}

/* ---- the list of verbs ---- */

static const struct {
    const char *verb;
    enum control_which which; /* the socket that it is asked on */
    void (*answer)(struct daemon *d, struct control_client *client, json_t *request);
} questions[] = {
    {"status", CONTROL_STATUS, answer_status},
    {"is-leader", CONTROL_STATUS, answer_is_leader},
    {"history", CONTROL_STATUS, answer_history},
    {"messages", CONTROL_STATUS, answer_messages},
    {"watch", CONTROL_STATUS, answer_watch},
    {"resign", CONTROL_ADMIN, answer_resign},
    {"transfer", CONTROL_ADMIN, answer_transfer},
    {"pause", CONTROL_ADMIN, answer_pause},
    {"resume", CONTROL_ADMIN, answer_resume},
    {"reload", CONTROL_ADMIN, answer_reload},
    {"key-install", CONTROL_ADMIN, answer_key_install},
    {"key-use", CONTROL_ADMIN, answer_key_use},
    {"key-remove", CONTROL_ADMIN, answer_key_remove},
};

void answer_request(void *context, struct control_client *client, json_t *request)
{
    struct daemon *d = context;
    const char *verb = json_string_value(json_object_get(request, "verb"));
    for (unsigned i = 0; i < sizeof questions / sizeof questions[0] && verb != NULL; i++)
        if (strcmp(questions[i].verb, verb) == 0) {
            if (questions[i].which != client->which)
                refuse(client, "not on this socket");
            else
                questions[i].answer(d, client, request);
            return;
        }
    refuse(client, "no such verb");
}
