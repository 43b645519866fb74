/* elect explain: explains the last change of leader from all members' flight recorders. */
#include "../history/change.h"

#include "../base/clock.h"
#include "../base/json.h"
#include "../daemon/journal.h"
#include "member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MARGIN 15

static double milliseconds(int64_t us) { return (double)us / 1000; }

static void date_of(int64_t at, char text[JOURNAL_DATE])
{
    journal_date(date_now() - (boottime_now() - at), text);
}

/* ---- text ---- */

static void add_names(const struct history *h, uint64_t who, struct text *t)
{
    for (uint64_t rest = who; rest != 0; rest &= rest - 1) {
        if (rest != who)
            text_add(t, (rest & (rest - 1)) == 0 ? " and " : ", ");
        text_add(t, h->name[__builtin_ctzll(rest)]);
    }
}

/* Returns true if, as far as the local member knows, the new leader still leads. */
static bool leads_now(const struct history *h, const struct history_change *c)
{
    return c->takes != NULL && c->lasts &&
           strcmp(field_text(history_group(h), "leader"), h->name[c->takes->member]) == 0;
}

/* Returns true if the gap is exact: the old leader itself recorded its end, and the gap exceeds
 * the clock error. */
static bool is_exact(const struct history_change *c)
{
    return c->how == HISTORY_END_OWN && c->gap > c->error;
}

static void print_vacancy(const struct history *h, const struct history_change *c)
{
    char date[JOURNAL_DATE];
    printf("group %s: no leader is known.\n%s led last", h->group, c->old);
    if (c->how == HISTORY_END_OWN) {
        date_of(c->end->over, date);
        printf(", for %.1f s, until %s.\n", (double)(c->end->over - c->before->at) / 1e6, date);
    } else if (c->sign != NULL) {
        date_of(c->sign->at, date);
        printf(", and was last heard at %s.\n", date);
    } else {
        puts(".");
    }
    if (field_is_true(history_group(h), "paused"))
        puts("Elections are paused: elect resume.");
    putchar('\n');
}

static void print_head(const struct history *h, const struct history_change *c)
{
    const char *leader = json_string_value(json_object_get(history_group(h), "leader"));
    char date[JOURNAL_DATE], term[48] = "", number[32];
    bool now = leads_now(h, c);
    date_of(c->takes->at, date);
    /* A leader's term may grow while it stays in office. */
    json_int_t latest = now ? field_integer(history_group(h), "term") : 0;
    if (latest != 0 || c->takes->term != 0)
        snprintf(term, sizeof term, " in term %s",
                 elect_term_text(latest != 0 ? (elect_term)latest : c->takes->term, number));
    printf("group %s: %s %s%s, %s %s.\n", h->group, h->name[c->takes->member],
           now ? "leads" : "took office", term, now ? "since" : "at", date);
    if (!now && leader == NULL)
        puts("No leader is known now.");
    else if (!now)
        printf("%s leads now; no member that answered has recorded how it became the leader.\n",
               leader);
    if (c->old == NULL)
        puts("No earlier leader is recorded.");
    else if (c->before != NULL && c->how == HISTORY_END_OWN)
        printf("Before that, %s led for %.1f s.\n", c->old,
               (double)(c->end->over - c->before->at) / 1e6);
    else
        printf("Before that, %s led; the start of its leadership is not recorded.\n", c->old);
    putchar('\n');
}

/* Adds the latest step before the change that shows the old leader still leading. */
static void add_sign(const struct history *h, const struct history_change *c, struct text *t)
{
    text_add(t, c->old);
    text_add(t, " still leads (recorded by ");
    text_add(t, h->name[c->sign->member]);
    text_add(t, ")");
}

static void print_line(const struct history *h, const struct history_change *c,
                       const struct history_line *l)
{
    const struct history_step *s = l->first;
    struct text t;
    char ms[32];
    text_clear(&t);
    if (s->event == HISTORY_MEMBER_EVENT) {
        text_add(&t, h->name[s->member]);
        text_add(&t, " learns: ");
    }
    if (s == c->sign)
        add_sign(h, c, &t);
    else
        text_add(&t, s->because);
    if (l->others > 0) {
        text_add(&t, l->others == 1 ? "; so does " : "; so do ");
        add_names(h, l->who & ~((uint64_t)1 << s->member), &t);
        snprintf(ms, sizeof ms, ", up to %.1f ms later", milliseconds(l->last - s->at));
        text_add(&t, l->last - s->at >= 100 ? ms : "");
    }
    printf("%11.1f ms ", milliseconds(s->at - c->at));
    args_wrapped(t.bytes, MARGIN);
}

/* Returns the length of "CAUSE" in "CAUSE -> EFFECT". The reason of a run is part of the cause
 * and may contain an arrow itself. */
static size_t cause_length(const char *because)
{
    size_t length = strlen(because);
    for (const char *at = because; (at = strstr(at, " -> ")) != NULL; at++)
        length = (size_t)(at - because);
    return length;
}

static void print_end(const struct history *h, const struct history_change *c)
{
    if (c->old == NULL)
        return;
    if (c->how == HISTORY_END_OWN)
        printf("Why %s stopped leading: %.*s.\n", c->old, (int)cause_length(c->end->because),
               c->end->because);
    else if (c->how == HISTORY_END_GUARDIAN)
        printf("%s died (reported by its guardian).\n", c->old);
    else if (c->how == HISTORY_END_RELEASED)
        printf("%s released its term; %s received the release.\n", c->old, h->name[c->end->member]);
    else if (history_mandated(h))
        printf("%s did not report that it stopped: no other member %s office before its lease %s "
               "ended.\n",
               c->old, c->takes != NULL ? "took" : "can take", c->takes != NULL ? "had" : "has");
    else
        printf("%s did not report that it stopped: without a mandate, it may still lead.\n",
               c->old);
}

/* Prints how long there was no leader. If only other members recorded the old leader's end, it
 * lies between its last sign of life and that record. */
static void print_gap(const struct history_change *c)
{
    const char *who = c->takes != NULL ? "There was no leader" : "No leader has been known";
    bool reported = c->how == HISTORY_END_GUARDIAN || c->how == HISTORY_END_RELEASED;
    int64_t most = c->gap + c->error, least = reported ? c->at - c->end->at - c->error : 0;
    if (!c->measured)
        return;
    if (c->gap < -c->error)
        printf("Both led for %.1f ms.\n", milliseconds(-c->gap));
    else if (is_exact(c))
        printf("%s for %.1f ms.\n", who, milliseconds(c->gap));
    else if (least > 0 && least < most)
        printf("%s for %.1f to %.1f ms.\n", who, milliseconds(least), milliseconds(most));
    else
        printf("%s for at most %.1f ms.\n", who, milliseconds(most));
}

static void print_tail(const struct history *h, const struct history_change *c)
{
    uint64_t silent = 0, slow = 0;
    struct text t;
    if (c->left_out > 0)
        printf("%15s%u more step%s: elect history --messages\n", "", c->left_out,
               c->left_out == 1 ? "" : "s");
    putchar('\n');
    print_end(h, c);
    print_gap(c);
    for (unsigned i = 0; i < h->members; i++) {
        silent |= (uint64_t)(!h->complete[i] && !h->in_part[i]) << i;
        slow |= (uint64_t)h->in_part[i] << i;
    }
    text_clear(&t);
    add_names(h, silent, &t);
    if (silent != 0)
        printf("%s did not answer: the steps recorded there are missing.\n", t.bytes);
    text_clear(&t);
    add_names(h, slow, &t);
    if (slow != 0)
        printf("%s answered only in part: some steps recorded there are missing.\n", t.bytes);
    if (h->error >= 100)
        printf("The times of other members have an error of at most %.1f ms.\n",
               milliseconds(h->error));
}

/* ---- JSON ---- */

static json_t *line_json(const struct history *h, const struct history_change *c,
                         const struct history_line *l)
{
    json_t *also = json_array();
    for (unsigned i = 0; i < h->members; i++)
        if ((l->who >> i & 1) != 0 && i != l->first->member)
            json_array_append_new(also, json_string(h->name[i]));
    return json_pack("{s:f, s:f, s:s, s:o, s:s, s:s}", "ms", milliseconds(l->first->at - c->at),
                     "until_ms", milliseconds(l->last - c->at), "member", h->name[l->first->member],
                     "also", also, "rule", l->first->rule_word, "text", l->first->because);
}

static json_t *change_json(const struct history *h, const struct history_change *c)
{
    static const char *const ways[] = {[HISTORY_END_UNKNOWN] = "nobody",
                                       [HISTORY_END_OWN] = "itself",
                                       [HISTORY_END_GUARDIAN] = "guardian",
                                       [HISTORY_END_RELEASED] = "others"};
    char date[JOURNAL_DATE];
    json_t *steps = json_array(), *missing = json_array(), *in_part = json_array();
    date_of(c->at, date);
    for (unsigned i = 0; i < c->lines; i++)
        json_array_append_new(steps, line_json(h, c, &c->line[i]));
    for (unsigned i = 0; i < h->members; i++)
        if (!h->complete[i])
            json_array_append_new(h->in_part[i] ? in_part : missing, json_string(h->name[i]));
    json_t *o = c->takes != NULL ? json_pack("{s:s, s:s, s:I, s:s}", "group", h->group, "leader",
                                             h->name[c->takes->member], "term",
                                             (json_int_t)c->takes->term, "since", date)
                                 : json_pack("{s:s, s:s}", "group", h->group, "asked", date);
    if (c->old != NULL)
        json_object_set_new(o, "before", json_string(c->old));
    json_object_set_new(o, "leads_now", json_boolean(leads_now(h, c)));
    if (c->old != NULL)
        json_object_set_new(o, "known_by", json_string(ways[c->how]));
    if (c->end != NULL)
        json_object_set_new(o, "stopped", json_string(c->end->because));
    if (c->measured && c->gap >= -c->error)
        json_object_set_new(o, "nobody_led_ms",
                            json_real(milliseconds(is_exact(c) ? c->gap : c->gap + c->error)));
    else if (c->measured)
        json_object_set_new(o, "both_led_ms", json_real(milliseconds(-c->gap)));
    if (c->measured)
        json_object_set_new(o, "exactly", json_boolean(is_exact(c)));
    json_object_set_new(o, "steps", steps);
    json_object_set_new(o, "left_out", json_integer(c->left_out));
    json_object_set_new(o, "missing", missing);
    json_object_set_new(o, "incomplete", in_part);
    json_object_set_new(o, "clock_error_ms", json_real(milliseconds(h->error)));
    return o;
}

int cmd_explain(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "explain",
        .usage = "explain [-g GROUP] [OPTIONS]",
        .text = "Explain the last change of leader from the flight recorders of all members that "
                "answer: the steps of the members and their rules, why the old leader stopped "
                "leading, and how long there was no leader. Times are relative to the moment when "
                "the new leader took office, or to now if no leader is known.\n"
                "Exit: 0 success; 1 no change is "
                "recorded, or no such group; 3 no daemon answers; 64 bad usage; 78 configuration "
                "refused."};
    static struct history_change c;
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    struct history *h = ask_history(&a, &status);
    if (h == NULL)
        return status;
    bool found = history_find_change(h, &c);
    if (!found) {
        status = ask_complain(a.verb, EXIT_NO, "no change of leader is recorded");
    } else if (a.json && !a.quiet) {
        json_t *o = change_json(h, &c);
        ask_print_json(o);
        json_decref(o);
    } else if (!a.quiet) {
        (c.takes != NULL ? print_head : print_vacancy)(h, &c);
        for (unsigned i = 0; i < c.lines; i++)
            print_line(h, &c, &c.line[i]);
        print_tail(h, &c);
    }
    history_free(h);
    return found ? EXIT_FINE : status;
}
