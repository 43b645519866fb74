#include "journal.h"

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

json_t *journal_json(const struct journal_entry *e)
{
    char date[JOURNAL_DATE];
    journal_date(e->date, date);
    json_t *o = json_pack("{s:s, s:I, s:s, s:s}", "time", date, "at_us", (json_int_t)e->at, "event",
                          word_of(e), "text", e->text);
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
    char line[1024], date[JOURNAL_DATE];
    journal_date(e->date, date);
    if (j->json) {
        json_t *o = journal_json(e);
        char *text = json_dumps(o, JSON_COMPACT);
        int length = text != NULL ? snprintf(line, sizeof line, "%s\n", text) : 0;
        free(text);
        json_decref(o);
        if (length > 0 && (size_t)length < sizeof line)
            print(j, line, (size_t)length);
        return;
    }
    int length =
        snprintf(line, sizeof line, "%s%s%s%s%s\n", j->stamped ? date : "", j->stamped ? " " : "",
                 e->group, e->group[0] != '\0' ? ": " : "", e->text);
    print(j, line, (size_t)length);
}

static int64_t clock_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void journal_write(struct journal *j, const struct journal_entry *e)
{
    struct journal_entry *to = &j->entry[j->count++ % JOURNAL_ENTRIES];
    int64_t now = clock_of(CLOCK_BOOTTIME);
    *to = *e;
    text_clean(to->text); /* it may have been cut in the middle of a letter */
    to->at = e->at != 0 && e->at < now ? e->at : now;
    to->date = clock_of(CLOCK_REALTIME);
    if (!j->quiet)
        print_entry(j, to);
    if (j->written != NULL)
        j->written(j->context, to);
}

const struct journal_entry *journal_at(const struct journal *j, unsigned i)
{
    uint64_t first = j->count > JOURNAL_ENTRIES ? j->count - JOURNAL_ENTRIES : 0;
    return first + i < j->count ? &j->entry[(first + i) % JOURNAL_ENTRIES] : NULL;
}
