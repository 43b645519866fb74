/*
 * Reads the flight recorder, of this member or another one, and asks other members for their
 * settings, clocks and work. Members send questions and answers as notes, over their sessions:
 *
 *     {"ask": 7, "group": "main", "from": -200}
 *     {"answer": 7, "now_us": 1234567, "next": 210, "more": true, "messages": [...]}
 *     {"settings_from": 0}
 *     {"settings": {"lease": "1000 ms", ...}, "from": 0, "next": 12}     next: null at the end
 *     {"clock_from": 1234567}
 *     {"clock": 1234567, "now_us": 7654321, "work": {"main": [4711, 1763500000000000]},
 *      "ready": ["main"]}
 *
 * Each note is one datagram, which may be lost; a client then repeats its question. Clocks differ,
 * so an answer contains the time by the clock of the member that answers. The client also receives
 * the times of the question and the answer by the clock of the member that asked. `work` contains
 * the process id (0: unknown) and the start of the work in each group, for elect status on other
 * members. `ready` contains the groups with a healthy run. orders.h describes further notes.
 */
#include "daemon.h"

#include "../base/clock.h"
#include "run_connection.h"
#include "run_queue.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE 300 /* milliseconds */
#define MARGIN   160 /* bytes of a note for everything but the entries */

#define MOST_A_SECOND 500 /* answers per member */
#define MOST_SETTINGS (16 + STORE_GROUPS + SESSION_PEERS)

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

void inquiry_send(struct daemon *d, uint16_t to, json_t *note)
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
    control_wait(client, PATIENCE, "that member does not answer");
    inquiry_send(d, whom,
                 json_pack("{s:I, s:s, s:I}", "ask", (json_int_t)client->asks, "group",
                           d->config.group[q->group], "from", (json_int_t)q->from));
}

/* Without this limit, a member could keep another one busy with questions. */
static bool is_too_often(struct daemon *d, uint16_t whom)
{
    unsigned i = (unsigned)(config_member_with(&d->config, whom) - d->config.member);
    if (d->told[i].tick != d->ticks)
        d->told[i].count = 0;
    d->told[i].tick = d->ticks;
    return d->told[i].count++ >= MOST_A_SECOND;
}

/* Answers another member's question to this flight recorder. Skips entries that are too large for a
 * datagram. */
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
    inquiry_send(d, whom, answer);
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

/* ---- settings ---- */

static void add_setting(json_t *all, const char *key, const char *format, ...)
{
    char value[TEXT_MAX];
    va_list values;
    va_start(values, format);
    vsnprintf(value, sizeof value, format, values);
    va_end(values);
    json_object_set_new(all, key, json_string(value));
}

/* Returns the settings that all members must share, by their keys in elect.conf. None of them is
 * secret. */
static json_t *settings_of(const struct config *c)
{
    json_t *all = json_object();
    char key[CONFIG_NAME + 16];
    add_setting(all, "algorithm", "%s", elect_algorithm_name((enum elect_algorithm)c->algorithm));
    add_setting(all, "mandate", "%s", c->mandate == ELECT_NO_MANDATE ? "none" : "majority");
    add_setting(all, "lease", "%.10g ms", (double)c->lease / 1000);
    add_setting(all, "renewal", "%.10g ms", (double)c->renewal / 1000);
    add_setting(all, "max-lease", "%.10g ms", (double)c->max_lease / 1000);
    add_setting(all, "delay", "%.10g ms", (double)c->delay / 1000);
    add_setting(all, "rho", "%.10g %%", (double)c->rho / 1e4);
    add_setting(all, "tell-lower", "%s", c->tell_lower ? "yes" : "no");
    add_setting(all, "preempt", c->preempt ? "after %.10g ms" : "no",
                (double)c->preempt_after / 1000);
    for (unsigned i = 0; i < c->groups; i++) {
        snprintf(key, sizeof key, "group %s", c->group[i]);
        add_setting(all, key, "yes");
    }
    for (unsigned i = 0; i < c->members; i++) {
        const struct config_member *m = &c->member[i];
        snprintf(key, sizeof key, "member %s", m->name);
        add_setting(all, key, "id %u, %s, priority %u", m->peer.id, config_role(m), m->priority);
    }
    return all;
}

void inquiry_ask_settings(struct daemon *d, uint16_t whom, json_int_t from)
{
    inquiry_send(d, whom, json_pack("{s:I}", "settings_from", from));
}

static void tell_settings(struct daemon *d, uint16_t whom, json_int_t from)
{
    json_t *all = settings_of(&d->config), *some = json_object(), *value, *next = json_null();
    const char *key;
    json_int_t place = 0;
    if (is_too_often(d, whom)) {
        json_decref(all);
        json_decref(some);
        return;
    }
    json_object_foreach(all, key, value)
    {
        size_t size =
            json_dumpb(some, NULL, 0, JSON_COMPACT) + strlen(key) + json_string_length(value) + 8;
        if (place >= from && size > ELECT_UV_NOTE - MARGIN) {
            next = json_integer(place);
            break;
        }
        if (place++ >= from)
            json_object_set(some, key, value);
    }
    json_decref(all);
    inquiry_send(d, whom,
                 json_pack("{s:o, s:I, s:o}", "settings", some, "from", from, "next", next));
}

static void add_difference(char *differs, const char *key, const char *here, const char *there)
{
    size_t used = strlen(differs);
    snprintf(differs + used, DOCTOR_TEXT - used, "%s%.64s (%.48s here, %.48s there)",
             used > 0 ? ", " : "", key, here != NULL ? here : "missing",
             there != NULL ? there : "missing");
}

unsigned inquiry_peer(const struct daemon *d, uint16_t id)
{
    struct elect_peer_info p;
    unsigned i = 0;
    while (elect_member_peer(d->member, i, &p) && p.id != id)
        i++;
    return i;
}

static void hear_settings(struct daemon *d, uint16_t from, json_t *note)
{
    json_t *theirs = json_object_get(note, "settings"), *own = settings_of(&d->config), *value;
    json_int_t first = json_integer_value(json_object_get(note, "from"));
    json_t *next = json_object_get(note, "next");
    const char *key;
    char *differs = d->doctor.peer[inquiry_peer(d, from)].differs;
    if (first == 0)
        differs[0] = '\0';
    json_object_foreach(theirs, key, value)
    {
        const char *here = json_string_value(json_object_get(own, key));
        const char *there = json_string_value(value);
        if (there != NULL && (here == NULL || strcmp(here, there) != 0))
            add_difference(differs, key, here, there);
    }
    json_object_foreach(own, key, value)
    {
        bool whole = first == 0 && json_is_null(next);
        if (whole && json_object_get(theirs, key) == NULL)
            add_difference(differs, key, json_string_value(value), NULL);
    }
    text_clean(differs);
    json_decref(own);
    /* A member could claim to have more settings forever. */
    if (json_is_integer(next) && json_integer_value(next) > first &&
        json_integer_value(next) < MOST_SETTINGS)
        inquiry_ask_settings(d, from, json_integer_value(next));
}

/* ---- clocks ---- */

void inquiry_ask_clock(struct daemon *d, uint16_t whom, elect_time now)
{
    inquiry_send(d, whom, json_pack("{s:I}", "clock_from", (json_int_t)now));
}

/* Returns this member's work by group, or as much of it as fits into a note. */
static json_t *work_here(const struct daemon *d)
{
    json_t *all = json_object();
    for (unsigned i = 0; i < d->config.groups; i++) {
        const struct run_connection *c = d->work.group[i].holder;
        size_t size = json_dumpb(all, NULL, 0, JSON_COMPACT) + 2 * strlen(d->config.group[i]);
        if (c == NULL || run_connection_restarts(c) || size >= ELECT_UV_NOTE - MARGIN)
            continue;
        json_t *run = json_pack("[I, I]", (json_int_t)run_connection_command(c),
                                (json_int_t)run_connection_since(c));
        char command[INQUIRY_COMMAND];
        snprintf(command, sizeof command, "%s", run_connection_program(c));
        /* JSON may need two bytes for each character of the name */
        if (command[0] != '\0' && size + 2 * sizeof command < ELECT_UV_NOTE - MARGIN)
            json_array_append_new(run, json_string(command));
        json_object_set_new(all, d->config.group[i], run);
    }
    return all;
}

/* Returns the groups with a healthy run here, or as many as fit into a note beside `work`. */
static json_t *ready_here(const struct daemon *d, const json_t *work)
{
    json_t *all = json_array();
    size_t used = json_dumpb(work, NULL, 0, JSON_COMPACT);
    for (unsigned i = 0; i < d->config.groups; i++) {
        size_t size =
            used + json_dumpb(all, NULL, 0, JSON_COMPACT) + strlen(d->config.group[i]) + 16;
        if (run_queue_has_healthy(&d->work, i) && size < ELECT_UV_NOTE - MARGIN)
            json_array_append_new(all, json_string(d->config.group[i]));
    }
    return all;
}

static void tell_clock(struct daemon *d, uint16_t whom, json_int_t asked)
{
    if (is_too_often(d, whom))
        return;
    json_t *work = work_here(d), *ready = ready_here(d, work);
    inquiry_send(d, whom,
                 json_pack("{s:I, s:I, s:o, s:o}", "clock", asked, "now_us",
                           (json_int_t)elect_uv_now(), "work", work, "ready", ready));
}

static void hear_clock(struct daemon *d, uint16_t from, const json_t *note)
{
    struct peer_work *work = &d->doctor.peer[inquiry_peer(d, from)].work;
    json_decref(work->groups);
    json_decref(work->ready);
    *work = (struct peer_work){.heard = elect_uv_now(),
                               .date = date_now(),
                               .groups = json_incref(json_object_get(note, "work")),
                               .ready = json_incref(json_object_get(note, "ready"))};
    doctor_hear_clock(d, inquiry_peer(d, from), json_integer_value(json_object_get(note, "clock")),
                      json_integer_value(json_object_get(note, "now_us")));
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
    else if (json_is_integer(json_object_get(note, "settings_from")))
        tell_settings(d, from, json_integer_value(json_object_get(note, "settings_from")));
    else if (json_is_object(json_object_get(note, "settings")))
        hear_settings(d, from, note);
    else if (json_is_integer(json_object_get(note, "order")) && !is_too_often(d, from))
        order_take(d, from, note);
    else if (json_is_integer(json_object_get(note, "ordered")))
        order_hear(d, from, note);
    else if (json_is_integer(json_object_get(note, "clock_from")))
        tell_clock(d, from, json_integer_value(json_object_get(note, "clock_from")));
    else if (json_is_integer(json_object_get(note, "clock")))
        hear_clock(d, from, note);
    json_decref(note);
}
