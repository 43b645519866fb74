/* The demonstration without a user: a script injects faults and prints the members' steps and
 * the duration of each change. */
#include "demo.h"
#include "guide.h"

#include <stdio.h>
#include <string.h>

#define SETTLE 300000 /* microseconds */
#define WIDTH  80
#define MARGIN 11

struct script {
    struct demo *d;
    bool quiet;
    int64_t act;
    unsigned leader;
    unsigned found; /* leader found by the last wait */
};

/* ---- printing ---- */

static void print_wrapped(const char *text)
{
    size_t room = WIDTH - MARGIN;
    for (bool first = true; *text != '\0' || first; first = false) {
        size_t length = text_fits(text, room);
        printf("%*s%.*s\n", first ? 0 : MARGIN, "", (int)length, text);
        text += length;
        text += *text == ' ';
    }
}

static void tell_story(struct script *s)
{
    const struct monitor *e = &s->d->monitor;
    for (unsigned i = 0; i < e->lines && !s->quiet; i++) {
        const struct line *line = &e->line[i];
        if (line->at < s->act)
            continue;
        char text[MONITOR_TEXT + 32];
        monitor_line(line, text, sizeof text);
        printf("%7.1f ms ", (double)(line->at - s->act) / 1000);
        print_wrapped(text);
    }
    fflush(stdout);
}

static void begin_act(struct script *s, const char *title)
{
    s->act = boottime_now();
    if (!s->quiet)
        printf("\n%s\n", title);
    fflush(stdout);
}

/* ---- waiting ---- */

/* Returns the leader that meets the condition, or CLUSTER_MEMBERS if none does yet. */
typedef unsigned condition(const struct script *s);

static const struct office *office_of(const struct script *s, unsigned member)
{
    const struct office *last = NULL;
    for (unsigned i = 0; i < s->d->monitor.offices; i++)
        if (s->d->monitor.office[i].member == member)
            last = &s->d->monitor.office[i];
    return last;
}

/* All members agree on a leader, and it is known when it took office. */
static unsigned agreed(const struct script *s)
{
    unsigned leader = monitor_agreed(&s->d->monitor, 0);
    const struct office *office = leader != CLUSTER_MEMBERS ? office_of(s, leader) : NULL;
    return office != NULL && office->until == 0 ? leader : CLUSTER_MEMBERS;
}

static unsigned agreed_on_new(const struct script *s)
{
    unsigned leader = agreed(s);
    return leader != s->leader ? leader : CLUSTER_MEMBERS;
}

/* The majority has a new leader. With a mandate, the old one must also have stopped. */
static unsigned parted(const struct script *s)
{
    const struct office *old = office_of(s, s->leader);
    bool fine = s->d->cluster.mandate == ELECT_NO_MANDATE || (old != NULL && old->until != 0);
    return fine ? agreed_on_new(s) : CLUSTER_MEMBERS;
}

/* Waits until the condition has held for a short time and all members have reported their steps
 * up to then. After too long, sets `complaint` and returns false. */
static bool wait_for(struct script *s, condition *leader, const char *what, struct text *complaint)
{
    int64_t since = 0;
    s->found = CLUSTER_MEMBERS;
    while (s->found == CLUSTER_MEMBERS || boottime_now() < since + SETTLE ||
           !monitor_told(&s->d->monitor, since)) {
        if (!demo_turn(s->d))
            return false;
        unsigned now = leader(s);
        since = now == s->found ? since : boottime_now();
        s->found = now;
        if (boottime_now() > s->d->began + s->d->limit)
            return text_complain(complaint, what, "did not happen in time",
                                 " (is the machine busy?): allow more time with --limit");
    }
    return true;
}

/* Returns the time from `since` until the last member became leader or follower. */
static int64_t settled_since(const struct script *s, int64_t since)
{
    int64_t last = since;
    for (unsigned i = 0; i < s->d->cluster.members; i++)
        last = s->d->monitor.seen[i].settled > last ? s->d->monitor.seen[i].settled : last;
    return last - since;
}

/* ---- acts ---- */

/* Returns the time from `since` until this member took office, or -1 if it has not.
 * CLUSTER_MEMBERS stands for any member. */
static int64_t took_office(const struct script *s, unsigned member, int64_t since)
{
    const struct office *office = monitor_office(&s->d->monitor, member, since);
    return office != NULL ? office->from - since : -1;
}

static bool start(struct script *s, struct demo_measured *m, struct text *complaint)
{
    begin_act(s, "All processes start.");
    s->act = s->d->began;
    if (!wait_for(s, agreed, "a first leader", complaint))
        return false;
    s->leader = s->found;
    m->started = took_office(s, CLUSTER_MEMBERS, s->d->began);
    tell_story(s);
    return true;
}

/* Kills the leader, with or without its guardian, and waits for a new one. On a slow machine, a
 * new leader may be elected just before the kill; *took is then -1. */
static bool crash(struct script *s, enum order order, int64_t *took, struct text *complaint)
{
    unsigned victim = s->leader;
    char title[80];
    snprintf(title, sizeof title, "The leader, %u, %s.", victim + 1,
             order == ORDER_CRASH ? "is lost: kill -9 of its process and of its guardian"
                                  : "crashes: kill -9 of its process");
    begin_act(s, title);
    demo_order(s->d, order, victim);
    int64_t killed = atomic_load(&s->d->cluster.page->done[victim]);
    if (!wait_for(s, agreed_on_new, "a successor", complaint))
        return false;
    *took = took_office(s, CLUSTER_MEMBERS, killed);
    s->leader = s->found;
    tell_story(s);
    return true;
}

static bool recover(struct script *s, int64_t *took, struct text *complaint)
{
    begin_act(s, "It starts again.");
    for (unsigned i = 0; i < s->d->cluster.members; i++)
        while (atomic_load(&s->d->cluster.page->runs[i]) == false) {
            demo_order(s->d, ORDER_START, i);
            if (!demo_turn(s->d))
                return false;
        }
    int64_t began = s->act;
    if (!wait_for(s, agreed, "agreement after a recovery", complaint))
        return false;
    *took = settled_since(s, began);
    s->leader = s->found;
    tell_story(s);
    return true;
}

/* Crashes the leader and restarts it. Repeats this if the killed member no longer led at the
 * kill. */
static bool crash_and_recover(struct script *s, enum order order, int64_t *crashed,
                              int64_t *recovered, struct text *complaint)
{
    do
        if (!crash(s, order, crashed, complaint) || !recover(s, recovered, complaint))
            return false;
    while (*crashed < 0);
    return true;
}

/* Cuts off the leader and as many others as possible, short of a majority. */
static void cut(struct script *s)
{
    struct demo *d = s->d;
    unsigned n = d->cluster.members, off = (n - 1) / 2;
    char text[MONITOR_TEXT] = "the network is partitioned:";
    size_t length = strlen(text);
    for (unsigned i = 0; i < n; i++)
        if (((i + n - s->leader) % n) < off)
            atomic_store(&d->cluster.page->part[i], 1);
    for (unsigned part = 0; part < 2; part++) {
        for (unsigned i = 0; i < n; i++)
            if (atomic_load(&d->cluster.page->part[i]) == 1 - part)
                length += (size_t)snprintf(text + length, sizeof text - length, " %u", i + 1);
        if (part == 0)
            length += (size_t)snprintf(text + length, sizeof text - length, " |");
    }
    monitor_note(&d->monitor, boottime_now(), text);
}

static bool part(struct script *s, struct demo_measured *m, struct text *complaint)
{
    char title[80];
    snprintf(title, sizeof title, "The network is partitioned: the leader, %u, is in the minority.",
             s->leader + 1);
    begin_act(s, title);
    int64_t parts = boottime_now();
    cut(s);
    if (!wait_for(s, parted, "a leader of the majority", complaint))
        return false;
    const struct office *old = office_of(s, s->leader);
    m->stopped = old->until != 0 ? old->until - parts : -1;
    m->parted = took_office(s, s->found, parts);
    s->leader = s->found;
    tell_story(s);
    begin_act(s, "The network is whole again.");
    int64_t heals = boottime_now();
    demo_heal(s->d);
    if (!wait_for(s, agreed, "agreement after a partition", complaint))
        return false;
    m->healed = settled_since(s, heals);
    int64_t two = monitor_two_at_once(&s->d->monitor, parts, boottime_now());
    m->two = two > m->two ? two : m->two;
    s->leader = s->found;
    tell_story(s);
    return true;
}

/* Returns true if the new leader took office after the partition began and, with a mandate, the
 * old one stopped. On a slow machine, another leader may be elected just before the partition,
 * which makes the measurement useless. */
static bool is_measured(const struct demo *d, const struct demo_measured *m)
{
    return m->parted >= 0 && (d->cluster.mandate == ELECT_NO_MANDATE) == (m->stopped < 0);
}

static bool part_until_measured(struct script *s, struct demo_measured *m, struct text *complaint)
{
    do
        if (!part(s, m, complaint))
            return false;
    while (!is_measured(s->d, m));
    return true;
}

bool demo_script(struct demo *d, bool quiet, struct demo_measured *m, struct text *complaint)
{
    struct script s = {.d = d, .quiet = quiet};
    int64_t unused;
    *m = (struct demo_measured){-1, -1, -1, -1, -1, -1, -1, -1};
    return start(&s, m, complaint) &&
           crash_and_recover(&s, ORDER_CRASH, &m->crashed, &m->recovered, complaint) &&
           crash_and_recover(&s, ORDER_KILL, &m->killed, &unused, complaint) &&
           part_until_measured(&s, m, complaint);
}

/* ---- the measurements ---- */

void demo_print(const struct demo *d, const struct demo_measured *m)
{
    bool mandate = d->cluster.mandate != ELECT_NO_MANDATE;
    printf("\nMeasured, with %u processes, %s, mandate %s:\n", d->cluster.members,
           elect_algorithm_name((enum elect_algorithm)d->cluster.algorithm),
           cluster_mandate(&d->cluster));
    guide_print_row("from the start until a process leads", m->started, "");
    guide_print_row("from the loss of the leader's machine until another one leads", m->crashed,
                    "");
    guide_print_row("from its restart until it agrees with the others", m->recovered, "");
    guide_print_row("from kill -9 of the leader's process until another one leads", m->killed, "");
    guide_print_row("from the partition until the old leader has stopped", m->stopped,
                    "it did not");
    guide_print_row("from the partition until the majority has a new leader", m->parted, "");
    guide_print_row("from the end of the partition until all agree", m->healed, "");
    guide_print_row("two led at once, for", m->two > 0 ? m->two : -1, "never");
    if (!mandate)
        puts("\nWithout a mandate, two processes may lead at once: try --mandate majority.");
}
