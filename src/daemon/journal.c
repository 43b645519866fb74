/* The log: decides which entries are printed, keeps the latest ones in memory, and counts repeated
 * entries of local users instead of printing them all. */
#include "journal.h"

#include "../base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void journal_date(int64_t date, char text[JOURNAL_DATE])
{
    time_t seconds = (time_t)(date / 1000000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t length = strftime(text, JOURNAL_DATE, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + length, JOURNAL_DATE - length, ".%03uZ", (unsigned)(date / 1000 % 1000));
}

void journal_begin(struct journal *j, const struct journal_options *o, const char *member)
{
    j->ring[JOURNAL_RING_OTHERS] = (struct journal_ring){0, JOURNAL_ENTRIES, j->others};
    j->ring[JOURNAL_RING_WORK] = (struct journal_ring){0, JOURNAL_WORK_ENTRIES, j->work};
    j->options = *o;
    j->shared = &j->own;
    j->own.level = o->level;
    snprintf(j->member, sizeof j->member, "%s", member);
    log_stream_open(&j->stream, o->json);
}

/* ---- one line ---- */

static const struct {
    const char *word;
    uint8_t level;
} events[] = {
#define X(name, word, level) {word, LEVEL_##level},
    JOURNAL_EVENTS(X)
#undef X
};

static enum level level_of(const struct journal_entry *e)
{
    return e->level != 0 ? e->level : events[e->event].level;
}

#define LONG_TEXT (JOURNAL_TEXT + 64)

static void text_of(const struct journal_entry *e, char text[LONG_TEXT])
{
    int length = snprintf(text, LONG_TEXT, "%s", e->text);
    if (e->repeated > 0)
        snprintf(text + length, LONG_TEXT - (size_t)length,
                 " (and %llu similar entries within %d s)", (unsigned long long)e->repeated,
                 JOURNAL_WINDOW);
}

static json_t *known(const char *s) { return *s != '\0' ? json_string(s) : json_null(); }

static json_t *line_of(const char *member, const struct journal_entry *e)
{
    char date[JOURNAL_DATE], text[LONG_TEXT];
    journal_date(e->date, date);
    text_of(e, text);
    return json_pack(
        "{s:s, s:s, s:o, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:I, s:I}", "time", date, "level",
        level_words[level_of(e) - LEVEL_FIRST], "group", known(e->group), "text", text, "cause",
        known(e->cause), "event", events[e->event].word, "peer", known(e->peer), "leader",
        known(e->leader), "term", e->term != 0 ? json_integer((json_int_t)e->term) : json_null(),
        "member", known(member), "at_us", (json_int_t)e->at, "repeated", (json_int_t)e->repeated);
}

json_t *journal_json(const struct journal *j, const struct journal_entry *e)
{
    return line_of(j->member, e);
}

bool journal_prints(const struct journal *j, enum level level)
{
    return !j->options.quiet && level <= atomic_load(&j->shared->level);
}

/* Reports the number of lost lines, if any. Returns false if it has to be tried again later. */
static bool report_lost(struct journal *j)
{
    struct journal_entry e = {.event = JOURNAL_LOST, .date = date_now(), .at = boottime_now()};
    if (atomic_load(&j->shared->lost) == 0)
        return true;
    uint64_t lost = atomic_exchange(&j->shared->lost, 0);
    snprintf(e.text, sizeof e.text, "%llu lines of this log were lost", (unsigned long long)lost);
    json_t *line = journal_json(j, &e);
    bool said = log_stream_put(&j->stream, level_of(&e), line);
    json_decref(line);
    if (!said)
        atomic_fetch_add(&j->shared->lost, lost);
    return said;
}

static void print(struct journal *j, enum level level, json_t *line)
{
    if (journal_prints(j, level) && !(report_lost(j) && log_stream_put(&j->stream, level, line)))
        atomic_fetch_add(&j->shared->lost, 1);
    json_decref(line);
}

void journal_print(struct journal *j, const struct journal_entry *e, const char *text, json_t *more)
{
    struct journal_entry now = *e;
    now.date = date_now();
    now.at = boottime_now();
    json_t *line = journal_json(j, &now);
    json_object_set_new(line, "text", json_string(text));
    if (more != NULL)
        json_object_update(line, more);
    json_decref(more);
    print(j, level_of(e), line);
}

#define LONG_COMPLAINT 1024

void journal_complain(const struct journal_options *o, const char *member, const char *why)
{
    struct journal_entry e = {
        .event = JOURNAL_NOT_STARTED, .date = date_now(), .at = boottime_now()};
    struct log_stream stream;
    char text[LONG_COMPLAINT];
    snprintf(text, sizeof text, "%s", why);
    text_clean(text);
    log_stream_open(&stream, o->json);
    if (!o->json && !stream.journal) {
        fprintf(stderr, "elect daemon: %s\n", why);
        return;
    }
    json_t *line = line_of(member, &e);
    json_object_set_new(line, "text", json_string(text));
    log_stream_put(&stream, LEVEL_ERROR, line);
    json_decref(line);
}

/* ---- repetitions ---- */

/* Returns true if the texts differ only in numbers, such as process ids. */
static bool is_alike(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        size_t digits_a = strspn(a, "0123456789"), digits_b = strspn(b, "0123456789");
        if ((digits_a > 0) != (digits_b > 0) || (digits_a == 0 && *a != *b))
            return false;
        a += digits_a > 0 ? digits_a : 1;
        b += digits_b > 0 ? digits_b : 1;
    }
    return *a == *b;
}

/* A user's own words in an entry could make each one differ, so that none would count as a
 * repetition. Entries with such a text have a kind, which is compared instead. */
static bool is_repetition(const struct journal_entry *a, const struct journal_entry *b)
{
    if (a->user != b->user || strcmp(a->group, b->group) != 0)
        return false;
    if (a->kind != NULL && b->kind != NULL)
        return strcmp(a->kind, b->kind) == 0;
    return is_alike(a->text, b->text) && is_alike(a->cause, b->cause);
}

static bool is_over(const struct journal_entry *e, int64_t now)
{
    return now - e->window >= (int64_t)JOURNAL_WINDOW * 1000000;
}

/* Returns the latest similar entry of the same group and user; NULL if there is none in the current
 * time window. */
static struct journal_entry *latest_like(const struct journal_ring *r,
                                         const struct journal_entry *e, int64_t now)
{
    uint64_t oldest = r->count > r->room ? r->count - r->room : 0;
    for (uint64_t i = r->count; i-- > oldest;) {
        struct journal_entry *x = &r->entry[i % r->room];
        if (is_repetition(x, e))
            return is_over(x, now) ? NULL : x;
    }
    return NULL;
}

static void show(struct journal *j, const struct journal_entry *e)
{
    print(j, level_of(e), journal_json(j, e));
    if (j->written != NULL)
        j->written(j->context, e);
}

static void sum_up(struct journal *j, struct journal_entry *e)
{
    if (e->repeated == 0 || e->summed)
        return;
    e->summed = true;
    show(j, e);
}

void journal_sum_up(struct journal *j, bool all)
{
    struct journal_ring *r = &j->ring[JOURNAL_RING_WORK];
    int64_t now = boottime_now();
    for (unsigned i = 0; i < r->room && i < r->count; i++)
        if (all || is_over(&r->entry[i], now))
            sum_up(j, &r->entry[i]);
}

/* ---- writing and reading ---- */

void journal_write(struct journal *j, const struct journal_entry *e)
{
    bool work = e->event == JOURNAL_WORK;
    struct journal_ring *r = &j->ring[work ? JOURNAL_RING_WORK : JOURNAL_RING_OTHERS];
    int64_t now = boottime_now();
    struct journal_entry new = *e;
    text_clean(new.text);
    text_clean(new.cause);
    struct journal_entry *like = work ? latest_like(r, &new, now) : NULL;
    if (like != NULL && like->shown >= JOURNAL_SHOWN) {
        like->repeated++;
        return;
    }
    new.at = e->at != 0 && e->at < now ? e->at : now;
    new.date = date_now();
    new.number = ++j->count;
    new.window = like != NULL ? like->window : now;
    new.shown = like != NULL ? like->shown + 1 : 1;
    struct journal_entry *to = &r->entry[r->count++ % r->room];
    sum_up(j, to);
    *to = new;
    show(j, to);
}

const struct journal_entry *journal_next(const struct journal *j, struct journal_cursor *c)
{
    const struct journal_entry *first = NULL;
    unsigned of = 0;
    for (unsigned i = 0; i < JOURNAL_RINGS; i++) {
        const struct journal_ring *r = &j->ring[i];
        uint64_t oldest = r->count > r->room ? r->count - r->room : 0;
        c->next[i] = c->next[i] > oldest ? c->next[i] : oldest;
        if (c->next[i] == r->count)
            continue;
        const struct journal_entry *e = &r->entry[c->next[i] % r->room];
        if (first == NULL || e->number < first->number) {
            first = e;
            of = i;
        }
    }
    c->next[of] += first != NULL;
    return first;
}
