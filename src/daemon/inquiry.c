/*
 * Asks the flight recorder of this member, or of another. Members ask each other in notes, over
 * their sessions:
 *
 *     {"ask": 7, "group": "main", "from": -200}
 *     {"answer": 7, "now_us": 1234567, "next": 210, "more": true, "messages": [...]}
 *
 * Each is one datagram, which may be lost: then the client asks again. The clocks of two members
 * differ, so the answer has the time of the member that answers, and the client is told when it was
 * asked and when it answered by the clock of this one.
 */
#include "daemon.h"

#include <stdlib.h>
#include <string.h>

#define PATIENCE 300 /* milliseconds for another member to answer */
#define MARGIN   160 /* bytes around the entries of a note */

#define MOST_A_SECOND 500

json_t *inquiry_answer(const struct daemon *d, const struct recorder_question *q)
{
    elect_time now = elect_uv_now();
    uint64_t next;
    bool more;
    json_t *entries = recorder_json(&d->recorder, &d->words, elect_rank(&d->elect, d->me->peer.id),
                                    q, now, &next, &more);
    return json_pack("{s:I, s:I, s:b, s:o}", "now_us", (json_int_t)now, "next", (json_int_t)next,
                     "more", more, "messages", entries);
}

static void send_note(struct daemon *d, uint16_t to, json_t *note)
{
    char text[ELECT_UV_NOTE];
    size_t length = json_dumpb(note, text, sizeof text, JSON_COMPACT);
    if (length > 0 && length <= sizeof text)
        elect_member_note(d->member, to, (const uint8_t *)text, length);
    json_decref(note);
}

void inquiry_ask(struct daemon *d, struct control_client *client, uint16_t whom,
                 const struct recorder_question *q)
{
    if (++d->inquiries == 0)
        d->inquiries++;
    client->asks = d->inquiries;
    client->peer = whom;
    client->since = elect_uv_now();
    control_wait(client, PATIENCE, "it does not answer");
    send_note(d, whom,
              json_pack("{s:I, s:s, s:I}", "ask", (json_int_t)client->asks, "group",
                        d->config.group[q->group], "from", (json_int_t)q->from));
}

/* Returns true if this member has had all answers of this second: none can keep another busy. */
static bool is_too_often(struct daemon *d, uint16_t whom)
{
    unsigned i = (unsigned)(config_member_with(&d->config, whom) - d->config.member);
    if (d->told[i].tick != d->ticks)
        d->told[i].count = 0;
    d->told[i].tick = d->ticks;
    return d->told[i].count++ >= MOST_A_SECOND;
}

/* An entry that does not fit into a datagram by itself is left out. */
static void tell(struct daemon *d, uint16_t whom, const json_t *asked)
{
    struct text why;
    int group = config_group(&d->config, json_string_value(json_object_get(asked, "group")), &why);
    struct recorder_question q = {.group = (unsigned)group,
                                  .loud = true,
                                  .from = json_integer_value(json_object_get(asked, "from")),
                                  .most = SIZE_MAX,
                                  .bytes = ELECT_UV_NOTE - MARGIN};
    if (group < 0 || is_too_often(d, whom))
        return;
    json_t *answer = inquiry_answer(d, &q);
    json_t *entries = json_object_get(answer, "messages");
    if (json_array_size(entries) == 1 &&
        json_dumpb(json_array_get(entries, 0), NULL, 0, JSON_COMPACT) > q.bytes)
        json_array_clear(entries);
    json_object_set(answer, "answer", json_object_get(asked, "ask"));
    send_note(d, whom, answer);
}

static void hear(struct daemon *d, uint16_t from, json_t *answer)
{
    json_int_t number = json_integer_value(json_object_get(answer, "answer"));
    for (struct control_client *c = d->control.clients; c != NULL; c = c->next) {
        if (!c->waits || c->asks == 0 || c->asks != number || c->peer != from)
            continue;
        json_object_set_new(answer, "ok", json_true());
        json_object_set_new(answer, "asked_us", json_integer(c->since));
        json_object_set_new(answer, "answered_us", json_integer(elect_uv_now()));
        control_answer(c, json_incref(answer));
        return;
    }
}

void inquiry_note(void *context, uint16_t from, const uint8_t *bytes, size_t length)
{
    struct daemon *d = context;
    json_error_t error;
    json_t *note = json_loadb((const char *)bytes, length, JSON_REJECT_DUPLICATES, &error);
    if (json_is_integer(json_object_get(note, "ask")))
        tell(d, from, note);
    else if (json_is_integer(json_object_get(note, "answer")))
        hear(d, from, note);
    json_decref(note);
}
