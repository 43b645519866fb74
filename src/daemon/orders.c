/* Passes an order to hand over from the client to the leader, which carries it out. */
#include "answers.h"

#include <stdio.h>
#include <string.h>

#define MILLISECOND   1000
#define ORDER_MESSAGE 192
#define SILENCE       3500 /* milliseconds */

static const char *const outcome_words[] = {
#define X(name, word, text) word,
    ORDER_OUTCOMES(X)
#undef X
};
static const char *const outcome_texts[] = {
#define X(name, word, text) text,
    ORDER_OUTCOMES(X)
#undef X
};

/* ---- the leader ---- */

static enum order_outcome outcome_of(const struct elect_rule *rule)
{
    switch (rule->number) {
    case ELECT_RULE_RESIGNS: return ORDER_ACCEPTED;
    case ELECT_RULE_OTHER_TERM: return ORDER_OTHER_TERM;
    case ELECT_RULE_RESIGNS_ALREADY: return ORDER_HANDING_OVER;
    case ELECT_RULE_SUCCESSOR_ASIDE: return ORDER_ASIDE;
    case ELECT_RULE_CANNOT_LEAD: return ORDER_CANNOT_LEAD;
    default: return ORDER_NO_OFFICE;
    }
}

static enum order_outcome carry_out(struct daemon *d, const struct order *o, const char *from)
{
    const struct elect_node *node = elect_member_node(d->member, o->group);
    elect_time now = elect_uv_now();
    bool leads = elect_token(node) == o->term && elect_in_office(node, now);
    uint8_t to = o->successor != NULL ? elect_rank(&d->elect, o->successor->peer.id) : ELECT_NOBODY;
    if (leads && o->successor != NULL && !query_hears(d, o->successor->peer.id))
        return ORDER_NOT_HEARD;
    if (leads && o->successor == NULL && !o->force &&
        elect_successor(elect_member_config(d->member, o->group), node, now) == ELECT_NOBODY)
        return ORDER_NO_SUCCESSOR;
    struct elect_input in = elect_ordered(to, o->term, now);
    char why[JOURNAL_TEXT];
    snprintf(why, sizeof why, "uid %u on %.63s ordered it to %s%.63s", (unsigned)o->uid,
             from != NULL ? from : d->me->name, o->successor != NULL ? "hand over to " : "resign",
             o->successor != NULL ? o->successor->name : "");
    struct elect_rule rule = work_tell(&d->work, o->group, &in, why);
    return outcome_of(&rule);
}

static void write_outcome(const struct order *o, enum order_outcome outcome,
                          char text[ORDER_MESSAGE])
{
    const char *message = outcome_texts[outcome], *mark = strstr(message, "%s");
    const char *name = o->successor != NULL ? o->successor->name : "the successor";
    if (mark == NULL)
        snprintf(text, ORDER_MESSAGE, "%s", message);
    else
        snprintf(text, ORDER_MESSAGE, "%.*s%s%s", (int)(mark - message), message, name, mark + 2);
}

/* ---- the log: which user gave an order, and its outcome ---- */

/* Logs, for example, "b accepted order a-17: resign from term 1.3". The number of an order begins
 * with the member that received it from a user, which makes it unique in the cluster. `from` is
 * that member; NULL for this one. */
static void audit(struct daemon *d, const struct order *o, const char *from, const char *member,
                  const char *did, const char *cause)
{
    char text[2 * JOURNAL_TEXT], what[JOURNAL_TEXT], by[128], term[ELECT_TERM_TEXT];
    const char *to = o->leader != d->me->peer.id ? config_name(&d->config, o->leader) : NULL;
    snprintf(by, sizeof by, "by uid %u, pid %d, on %.63s", (unsigned)o->uid, (int)o->pid,
             from != NULL ? from : d->me->name);
    elect_term_text(o->term, term);
    if (o->successor != NULL)
        snprintf(what, sizeof what, "hand over term %s to %s", term, o->successor->name);
    else
        snprintf(what, sizeof what, "resign from term %s%s", term, o->force ? " with --force" : "");
    snprintf(text, sizeof text, "%s %s order %s-%llu: %s", member, did,
             from != NULL ? from : d->me->name, (unsigned long long)o->number, what);
    daemon_note(d, &(struct journal_note){.event = JOURNAL_ADMIN,
                                          .group = (int)o->group,
                                          .text = text,
                                          .cause = cause != NULL ? cause : by,
                                          .peer = from != NULL ? from : to});
}

static void audit_refusal(struct daemon *d, const struct order *o, const char *from,
                          enum order_outcome outcome)
{
    char why[JOURNAL_TEXT], text[ORDER_MESSAGE];
    const char *leader = config_name(&d->config, o->leader);
    write_outcome(o, outcome, text);
    snprintf(why, sizeof why, "%s %s", leader, text);
    audit(d, o, from, leader, "refused", why);
}

/* Carries out an order. `from` is the member that sent it; NULL if it came from a client. */
static enum order_outcome execute(struct daemon *d, const struct order *o, const char *from)
{
    audit(d, o, from, d->me->name, "received", NULL);
    enum order_outcome outcome = carry_out(d, o, from);
    if (outcome != ORDER_ACCEPTED)
        audit_refusal(d, o, from, outcome);
    return outcome;
}

/* ---- the client that waits ---- */

/* Returns the client that waits for an order's outcome; NULL if it has disconnected or there is no
 * order. */
static struct control_client *client_of(const struct daemon *d, const struct order *o)
{
    struct control_client *c = d->control.clients;
    while (c != NULL && (!c->waits || c->order != o->number))
        c = c->next;
    return o->number != 0 ? c : NULL;
}

static void refuse(struct daemon *d, const struct order *o, const char *why)
{
    char text[256];
    struct control_client *client = client_of(d, o);
    snprintf(text, sizeof text, "group %s: %s %s", d->config.group[o->group],
             config_name(&d->config, o->leader), why);
    if (client != NULL)
        answer_refuse(client, text);
}

/* Makes the order's client wait. After `patience` milliseconds, it is refused with the reason
 * `late`. */
static void await(struct daemon *d, struct order *o, uint64_t patience, const char *late)
{
    char text[sizeof o->late];
    struct control_client *client = client_of(d, o);
    snprintf(text, sizeof text, "group %.60s: %.60s %s", d->config.group[o->group],
             config_name(&d->config, o->leader), late);
    memcpy(o->late, text, sizeof text);
    if (client != NULL)
        control_wait(client, patience, o->late);
}

static void await_leader(struct daemon *d, struct order *o)
{
    o->accepted = true;
    await(d, o, d->elect.lease / MILLISECOND * 3 + 2000,
          "is handing over, but no other member leads yet: see elect status");
}

static void learn_outcome(struct daemon *d, struct order *o, enum order_outcome outcome)
{
    const char *leader = config_name(&d->config, o->leader);
    bool sent = o->leader != d->me->peer.id;
    char why[ORDER_MESSAGE];
    if (outcome == ORDER_ACCEPTED) {
        if (sent)
            audit(d, o, NULL, leader, "accepted", NULL);
        await_leader(d, o);
        return;
    }
    if (sent)
        audit_refusal(d, o, NULL, outcome);
    write_outcome(o, outcome, why);
    refuse(d, o, why);
}

void order_news(struct daemon *d, const struct elect_news *news)
{
    const struct order *o = &d->orders.given[news->group];
    struct control_client *client = client_of(d, o);
    char why[160], term[ELECT_TERM_TEXT];
    if (client == NULL || !news->known || news->term <= o->term)
        return;
    const char *leader = config_name(&d->config, news->leader);
    elect_term_text(news->term, term);
    if (o->successor != NULL && news->leader != o->successor->peer.id) {
        snprintf(why, sizeof why, "did not hand over to %.40s: %.40s leads in term %s",
                 o->successor->name, leader, term);
        refuse(d, o, why);
    } else if (news->leader == o->leader) {
        snprintf(why, sizeof why, "leads again, in term %s: no other member took over", term);
        refuse(d, o, why);
    } else {
        control_answer(client, json_pack("{s:b, s:s, s:s, s:I, s:s, s:I, s:b}", "ok", 1, "group",
                                         d->config.group[news->group], "from",
                                         config_name(&d->config, o->leader), "from_term",
                                         (json_int_t)o->term, "leader", leader, "term",
                                         (json_int_t)news->term, "confirmed",
                                         o->accepted || o->leader == d->me->peer.id));
    }
}

/* ---- from member to member ---- */

static void send_order(struct daemon *d, const struct order *o)
{
    inquiry_send(d, o->leader,
                 json_pack("{s:I, s:s, s:I, s:s?, s:b, s:I, s:I}", "order", (json_int_t)o->number,
                           "group", d->config.group[o->group], "term", (json_int_t)o->term, "to",
                           o->successor != NULL ? o->successor->name : NULL, "force", o->force,
                           "uid", (json_int_t)o->uid, "pid", (json_int_t)o->pid));
}

void order_tick(struct daemon *d)
{
    for (unsigned i = 0; i < d->config.groups; i++) {
        const struct order *o = &d->orders.given[i];
        if (client_of(d, o) != NULL && !o->accepted && o->leader != d->me->peer.id)
            send_order(d, o);
    }
}

/* Returns false if the note is not an order. Sets `outcome` to a refusal if this member does not
 * know the group or the successor. */
static bool read_order(const struct daemon *d, const json_t *note, struct order *o,
                       enum order_outcome *outcome)
{
    const json_t *number = json_object_get(note, "order"), *term = json_object_get(note, "term");
    const char *group = json_string_value(json_object_get(note, "group"));
    const char *to = json_string_value(json_object_get(note, "to"));
    struct text unused;
    if (group == NULL || json_integer_value(number) <= 0 || json_integer_value(term) <= 0)
        return false;
    int found = config_group(&d->config, group, &unused);
    *o = (struct order){.number = (uint64_t)json_integer_value(number),
                        .group = found < 0 ? 0 : (unsigned)found,
                        .term = (elect_term)json_integer_value(term),
                        .leader = d->me->peer.id,
                        .successor = to != NULL ? config_member(&d->config, to) : NULL,
                        .force = json_is_true(json_object_get(note, "force")),
                        .uid = (uid_t)json_integer_value(json_object_get(note, "uid")),
                        .pid = (pid_t)json_integer_value(json_object_get(note, "pid"))};
    *outcome = found < 0                            ? ORDER_NO_GROUP
               : to != NULL && o->successor == NULL ? ORDER_CANNOT_LEAD
                                                    : ORDER_ACCEPTED;
    return true;
}

/* Carries out the order, unless it already has. Returns false if that member has sent a newer
 * order, because it no longer waits for this one. */
static bool handle(struct daemon *d, uint16_t from, const struct order *o,
                   enum order_outcome *outcome)
{
    unsigned peer = (unsigned)(config_member_with(&d->config, from) - d->config.member);
    struct order_handled *last = &d->orders.handled[peer][o->group];
    if (o->number < last->number)
        return false;
    if (o->number > last->number) {
        last->number = o->number;
        last->outcome = (uint8_t)execute(d, o, config_name(&d->config, from));
    }
    *outcome = (enum order_outcome)last->outcome;
    return true;
}

void order_take(struct daemon *d, uint16_t from, const json_t *note)
{
    struct order o;
    enum order_outcome outcome;
    if (d->config.mandate == ELECT_NO_MANDATE || !read_order(d, note, &o, &outcome) ||
        (outcome == ORDER_ACCEPTED && !handle(d, from, &o, &outcome)))
        return;
    inquiry_send(d, from,
                 json_pack("{s:I, s:O, s:s}", "ordered", (json_int_t)o.number, "group",
                           json_object_get(note, "group"), "outcome", outcome_words[outcome]));
}

void order_hear(struct daemon *d, uint16_t from, const json_t *note)
{
    const char *group = json_string_value(json_object_get(note, "group"));
    const char *word = json_string_value(json_object_get(note, "outcome"));
    struct text unused;
    unsigned outcome = 0;
    int found = group != NULL && word != NULL ? config_group(&d->config, group, &unused) : -1;
    while (outcome < ORDER_OUTCOMES_COUNT && found >= 0 &&
           strcmp(outcome_words[outcome], word) != 0)
        outcome++;
    struct order *o = &d->orders.given[found < 0 ? 0 : found];
    if (found < 0 || outcome == ORDER_OUTCOMES_COUNT || o->leader != from || o->accepted ||
        o->number != (uint64_t)json_integer_value(json_object_get(note, "ordered")))
        return;
    if (client_of(d, o) != NULL)
        learn_outcome(d, o, (enum order_outcome)outcome);
}

/* ---- from a client ---- */

/* Returns the leader's id, and its term in `term`; 0 if there is no known leader. */
static uint16_t leader_of(const struct daemon *d, unsigned group, elect_term *term)
{
    const struct elect_node *node = elect_member_node(d->member, group);
    struct elect_news news = work_shown(&d->work, group);
    *term = elect_token(node);
    if (*term != 0)
        return d->me->peer.id;
    *term = news.term;
    return news.known && news.term != 0 ? news.leader : 0;
}

void order_give(struct daemon *d, struct control_client *client, unsigned group,
                const struct config_member *successor, bool force)
{
    struct order *o = &d->orders.given[group];
    if (client_of(d, o) != NULL) {
        answer_refuse(client,
                      "another order for this group is being carried out: see elect status");
        return;
    }
    elect_term term;
    uint16_t leader = leader_of(d, group, &term);
    if (leader == 0) {
        answer_refuse(client, "no leader is known now: try again, or see elect doctor");
        return;
    }
    if (successor != NULL && successor->peer.id == leader) {
        char why[160];
        snprintf(why, sizeof why, "%.63s leads already", successor->name);
        answer_refuse(client, why);
        return;
    }
    if (d->orders.last == 0)
        d->orders.last = (uint64_t)elect_member_incarnation(d->member) << 20;
    *o = (struct order){.number = ++d->orders.last,
                        .group = group,
                        .term = term,
                        .leader = leader,
                        .successor = successor,
                        .force = force,
                        .uid = client->user,
                        .pid = client->pid};
    client->order = o->number;
    client->waits = true;
    await(d, o, SILENCE,
          "does not answer: it may be stalled, and still carry the order out in this term; if its "
          "version is older, run the command there");
    if (leader == d->me->peer.id) {
        enum order_outcome outcome = execute(d, o, NULL);
        if (client_of(d, o) != NULL)
            learn_outcome(d, o, outcome);
        return;
    }
    char did[STORE_NAME + 24];
    snprintf(did, sizeof did, "sent %s", config_name(&d->config, leader));
    audit(d, o, NULL, d->me->name, did, NULL);
    send_order(d, o);
}
