#include "gather.h"

#include "../base/clock.h"

#include <stdlib.h>
#include <string.h>

#define PATIENCE 1 /* seconds */
#define TRIES    3
#define FAR      (INT64_MAX / 8) /* no clock is there */

/* What another member says may contain anything: it is shown on a terminal, and counted with. */
static const char *clean_of(const json_t *o, const char *key)
{
    const char *s = ask_text(o, key);
    if (*s != '\0')
        text_clean((char *)s); /* in place: it is ours */
    return s;
}

static int64_t time_of(const json_t *o, const char *key)
{
    json_int_t time = ask_number(o, key);
    return time > -FAR && time < FAR ? time : 0;
}

/* ---- asking ---- */

static json_t *page_of(const struct asked_for *a, const char *member, json_int_t from, bool here,
                       int64_t until)
{
    json_t *o = NULL;
    struct text why;
    int status;
    for (unsigned i = 0; i < (here ? 1 : TRIES) && o == NULL && boottime_now() < until; i++)
        o = ask_try(a, "status",
                    json_pack("{s:s, s:s, s:b, s:I}", "verb", "messages", "member", member, "loud",
                              1, "from", from),
                    PATIENCE, &status, &why);
    return o;
}

/* What its clock shows more than the one here. An answer was given between question and arrival. */
static int64_t ahead(const json_t *page, int64_t *error)
{
    int64_t asked = time_of(page, "asked_us"), answered = time_of(page, "answered_us");
    if (json_object_get(page, "asked_us") == NULL) { /* the one here */
        *error = 0;
        return 0;
    }
    *error = (answered - asked) / 2;
    return time_of(page, "now_us") - asked - *error;
}

static void add_step(struct gathered *g, unsigned member, const json_t *m, int64_t shift)
{
    const json_t *leads = json_object_get(m, "leads");
    if (g->steps == GATHER_STEPS)
        return;
    unsigned order = g->steps++;
    g->step[order] = (struct recorded){.order = order,
                                       .at = time_of(m, "at_us") - shift,
                                       .member = member,
                                       .rule = clean_of(m, "rule"),
                                       .event = clean_of(m, "event"),
                                       .from = clean_of(m, "from"),
                                       .a = clean_of(m, "a"),
                                       .b = clean_of(m, "b"),
                                       .because = clean_of(m, "because"),
                                       .message = clean_of(m, "message"),
                                       .term = (uint64_t)ask_number(m, "term"),
                                       .leads = json_is_true(leads)    ? 1
                                                : json_is_false(leads) ? -1
                                                                       : 0,
                                       .over = time_of(m, "over_us") - shift};
}

/* Page by page. The page that came fastest says best how its clock differs. A member has its share
 * of the time that is left, so that one that answers slowly costs no other its answer. */
static void ask_one(struct gathered *g, const struct asked_for *a, unsigned member)
{
    int64_t left = g->asked + GATHER_TIME * INT64_C(1000000) - boottime_now();
    int64_t until = boottime_now() + (left > 0 ? left / (g->members - member) : 0);
    json_t *pages = json_array(), *page, *m;
    json_int_t from = -GATHER_BACK;
    int64_t shift = 0, error = INT64_MAX, e;
    size_t i, k;
    bool more = true;
    size_t count = 0;
    while (more && json_array_size(pages) < GATHER_BACK && count < 2 * GATHER_BACK &&
           (page = page_of(a, g->name[member], from, member == 0, until)) != NULL) {
        int64_t s = ahead(page, &e);
        if (e < error) {
            error = e;
            shift = s;
        }
        more = json_is_true(json_object_get(page, "more")) && ask_number(page, "next") > from;
        from = ask_number(page, "next");
        count += json_array_size(json_object_get(page, "messages"));
        json_array_append_new(pages, page);
    }
    g->told[member] = json_array_size(pages) > 0 && !more;
    g->in_part[member] = json_array_size(pages) > 0 && more;
    if (error != INT64_MAX && error > g->error)
        g->error = error;
    json_array_foreach(pages, i, page)
    {
        json_array_foreach(json_object_get(page, "messages"), k, m)
        {
            add_step(g, member, m, shift);
        }
    }
    json_array_append_new(g->pages, pages);
}

/* ---- all together ---- */

static int earlier(const void *x, const void *y)
{
    const struct recorded *a = x, *b = y;
    return a->at != b->at ? (a->at > b->at) - (a->at < b->at)
                          : (a->order > b->order) - (a->order < b->order);
}

static void know_members(struct gathered *g)
{
    size_t i;
    json_t *p;
    g->name[g->members++] = ask_text(g->status, "member");
    json_array_foreach(json_object_get(g->status, "members"), i, p)
    {
        if (g->members < GATHER_MEMBERS)
            g->name[g->members++] = ask_text(p, "member");
    }
}

struct gathered *gather_members(struct asked_for *a, int *status)
{
    int64_t asked = boottime_now();
    json_t *o = ask_daemon(a, "status", json_pack("{s:s}", "verb", "status"), PATIENCE, status);
    struct gathered *g = o != NULL ? calloc(1, sizeof *g) : NULL;
    if (o != NULL && g == NULL)
        *status = ask_complain(a->verb, EXIT_NO, "no memory");
    if (g == NULL) {
        json_decref(o);
        return NULL;
    }
    const json_t *groups = json_object_get(o, "groups");
    g->asked = asked;
    g->status = o;
    g->group = ask_text(json_array_get(groups, 0), "group");
    if (json_array_size(groups) > 1) {
        *status = args_complain(a->verb, "", "there are several groups: say which with -g");
        gather_end(g);
        return NULL;
    }
    a->group = g->group;
    g->pages = json_array();
    know_members(g);
    for (unsigned i = 0; i < g->members; i++)
        ask_one(g, a, i);
    qsort(g->step, g->steps, sizeof g->step[0], earlier);
    return g;
}

unsigned gather_called(const struct gathered *g, const char *name)
{
    unsigned i = 0;
    while (i < g->members && strcmp(g->name[i], name) != 0)
        i++;
    return i;
}

const json_t *gather_member(const struct gathered *g, unsigned member)
{
    return member == 0 ? g->status
                       : json_array_get(json_object_get(g->status, "members"), member - 1);
}

unsigned gather_id(const struct gathered *g, unsigned member)
{
    return (unsigned)json_integer_value(json_object_get(gather_member(g, member), "id"));
}

const json_t *gather_group(const struct gathered *g)
{
    return json_array_get(json_object_get(g->status, "groups"), 0);
}

bool gather_mandated(const struct gathered *g)
{
    return strcmp(ask_text(json_object_get(g->status, "settings"), "mandate"), "majority") == 0;
}

void gather_end(struct gathered *g)
{
    json_decref(g->pages);
    json_decref(g->status);
    free(g);
}
