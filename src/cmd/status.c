/* Verbs that query a daemon: is-leader, leader, status, members, history and watch. */
#include "../base/clock.h"
#include "../base/json.h"
#include "../daemon/log_line.h"
#include "export.h"
#include "member.h"
#include "status_screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE 1 /* seconds */

static json_t *question(const char *verb) { return json_pack("{s:s}", "verb", verb); }

/* ---- is-leader ---- */

int cmd_is_leader(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "is-leader",
        .usage = "is-leader [-g GROUP] [OPTIONS]",
        .text = "Test whether the local member leads at this instant.\n"
                "Exit: 0 yes; 1 no; 2 no leader is known; 3 no "
                "daemon answers; 64 bad usage; 78 configuration "
                "refused."};
    struct asked_for a;
    char term[32];
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    int64_t asked = boottime_now();
    json_t *o = ask_daemon(&a, "status", question("is-leader"), PATIENCE, &status);
    /* EXIT_NO would mean that the member does not lead, but without an answer it means that the
     * group does not exist. */
    if (o == NULL)
        return status == EXIT_NO ? EXIT_USAGE : status;
    /* Count from before the request, so that a suspended process never reports a leader whose
     * term has ended. */
    bool leads = field_is_true(o, "leads") && boottime_now() < asked + field_integer(o, "left_us");
    bool known = field_is_true(o, "known");
    json_object_set_new(o, "leads", json_boolean(leads));
    if (!leads)
        json_object_set_new(o, "left_us", json_null());
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
        .text =
            "Print the name of the leader that the local member follows.\nExit: 0 success; 2 no "
            "leader is known; 3 no daemon answers; 64 bad usage; 78 configuration refused."};
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
        .text =
            "Show the leader and how long it has led, the quorum, the work on this machine, all "
            "members, and the worst finding, on one screen.\nExit: 0 success; 1 no such group; 3 "
            "no daemon answers; 64 bad usage; 78 configuration refused."};
    return show_status(&spec, argc, argv, status_print, NULL);
}

int cmd_members(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "members",
        .without = 1 << ASK_GROUP,
        .usage = "members [OPTIONS]",
        .text =
            "Show the members as the local member sees them: for each member its role, its vote, "
            "when it was last heard, its links, and its problems.\nExit: 0 success; 3 no daemon "
            "answers; 64 bad usage; 78 configuration refused."};
    return show_status(&spec, argc, argv, status_print_members, "members");
}

/* ---- history, watch ---- */

static void print_entry(const json_t *e)
{
    struct text prose;
    text_clear(&prose);
    log_line_prose(e, &prose);
    printf("%s %-7s %s\n", field_text(e, "time"), field_text(e, "level"), prose.bytes);
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

/* Returns the flight recorder's entries, read page by page. On failure, prints the reason, sets
 * `status` to an exit status and returns NULL. */
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
        {"messages", 0, NULL,
         "print the flight recorder of the local member: each step and message"},
        {"last", 0, "SECONDS",
         "with --messages: print the last SECONDS seconds, 0 to 86400; default: 60"},
        {"export", 0, "FILE",
         "write the history of all members to FILE, as a scenario for elect sim"}};
    struct history_options h = {0};
    struct verb_spec spec = {.name = "history",
                             .usage = "history [-g GROUP] [--messages | --export FILE] [OPTIONS]",
                             .text = "Print the latest changes and their causes.\nExit: 0 success; "
                                     "1 refused, or no such group; "
                                     "3 no daemon answers; 64 bad usage; 74 FILE cannot be "
                                     "written; 78 configuration refused.",
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
                                        : "use it only with --messages");
    if (h.export != NULL)
        return h.messages ? args_complain(a.verb, "--export",
                                          "cannot be used with --messages: leave one of them out")
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
        status_print_group(line);
    }
    return fflush(stdout) == 0;
}

int cmd_watch(int argc, char **argv)
{
    static const struct verb_spec spec = {
        .name = "watch",
        .usage = "watch [-g GROUP] [OPTIONS]",
        .text =
            "Print the current state of each group, and then one line for each change until the "
            "command is interrupted.\nExit: 0 success; 1 no such group; 3 no daemon answers, or "
            "the daemon has ended or disconnected a reader that was too slow; 64 bad usage; 78 "
            "configuration refused."};
    struct asked_for a;
    int status = ask_parse(&a, &spec, argc, argv);
    if (status < 0)
        return ~status;
    json_t *request = question("watch");
    if (a.group != NULL)
        json_object_set_new(request, "group", json_string(a.group));
    return ask_stream(&a, request, show_line, &a);
}
