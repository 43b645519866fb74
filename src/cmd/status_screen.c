/* Prints the status for operators: the leader on the first line, then whether it is likely to
 * stay in office. */
#include "status_screen.h"

#include "../base/clock.h"
#include "../base/json.h"
#include "../base/text.h"
#include "args.h"
#include "elect.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND     1000000
#define NAME_WIDTH 16 /* columns; longer names get a separate line */

/* ---- times ---- */

static void add_duration(struct text *t, double seconds)
{
    char text[64];
    long s = seconds > 0 ? (long)seconds : 0;
    if (s < 120)
        snprintf(text, sizeof text, "%ld s", s);
    else if (s < 7200)
        snprintf(text, sizeof text, "%ld min", s / 60);
    else if (s < 172800)
        snprintf(text, sizeof text, "%ld h %ld min", s / 3600, s / 60 % 60);
    else
        snprintf(text, sizeof text, "%ld d %ld h", s / 86400, s / 3600 % 24);
    text_add(t, text);
}

/* Adds a date and how long ago it was by the local clock. */
static void add_date(struct text *t, const char *date)
{
    struct tm tm = {0};
    text_add(t, date);
    if (sscanf(date, "%d-%d-%dT%d:%d:%d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec) != 6)
        return;
    tm.tm_year -= 1900;
    tm.tm_mon--;
    text_add(t, " (");
    add_duration(t, (double)(date_now() / SECOND - timegm(&tm)));
    text_add(t, ")");
}

/* ---- a group ---- */

static bool has_quorum(const json_t *group)
{
    const json_t *q = json_object_get(group, "quorum");
    return field_integer(q, "reachable") >= field_integer(q, "needed");
}

static void add_leader(struct text *t, const json_t *group)
{
    char term[ELECT_TERM_TEXT];
    text_add(t, "group ");
    text_add(t, field_text(group, "group"));
    text_add(t, ": ");
    if (!json_is_string(json_object_get(group, "leader"))) {
        text_add(t, "no leader is known; this member ");
        text_add(t, field_text(group, "state"));
        return;
    }
    text_add(t, field_text(group, "leader"));
    text_add(t, " leads");
    if (json_is_null(json_object_get(group, "quorum")))
        text_add(t, " without a mandate");
    if (!json_is_integer(json_object_get(group, "term")))
        return;
    text_add(t, " in term ");
    text_add(t, elect_term_text((elect_term)field_integer(group, "term"), term));
}

/* Adds the words before the date since when this member knows the leader. Returns false if there
 * is no such date. A follower learns of its leader only after the election, or after its own
 * start. */
static bool add_since(struct text *t, const json_t *group)
{
    if (!json_is_string(json_object_get(group, "since")))
        return false;
    text_add(t, field_is_true(group, "leads") ? " since " : ", known since ");
    return true;
}

void status_print_group(const json_t *group)
{
    struct text t;
    text_clear(&t);
    add_leader(&t, group);
    if (add_since(&t, group))
        text_add(&t, field_text(group, "since"));
    if (!has_quorum(group))
        text_add(&t, "; no quorum");
    if (field_is_true(group, "paused"))
        text_add(&t, "; paused");
    if (field_is_true(json_object_get(group, "work"), "running"))
        text_add(&t, "; work runs here");
    puts(t.bytes);
}

static void print_quorum(const json_t *group)
{
    const json_t *q = json_object_get(group, "quorum"), *left;
    char text[128];
    struct text t;
    if (json_is_null(q))
        return;
    text_clear(&t);
    left = json_object_get(group, "lease_left_ms");
    if (json_is_real(left)) {
        snprintf(text, sizeof text, "lease left: %.0f ms; ", json_real_value(left));
        text_add(&t, text);
    }
    snprintf(text, sizeof text, "%squorum: %lld of %lld voters reachable, %lld needed",
             has_quorum(group) ? "" : "no ", (long long)field_integer(q, "reachable"),
             (long long)field_integer(q, "voters"), (long long)field_integer(q, "needed"));
    text_add(&t, text);
    if (json_is_string(json_object_get(group, "heir"))) {
        text_add(&t, "; heir: ");
        text_add(&t, field_text(group, "heir"));
    }
    printf("  ");
    args_wrapped(t.bytes, 2);
    if (field_is_true(group, "paused"))
        puts("  elections are paused: a leader that fails is not replaced (elect resume)");
}

static void add_running(struct text *t, const json_t *work)
{
    const char *command = field_text(work, "command");
    bool named = command[0] != '\0';
    char pid[64] = "";
    if (json_is_integer(json_object_get(work, "pid")))
        snprintf(pid, sizeof pid, named ? " (pid %lld)" : ", pid %lld",
                 (long long)field_integer(work, "pid"));
    text_add(t, "runs");
    text_add(t, named ? " " : "");
    text_add(t, command);
    text_add(t, named ? pid : "");
    text_add(t, " since ");
    add_date(t, field_text(work, "since"));
    text_add(t, named ? "" : pid);
}

static void add_restart(struct text *t, const json_t *work)
{
    char text[96];
    snprintf(text, sizeof text, "none: the command failed, and elect run (pid %lld) restarts it",
             (long long)field_integer(work, "runner_pid"));
    text_add(t, text);
}

static void add_run(struct text *t, const json_t *work)
{
    char text[64];
    add_running(t, work);
    snprintf(text, sizeof text, " (elect run: pid %lld), in a %s",
             (long long)field_integer(work, "runner_pid"), field_text(work, "containment"));
    text_add(t, text);
}

/* Prints what the leader, another member, last reported about its work. */
static void print_leader_work(const json_t *group)
{
    const json_t *work = json_object_get(group, "leader_work");
    char age[64];
    struct text t;
    if (!json_is_object(work))
        return;
    text_clear(&t);
    text_add(&t, "work on ");
    text_add(&t, field_text(group, "leader"));
    text_add(&t, ": ");
    if (field_is_true(work, "running"))
        add_running(&t, work);
    else
        text_add(&t, "none");
    snprintf(age, sizeof age, ", as of %.0f s ago", field_number(work, "heard_ms_ago") / 1000);
    text_add(&t, age);
    printf("  ");
    args_wrapped(t.bytes, 2);
}

static void print_work(const json_t *group)
{
    const json_t *work = json_object_get(group, "work");
    long long waiting = field_integer(work, "waiting");
    bool aside = json_is_string(json_object_get(group, "aside_because"));
    bool backs_off = json_is_real(json_object_get(work, "backoff_seconds"));
    bool leads = field_is_true(group, "leads");
    struct text t;
    text_clear(&t);
    if (field_is_true(work, "running"))
        add_run(&t, work);
    else if (field_is_true(work, "restarting"))
        add_restart(&t, work);
    else if (leads || waiting > 0 || backs_off || aside)
        text_add(&t, "none");
    if (waiting > 0) {
        text_add(&t, "; waiting runs: ");
        text_add_number(&t, (uint64_t)waiting);
    }
    if (backs_off) {
        text_add(&t, "; the next run may start in ");
        add_duration(&t, field_number(work, "backoff_seconds") + 1);
    }
    if (aside) {
        text_add(&t, "; this member stands aside: ");
        text_add(&t, field_text(group, "aside_because"));
    }
    if (t.length > 0) {
        printf("  work here: ");
        args_wrapped(t.bytes, 13);
    }
    if (!field_is_true(group, "none_ready"))
        return;
    printf("  ");
    args_wrapped(field_is_true(group, "lead_only_with_runner")
                     ? "no member can be elected, because none has a run that is ready to work "
                       "(lead-only-with-runner = yes): start elect run on a member"
                     : "no member can be elected: all that are up stand aside, because their "
                       "runs failed or are unhealthy (see elect history on each)",
                 2);
}

static void print_group(const json_t *group)
{
    struct text t;
    text_clear(&t);
    add_leader(&t, group);
    if (add_since(&t, group))
        add_date(&t, field_text(group, "since"));
    args_wrapped(t.bytes, 0);
    print_quorum(group);
    print_leader_work(group);
    print_work(group);
}

/* ---- the members ---- */

static bool contains(const json_t *names, const char *name)
{
    size_t i;
    json_t *one;
    bool found = false;
    json_array_foreach(names, i, one) found = found || strcmp(json_string_value(one), name) == 0;
    return found;
}

/* Returns "yes", "some" or "no": whether the member votes in all, some or none of the groups
 * shown. */
static const char *vote_of(const json_t *groups, const char *name)
{
    size_t i, votes = 0;
    json_t *group;
    json_array_foreach(groups, i, group) votes += contains(json_object_get(group, "voters"), name);
    return votes == 0 ? "no" : votes == json_array_size(groups) ? "yes" : "some";
}

/* Returns the member's role in the group: "leader", "aside", "heir" or "". Always "" if several
 * groups are shown. */
static const char *part_of(const json_t *groups, const char *name)
{
    const json_t *group = json_array_get(groups, 0);
    if (json_array_size(groups) != 1)
        return "";
    return strcmp(field_text(group, "leader"), name) == 0    ? "leader"
           : contains(json_object_get(group, "aside"), name) ? "aside"
           : strcmp(field_text(group, "heir"), name) == 0    ? "heir"
                                                             : "";
}

static void add_heard(struct text *t, const json_t *peer)
{
    const json_t *heard = json_object_get(peer, "heard_ms_ago");
    double seconds = json_real_value(heard) / 1000;
    char text[32];
    if (!json_is_real(heard)) {
        text_add(t, "never");
        return;
    }
    snprintf(text, sizeof text, "%.1f s", seconds);
    if (seconds < 10)
        text_add(t, text);
    else
        add_duration(t, seconds);
    text_add(t, " ago");
}

static size_t width_of_names(const json_t *status)
{
    size_t i, width = strlen(field_text(status, "member"));
    json_t *p;
    json_array_foreach(json_object_get(status, "members"), i, p)
    {
        size_t length = strlen(field_text(p, "member"));
        width = length > width ? length : width;
    }
    return width < 6 ? 6 : width > NAME_WIDTH ? NAME_WIDTH : width;
}

static void print_row(const json_t *status, const json_t *member, const char *state,
                      const char *heard, const char *links)
{
    const json_t *groups = json_object_get(status, "groups");
    const char *name = field_text(member, "member");
    char row[512];
    size_t width = width_of_names(status);
    bool alone = strlen(name) > width;
    if (alone)
        printf("  %s\n", name);
    int length = snprintf(row, sizeof row, "  %-*s %5lld  %-8s %5lld  %-4s  %-5s  %-12s %-5s %s",
                          (int)width, alone ? "" : name, (long long)field_integer(member, "id"),
                          field_text(member, "role"), (long long)field_integer(member, "priority"),
                          vote_of(groups, name), state, heard, links, part_of(groups, name));
    while (length > 0 && length < (int)sizeof row && row[length - 1] == ' ')
        row[--length] = '\0';
    puts(row);
}

static void print_problems(const json_t *peer)
{
    const json_t *rejected = json_object_get(peer, "rejected");
    if (json_is_object(rejected))
        printf("    its packets are rejected: %s\n", field_text(rejected, "reason"));
    if (json_is_false(json_object_get(peer, "same_configuration")))
        puts("    its configuration differs");
    if (json_is_false(json_object_get(peer, "same_keys")))
        puts("    it accepts different keys");
}

static void print_peer(const json_t *status, const json_t *peer, bool addresses)
{
    const json_t *all = json_object_get(peer, "links");
    struct text heard;
    char links[32];
    size_t i, up = 0;
    json_t *link;
    json_array_foreach(all, i, link) up += field_is_true(link, "up");
    snprintf(links, sizeof links, "%zu/%zu", up, json_array_size(all));
    text_clear(&heard);
    add_heard(&heard, peer);
    print_row(status, peer, field_is_true(peer, "up") ? "up" : "down", heard.bytes, links);
    print_problems(peer);
    json_array_foreach(all, i, link)
    {
        const char *address = field_text(link, "address");
        if (addresses)
            printf("    %s %s\n", *address != '\0' ? address : "address not known",
                   field_is_true(link, "up") ? "up" : "down");
    }
}

static void print_table(const json_t *status, bool addresses)
{
    size_t i;
    json_t *p;
    printf("  %-*s %5s  %-8s %5s  %-4s  %-5s  %-12s %s\n", (int)width_of_names(status), "member",
           "id", "role", "prio", "vote", "state", "heard", "links");
    print_row(status, status, "here", "", "");
    json_array_foreach(json_object_get(status, "members"), i, p) print_peer(status, p, addresses);
}

void status_print_members(const json_t *status) { print_table(status, true); }

/* ---- the screen ---- */

static void print_worst(const json_t *status)
{
    const json_t *worst = json_object_get(status, "worst");
    struct text t;
    if (!json_is_object(worst))
        return;
    text_clear(&t);
    text_add(&t, field_text(worst, "severity"));
    text_add(&t, ": ");
    text_add(&t, field_text(worst, "area"));
    text_add(&t, " ");
    text_add(&t, field_text(worst, "object"));
    text_add(&t, ": ");
    text_add(&t, field_text(worst, "what"));
    text_add(&t, " (see elect doctor)");
    args_wrapped(t.bytes, 0);
}

void status_print(const json_t *status)
{
    const json_t *groups = json_object_get(status, "groups");
    size_t i;
    json_t *group;
    struct text up;
    json_array_foreach(groups, i, group) print_group(group);
    print_table(status, false);
    print_worst(status);
    text_clear(&up);
    add_duration(&up, field_number(status, "up_seconds"));
    printf("member %s (%lld), incarnation %lld, up for %s, elect %s\ncluster %s\n",
           field_text(status, "member"), (long long)field_integer(status, "id"),
           (long long)field_integer(status, "incarnation"), up.bytes, field_text(status, "version"),
           field_text(status, "cluster"));
}
