/* The log: formats entries, writes them without ever blocking, keeps the latest in memory, and
 * sums up entries that local users repeat. */
#include "journal.h"

#include "../base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

void journal_date(int64_t date, char text[JOURNAL_DATE])
{
    time_t seconds = (time_t)(date / 1000000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t length = strftime(text, JOURNAL_DATE, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + length, JOURNAL_DATE - length, ".%03uZ", (unsigned)(date / 1000 % 1000));
}

void journal_begin(struct journal *j, bool json, bool quiet)
{
    j->ring[JOURNAL_RING_OTHERS] = (struct journal_ring){0, JOURNAL_ENTRIES, j->others};
    j->ring[JOURNAL_RING_WORK] = (struct journal_ring){0, JOURNAL_WORK_ENTRIES, j->work};
    j->json = json;
    j->quiet = quiet;
    j->stamped = getenv("JOURNAL_STREAM") == NULL; /* systemd's journal knows when it came */
    j->fd = STDERR_FILENO;
    if (isatty(STDERR_FILENO)) { /* opened anew: others who use it may wait */
        int own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        j->fd = own >= 0 ? own : j->fd;
    }
}

/* All of it or nothing, and at once. Not every kernel can be told so for pipes: a line fits where
 * poll says that there is room. A file knows no other way; a terminal was opened so. */
static bool write_at_once(const struct journal *j, const char *bytes, size_t length)
{
    struct stat is = {0};
    struct iovec all = {(void *)bytes, length};
    struct pollfd room = {.fd = j->fd, .events = POLLOUT};
    fstat(j->fd, &is);
    if (S_ISSOCK(is.st_mode))
        return send(j->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length;
    ssize_t put = pwritev2(j->fd, &all, 1, -1, RWF_NOWAIT);
    if (put < 0 && (errno == EOPNOTSUPP || S_ISREG(is.st_mode)) && poll(&room, 1, 0) == 1)
        put = write(j->fd, bytes, length);
    return put == (ssize_t)length;
}

static void print(struct journal *j, const char *line, size_t length)
{
    char lost[64];
    if (j->lost > 0) {
        int said = snprintf(lost, sizeof lost, "elect: %llu lines of this log were lost\n",
                            (unsigned long long)j->lost);
        if (!write_at_once(j, lost, (size_t)said)) {
            j->lost++;
            return;
        }
        j->lost = 0;
    }
    j->lost += !write_at_once(j, line, length);
}

static const char *word_of(const struct journal_entry *e)
{
    static const char *const words[] = {
#define X(name, word) word,
        JOURNAL_EVENTS(X)
#undef X
    };
    return words[e->event];
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

json_t *journal_json(const struct journal_entry *e)
{
    char date[JOURNAL_DATE], text[LONG_TEXT];
    journal_date(e->date, date);
    text_of(e, text);
    json_t *o = json_pack("{s:s, s:I, s:s, s:s}", "time", date, "at_us", (json_int_t)e->at, "event",
                          word_of(e), "text", text);
    if (e->repeated > 0)
        json_object_set_new(o, "repeated", json_integer((json_int_t)e->repeated));
    if (e->group[0] != '\0')
        json_object_set_new(o, "group", json_string(e->group));
    if (e->leader[0] != '\0')
        json_object_set_new(o, "leader", json_string(e->leader));
    if (e->term != 0)
        json_object_set_new(o, "term", json_integer((json_int_t)e->term));
    return o;
}

static void print_entry(struct journal *j, const struct journal_entry *e)
{
    char line[1024], date[JOURNAL_DATE], text[LONG_TEXT];
    journal_date(e->date, date);
    if (j->json) {
        json_t *o = journal_json(e);
        char *dumped = json_dumps(o, JSON_COMPACT);
        int length = dumped != NULL ? snprintf(line, sizeof line, "%s\n", dumped) : 0;
        free(dumped);
        json_decref(o);
        if (length > 0 && (size_t)length < sizeof line)
            print(j, line, (size_t)length);
        return;
    }
    text_of(e, text);
    int length = snprintf(line, sizeof line, "%s%s%s%s%s\n", j->stamped ? date : "",
                          j->stamped ? " " : "", e->group, e->group[0] != '\0' ? ": " : "", text);
    print(j, line, (size_t)length);
}

/* ---- what is repeated ---- */

/* Alike but for numbers, such as process ids. */
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

static bool is_over(const struct journal_entry *e, int64_t now)
{
    return now - e->window >= (int64_t)JOURNAL_WINDOW * 1000000;
}

/* The latest entry that says the same of the same group and user, if its window is not over. */
static struct journal_entry *latest_like(const struct journal_ring *r,
                                         const struct journal_entry *e, int64_t now)
{
    uint64_t oldest = r->count > r->room ? r->count - r->room : 0;
    for (uint64_t i = r->count; i-- > oldest;) {
        struct journal_entry *x = &r->entry[i % r->room];
        if (x->user == e->user && strcmp(x->group, e->group) == 0 && is_alike(x->text, e->text))
            return is_over(x, now) ? NULL : x;
    }
    return NULL;
}

static void show(struct journal *j, const struct journal_entry *e)
{
    if (!j->quiet)
        print_entry(j, e);
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
    text_clean(new.text); /* it may have been cut in the middle of a character */
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
