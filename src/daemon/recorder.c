#include "recorder.h"

#define SECOND 1000000

static void add(struct recorder *r, const struct record *e)
{
    r->entry[r->count++ % RECORDER_ENTRIES] = *e;
}

void recorder_step(struct recorder *r, unsigned group, const struct elect_input *in,
                   const struct elect_output *out)
{
    struct record step = {.at = in->now,
                          .term = in->message.term,
                          .round = in->message.round,
                          .group = (uint8_t)group,
                          .event = in->event,
                          .from = in->from,
                          .rule = out->rule};
    add(r, &step);
    for (unsigned i = 0; i < out->sends; i++) {
        struct record sent = {.at = in->now,
                              .to = out->send[i].to,
                              .term = out->send[i].message.term,
                              .round = out->send[i].message.round,
                              .group = (uint8_t)group,
                              .event = out->send[i].message.type};
        add(r, &sent);
    }
}

static bool is_message(const struct record *e)
{
    return e->event >= ELECT_FIRST_MESSAGE && e->event < ELECT_FIRST_TIMER;
}

static json_t *entry_json(const struct record *e, const struct words *words, uint8_t me,
                          elect_time now)
{
    struct elect_message about = {.origin = me};
    struct text t;
    json_t *o = json_pack("{s:I, s:s}", "ago_us", (json_int_t)(now - e->at), "event",
                          elect_event_name((enum elect_event)e->event));
    text_clear(&t);
    if (e->to != 0)
        words_ids(words, e->to, &t);
    else if (is_message(e))
        words_id(words, e->from, &t);
    if (t.length > 0)
        json_object_set_new(o, e->to != 0 ? "to" : "from", json_string(t.bytes));
    if (is_message(e) && e->term != 0)
        json_object_set_new(o, "term", json_integer((json_int_t)e->term));
    if (is_message(e) && e->round != 0)
        json_object_set_new(o, "round", json_integer(e->round));
    if (e->to == 0) {
        text_clear(&t);
        words_rule(words, me, &e->rule, &about, &t);
        json_object_set_new(o, "because", json_string(t.bytes));
    }
    return o;
}

json_t *recorder_json(const struct recorder *r, const struct words *words, uint8_t me,
                      unsigned group, elect_time now, unsigned seconds, uint64_t *next)
{
    json_t *all = json_array();
    uint64_t first = r->count > RECORDER_ENTRIES ? r->count - RECORDER_ENTRIES : 0;
    uint64_t i = *next > first ? *next : first;
    for (; i < r->count && json_array_size(all) < RECORDER_PAGE; i++) {
        const struct record *e = &r->entry[i % RECORDER_ENTRIES];
        if (e->group == group && now - e->at <= (elect_time)seconds * SECOND)
            json_array_append_new(all, entry_json(e, words, me, now));
    }
    *next = i < r->count ? i : 0;
    return all;
}
