/* The verbs that ask a daemon what it knows. */
#include "member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE 1 /* seconds */

static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s != NULL ? s : "";
}

static json_int_t number_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static bool is_true(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
}

static json_t *question(const char *verb) { return json_pack("{s:s}", "verb", verb); }

/* ---- is-leader ---- */

static int64_t boottime(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int cmd_is_leader(int argc, char **argv)
{
    static const struct verb_spec spec = {.name = "is-leader",
                                          .usage = "is-leader [-g GROUP] [OPTIONS]",
                                          .text =
                                              "Whether the member here leads, at this instant.\n"
                                              "Exit: 0 yes, 1 no, 2 no leader is known, 3 no "
                                              "daemon answers, 64 bad usage, 78 no configuration."};
    struct asked_for a;
    char term[32];
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    int64_t asked = boottime();
    json_t *o = ask(&a, "status", question("is-leader"), PATIENCE, &status);
    if (o == NULL)
        return status == EXIT_NO ? EXIT_USAGE : status; /* no such group: not an answer */
    /* Counted from before the question: whoever stood still in between is not fooled. */
    bool leads = is_true(o, "leads") && boottime() < asked + number_of(o, "left_us");
    bool known = is_true(o, "known");
    json_object_set_new(o, "leads", json_boolean(leads));
    json_object_del(o, "ok");
    if (a.json && !a.quiet)
        ask_print_json(o);
    else if (!a.quiet && leads && number_of(o, "term") == 0)
        puts("yes, without a mandate");
    else if (!a.quiet && leads)
        printf("yes, in term %s\n", ask_term(number_of(o, "term"), term));
    else if (!a.quiet && known)
        printf("no, %s leads\n", text_of(o, "leader"));
    else if (!a.quiet)
        puts("no, and no leader is known");
    json_decref(o);
    return leads ? EXIT_FINE : known ? EXIT_NO : EXIT_NOBODY;
}

/* ---- leader ---- */

int cmd_leader(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "leader",
        .usage = "leader [-g GROUP] [OPTIONS]",
        .text = "Who leads, as the member here knows.\nExit: 0; 2 no leader is known, 3 no daemon "
                "answers, 64 bad usage, 78 no configuration."};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    json_t *o = ask(&a, "status", question("is-leader"), PATIENCE, &status);
    if (o == NULL)
        return status == EXIT_NO ? EXIT_USAGE : status;
    bool known = is_true(o, "known");
    json_object_del(o, "ok");
    if (a.json && !a.quiet)
        ask_print_json(o);
    else if (known && !a.quiet)
        puts(text_of(o, "leader"));
    else if (!known)
        ask_complain(a.verb, 0, "no leader is known");
    json_decref(o);
    return known ? EXIT_FINE : EXIT_NOBODY;
}

/* ---- status, members ---- */

static void print_group(const json_t *g)
{
    char term[32];
    printf("group %s: ", text_of(g, "group"));
    if (is_true(g, "leads") && number_of(g, "term") == 0)
        printf("leads since %s, without a mandate", text_of(g, "since"));
    else if (is_true(g, "leads"))
        printf("leads in term %s since %s, %.0f ms of its lease left",
               ask_term(number_of(g, "term"), term), text_of(g, "since"),
               json_real_value(json_object_get(g, "lease_left_ms")));
    else if (json_object_get(g, "leader") != NULL)
        printf("follows %s%s%s since %s", text_of(g, "leader"),
               number_of(g, "term") != 0 ? " in term " : "",
               number_of(g, "term") != 0 ? ask_term(number_of(g, "term"), term) : "",
               text_of(g, "since"));
    else
        printf("%s, no leader is known", text_of(g, "state"));
    puts(is_true(g, "paused") ? "; elections are paused" : "");
}

static void print_heard(const json_t *o)
{
    json_t *heard = json_object_get(o, "heard_ms_ago");
    char text[32] = "never";
    if (heard != NULL)
        snprintf(text, sizeof text, "%.1f s ago", json_real_value(heard) / 1000);
    printf("%-12s", text);
}

static void print_members(const json_t *o)
{
    size_t i, k;
    json_t *p, *link;
    printf("  %-16s %5s  %-5s %-12s%s\n", "member", "id", "state", "heard", "networks");
    printf("  %-16s %5lld  %-5s %-12s\n", text_of(o, "member"), (long long)number_of(o, "id"),
           "here", "");
    json_array_foreach(json_object_get(o, "members"), i, p)
    {
        printf("  %-16s %5lld  %-5s ", text_of(p, "member"), (long long)number_of(p, "id"),
               is_true(p, "up") ? "up" : "down");
        print_heard(p);
        json_array_foreach(json_object_get(p, "links"), k, link)
        {
            printf("%s%s %s", k > 0 ? ", " : "", text_of(link, "address"),
                   is_true(link, "up") ? "up" : "down");
        }
        json_t *same = json_object_get(p, "same_configuration");
        json_t *keys = json_object_get(p, "same_keys");
        printf("%s%s\n", json_is_false(same) ? "  its configuration differs" : "",
               json_is_false(keys) ? "  it accepts other keys" : "");
    }
}

static void print_status(const json_t *o)
{
    size_t i;
    json_t *g;
    printf("member %s (%lld), incarnation %lld, up for %.0f s, elect %s, cluster %s\n",
           text_of(o, "member"), (long long)number_of(o, "id"),
           (long long)number_of(o, "incarnation"),
           json_real_value(json_object_get(o, "up_seconds")), text_of(o, "version"),
           text_of(o, "cluster"));
    json_array_foreach(json_object_get(o, "groups"), i, g) { print_group(g); }
    print_members(o);
}

static int show_status(const struct verb_spec *spec, int argc, char **argv,
                       void (*print)(const json_t *o), const char *only)
{
    struct asked_for a;
    int status = ask_parse(&a, spec, argc, argv);
    if (status < 0)
        return ~status;
    json_t *o = ask(&a, "status", question("status"), PATIENCE, &status);
    if (o == NULL)
        return status;
    json_object_del(o, "ok");
    if (!a.json && !a.quiet)
        print(o);
    else if (!a.quiet)
        ask_print_json(only != NULL ? json_object_get(o, only) : o);
    json_decref(o);
    return EXIT_FINE;
}

int cmd_status(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "status",
        .usage = "status [-g GROUP] [OPTIONS]",
        .text = "Who leads, since when, in which term, how much of the lease is left, and what is "
                "known of every other member, on each network.\nExit: 0; 3 no daemon answers, 64 "
                "bad usage, 78 no configuration."};
    return show_status(&spec, argc, argv, print_status, NULL);
}

int cmd_members(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "members",
        .without = 1 << ASK_GROUP,
        .usage = "members [OPTIONS]",
        .text =
            "The members, as seen from here: when each was heard, on which networks, and whether "
            "its configuration is the same.\nExit: 0; 3 no daemon answers, 64 bad usage, 78 no "
            "configuration."};
    return show_status(&spec, argc, argv, print_members, "members");
}

/* ---- history, watch ---- */

static void print_entry(const json_t *e)
{
    const char *group = text_of(e, "group");
    printf("%s %s%s%s\n", text_of(e, "time"), group, *group != '\0' ? ": " : "",
           text_of(e, "text"));
}

static void print_message(const json_t *m)
{
    char term[32];
    bool sent = json_object_get(m, "to") != NULL;
    printf("%12.3f ms ago  ", (double)number_of(m, "ago_us") / 1000);
    if (sent)
        printf("> %s ", text_of(m, "to"));
    else if (json_object_get(m, "from") != NULL)
        printf("< %s ", text_of(m, "from"));
    fputs(text_of(m, "event"), stdout);
    if (json_object_get(m, "term") != NULL)
        printf("(%s)", ask_term(number_of(m, "term"), term));
    printf("%s%s\n", sent ? "" : ": ", text_of(m, "because"));
}

struct history_options {
    bool messages;
    const char *seconds;
};

static void take_history(void *context, int option, const char *value)
{
    struct history_options *h = context;
    if (option == 0)
        h->messages = true;
    else
        h->seconds = value;
}

static json_t *history(const struct asked_for *a, int *status)
{
    json_t *o = ask(a, "status", question("history"), PATIENCE, status);
    json_t *all = json_incref(json_object_get(o, "history"));
    json_decref(o);
    return all;
}

/* Page by page. */
static json_t *messages(const struct asked_for *a, json_int_t seconds, int *status)
{
    json_t *all = json_array();
    json_int_t next = 0;
    do {
        json_t *o =
            ask(a, "status",
                json_pack("{s:s, s:I, s:I}", "verb", "messages", "seconds", seconds, "from", next),
                PATIENCE, status);
        if (o == NULL) {
            json_decref(all);
            return NULL;
        }
        json_array_extend(all, json_object_get(o, "messages"));
        next = number_of(o, "next");
        json_decref(o);
    } while (next > 0);
    return all;
}

int cmd_history(int argc, char **argv)
{
    static const struct option_spec own[] = {
        {"messages", 0, NULL, "what the flight recorder has: every step, and every message"},
        {"last", 0, "SECONDS", "with --messages: how far back; default: 60"}};
    struct history_options h = {0};
    struct verb_spec spec = {
        .name = "history",
        .usage = "history [-g GROUP] [--messages [--last SECONDS]] [OPTIONS]",
        .text =
            "What has changed lately, and why.\nExit: 0; 1 refused, 3 no daemon answers, 64 bad "
            "usage, 78 no configuration.",
        .own = own,
        .owns = 2,
        .take = take_history,
        .context = &h};
    struct asked_for a;
    uint64_t seconds = 60;
    size_t i;
    json_t *line;
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    if (h.seconds != NULL && (!number_parse(h.seconds, 86400, &seconds) || !h.messages))
        return args_complain(a.verb, "--last",
                             h.messages ? "expected a number of seconds, up to 86400"
                                        : "it goes with --messages");
    json_t *all = h.messages ? messages(&a, (json_int_t)seconds, &status) : history(&a, &status);
    if (all == NULL)
        return status;
    if (a.json && !a.quiet)
        ask_print_json(all);
    else if (!a.quiet)
        json_array_foreach(all, i, line) { (h.messages ? print_message : print_entry)(line); }
    json_decref(all);
    return EXIT_FINE;
}

static bool show_line(void *context, json_t *line)
{
    const struct asked_for *a = context;
    const char *group = text_of(line, "group");
    if (a->group != NULL && *group != '\0' && strcmp(a->group, group) != 0)
        return true;
    if (a->json) {
        json_dumpf(line, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
        putchar('\n');
    } else if (json_object_get(line, "event") != NULL) {
        print_entry(line);
    } else {
        print_group(line);
    }
    return fflush(stdout) == 0;
}

int cmd_watch(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "watch",
        .usage = "watch [-g GROUP] [OPTIONS]",
        .text = "What is, then every change, a line each, until interrupted.\nExit: 0; 3 no daemon "
                "answers, or it has ended; 64 bad usage, 78 no configuration."};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    json_t *request = question("watch");
    if (a.group != NULL)
        json_object_set_new(request, "group", json_string(a.group));
    return ask_stream(&a, request, show_line, &a);
}
