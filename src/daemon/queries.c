/* Answers the verbs that only read: status, is-leader, history, messages, watch. */
#include "answers.h"

#include "run_connection.h"
#include "run_queue.h"

#include <arpa/inet.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MILLISECOND 1000
#define SECOND      1000000
#define LONG_WAIT   60 /* seconds */
#define BATCH       64 /* entries per answer */

static json_t *milliseconds(elect_time us) { return json_real((double)us / MILLISECOND); }

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
                                                               : "looks for a leader";
}

/* ---- the state of the other members ---- */

bool query_is_up(const struct daemon *d, const struct elect_peer_info *p)
{
    return p->session && elect_uv_now() - p->heard < config_link_silence(&d->elect);
}

/* Returns the set of this one member; an empty set if it is not in the configuration. */
static elect_set bit_of(const struct daemon *d, uint32_t id)
{
    uint8_t rank = elect_rank(&d->elect, id);
    return rank < d->elect.n ? (elect_set)1 << rank : 0;
}

elect_set query_up(const struct daemon *d)
{
    struct elect_peer_info p;
    elect_set up = bit_of(d, d->me->peer.id);
    for (unsigned i = 0; elect_member_peer(d->member, i, &p); i++)
        if (query_is_up(d, &p))
            up |= bit_of(d, p.id);
    return up;
}

/* ---- groups: an answer always has every key, with a null if the value is not known ---- */

/* Returns what another leader has reported about its work; a JSON null if this member leads, or if
 * the leader has reported nothing since its term began. */
static json_t *leader_work_json(const struct daemon *d, unsigned group)
{
    const struct elect_news *news = &d->group[group].news;
    if (!news->known || news->leads || news->leader == d->me->peer.id)
        return json_null();
    const struct peer_work *w = &d->doctor.peer[inquiry_peer(d, news->leader)].work;
    const json_t *run = json_object_get(w->groups, d->config.group[group]);
    json_int_t pid = json_integer_value(json_array_get(run, 0));
    json_int_t date = json_integer_value(json_array_get(run, 1));
    const char *told = json_string_value(json_array_get(run, 2));
    char since[JOURNAL_DATE], command[INQUIRY_COMMAND];
    if (w->heard == 0 || w->date < d->group[group].since)
        return json_null();
    journal_date(date, since);
    snprintf(command, sizeof command, "%s", told != NULL ? told : "");
    text_clean(command);
    return json_pack("{s:b, s:s?, s:o, s:s?, s:o}", "running", run != NULL, "command",
                     command[0] != '\0' ? command : NULL, "pid",
                     pid > 0 ? json_integer(pid) : json_null(), "since", run != NULL ? since : NULL,
                     "heard_ms_ago", milliseconds(elect_uv_now() - w->heard));
}

static json_t *work_json(const struct daemon *d, unsigned group)
{
    const struct run_connection *c = d->work.group[group].holder;
    elect_time rest = run_queue_backs_off(&d->work, group);
    char since[JOURNAL_DATE] = "";
    if (c != NULL)
        journal_date(run_connection_since(c), since);
    bool restarts = c != NULL && run_connection_restarts(c);
    bool known = c != NULL && !restarts && run_connection_command(c) > 0;
    const char *command = c != NULL ? run_connection_program(c) : "";
    return json_pack(
        "{s:b, s:b, s:s?, s:o, s:o, s:s?, s:s?, s:i, s:o}", "running", c != NULL && !restarts,
        "restarting", restarts, "command", command[0] != '\0' ? command : NULL, "pid",
        known ? json_integer(run_connection_command(c)) : json_null(), "runner_pid",
        c != NULL ? json_integer(run_connection_pid(c)) : json_null(), "since",
        c != NULL ? since : NULL, "containment", c != NULL ? run_connection_containment(c) : NULL,
        "waiting", (int)run_queue_waiting(&d->work, group), "backoff_seconds",
        rest > 0 ? json_real((double)rest / SECOND) : json_null());
}

static json_t *quorum_json(const struct daemon *d, const struct elect_node *node)
{
    elect_set voters = node->saved.membership.voters;
    int all = __builtin_popcountll(voters);
    if (!node->mandated)
        return json_null();
    return json_pack("{s:i, s:i, s:i}", "voters", all, "reachable",
                     __builtin_popcountll(voters & query_up(d)), "needed", all / 2 + 1);
}

static void add_leader(const struct daemon *d, const struct elect_node *node,
                       const struct elect_news *news, json_t *o)
{
    const struct watched *w = &d->group[news->group];
    char since[JOURNAL_DATE];
    uint8_t heir = node->mandate.presence.heir;
    bool mandated = news->known && node->mandated;
    journal_date(w->since, since);
    json_t *more = json_pack(
        "{s:s?, s:o, s:s?, s:s?, s:o, s:s?}", "leader",
        news->known ? config_name(&d->config, news->leader) : NULL, "term",
        news->known && news->term != 0 ? json_integer((json_int_t)news->term) : json_null(),
        "since", news->known ? since : NULL, "because", news->known ? w->because : NULL,
        "lease_left_ms",
        mandated && news->leads ? milliseconds(news->until - elect_uv_now()) : json_null(), "heir",
        mandated && heir < d->elect.n ? d->name[heir] : NULL);
    json_object_update(o, more);
    json_decref(more);
}

elect_set query_aside(const struct daemon *d, unsigned group)
{
    const struct elect_node *node = elect_member_node(d->member, group);
    const struct elect_news *news = &d->group[group].news;
    elect_set fresh = node->saved.membership.members;
    if (news->known && !news->leads)
        fresh &= bit_of(d, news->leader) | bit_of(d, d->me->peer.id);
    return fresh & elect_aside(node);
}

/* Adds the members that stand aside (they vote, but are not elected), and whether all that are up
 * and may lead do. */
static void add_candidates(const struct daemon *d, const struct elect_node *node, unsigned group,
                           json_t *o)
{
    elect_set able = node->saved.membership.members & query_up(d), aside = query_aside(d, group);
    elect_set me = bit_of(d, d->me->peer.id);
    json_t *more =
        json_pack("{s:b, s:o, s:s?, s:b}", "lead_only_with_runner",
                  d->config.lead_only_with_runner[group], "aside", names_of(d, aside),
                  "aside_because", (aside & me) != 0 ? run_queue_why_aside(&d->work, group) : NULL,
                  "none_ready", node->mandated && able != 0 && (able & ~aside) == 0);
    json_object_update(o, more);
    json_decref(more);
}

static json_t *group_json(const struct daemon *d, unsigned group)
{
    const struct elect_node *node = elect_member_node(d->member, group);
    struct elect_news news = work_shown(&d->work, group);
    json_t *o = json_pack("{s:s, s:s, s:b, s:b}", "group", d->config.group[group], "state",
                          state_of(node, &news), "leads", news.leads, "paused", elect_paused(node));
    add_leader(d, node, &news, o);
    json_object_set_new(o, "quorum", quorum_json(d, node));
    json_object_set_new(o, "voters", names_of(d, node->saved.membership.voters));
    add_candidates(d, node, group, o);
    json_object_set_new(o, "work", work_json(d, group));
    json_object_set_new(o, "leader_work", leader_work_json(d, group));
    json_object_set_new(o, "testament", json_boolean(work_has_testament(&d->work, group)));
    return o;
}

/* ---- members ---- */

void daemon_address(const union elect_address *a, char text[DAEMON_ADDRESS])
{
    char host[INET6_ADDRSTRLEN];
    bool six = a->any.sa_family == AF_INET6;
    if (a->any.sa_family == AF_UNSPEC) {
        snprintf(text, DAEMON_ADDRESS, "not known");
        return;
    }
    inet_ntop(a->any.sa_family,
              six ? (const void *)&a->six.sin6_addr : (const void *)&a->four.sin_addr, host,
              sizeof host);
    snprintf(text, DAEMON_ADDRESS, six ? "[%s]:%u" : "%s:%u", host, ntohs(a->four.sin_port));
}

/* Returns why the peer's packets are rejected; a JSON null if they are not. */
static json_t *rejected_json(const struct elect_rejected *r)
{
    char address[DAEMON_ADDRESS];
    if (r->reason == ELECT_REJECTED_NONE)
        return json_null();
    daemon_address(&r->from, address);
    return json_pack("{s:I, s:s, s:s}", "count", (json_int_t)r->count, "reason",
                     elect_uv_rejection(r->reason), "address", address);
}

static json_t *link_json(const struct elect_link_info *link, elect_time now, int64_t silence)
{
    char address[DAEMON_ADDRESS];
    bool heard = link->heard != ELECT_UNSET;
    daemon_address(&link->address, address);
    return json_pack("{s:s?, s:b, s:o}", "address",
                     link->address.any.sa_family != AF_UNSPEC ? address : NULL, "up",
                     heard && now - link->heard < silence, "heard_ms_ago",
                     heard ? milliseconds(now - link->heard) : json_null());
}

static json_t *peer_json(const struct daemon *d, const struct elect_peer_info *p)
{
    const struct config_member *m = config_member_with(&d->config, p->id);
    elect_time now = elect_uv_now();
    json_t *links = json_array();
    for (unsigned i = 0; i < p->links; i++)
        json_array_append_new(links, link_json(&p->link[i], now, config_link_silence(&d->elect)));
    return json_pack("{s:s, s:i, s:s, s:i, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "member", m->name,
                     "id", p->id, "role", config_role(m), "priority", m->priority, "up",
                     query_is_up(d, p), "heard_ms_ago",
                     p->session ? milliseconds(now - p->heard) : json_null(), "incarnation",
                     p->session ? json_integer(p->incarnation) : json_null(), "same_configuration",
                     p->session ? json_boolean(p->same) : json_null(), "same_keys",
                     p->session ? json_boolean(p->same_keys) : json_null(), "links", links,
                     "rejected", rejected_json(&p->rejected));
}

json_t *query_keys(const struct daemon *d)
{
    uint8_t ids[ELECT_UV_KEYS], fingerprint[ELECT_UV_PRINT] = {0};
    char hex[2 * ELECT_UV_PRINT + 1];
    unsigned count = elect_member_keys(d->member, ids);
    json_t *all = json_array();
    for (unsigned i = 0; i < count; i++) {
        elect_member_key_fingerprint(d->member, ids[i], fingerprint);
        sodium_bin2hex(hex, sizeof hex, fingerprint, sizeof fingerprint);
        json_array_append_new(
            all, json_pack("{s:i, s:b, s:s}", "id", ids[i], "used", i == 0, "fingerprint", hex));
    }
    return all;
}

static json_t *settings_json(const struct daemon *d)
{
    const struct config *c = &d->config;
    return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:b, s:o}", "algorithm",
                     elect_algorithm_name((enum elect_algorithm)c->algorithm), "mandate",
                     c->mandate == ELECT_NO_MANDATE ? "none" : "majority", "lease_ms",
                     (double)c->lease / MILLISECOND, "renewal_ms", (double)c->renewal / MILLISECOND,
                     "delay_ms", (double)c->delay / MILLISECOND, "rho", (double)c->rho / 1e6,
                     "tell_lower", c->tell_lower, "preempt_ms",
                     c->preempt ? milliseconds(c->preempt_after) : json_null());
}

static json_t *traffic_json(const struct daemon *d)
{
    struct elect_traffic t = elect_member_traffic(d->member);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "sent", (json_int_t)t.sent, "sent_bytes",
                     (json_int_t)t.sent_bytes, "taken", (json_int_t)t.taken, "taken_bytes",
                     (json_int_t)t.taken_bytes, "ignored", (json_int_t)t.ignored, "writes",
                     (json_int_t)t.writes);
}

void query_status(struct daemon *d, struct control_client *client, json_t *request)
{
    char cluster[2 * SEAL_CLUSTER + 1];
    const char *only = json_string_value(json_object_get(request, "group"));
    json_t *groups = json_array(), *members = json_array();
    struct elect_peer_info p;
    int one = only != NULL ? answer_group(d, client, request) : 0;
    if (one < 0) {
        json_decref(groups);
        json_decref(members);
        return;
    }
    for (unsigned i = 0; i < d->config.groups; i++)
        if (only == NULL || i == (unsigned)one)
            json_array_append_new(groups, group_json(d, i));
    for (unsigned i = 0; elect_member_peer(d->member, i, &p); i++)
        json_array_append_new(members, peer_json(d, &p));
    sodium_bin2hex(cluster, sizeof cluster, d->config.cluster, SEAL_CLUSTER);
    control_answer(
        client,
        json_pack("{s:b, s:s, s:s, s:s, s:i, s:s, s:i, s:i, s:o, s:I, s:f, s:o, s:o, s:o, s:o, "
                  "s:o, s:o}",
                  "ok", 1, "version", ELECT_VERSION, "cluster", cluster, "member", d->me->name,
                  "id", d->me->peer.id, "role", config_role(d->me), "priority", d->me->priority,
                  "pid", (int)getpid(), "guardian_pid",
                  work_is_guarded(&d->work) ? json_integer(getppid()) : json_null(), "incarnation",
                  (json_int_t)elect_member_incarnation(d->member), "up_seconds",
                  (double)(elect_uv_now() - d->began) / SECOND, "groups", groups, "members",
                  members, "keys", query_keys(d), "traffic", traffic_json(d), "settings",
                  settings_json(d), "worst", doctor_worst(d)));
}

/* Tells a client whether this member leads. The client may rely on that for `left_us` microseconds
 * by its own clock, counted from when it sent the question. */
void query_is_leader(struct daemon *d, struct control_client *client, json_t *request)
{
    int group = answer_group(d, client, request);
    if (group < 0)
        return;
    struct elect_news news = work_shown(&d->work, (unsigned)group);
    elect_time left = news.leads ? news.until - elect_uv_now() : 0;
    if (left <= 0 && news.leads)
        news = (struct elect_news){.group = news.group};
    control_answer(client,
                   json_pack("{s:b, s:b, s:b, s:o, s:o, s:s?}", "ok", 1, "leads", news.leads,
                             "known", news.known, "left_us",
                             news.leads ? json_integer(left) : json_null(), "term",
                             news.term != 0 ? json_integer((json_int_t)news.term) : json_null(),
                             "leader", news.known ? config_name(&d->config, news.leader) : NULL));
}

void query_history(struct daemon *d, struct control_client *client, json_t *request)
{
    const char *only = json_string_value(json_object_get(request, "group"));
    const struct journal_entry *e;
    struct journal_cursor cursor = {0};
    if (only != NULL && answer_group(d, client, request) < 0)
        return;
    json_t *all = json_array();
    while ((e = journal_next(&d->journal, &cursor)) != NULL)
        if (only == NULL || e->group[0] == '\0' || strcmp(e->group, only) == 0)
            json_array_append_new(all, journal_json(&d->journal, e));
    control_answer(client, json_pack("{s:b, s:o}", "ok", 1, "history", all));
}

bool query_hears(const struct daemon *d, uint16_t id)
{
    uint32_t suspicion = d->elect.duration[ELECT_SUSPICION_TIMER - ELECT_FIRST_TIMER];
    struct elect_peer_info p;
    for (unsigned i = 0; elect_member_peer(d->member, i, &p); i++)
        if (p.id == id)
            return p.session && elect_uv_now() - p.heard < (elect_time)suspicion;
    return true; /* this member itself */
}

void query_messages(struct daemon *d, struct control_client *client, json_t *request)
{
    json_t *seconds = json_object_get(request, "seconds");
    const char *whom = json_string_value(json_object_get(request, "member"));
    const struct config_member *m = whom != NULL ? config_member(&d->config, whom) : d->me;
    int group = answer_group(d, client, request);
    char why[128];
    if (group < 0)
        return;
    if (m == NULL) {
        snprintf(why, sizeof why, "there is no member %.63s: see elect members", whom);
        text_clean(why);
        answer_refuse(client, why);
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
        answer_refuse(client, "another member sends only the steps that changed something: run the "
                              "command on its own machine");
        return;
    }
    if (m != d->me && !query_hears(d, m->peer.id)) {
        answer_refuse(client, "that member is not reachable: see elect doctor");
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

void query_watch(struct daemon *d, struct control_client *client, json_t *request)
{
    char why[128];
    if (json_object_get(request, "group") != NULL && answer_group(d, client, request) < 0)
        return;
    if (!control_watch(client)) {
        snprintf(why, sizeof why,
                 CONTROL_TOO_MANY "at most %d watchers per user and %d in total may be connected",
                 CONTROL_WATCHES, CONTROL_WATCHERS);
        answer_refuse(client, why);
        return;
    }
    for (unsigned i = 0; i < d->config.groups; i++)
        control_tell(client, group_json(d, i));
}

void query_watchers(void *context, const struct journal_entry *e)
{
    struct daemon *d = context;
    for (struct control_client *c = d->control.clients, *next; c != NULL; c = next) {
        next = c->next;
        if (c->watches)
            control_tell(c, journal_json(&d->journal, e));
    }
}
