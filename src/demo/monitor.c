/* Asks the members for their status and steps without blocking, and merges the answers into one
 * chronicle. */
#include "monitor.h"

#include "../base/json.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_ROOM 16384
#define MOST_ROOM  (1 << 20)
#define SECOND     1000000
/* Time limit for an answer. A watch has none, because its answer never ends. */
#define PATIENCE SECOND
#define TOGETHER SECOND /* maximum time between equal steps on one line */

/* ---- conversations ---- */

static void hang_up(struct conversation *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->length = 0;
}

static void call(struct monitor *e, unsigned member, enum monitor_ask what)
{
    struct conversation *c = &e->talk[member][what];
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    static const char *const verbs[] = {[MONITOR_STATUS] = "status",
                                        [MONITOR_STORY] = "messages",
                                        [MONITOR_WATCH] = "watch",
                                        [MONITOR_TELL] = "resign"};
    char request[128];
    int length =
        snprintf(request, sizeof request, "{\"verb\": \"%s\", \"loud\": true, \"from\": %lld}\n",
                 verbs[what], (long long)e->story_next[member]);
    cluster_socket(e->cluster, member, what == MONITOR_TELL ? "admin" : "status", at.sun_path,
                   sizeof at.sun_path);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    c->began = boottime_now();
    if (c->fd >= 0 && (connect(c->fd, (struct sockaddr *)&at, sizeof at) != 0 ||
                       send(c->fd, request, (size_t)length, MSG_NOSIGNAL) != length))
        hang_up(c);
}

void monitor_look(struct monitor *e)
{
    int64_t now = boottime_now();
    for (unsigned i = 0; i < e->cluster->members; i++) {
        bool runs = atomic_load(&e->cluster->page->runs[i]);
        for (unsigned k = 0; k < MONITOR_ASKS; k++) {
            struct conversation *c = &e->talk[i][k];
            if (c->fd >= 0 && k < MONITOR_WATCH && now - c->began > PATIENCE)
                hang_up(c);
            if (c->fd < 0 && runs && k != MONITOR_TELL)
                call(e, i, (enum monitor_ask)k);
        }
        if (!runs) /* a restarted member numbers its steps from 0 */
            e->story_next[i] = 0;
    }
}

unsigned monitor_poll(const struct monitor *e, struct pollfd *fd)
{
    unsigned count = 0;
    for (unsigned i = 0; i < e->cluster->members; i++)
        for (unsigned k = 0; k < MONITOR_ASKS; k++)
            if (e->talk[i][k].fd >= 0)
                fd[count++] = (struct pollfd){.fd = e->talk[i][k].fd, .events = POLLIN};
    return count;
}

/* ---- the chronicle ---- */

static bool is_one_of(const char *rule, const char *const *rules, size_t count)
{
    size_t i = 0;
    while (i < count && strcmp(rule, rules[i]) != 0)
        i++;
    return i < count;
}

/* Returns true if two lines can be merged: the same step of different members. Steps to
 * candidate or leader are never merged. */
static bool is_same(const struct line *a, const struct line *b)
{
    static const char *const alone[] = {"PREVOTES", "CONFIRMS", "CERTIFIED", "TAKES_OFFICE"};
    return a->rule[0] != '\0' && strcmp(a->rule, b->rule) == 0 && strcmp(a->a, b->a) == 0 &&
           strcmp(a->b, b->b) == 0 && b->at - a->at < TOGETHER && a->at - b->at < TOGETHER &&
           !is_one_of(a->rule, alone, sizeof alone / sizeof alone[0]);
}

/* Inserts a line in order of time. Later lines may already be there, because members report with
 * different delays. */
static void add_line(struct monitor *e, const struct line *new)
{
    for (unsigned k = e->lines; k-- > 0;)
        if (is_same(&e->line[k], new)) {
            e->line[k].others |= 1u << new->member;
            return;
        }
    if (e->lines == MONITOR_LINES)
        memmove(&e->line[0], &e->line[1], --e->lines * sizeof e->line[0]);
    unsigned i = e->lines++;
    for (; i > 0 && e->line[i - 1].at > new->at; i--)
        e->line[i] = e->line[i - 1];
    e->line[i] = *new;
    text_clean(e->line[i].text);
}

void monitor_note(struct monitor *e, int64_t at, const char *text)
{
    struct line hand = {.at = at, .member = CLUSTER_MEMBERS};
    snprintf(hand.text, sizeof hand.text, "%s", text);
    add_line(e, &hand);
}

void monitor_line(const struct line *l, char *text, size_t room)
{
    unsigned others = l->member < CLUSTER_MEMBERS ? l->others & ~(1u << l->member) : 0;
    size_t length = (size_t)snprintf(text, room, "%s%s", l->text,
                                     others == 0                    ? ""
                                     : (others & (others - 1)) == 0 ? "; so does"
                                                                    : "; so do");
    for (unsigned i = 0; i < CLUSTER_MEMBERS && length < room; i++)
        if ((others >> i & 1) != 0)
            length += (size_t)snprintf(text + length, room - length, " %u", i + 1);
}

static void open_office(struct monitor *e, unsigned member, int64_t from)
{
    if (e->offices == MONITOR_OFFICES)
        memmove(&e->office[0], &e->office[1], --e->offices * sizeof e->office[0]);
    e->opened++;
    e->office[e->offices++] = (struct office){.member = member, .from = from};
}

static struct office *open_office_of(struct monitor *e, unsigned member)
{
    for (unsigned i = 0; i < e->offices; i++)
        if (e->office[i].member == member && e->office[i].until == 0)
            return &e->office[i];
    return NULL;
}

static void close_office(struct monitor *e, unsigned member, int64_t until)
{
    struct office *o = open_office_of(e, member);
    if (o != NULL)
        o->until = until > o->from ? until : o->from;
}

void monitor_killed(struct monitor *e, unsigned member, int64_t at)
{
    close_office(e, member, at);
    e->seen[member].at = 0;
    e->story_next[member] = 0;
    for (unsigned k = 0; k < MONITOR_ASKS; k++)
        hang_up(&e->talk[member][k]);
}

/* ---- the answers ---- */

static unsigned member_called(const struct monitor *e, const char *name)
{
    unsigned number = (unsigned)strtoul(name, NULL, 10);
    return number >= 1 && number <= e->cluster->members ? number - 1 : CLUSTER_MEMBERS;
}

static void count_traffic(struct seen *s, const json_t *traffic, int64_t now)
{
    uint64_t sent = (uint64_t)field_integer(traffic, "sent");
    uint64_t taken = (uint64_t)field_integer(traffic, "taken");
    double seconds = (double)(now - s->counted) / SECOND;
    if (s->counted != 0 && seconds < 1 && sent >= s->sent)
        return;
    bool counts = s->counted != 0 && sent >= s->sent && taken >= s->taken;
    s->sends = counts ? (double)(sent - s->sent) / seconds : 0;
    s->takes = counts ? (double)(taken - s->taken) / seconds : 0;
    s->sent = sent;
    s->taken = taken;
    s->counted = now;
}

static void take_status(struct monitor *e, unsigned member, const json_t *o)
{
    struct seen *s = &e->seen[member];
    const json_t *g = json_array_get(json_object_get(o, "groups"), 0);
    s->at = e->talk[member][MONITOR_STATUS].began;
    s->leads = json_is_true(json_object_get(g, "leads"));
    s->leader = member_called(e, field_text(g, "leader"));
    s->term = (uint64_t)field_integer(g, "term");
    s->until = s->at;
    if (s->leads)
        s->until += (int64_t)(field_number(g, "lease_left_ms") * 1000);
    struct office *held = open_office_of(e, member);
    if (s->leads && held != NULL && e->cluster->mandate != ELECT_NO_MANDATE)
        held->lease = s->until;
    snprintf(s->state, sizeof s->state, "%s", field_text(g, "state"));
    count_traffic(s, json_object_get(o, "traffic"), s->at);
}

static void take_story(struct monitor *e, unsigned member, const json_t *o)
{
    size_t i;
    json_t *m;
    json_array_foreach(json_object_get(o, "messages"), i, m)
    {
        /* Left out: steps that change nothing or only show that a member is alive. */
        static const char *const dull[] = {"GRANTS_AGAIN", "RENEWED",      "HEARD_LEADER",
                                           "OK_TOO_LATE",  "TERM_IS_OVER", "WAITS_ALREADY"};
        struct line l = {.at = field_integer(m, "at_us"), .member = member};
        const char *message = field_text(m, "message");
        snprintf(l.rule, sizeof l.rule, "%s", field_text(m, "rule"));
        snprintf(l.a, sizeof l.a, "%s", field_text(m, "a"));
        snprintf(l.b, sizeof l.b, "%s", field_text(m, "b"));
        if (is_one_of(l.rule, dull, sizeof dull / sizeof dull[0]))
            continue;
        if (*message != '\0' && json_object_get(m, "from") != NULL)
            snprintf(l.text, sizeof l.text, "%u < %s %s: ", member + 1, field_text(m, "from"),
                     message);
        else if (strcmp(field_text(m, "event"), "member") == 0)
            snprintf(l.text, sizeof l.text, "%u learns: ", member + 1);
        size_t length = strlen(l.text);
        snprintf(l.text + length, sizeof l.text - length, "%s", field_text(m, "because"));
        add_line(e, &l);
    }
    e->story_next[member] = field_integer(o, "next");
    if (!json_is_true(json_object_get(o, "more")))
        e->seen[member].told = e->talk[member][MONITOR_STORY].began;
}

static void take_change(struct monitor *e, unsigned member, const json_t *o)
{
    const char *event = field_text(o, "event");
    if (strcmp(event, "leads") == 0 || strcmp(event, "follows") == 0)
        e->seen[member].settled = field_integer(o, "at_us");
    if (json_object_get(o, "state") != NULL) { /* first line of a watch */
        if (!json_is_true(json_object_get(o, "leads")))
            close_office(e, member, boottime_now());
        else if (open_office_of(e, member) == NULL)
            open_office(e, member, boottime_now());
    } else if (strcmp(event, "leads") == 0) {
        close_office(e, member, field_integer(o, "at_us"));
        open_office(e, member, field_integer(o, "at_us"));
    } else if (strcmp(event, "stopped-leading") == 0) {
        close_office(e, member, field_integer(o, "at_us"));
    }
}

static void take_answer(struct monitor *e, unsigned member, const json_t *o)
{
    char text[MONITOR_TEXT];
    const char *why = field_text(o, "error");
    if (*why != '\0')
        snprintf(text, sizeof text, "%u refuses: %s", member + 1, why);
    else
        snprintf(text, sizeof text, "%s has handed over to %s", field_text(o, "from"),
                 field_text(o, "leader"));
    monitor_note(e, boottime_now(), text);
}

void monitor_resign(struct monitor *e, unsigned member)
{
    if (e->talk[member][MONITOR_TELL].fd < 0)
        call(e, member, MONITOR_TELL);
}

static void take_line(struct monitor *e, unsigned member, enum monitor_ask what, const char *line,
                      size_t length)
{
    json_error_t error;
    json_t *o = json_loadb(line, length, 0, &error);
    if (o != NULL && what == MONITOR_STATUS)
        take_status(e, member, o);
    else if (o != NULL && what == MONITOR_STORY)
        take_story(e, member, o);
    else if (o != NULL && what == MONITOR_WATCH)
        take_change(e, member, o);
    else if (o != NULL)
        take_answer(e, member, o);
    json_decref(o);
}

static bool make_room(struct conversation *c)
{
    if (c->length < c->room)
        return true;
    size_t room = c->room == 0 ? FIRST_ROOM : 2 * c->room;
    char *bytes = room <= MOST_ROOM ? realloc(c->bytes, room) : NULL;
    if (bytes == NULL)
        return false;
    c->bytes = bytes;
    c->room = room;
    return true;
}

static void listen_to(struct monitor *e, unsigned member, enum monitor_ask what)
{
    struct conversation *c = &e->talk[member][what];
    char *end;
    ssize_t got = make_room(c) ? recv(c->fd, c->bytes + c->length, c->room - c->length, 0) : 0;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        hang_up(c);
        return;
    }
    c->length += (size_t)got;
    while (c->fd >= 0 && (end = memchr(c->bytes, '\n', c->length)) != NULL) {
        size_t length = (size_t)(end - c->bytes);
        take_line(e, member, what, c->bytes, length);
        c->length -= length + 1;
        memmove(c->bytes, end + 1, c->length);
        if (what != MONITOR_WATCH)
            hang_up(c);
    }
}

void monitor_take(struct monitor *e)
{
    for (unsigned i = 0; i < e->cluster->members; i++)
        for (unsigned k = 0; k < MONITOR_ASKS; k++) {
            struct pollfd fd = {.fd = e->talk[i][k].fd, .events = POLLIN};
            if (fd.fd >= 0 && poll(&fd, 1, 0) == 1)
                listen_to(e, i, (enum monitor_ask)k);
        }
}

void monitor_begin(struct monitor *e, const struct cluster *g)
{
    memset(e, 0, sizeof *e);
    e->cluster = g;
    for (unsigned i = 0; i < CLUSTER_MEMBERS; i++) {
        e->seen[i].leader = CLUSTER_MEMBERS;
        for (unsigned k = 0; k < MONITOR_ASKS; k++)
            e->talk[i][k].fd = -1;
    }
}

void monitor_end(struct monitor *e)
{
    for (unsigned i = 0; i < CLUSTER_MEMBERS; i++)
        for (unsigned k = 0; k < MONITOR_ASKS; k++) {
            hang_up(&e->talk[i][k]);
            free(e->talk[i][k].bytes);
        }
}

/* ---- conclusions ---- */

bool monitor_answers(const struct monitor *e, unsigned member)
{
    const struct cluster_page *page = e->cluster->page;
    return atomic_load(&page->runs[member]) && !atomic_load(&page->stands[member]) &&
           e->seen[member].at != 0 && boottime_now() - e->seen[member].at < PATIENCE;
}

/* Returns true if the member leads, as far as its answers show. With a mandate, they say when
 * its term ends. Without one, it counts as leader until its next answer is overdue. */
bool monitor_leads(const struct monitor *e, unsigned member)
{
    return monitor_answers(e, member) && e->seen[member].leads &&
           (e->cluster->mandate == ELECT_NO_MANDATE || boottime_now() < e->seen[member].until);
}

unsigned monitor_leaders(const struct monitor *e, unsigned leader[CLUSTER_MEMBERS])
{
    unsigned count = 0;
    for (unsigned i = 0; i < e->cluster->members; i++)
        if (monitor_leads(e, i))
            leader[count++] = i;
    return count;
}

unsigned monitor_agreed(const struct monitor *e, unsigned part)
{
    unsigned leader = CLUSTER_MEMBERS;
    for (unsigned i = 0; i < e->cluster->members; i++) {
        const struct cluster_page *page = e->cluster->page;
        if (atomic_load(&page->part[i]) != part || !atomic_load(&page->runs[i]) ||
            atomic_load(&page->stands[i]))
            continue;
        unsigned follows = e->seen[i].leads ? i : e->seen[i].leader;
        if (!monitor_answers(e, i) || follows == CLUSTER_MEMBERS ||
            (leader != CLUSTER_MEMBERS && follows != leader))
            return CLUSTER_MEMBERS;
        leader = follows;
    }
    return leader != CLUSTER_MEMBERS && monitor_leads(e, leader) ? leader : CLUSTER_MEMBERS;
}

bool monitor_told(const struct monitor *e, int64_t time)
{
    const struct cluster_page *page = e->cluster->page;
    bool all = true;
    for (unsigned i = 0; i < e->cluster->members; i++)
        all = all && (!atomic_load(&page->runs[i]) || atomic_load(&page->stands[i]) ||
                      e->seen[i].told >= time);
    return all;
}

const struct office *monitor_office(const struct monitor *e, unsigned member, int64_t since)
{
    const struct office *first = NULL;
    for (unsigned i = 0; i < e->offices; i++)
        if (e->office[i].from > since &&
            (member == CLUSTER_MEMBERS || e->office[i].member == member) &&
            (first == NULL || e->office[i].from < first->from))
            first = &e->office[i];
    return first;
}

/* Returns the end of a term in office. A suspended member cannot report it, so its term ends with
 * its lease. */
static int64_t end_of(const struct office *o, int64_t now)
{
    int64_t end = o->until != 0 ? o->until : now;
    return o->lease > o->from && o->lease < end ? o->lease : end;
}

/* Returns the latest end of a term that began before `time`, or INT64_MIN if there is none. */
static int64_t led_until(const struct monitor *e, int64_t time, int64_t now)
{
    int64_t latest = INT64_MIN;
    for (unsigned i = 0; i < e->offices; i++) {
        const struct office *o = &e->office[i];
        int64_t end = end_of(o, now);
        if (o->from < time && end > latest)
            latest = end;
    }
    return latest;
}

int64_t monitor_longest_gap(const struct monitor *e, int64_t now)
{
    int64_t longest = 0;
    for (unsigned i = 0; i <= e->offices; i++) {
        int64_t from = i < e->offices ? e->office[i].from : now;
        int64_t before = led_until(e, from, now);
        if (before != INT64_MIN && from - before > longest)
            longest = from - before;
    }
    return longest;
}

int64_t monitor_two_at_once(const struct monitor *e, int64_t since, int64_t now)
{
    int64_t longest = 0;
    for (unsigned i = 0; i < e->offices; i++)
        for (unsigned j = 0; j < e->offices; j++) {
            const struct office *a = &e->office[i], *b = &e->office[j];
            int64_t end_a = end_of(a, now), end_b = end_of(b, now);
            int64_t from = a->from > b->from ? a->from : b->from;
            int64_t until = end_a < end_b ? end_a : end_b;
            if (a->member < b->member && from >= since && until - from > longest)
                longest = until - from;
        }
    return longest;
}
