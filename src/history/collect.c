/* See collect.h. All requests go through the local daemon. Each answer carries that member's
 * clock, so that recorded times can be compared. */
#include "collect.h"

#include "../base/clock.h"
#include "../base/exit.h"
#include "../base/json.h"

#include <stdlib.h>
#include <string.h>

#define TRIES 3
#define FAR   (INT64_MAX / 8) /* larger than any valid time */

/* Returns a text from another member without control characters, which could affect the
 * terminal. */
static const char *clean_text(const json_t *o, const char *key)
{
    const char *s = field_text(o, key);
    if (*s != '\0')
        text_clean((char *)s); /* the answer is not used elsewhere, so changing it is safe */
    return s;
}

/* Returns a time, or 0 if it is too large, so that sums cannot overflow. */
static int64_t clean_time(const json_t *o, const char *key)
{
    json_int_t time = field_integer(o, key);
    return time > -FAR && time < FAR ? time : 0;
}

/* ---- asking ---- */

static json_t *ask_page(const struct history *h, const struct history_daemon *d, unsigned member,
                        json_int_t from, int64_t until)
{
    json_t *o = NULL;
    struct text why;
    int status;
    text_clear(&why);
    for (unsigned i = 0; i < (member == 0 ? 1 : TRIES) && o == NULL && boottime_now() < until; i++)
        o = d->ask(d->context,
                   json_pack("{s:s, s:s, s:b, s:I, s:s}", "verb", "messages", "member",
                             h->name[member], "loud", 1, "from", from, "group", h->group),
                   &status, &why);
    return o;
}

/* How far a member's clock is ahead of the local one. */
struct offset {
    int64_t ahead, error;
};

/* Assumes that the member read its clock halfway between request and answer. */
static struct offset offset_of(const json_t *page)
{
    int64_t asked = clean_time(page, "asked_us"), answered = clean_time(page, "answered_us");
    int64_t error = (answered - asked) / 2;
    if (json_object_get(page, "asked_us") == NULL)
        return (struct offset){0, 0};
    return (struct offset){clean_time(page, "now_us") - asked - error, error};
}

/* Returns all pages of a member's flight recorder. The page with the shortest delay gives the
 * best estimate of the offset. */
static json_t *ask_pages(const struct history *h, const struct history_daemon *d, unsigned member,
                         struct offset *offset, bool *more)
{
    int64_t left = h->asked + HISTORY_TIME * INT64_C(1000000) - boottime_now();
    /* Each member gets an equal share of the remaining time, so that a slow one does not use up
     * the others'. */
    int64_t until = boottime_now() + (left > 0 ? left / (h->members - member) : 0);
    json_t *pages = json_array(), *page;
    json_int_t from = -HISTORY_BACK;
    size_t count = 0;
    *more = true;
    while (*more && json_array_size(pages) < HISTORY_BACK && count < 2 * HISTORY_BACK &&
           (page = ask_page(h, d, member, from, until)) != NULL) {
        struct offset by_this = offset_of(page);
        if (by_this.error < offset->error)
            *offset = by_this;
        *more = field_is_true(page, "more") && field_integer(page, "next") > from;
        from = field_integer(page, "next");
        count += json_array_size(json_object_get(page, "messages"));
        json_array_append_new(pages, page);
    }
    return pages;
}

static void add_step(struct history *h, unsigned member, const json_t *m, int64_t ahead)
{
    const json_t *leads = json_object_get(m, "leads");
    if (h->steps == HISTORY_STEPS)
        return;
    const char *rule = clean_text(m, "rule");
    unsigned order = h->steps++;
    h->step[order] = (struct history_step){.order = order,
                                           .at = clean_time(m, "at_us") - ahead,
                                           .member = member,
                                           .rule = history_rule(rule),
                                           .event = history_event(clean_text(m, "event")),
                                           .rule_word = rule,
                                           .from = clean_text(m, "from"),
                                           .a = clean_text(m, "a"),
                                           .b = clean_text(m, "b"),
                                           .because = clean_text(m, "because"),
                                           .term = (uint64_t)field_integer(m, "term"),
                                           .leads = json_is_true(leads)    ? 1
                                                    : json_is_false(leads) ? -1
                                                                           : 0,
                                           .over = clean_time(m, "over_us") - ahead};
}

static void ask_member(struct history *h, const struct history_daemon *d, unsigned member)
{
    struct offset offset = {.ahead = 0, .error = INT64_MAX};
    bool more;
    json_t *pages = ask_pages(h, d, member, &offset, &more), *page, *m;
    size_t i, k;
    h->complete[member] = json_array_size(pages) > 0 && !more;
    h->in_part[member] = json_array_size(pages) > 0 && more;
    if (offset.error != INT64_MAX && offset.error > h->error)
        h->error = offset.error;
    json_array_foreach(pages, i, page)
    {
        json_array_foreach(json_object_get(page, "messages"), k, m)
        {
            add_step(h, member, m, offset.ahead);
        }
    }
    json_array_append_new(h->pages, pages);
}

/* ---- all together ---- */

static int by_time(const void *x, const void *y)
{
    const struct history_step *a = x, *b = y;
    return a->at != b->at ? (a->at > b->at) - (a->at < b->at)
                          : (a->order > b->order) - (a->order < b->order);
}

static void list_members(struct history *h)
{
    size_t i;
    json_t *p;
    h->name[h->members++] = field_text(h->status, "member");
    json_array_foreach(json_object_get(h->status, "members"), i, p)
    {
        if (h->members < HISTORY_MEMBERS)
            h->name[h->members++] = field_text(p, "member");
    }
}

static struct history *fail(json_t *o, int code, const char *what, int *status,
                            struct text *complaint)
{
    json_decref(o);
    text_add(complaint, what);
    *status = code;
    return NULL;
}

struct history *history_collect(const struct history_daemon *d, int *status, struct text *complaint)
{
    int64_t asked = boottime_now();
    json_t *o = d->ask(d->context, json_pack("{s:s}", "verb", "status"), status, complaint);
    const json_t *groups = json_object_get(o, "groups");
    if (o == NULL)
        return NULL;
    if (json_array_size(groups) > 1)
        return fail(o, EXIT_USAGE, "there are several groups: choose one with -g GROUP", status,
                    complaint);
    struct history *h = calloc(1, sizeof *h);
    if (h == NULL)
        return fail(o, EXIT_NO, "cannot collect the history: out of memory", status, complaint);
    h->asked = asked;
    h->status = o;
    h->group = field_text(json_array_get(groups, 0), "group");
    h->pages = json_array();
    list_members(h);
    for (unsigned i = 0; i < h->members; i++)
        ask_member(h, d, i);
    qsort(h->step, h->steps, sizeof h->step[0], by_time);
    return h;
}

void history_free(struct history *h)
{
    json_decref(h->pages);
    json_decref(h->status);
    free(h);
}

/* ---- queries to the status of the local daemon ---- */

unsigned history_member(const struct history *h, const char *name)
{
    unsigned i = 0;
    while (i < h->members && strcmp(h->name[i], name) != 0)
        i++;
    return i;
}

const json_t *history_member_json(const struct history *h, unsigned member)
{
    return member == 0 ? h->status
                       : json_array_get(json_object_get(h->status, "members"), member - 1);
}

uint16_t history_id(const struct history *h, unsigned member)
{
    return (uint16_t)field_integer(history_member_json(h, member), "id");
}

const json_t *history_group(const struct history *h)
{
    return json_array_get(json_object_get(h->status, "groups"), 0);
}

bool history_mandated(const struct history *h)
{
    return strcmp(field_text(json_object_get(h->status, "settings"), "mandate"), "majority") == 0;
}
