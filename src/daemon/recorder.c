/* Two ring buffers: all steps, and the steps that changed something. Records are converted to JSON
 * only when a client asks. */
#include "recorder.h"

#include "elect-uv.h"

#include <stdio.h>
#include <string.h>

void recorder_begin(struct recorder *r)
{
    r->all = (struct reel){.room = RECORDER_ENTRIES, .entry = r->entries};
    r->loud = (struct reel){.room = RECORDER_LOUD, .entry = r->loud_entries};
}

static void add(struct reel *reel, const struct record *e)
{
    reel->entry[reel->count++ % reel->room] = *e;
}

static struct record record_of(unsigned group, const struct elect_message *m, elect_time at)
{
    return (struct record){.at = at,
                           .term = m->term,
                           .round = m->round,
                           .group = (uint8_t)group,
                           .origin = m->origin,
                           .set = m->list,
                           .reason = m->reason};
}

/* Returns true for a rule that repeats while the leader works normally. The last such step before a
 * change of leader helps to explain it. */
static bool is_sign_of_life(enum elect_rule_number rule)
{
    return rule == ELECT_RULE_GRANTS_AGAIN || rule == ELECT_RULE_RENEWED ||
           rule == ELECT_RULE_HEARD_LEADER;
}

/* Notes in a step whether this member has become leader or has stopped leading. A member that
 * stalled beyond its lease learns late that it no longer leads, so `over` is the latest time when
 * its leadership can have ended. */
static void note_change(struct recorder *r, unsigned group, const struct elect_node *node,
                        struct record *step)
{
    bool leads = node != NULL && elect_leads(node, step->at), led = r->led[group].leads;
    if (leads != led)
        step->change = leads ? RECORD_LEADS : RECORD_STOPPED_LEADING;
    if (led && !leads)
        step->over = step->at < r->led[group].until ? step->at : r->led[group].until;
    r->led[group].leads = leads;
    if (leads)
        r->led[group].until = node->mandated ? elect_until(node) : INT64_MAX;
}

void recorder_step(struct recorder *r, unsigned group, const struct elect_input *in,
                   const struct elect_output *out, const struct elect_node *node)
{
    enum elect_rule_number rule = (enum elect_rule_number)out->rule.number;
    struct record step = record_of(group, &in->message, in->now), *sign = &r->sign[group];
    step.event = in->event;
    step.from = in->from;
    step.rule = out->rule;
    note_change(r, group, node, &step);
    add(&r->all, &step);
    /* It is also a change if a follower hears again from the leader it had lost. */
    bool found = is_sign_of_life(rule) && out->announced;
    if (is_sign_of_life(rule) && !found && step.change == RECORD_NO_CHANGE) {
        *sign = step;
    } else if (!elect_rule_quiet(rule) || found || step.change != RECORD_NO_CHANGE) {
        if (sign->at != 0)
            add(&r->loud, sign);
        sign->at = 0;
        add(&r->loud, &step);
    }
    for (unsigned i = 0; i < out->sends; i++) {
        struct record sent = record_of(group, &out->send[i].message, in->now);
        sent.event = out->send[i].message.type;
        sent.kind = RECORD_SENT;
        sent.set = out->send[i].to;
        add(&r->all, &sent);
    }
}

void recorder_heard(struct recorder *r, uint8_t of, uint8_t news, elect_time now)
{
    const struct record heard = {.at = now,
                                 .group = ELECT_NOBODY,
                                 .kind = RECORD_HEARD,
                                 .reason = news,
                                 .from = of,
                                 .rule = {ELECT_RULE_NOTHING, of, ELECT_NOBODY}};
    add(&r->all, &heard);
    add(&r->loud, &heard);
}

void recorder_explain(struct recorder *r, unsigned group, const char *why)
{
    const struct record *last = &r->loud.entry[(r->loud.count - 1) % r->loud.room];
    struct recorder_reason *to = &r->reason[r->reasons++ % RECORDER_REASONS];
    to->at = last->at;
    to->group = (uint8_t)group;
    snprintf(to->why, sizeof to->why, "%s", why);
    text_clean(to->why);
}

/* Returns why the member resigned in this step; NULL if the reason has been overwritten. */
static const char *reason_of(const struct recorder *r, const struct record *e)
{
    for (unsigned i = 0; i < RECORDER_REASONS && i < r->reasons; i++)
        if (e->rule.number == ELECT_RULE_RESIGNS && r->reason[i].at == e->at &&
            r->reason[i].group == e->group)
            return r->reason[i].why;
    return NULL;
}

/* Adds "b resigns (WHY) -> EFFECT". */
static void add_rule(const struct words *words, uint8_t me, const struct record *e, const char *why,
                     struct text *t)
{
    const struct elect_message about = {.origin = e->origin, .list = e->set};
    words_rule(words, me, &e->rule, &about, t);
    const char *effect = why != NULL ? words_cut_effect(t) : NULL;
    if (effect == NULL)
        return;
    char rest[TEXT_MAX];
    snprintf(rest, sizeof rest, "%s", effect);
    text_add(t, " (");
    text_add(t, why);
    text_add(t, ") -> ");
    text_add(t, rest);
}

static bool is_message(const struct record *e)
{
    return e->kind != RECORD_HEARD && e->event >= ELECT_FIRST_MESSAGE &&
           e->event < ELECT_FIRST_TIMER;
}

static void set_id(json_t *o, const char *key, const struct words *words, uint8_t rank)
{
    struct text t;
    text_clear(&t);
    words_id(words, rank, &t);
    if (rank < words->config->n)
        json_object_set_new(o, key, json_string(t.bytes));
}

static void add_message(json_t *o, const struct record *e, const struct words *words)
{
    const struct elect_message m = {.type = e->event,
                                    .term = e->term,
                                    .round = e->round,
                                    .origin = e->origin,
                                    .list = e->kind == RECORD_SENT ? 0 : e->set,
                                    .reason = e->reason};
    struct text t;
    text_clear(&t);
    words_message(words, &m, &t);
    json_object_set_new(o, "message", json_string(t.bytes));
    if (e->term != 0)
        json_object_set_new(o, "term", json_integer((json_int_t)e->term));
    if (e->round != 0)
        json_object_set_new(o, "round", json_integer(e->round));
}

#define X(name, text) {#name, text},
static const struct {
    const char *name, *text;
} peer_news[] = {ELECT_PEER_NEWS(X)};
#undef X

static const char *rule_of(const struct record *e)
{
    return e->kind == RECORD_HEARD ? peer_news[e->reason].name
                                   : elect_rule_name((enum elect_rule_number)e->rule.number);
}

static void add_news(const struct words *words, const struct record *e, struct text *t)
{
    words_id(words, e->from, t);
    text_add(t, " ");
    text_add(t, peer_news[e->reason].text);
}

static json_t *entry_json(const struct recorder *r, const struct record *e,
                          const struct words *words, uint8_t me, elect_time now)
{
    struct text t;
    json_t *o = json_pack(
        "{s:I, s:I, s:s}", "at_us", (json_int_t)e->at, "ago_us", (json_int_t)(now - e->at), "event",
        e->kind == RECORD_HEARD ? "member" : elect_event_name((enum elect_event)e->event));
    text_clear(&t);
    if (e->kind == RECORD_SENT) {
        words_ids(words, e->set, &t);
        json_object_set_new(o, "to", json_string(t.bytes));
    } else if (is_message(e) || (e->event == ELECT_RESIGN && e->kind == RECORD_STEP)) {
        set_id(o, "from", words, e->from);
    }
    if (is_message(e))
        add_message(o, e, words);
    if (e->kind == RECORD_SENT)
        return o;
    text_clear(&t);
    if (e->kind == RECORD_HEARD)
        add_news(words, e, &t);
    else
        add_rule(words, me, e, reason_of(r, e), &t);
    json_object_set_new(o, "rule", json_string(rule_of(e)));
    if (e->change != RECORD_NO_CHANGE)
        json_object_set_new(o, "leads", json_boolean(e->change == RECORD_LEADS));
    if (e->change == RECORD_STOPPED_LEADING)
        json_object_set_new(o, "over_us", json_integer(e->over));
    set_id(o, "a", words, e->rule.a);
    set_id(o, "b", words, e->rule.b);
    json_object_set_new(o, "because", json_string(t.bytes));
    return o;
}

static bool is_of(const struct record *e, unsigned group)
{
    return e->group == group || e->group == ELECT_NOBODY;
}

/* Returns the number of the first entry asked for, or of the oldest one left. */
static uint64_t first_of(const struct reel *reel, const struct recorder_question *q)
{
    uint64_t oldest = reel->count > reel->room ? reel->count - reel->room : 0;
    uint64_t first = (uint64_t)q->from;
    if (q->from < 0) { /* the last N entries */
        first = reel->count;
        for (int64_t back = q->from; first > oldest && back < 0; first--)
            back += is_of(&reel->entry[(first - 1) % reel->room], q->group);
    }
    if (first > reel->count) /* the number is from before a restart */
        first = 0;
    return first > oldest ? first : oldest;
}

json_t *recorder_json(const struct recorder *r, const struct words *words, uint8_t me,
                      const struct recorder_question *q, elect_time now, uint64_t *next, bool *more)
{
    const struct reel *reel = q->loud ? &r->loud : &r->all;
    json_t *all = json_array();
    size_t bytes = 0;
    uint64_t i = first_of(reel, q);
    for (; i < reel->count && json_array_size(all) < q->most; i++) {
        const struct record *e = &reel->entry[i % reel->room];
        if (!is_of(e, q->group) || e->at < q->since)
            continue;
        json_t *entry = entry_json(r, e, words, me, now);
        bytes += json_dumpb(entry, NULL, 0, JSON_COMPACT) + 1;
        if (bytes > q->bytes && json_array_size(all) > 0) {
            json_decref(entry);
            break;
        }
        json_array_append_new(all, entry);
    }
    *next = i;
    *more = i < reel->count;
    return all;
}
