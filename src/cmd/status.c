/* The verbs that ask a daemon what it knows. */
#include "../base/clock.h"
#include "../base/json.h"
#include "export.h"
#include "member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE 1 /* seconds */

static json_t *question(const char *verb) { return json_pack("{s:s}", "verb", verb); }

/* ---- is-leader ---- */

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
    int64_t asked = boottime_now();
    json_t *o = ask_daemon(&a, "status", question("is-leader"), PATIENCE, &status);
    if (o == NULL)
        return status == EXIT_NO ? EXIT_USAGE : status; /* no such group: not an answer */
    /* Counted from before the question: whoever stood still in between is not fooled. */
    bool leads = field_is_true(o, "leads") && boottime_now() < asked + field_integer(o, "left_us");
    bool known = field_is_true(o, "known");
    json_object_set_new(o, "leads", json_boolean(leads));
    json_object_del(o, "ok");
    if (a.json && !a.quiet)
        ask_print_json(o);
    else if (!a.quiet && leads && field_integer(o, "term") == 0)
        puts("yes, without a mandate");
    else if (!a.quiet && leads)
        printf("yes, in term %s\n", elect_term_text((elect_term)field_integer(o, "term"), term));
    else if (!a.quiet && known)
        printf("no, %s leads\n", field_text(o, "leader"));
    else if (!a.quiet)
        puts("no, and no leader is known");
    json_decref(o);
    return leads ? EXIT_FINE : known ? EXIT_NO : EXIT_NO_LEADER;
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
    json_t *o = ask_daemon(&a, "status", question("is-leader"), PATIENCE, &status);
    if (o == NULL)
        return status == EXIT_NO ? EXIT_USAGE : status;
    bool known = field_is_true(o, "known");
    json_object_del(o, "ok");
    if (a.json && !a.quiet)
        ask_print_json(o);
    else if (known && !a.quiet)
        puts(field_text(o, "leader"));
    else if (!known)
        ask_complain(a.verb, 0, "no leader is known");
    json_decref(o);
    return known ? EXIT_FINE : EXIT_NO_LEADER;
}

/* ---- status, members ---- */

static void print_group(const json_t *g)
{
    char term[32];
    printf("group %s: ", field_text(g, "group"));
    if (field_is_true(g, "leads") && field_integer(g, "term") == 0)
        printf("leads since %s, without a mandate", field_text(g, "since"));
    else if (field_is_true(g, "leads"))
        printf("leads in term %s since %s",
               elect_term_text((elect_term)field_integer(g, "term"), term), field_text(g, "since"));
    else if (json_object_get(g, "leader") != NULL)
        printf("follows %s%s%s since %s", field_text(g, "leader"),
               field_integer(g, "term") != 0 ? " in term " : "",
               field_integer(g, "term") != 0
                   ? elect_term_text((elect_term)field_integer(g, "term"), term)
                   : "",
               field_text(g, "since"));
    else
        printf("%s, no leader is known", field_text(g, "state"));
    puts(field_is_true(g, "paused") ? "; elections are paused" : "");
    if (json_object_get(g, "lease_left_ms") != NULL) /* a line of its own: 80 columns */
        printf("  lease left: %.0f ms\n", json_real_value(json_object_get(g, "lease_left_ms")));
    if (json_object_get(g, "holder_pid") != NULL)
        printf("  elect run works under it (pid %lld), contained in a %s\n",
               (long long)field_integer(g, "holder_pid"), field_text(g, "containment"));
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
    printf("  %-16s %5lld  %-5s %-12s\n", field_text(o, "member"),
           (long long)field_integer(o, "id"), "here", "");
    json_array_foreach(json_object_get(o, "members"), i, p)
    {
        printf("  %-16s %5lld  %-5s ", field_text(p, "member"), (long long)field_integer(p, "id"),
               field_is_true(p, "up") ? "up" : "down");
        print_heard(p);
        json_array_foreach(json_object_get(p, "links"), k, link)
        {
            printf("%s%s %s", k > 0 ? ", " : "", field_text(link, "address"),
                   field_is_true(link, "up") ? "up" : "down");
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
    printf("member %s (%lld), incarnation %lld, up for %.0f s, elect %s\ncluster %s\n",
           field_text(o, "member"), (long long)field_integer(o, "id"),
           (long long)field_integer(o, "incarnation"),
           json_real_value(json_object_get(o, "up_seconds")), field_text(o, "version"),
           field_text(o, "cluster"));
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
    json_t *o = ask_daemon(&a, "status", question("status"), PATIENCE, &status);
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
                "known of every other member, on each network.\nExit: 0; 1 no such group, 3 "
                "no daemon answers, 64 bad usage, 78 no configuration."};
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
    const char *group = field_text(e, "group");
    printf("%s %s%s%s\n", field_text(e, "time"), group, *group != '\0' ? ": " : "",
           field_text(e, "text"));
}

static void print_message(const json_t *m)
{
    bool sent = json_object_get(m, "to") != NULL;
    const char *message = field_text(m, "message");
    printf("%12.3f ms ago  ", (double)field_integer(m, "ago_us") / 1000);
    if (sent)
        printf("> %s ", field_text(m, "to"));
    else if (json_object_get(m, "from") != NULL)
        printf("< %s ", field_text(m, "from"));
    printf("%s%s%s\n", *message != '\0' ? message : field_text(m, "event"), sent ? "" : ": ",
           field_text(m, "because"));
}

struct history_options {
    bool messages;
    const char *seconds, *export;
};

static void take_history(void *context, int option, const char *value)
{
    struct history_options *h = context;
    if (option == 0)
        h->messages = true;
    else if (option == 1)
        h->seconds = value;
    else
        h->export = value;
}

static json_t *history(const struct asked_for *a, int *status)
{
    json_t *o = ask_daemon(a, "status", question("history"), PATIENCE, status);
    json_t *all = json_incref(json_object_get(o, "history"));
    json_decref(o);
    return all;
}

/* Page by page. */
static json_t *messages(const struct asked_for *a, json_int_t seconds, int *status)
{
    json_t *all = json_array();
    json_int_t next = 0;
    bool more;
    do {
        json_t *o = ask_daemon(
            a, "status",
            json_pack("{s:s, s:I, s:I}", "verb", "messages", "seconds", seconds, "from", next),
            PATIENCE, status);
        if (o == NULL) {
            json_decref(all);
            return NULL;
        }
        json_array_extend(all, json_object_get(o, "messages"));
        next = field_integer(o, "next");
        more = field_is_true(o, "more");
        json_decref(o);
    } while (more);
    return all;
}

int cmd_history(int argc, char **argv)
{
    static const struct option_spec own[] = {
        {"messages", 0, NULL, "what the flight recorder has: every step, and every message"},
        {"last", 0, "SECONDS", "with --messages: how far back; default: 60"},
        {"export", 0, "FILE", "what befell the cluster, as a scenario for elect sim"}};
    struct history_options h = {0};
    struct verb_spec spec = {
        .name = "history",
        .usage = "history [-g GROUP] [--messages | --export FILE] [OPTIONS]",
        .text =
            "What has changed lately, and why.\nExit: 0; 1 refused, 3 no daemon answers, 64 bad "
            "usage, 78 no configuration.",
        .own = own,
        .owns = 3,
        .take = take_history,
        .context = &h};
    struct asked_for a;
    uint64_t seconds = 60;
    size_t i;
    json_t *line;
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    if (h.seconds != NULL && (!parse_number(h.seconds, 86400, &seconds) || !h.messages))
        return args_complain(a.verb, "--last",
                             h.messages ? "expected a number of seconds, up to 86400"
                                        : "it goes with --messages");
    if (h.export != NULL)
        return h.messages ? args_complain(a.verb, "--export", "it does not go with --messages")
                          : export_history(&a, h.export);
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
    const char *group = field_text(line, "group");
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
        .text = "What is, then every change, a line each, until interrupted.\nExit: 0; 1 no such "
                "group, 3 no daemon answers, or it has ended; 64 bad usage, 78 no configuration."};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    json_t *request = question("watch");
    if (a.group != NULL)
        json_object_set_new(request, "group", json_string(a.group));
    return ask_stream(&a, request, show_line, &a);
}
